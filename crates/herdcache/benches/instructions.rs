//! Instructions per operation, counted by callgrind: figures that a busy machine cannot blur (Q1, Q5).
//!
//! The program runs itself under `valgrind --tool=callgrind`, once per case, and
//! counts only what happens inside one function. The budgets of the hit path are
//! asserted: the exit code is not 0 when one is exceeded. Needs valgrind.

#[path = "instructions/cases.rs"]
mod cases;
#[allow(dead_code, reason = "each bench uses its own part")]
mod support;

use std::error::Error;
use std::path::Path;
use std::process::Command;

use cases::{Kind, WINDOW};
use serde_json::{Map, Value, json};
use support::Effort;
use support::caches::{HERDCACHE, HERDCACHE_WITH, MOKA_FOLDHASH, MOKA_FUTURE};
use support::report::Report;

/// What may cost at most so many times what a peer does.
const BUDGETS: [(Kind, &str, &str, f64); 2] =
    [(Kind::Hit, HERDCACHE, MOKA_FUTURE, 0.75), (Kind::Hit, HERDCACHE, MOKA_FOLDHASH, 1.10)];

fn main() -> Result<(), Box<dyn Error>> {
    let effort = Effort::from_arguments();
    let mut case = std::env::args().skip_while(|argument| argument != "--case").skip(1);
    if let (Some(label), Some(name)) = (case.next(), case.next()) {
        let kind = Kind::ALL.into_iter().find(|kind| kind.label() == label);
        return cases::run(kind.ok_or("no such kind")?, &name, effort);
    }
    if Command::new("valgrind").arg("--version").output().is_err() {
        return Err("this bench counts instructions with valgrind, which is not installed (package `valgrind`)".into());
    }
    let mut report = Report::new("instructions", effort);
    let mut over = Vec::new();
    for kind in Kind::ALL {
        let mut counts = Vec::new();
        for name in kind.subjects() {
            counts.push((*name, count(kind, name, effort)?));
        }
        over.extend(compare(kind, &counts, &mut report));
    }
    report.print()?;
    if over.is_empty() { Ok(()) } else { Err(over.join("; ").into()) }
}

/// Enters the counts of one kind, with their ratios; gives the budgets that are exceeded.
fn compare(kind: Kind, counts: &[(&str, f64)], report: &mut Report) -> Vec<String> {
    let results: Map<String, Value> =
        counts.iter().map(|(name, count)| ((*name).to_owned(), json!(count.round()))).collect();
    report.result(kind.label(), results.into());
    let mut over = Vec::new();
    for (ours, own) in counts.iter().filter(|(name, _)| [HERDCACHE, HERDCACHE_WITH].contains(name)) {
        for (peer, other) in counts.iter().filter(|(name, _)| ![HERDCACHE, HERDCACHE_WITH].contains(name)) {
            let ratio = own / other;
            report.ratio(format!("{}: {ours} / {peer}", kind.label()), ratio);
            let budget = BUDGETS.iter().find(|budget| (budget.0, budget.1, budget.2) == (kind, *ours, *peer));
            if let Some((.., most)) = budget.filter(|budget| ratio > budget.3) {
                over.push(format!("Q1: {ours} takes {ratio:.3} x {peer}, at most {most}"));
            }
        }
    }
    over
}

/// Instructions per operation of one case.
fn count(kind: Kind, name: &str, effort: Effort) -> Result<f64, Box<dyn Error>> {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("callgrind.{}", std::process::id()));
    let mut command = Command::new("valgrind");
    command
        .args(["--tool=callgrind", "--collect-atstart=no"])
        .arg(format!("--toggle-collect=*{WINDOW}*"))
        .arg(format!("--callgrind-out-file={}", file.display()))
        .arg(std::env::current_exe()?)
        .args(effort.of(&["--quick"][..], &[]))
        .args(["--case", kind.label(), name]);
    let done = command.output()?;
    if !done.status.success() {
        return Err(format!("{} {name}: {}", kind.label(), String::from_utf8_lossy(&done.stderr)).into());
    }
    let profile = std::fs::read_to_string(&file)?;
    std::fs::remove_file(&file)?;
    let summary = profile.lines().find_map(|line| line.strip_prefix("summary: "));
    let total: u64 = summary.ok_or("callgrind wrote no summary")?.trim().parse()?;
    if total == 0 {
        return Err(format!("{} {name}: nothing was counted inside {WINDOW}", kind.label()).into());
    }
    Ok(total as f64 / kind.operations(effort) as f64)
}
