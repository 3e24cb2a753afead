//! Instructions per operation, counted by callgrind: figures that a busy machine cannot blur (Q1, Q5).
//!
//! The program runs itself under `valgrind --tool=callgrind`, once per case, and
//! counts only what happens inside one function. The budgets of the hit path are
//! asserted: the exit code is 1 when one is exceeded. Needs valgrind.

#[path = "instructions/cases.rs"]
mod cases;
#[allow(dead_code, reason = "each bench uses its own part")]
mod support;

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::process::{Command, ExitCode};

use cases::{CASES, WINDOW};
use serde_json::json;
use support::Effort;
use support::report::Report;

/// A case whose instructions may be at most `most` × those of another.
const BUDGETS: [(&str, &str, f64); 2] = [
    ("hit: herdcache get", "hit: moka::future get", 0.75),
    ("hit: herdcache get", "hit: moka::sync get, foldhash", 1.10),
];

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let effort = Effort::from_arguments();
    let mut arguments = std::env::args().skip_while(|argument| argument != "--case").skip(1);
    if let Some(case) = arguments.next() {
        cases::run(&case, effort)?;
        return Ok(ExitCode::SUCCESS);
    }
    if Command::new("valgrind").arg("--version").output().is_err() {
        return Err("this bench counts instructions with valgrind, which is not installed (package `valgrind`)".into());
    }
    let mut report = Report::new("instructions", effort);
    let mut counts = BTreeMap::new();
    for case in CASES {
        let count = count(case, effort)?;
        report.result(case, json!(count.round()));
        counts.insert(case, count);
    }
    let over = ratios(&counts, &mut report);
    report.print()?;
    if over.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    Err(over.join("; ").into())
}

/// Instructions per operation of one case.
fn count(case: &str, effort: Effort) -> Result<f64, Box<dyn Error>> {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("callgrind.{}", std::process::id()));
    let mut command = Command::new("valgrind");
    command
        .args(["--tool=callgrind", "--error-exitcode=0", "--collect-atstart=no"])
        .arg(format!("--toggle-collect=*{WINDOW}*"))
        .arg(format!("--callgrind-out-file={}", file.display()))
        .arg(std::env::current_exe()?)
        .args(["--case", case]);
    if effort == Effort::Quick {
        command.arg("--quick");
    }
    let done = command.output()?;
    if !done.status.success() {
        return Err(format!("{case}: {}", String::from_utf8_lossy(&done.stderr)).into());
    }
    let profile = std::fs::read_to_string(&file)?;
    std::fs::remove_file(&file)?;
    let total: f64 = profile
        .lines()
        .find_map(|line| line.strip_prefix("summary: "))
        .ok_or("callgrind wrote no summary")?
        .trim()
        .parse()?;
    if total == 0.0 {
        return Err(format!("{case}: nothing was counted inside {WINDOW}").into());
    }
    Ok(total / cases::operations(case, effort) as f64)
}

/// Ratios to the peers, and the budgets that are exceeded.
fn ratios(counts: &BTreeMap<&str, f64>, report: &mut Report) -> Vec<String> {
    for (case, count) in counts {
        let Some((kind, name)) = case.split_once(": ") else { continue };
        if !name.starts_with("herdcache") {
            continue;
        }
        let peers =
            counts.iter().filter(|(peer, _)| peer.starts_with(&format!("{kind}: ")) && !peer.contains("herdcache"));
        for (peer, other) in peers {
            report.ratio(format!("{case} / {}", &peer[kind.len() + 2..]), count / other);
        }
    }
    let exceeded = BUDGETS.iter().filter_map(|(case, peer, most)| {
        let ratio = counts.get(case)? / counts.get(peer)?;
        (ratio > *most).then(|| format!("Q1: {case} takes {ratio:.3} x {peer}, at most {most} x"))
    });
    exceeded.collect()
}
