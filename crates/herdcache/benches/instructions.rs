//! Instructions per operation, counted by callgrind: figures that a busy machine cannot blur (Q1, Q2, Q5).
//!
//! The program runs itself under `valgrind --tool=callgrind`, once per case, and
//! counts only what happens inside one function. Each budget has a target, of which
//! the document says whether it is met, and a bound that holds today: the exit code
//! is not 0 when that is exceeded. Needs valgrind.

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
use support::caches::{HERDCACHE, HERDCACHE_QUICK, HERDCACHE_WITH, MOKA_FOLDHASH, MOKA_FUTURE, QUICK_CACHE};
use support::report::Report;

/// How much a case may cost beside a peer.
struct Budget {
    kind: Kind,
    ours: &'static str,
    peer: &'static str,
    /// The ratio to be reached.
    target: f64,
    /// The ratio that was reached and must not be lost again: beyond it the bench fails.
    held: f64,
}

// Counts vary by two parts in a hundred from run to run: hash seeds, and which requests are sampled.
const BUDGETS: [Budget; 5] = [
    Budget { kind: Kind::Hit, ours: HERDCACHE, peer: MOKA_FUTURE, target: 0.75, held: 0.77 },
    Budget { kind: Kind::Hit, ours: HERDCACHE, peer: MOKA_FOLDHASH, target: 1.10, held: 1.22 },
    Budget { kind: Kind::Hit, ours: HERDCACHE_QUICK, peer: QUICK_CACHE, target: 1.35, held: 2.00 },
    Budget { kind: Kind::ReadyMiss, ours: HERDCACHE_WITH, peer: MOKA_FUTURE, target: 0.60, held: 1.15 },
    Budget { kind: Kind::PendingMiss, ours: HERDCACHE_WITH, peer: MOKA_FUTURE, target: 1.10, held: 1.56 },
];

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
            counts.push((name, count(kind, name, effort)?));
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
    let is_ours = |name: &str| name.starts_with("herdcache");
    let mut over = Vec::new();
    for (ours, own) in counts.iter().filter(|(name, _)| is_ours(name)) {
        for (peer, other) in counts.iter().filter(|(name, _)| !is_ours(name)) {
            let ratio = own / other;
            let name = format!("{}: {ours} / {peer}", kind.label());
            report.ratio(&name, ratio);
            let found = BUDGETS.iter().find(|budget| (budget.kind, budget.ours, budget.peer) == (kind, *ours, *peer));
            let Some(budget) = found else { continue };
            report.result(
                format!("target of {name}"),
                json!({ "at_most": budget.target, "met": ratio <= budget.target }),
            );
            if ratio > budget.held {
                over.push(format!("{name} is {ratio:.3}, was at most {} before", budget.held));
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
