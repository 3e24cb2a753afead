//! The table of countermeasures: what each policy made of each scenario.
//!
//! Markdown, so that it can be read in a terminal and pasted into a page.

use std::fmt::Write;

use crate::run::Run;
use crate::scenario::Scenario;

/// A table for each scenario.
pub(super) fn table(scenarios: &[Scenario], runs: &[Run]) -> String {
    let mut text = String::new();
    for scenario in scenarios {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "### {}\n\n{}\n", scenario.name, scenario.about);
        text.push_str("| policy | origin calls | most at once | calls per load | answered | p50 ms | p99 ms | slowest ms | stale | oldest stale s |\n");
        text.push_str("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n");
        for run in runs.iter().filter(|run| run.setup.scenario == scenario.name) {
            let _ = writeln!(text, "{}", row(run));
        }
        text.push('\n');
    }
    text
}

fn row(run: &Run) -> String {
    let figures = &run.figures;
    let latency = |pick: fn(&crate::quantiles::Quantiles) -> f64| {
        figures.latency_ms.as_ref().map_or_else(dash, |q| number(pick(q)))
    };
    format!(
        "| `{}` | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
        run.setup.policy,
        figures.origin_calls,
        figures.origin_peak_running,
        figures.amplification.map_or_else(dash, number),
        figures.success_ratio.map_or_else(dash, percent),
        latency(|q| q.p50),
        latency(|q| q.p99),
        latency(|q| q.max),
        figures.stale.ratio.map_or_else(dash, percent),
        figures.stale.age_ms_max.map_or_else(dash, |ms| number(ms / 1_000.0)),
    )
}

fn dash() -> String {
    "–".into()
}

fn percent(part: f64) -> String {
    format!("{:.1} %", part * 100.0)
}

fn number(value: f64) -> String {
    if value >= 100.0 { format!("{value:.0}") } else { format!("{value:.1}") }
}
