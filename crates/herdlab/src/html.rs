//! The report of runs as one page: a table of verdicts, and plots from second to second.
//!
//! Self-contained: no script, no style sheet, no font from elsewhere, so that it can be
//! kept beside an incident's notes for years. Names come from files of users: they are
//! escaped wherever they appear.

mod bars;
pub(crate) mod plot;

use std::fmt::Write;

use crate::quantiles::Quantiles;
use crate::run::{Document, Run, Second};
use bars::{Group, bars};
use plot::{Line, plot};

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;color:#1d2733;background:#fff}\
h1{font-size:1.6rem}h2{font-size:1.2rem;margin-top:2.5rem;border-bottom:1px solid #d5dbe1}\
table{border-collapse:collapse;font-variant-numeric:tabular-nums}td,th{padding:.2rem .7rem;text-align:left;border-bottom:1px solid #e6eaee}\
.pass{color:#17794a}.fail{color:#b3261e;font-weight:600}svg{width:100%;height:auto;margin:.5rem 0}figcaption{color:#526070}figure{margin:1rem 0}";

/// One page for all runs of a document.
pub fn page(document: &Document) -> String {
    let mut page = String::new();
    // Writing to a string cannot fail.
    let _ = write!(
        page,
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>herdlab</title><style>{STYLE}</style><h1>herdlab</h1><p>{} runs; {}</p>",
        document.runs.len(),
        escaped(&document.machine.to_string())
    );
    let mut names: Vec<&str> = Vec::new();
    for run in &document.runs {
        if !names.contains(&run.setup.scenario.as_str()) {
            names.push(&run.setup.scenario);
        }
    }
    for name in names {
        let runs: Vec<_> = document.runs.iter().filter(|run| run.setup.scenario == name).collect();
        let _ = write!(page, "<h2>{}</h2>", escaped(name));
        page.push_str(&plots(&runs));
        page.push_str(&quantiles(&runs));
        for run in runs {
            page.push_str(&checks(run));
        }
    }
    page.push_str("</html>\n");
    page
}

/// A figure that a second has, with its caption.
type Series = (&'static str, fn(&Second) -> u64);

/// What is drawn of every run; a figure that is 0 throughout is left out.
const DRAWN: [Series; 5] = [
    ("Origin calls that began, each second", |second| second.origin_calls),
    ("Calls that the origin works on", |second| second.origin_running),
    ("Requests that wait", |second| second.waiting),
    ("Requests answered with an older value, each second", |second| second.stale),
    ("Requests that got nothing, each second", |second| second.failed),
];

fn plots(runs: &[&Run]) -> String {
    let mut html = String::new();
    for (caption, pick) in DRAWN {
        let line = |run: &&Run| {
            let seconds = run.figures.scene.as_ref().map(|scene| scene.seconds.as_slice()).unwrap_or_default();
            Line { name: run.setup.policy.clone(), points: seconds.iter().map(|second| pick(second) as f64).collect() }
        };
        let lines: Vec<_> = runs.iter().map(line).collect();
        if lines.iter().any(|line| line.points.iter().any(|point| *point > 0.0)) {
            let _ = write!(html, "<figure>{}<figcaption>{caption}</figcaption></figure>", plot(&lines));
        }
    }
    html
}

/// How long readers waited, and how old what they got was, where it was older than fresh.
fn quantiles(runs: &[&Run]) -> String {
    let latency = |run: &&Run| {
        let told = run.figures.latency_ms;
        let of = |pick: fn(&Quantiles) -> f64| told.as_ref().map(pick);
        let bars = vec![("p50", of(|q| q.p50)), ("p95", of(|q| q.p95)), ("p99", of(|q| q.p99)), ("max", of(|q| q.max))];
        Group { name: run.setup.policy.clone(), bars }
    };
    let age = |run: &&Run| {
        let stale = run.figures.stale;
        Group { name: run.setup.policy.clone(), bars: vec![("p99", stale.age_ms_p99), ("max", stale.age_ms_max)] }
    };
    let old: Vec<_> = runs.iter().filter(|run| run.figures.stale.age_ms_max.is_some()).copied().collect();
    let drawn = [
        ("Latency of requests", runs.iter().map(latency).collect::<Vec<_>>()),
        ("Age of values answered as stale", old.iter().map(age).collect()),
    ];
    let mut html = String::new();
    for (caption, groups) in drawn.iter().filter(|(_, groups)| !groups.is_empty()) {
        let _ = write!(html, "<figure>{}<figcaption>{caption}</figcaption></figure>", bars(groups));
    }
    html
}

fn checks(run: &Run) -> String {
    let (class, word) = verdict(run.pass);
    let mut html = format!(
        "<details{}><summary><b>{}</b> seed {}: <span class=\"{class}\">{word}</span></summary>\
         <table><tr><th>check<th>measured<th>expected<th></tr>",
        if run.pass { "" } else { " open" },
        escaped(&run.setup.policy),
        run.setup.seed,
    );
    for check in &run.checks {
        let (class, word) = verdict(check.pass);
        let (name, measured, expected) = (escaped(&check.name), escaped(&check.measured), escaped(&check.expected));
        let _ = write!(html, "<tr><td>{name}<td>{measured}<td>{expected}<td class=\"{class}\">{word}</tr>");
    }
    html.push_str("</table></details>");
    html
}

fn verdict(pass: bool) -> (&'static str, &'static str) {
    if pass { ("pass", "pass") } else { ("fail", "FAIL") }
}

/// Text that cannot be mistaken for markup.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            _ => safe.push(letter),
        }
    }
    safe
}

#[cfg(test)]
mod tests;
