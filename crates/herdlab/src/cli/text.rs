//! What the commands say to people.

use std::fmt::Write;

use crate::run::{Figures, Run};
use crate::scenario::Scenario;

/// The scenarios with what happens in them.
pub(super) fn list(scenarios: &[Scenario]) -> String {
    let mut text = String::new();
    for scenario in scenarios {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{:<20} {}\n{:<20} policies: {}{}\n",
            scenario.name,
            scenario.about,
            "",
            scenario.policies.join(", "),
            if scenario.long { "; takes minutes, not part of all" } else { "" },
        );
    }
    text
}

/// How much faster than a clock the run was.
fn pace(figures: &Figures) -> String {
    let (real_s, ratio) = (figures.wall_ms / 1_000.0, figures.duration_ms as f64 / figures.wall_ms.max(0.001));
    format!("played in {real_s:.1} s, {ratio:.0} times as fast")
}

/// A line for each run, the checks of its scenario, and every law that was broken.
pub(super) fn verdicts(runs: &[Run]) -> String {
    let mut text = String::new();
    for run in runs {
        let (setup, figures) = (&run.setup, &run.figures);
        let word = if run.pass { "pass" } else { "FAIL" };
        let _ = writeln!(
            text,
            "{word}  {} under {}, seed {}: {} requests, {} origin calls in {} s, {}",
            setup.scenario,
            setup.policy,
            setup.seed,
            figures.requests,
            figures.origin_calls,
            figures.duration_ms / 1_000,
            pace(figures),
        );
        for check in run.checks.iter().filter(|check| !check.pass || !check.is_law()) {
            let word = if check.pass { " ok " } else { "FAIL" };
            let _ = writeln!(text, "      {word}  {}: {}, expected {}", check.name, check.measured, check.expected);
        }
        if run.checks.iter().all(crate::run::Check::is_law) {
            let _ = writeln!(text, "        --  the scenario checks nothing of this policy: only the laws were held");
        }
    }
    let failed = runs.iter().filter(|run| !run.pass).count();
    let _ = writeln!(text, "{} runs, {failed} failed", runs.len());
    text
}
