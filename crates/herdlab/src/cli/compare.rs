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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::play::play;
    use crate::quantiles::Quantiles;

    /// Each column has its own figure: all of them differ here.
    #[test]
    fn a_row_tells_each_figure_in_its_column() {
        let text = "about = \"x\"\npolicies = [\"none\"]\n[traffic]\nper_second = 10\nlength = \"100ms\"\n[keys]\ncount = 1\n\
                    [cache]\nfresh_for = \"1s\"\n[origin]\nlatency = \"5ms\"\n";
        let scenario = Scenario::parse("mine", text).unwrap();
        let mut run = play(&scenario, &"none".parse().unwrap(), 1).unwrap();
        let figures = &mut run.figures;
        (figures.origin_calls, figures.origin_peak_running, figures.amplification) = (12, 34, Some(5.6));
        (figures.success_ratio, figures.stale.ratio, figures.stale.age_ms_max) = (Some(0.78), Some(0.9), Some(1_234.0));
        figures.latency_ms = Some(Quantiles { p50: 1.5, p95: 2.5, p99: 3.5, max: 404.4, count: 9 });
        assert_eq!(row(&run), "| `none` | 12 | 34 | 5.6 | 78.0 % | 1.5 | 3.5 | 404 | 90.0 % | 1.2 |");
        figures_that_are_not_there(&mut run);
        assert_eq!(row(&run), "| `none` | 12 | 34 | – | – | – | – | – | – | – |");
        let table = table(&[scenario], &[run]);
        assert!(table.starts_with("### mine\n\nx\n\n| policy | origin calls | most at once |"), "{table}");
    }

    fn figures_that_are_not_there(run: &mut Run) {
        let figures = &mut run.figures;
        (figures.amplification, figures.success_ratio, figures.latency_ms) = (None, None, None);
        (figures.stale.ratio, figures.stale.age_ms_max) = (None, None);
    }
}
