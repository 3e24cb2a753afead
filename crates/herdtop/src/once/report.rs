//! The look as a short text.

use std::fmt::Write;

use herdfeed::words::ClosedSet;
use herdfeed::{CacheSnapshot, GateSnapshot, Hello, Outcome, Severity, Snapshot, Tally};

use super::Look;
use crate::figures::{number, percent, sum};
use crate::rows::outcomes::Row;
use crate::text::clean;
use crate::verdict::Finding;

pub(super) fn text(look: &Look) -> String {
    let mut out = String::new();
    if look.findings.iter().all(Finding::is_hint) {
        line(&mut out, "calm");
    }
    for finding in &look.findings {
        let severity = match finding.severity {
            Severity::Critical => "CRITICAL",
            Severity::Warn => "WARN",
            Severity::Info => "INFO",
        };
        line(&mut out, &format!("{severity} {} {} {}", finding.kind.word(), finding.subject, finding.what));
        for (word, text) in [("why", &finding.why), (finding.advice(), &finding.cure)] {
            if !text.is_empty() {
                line(&mut out, &format!("  {word}: {text}"));
            }
        }
    }
    for (address, answer) in &look.targets {
        // Who did not answer is among the findings already.
        if let Ok(said) = answer {
            process(&mut out, &address.to_string(), &said.0, &said.1);
        }
    }
    out
}

/// One line, with nothing in it that could move a terminal's cursor.
fn line(out: &mut String, text: &str) {
    for part in text.split('\n') {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{}", clean(part).trim_end());
    }
}

fn process(out: &mut String, address: &str, hello: &Hello, snapshot: &Snapshot) {
    let process = &hello.process;
    line(out, &format!("\n{} pid {} {} ({address})", process.service, process.pid, hello.lib));
    for cache in &snapshot.caches {
        of_cache(out, cache);
    }
    for gate in &snapshot.gates {
        of_gate(out, gate);
    }
}

fn of_cache(out: &mut String, cache: &CacheSnapshot) {
    let protection = match (cache.off.as_slice(), cache.protection) {
        ([], Some(level)) => level.to_string(),
        ([], None) => "protection unknown".to_owned(),
        (off, _) => format!("off: {}", off.iter().map(|measure| measure.label()).collect::<Vec<_>>().join(" ")),
    };
    line(
        out,
        &format!(
            "  cache {} {protection}, {} of {} entries",
            cache.name,
            number(cache.entries),
            number(cache.capacity)
        ),
    );
    let counts: Vec<String> =
        Row::ALL.iter().map(|row| format!("{} {}", row.label().1, number(row.count(&cache.outcomes)))).collect();
    line(out, &format!("    {} requests: {}", number(cache.outcomes.total()), counts.join(", ")));
    let success = success(&cache.outcomes).map_or_else(|| "-".to_owned(), percent);
    let exposure =
        cache.exposure().map_or_else(|| "-".to_owned(), |times| format!("{}x", crate::figures::count(times)));
    line(
        out,
        &format!(
            "    success {success}, exposure {exposure}, {} flights now, {} waiting",
            cache.flights_active, cache.waiting
        ),
    );
}

/// Successful requests ÷ all that ended and were not cancelled; the counts are foreign and must not overflow.
fn success(outcomes: &Tally<Outcome>) -> Option<f64> {
    let count = |wanted: bool| sum(outcomes.iter().filter(|(o, _)| o.is_success() == Some(wanted)).map(|(_, n)| n));
    let (good, bad) = (count(true) as f64, count(false) as f64);
    (good + bad > 0.0).then(|| good / (good + bad))
}

fn of_gate(out: &mut String, gate: &GateSnapshot) {
    line(
        out,
        &format!(
            "  gate {} {} of {} permits, {} of {} waiting",
            gate.name,
            gate.used(),
            gate.limit,
            gate.pending,
            gate.queue
        ),
    );
}
