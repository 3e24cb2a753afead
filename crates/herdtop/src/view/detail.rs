//! Everything about one row.

use herdfeed::words::ClosedSet;
use herdfeed::{Outcome, RejectReason};
use ratatui::style::Style;

use super::Ink;
use super::pages::PageLine;
use crate::figures::{micros, number, percent, sum, time_of_day};
use crate::model::{Model, Target};
use crate::rows::{RowId, events, fleet, flights, keys, outcomes, permits};
use crate::verdict::tuned;

pub(super) fn lines(model: &Model, ink: &Ink, id: &RowId) -> Vec<PageLine> {
    let plain = ink.palette.plain;
    let found = match id {
        RowId::Flight { .. } => {
            flights::rows(model).into_iter().find(|row| row.id() == *id).map(|row| flight(model, &row))
        }
        RowId::Key { .. } => keys::rows(model).into_iter().find(|row| row.id() == *id).map(|row| key(model, &row)),
        RowId::Target(target) => model.world().target(*target).map(|target| process(model, target)),
        RowId::Gate { .. } => permits::rows(model).into_iter().find(|row| row.id() == *id).map(|row| gate(&row)),
        RowId::Event(number) => events::rows(model).into_iter().find(|e| e.number == *number).map(|e| event(model, e)),
        RowId::Outcome(row) => Some(outcome(model, *row)),
    };
    match found {
        Some(lines) => lines.into_iter().map(|line| (line, plain)).collect(),
        None => vec![("gone: it is no longer among the rows".to_owned(), Style::new())],
    }
}

fn pair(name: &str, value: impl AsRef<str>) -> String {
    format!("{name:<14} {}", value.as_ref())
}

fn flight(model: &Model, row: &flights::Row) -> Vec<String> {
    let flight = &row.flight;
    let cause = flight.cause.map_or_else(|| "-".to_owned(), |cause| cause.to_string());
    let end = flight.end.map_or_else(|| "in progress".to_owned(), |end| end.to_string());
    vec![
        pair("key", model.key_text(&flight.key)),
        pair("cache", &row.cache),
        pair("process", &row.target_name),
        pair("flight", flight.id.to_string()),
        pair("trigger", flight.trigger.label()),
        pair("cause", cause),
        pair("stage", format!("{:?}", flight.stage).to_lowercase()),
        pair("end", end),
        pair("age", micros(row.age_us())),
        pair("waiters", number(flight.waiters)),
        pair("a herd from", format!("{} waiters", row.herd_at)),
        pair("parallel", format!("{} loads of this key", row.parallel)),
    ]
}

fn key(model: &Model, row: &keys::Row) -> Vec<String> {
    let signed = |us: Option<i64>| match us {
        None => "-".to_owned(),
        Some(us @ 0..) => micros(us.unsigned_abs()),
        Some(us) => format!("{} ago", micros(us.unsigned_abs())),
    };
    vec![
        pair("key", model.key_text(&row.key)),
        pair("cache", &row.cache),
        pair("hot in", format!("{} processes", row.processes)),
        pair("requests/s", crate::figures::count(row.rate)),
        pair("share", percent(row.share)),
        pair("loads", number(row.loads)),
        pair("coalesced", number(row.coalesced)),
        pair("stale answers", number(row.stale)),
        pair("last load", micros(row.load_us)),
        pair("age", row.age_us.map_or_else(|| "-".to_owned(), micros)),
        pair("fresh until", signed(row.fresh_left_us)),
        pair("stale until", signed(row.stale_left_us)),
    ]
}

fn gate(row: &permits::Row) -> Vec<String> {
    let gate = &row.gate;
    let mut lines = vec![pair("gate", &gate.name), pair("process", &row.target_name)];
    lines.extend(gate.in_use.iter().map(|(class, count)| pair(&format!("in use {class}"), number(count))));
    let off = match &row.limit {
        permits::Limit::Holds => String::new(),
        permits::Limit::Off { caches, running } if caches.is_empty() => {
            format!(", OFF: {} calls run", number(*running))
        }
        permits::Limit::Off { caches, running } => {
            format!(", OFF for {}: {} calls run", caches.join(", "), number(*running))
        }
    };
    let limit = match gate.ceiling {
        Some(ceiling) => format!("{} now, at most {}", number(gate.limit), number(ceiling)),
        None => number(gate.limit),
    };
    lines.push(pair("limit", format!("{limit}{off}")));
    lines.extend(gate.circuit.map(|state| pair("fail-fast", state.label())));
    lines.push(pair("queue", format!("{} of {}", number(gate.pending), number(gate.queue))));
    lines.push(pair("peaks of 60s", format!("{} in use, {} waiting", gate.usage_peak, gate.pending_peak)));
    lines.extend(gate.results.iter().map(|(result, count)| pair(&format!("{result}"), number(count))));
    lines.push(pair("skipped", format!("{} refreshes found no permit", number(gate.skipped))));
    let capacity = gate.origin_capacity.map_or_else(|| "not said".to_owned(), |capacity| capacity.to_string());
    lines.push(pair("origin bears", capacity));
    lines
}

fn event(model: &Model, entry: &crate::model::Entry) -> Vec<String> {
    let told = events::told(entry);
    vec![
        pair("time", format!("{} UTC", time_of_day(entry.unix_us))),
        pair("process", &entry.target),
        pair("event", told.kind),
        pair("subject", &told.subject),
        pair("key", told.key.map_or_else(|| "-".to_owned(), |key| model.key_text(&key))),
        pair("figures", &told.figures),
    ]
}

fn outcome(model: &Model, row: outcomes::Row) -> Vec<String> {
    let total = |outcome: Outcome| sum(model.world().targets.iter().map(|t| t.totals.outcomes[outcome]));
    let mut lines = vec!["since this screen attached, over restarts".to_owned()];
    lines.extend(row.outcomes().map(|outcome| pair(outcome.label(), number(total(outcome)))));
    if row == outcomes::Row::Rejected {
        let refused = |reason: RejectReason| sum(model.world().targets.iter().map(|t| t.totals.rejections[reason]));
        lines.extend(RejectReason::all().iter().map(|reason| pair(&format!("- {reason}"), number(refused(*reason)))));
    }
    let apart = Outcome::all().iter().copied().filter(|outcome| outcomes::Row::of(*outcome).is_none());
    lines.push("counted in no row:".to_owned());
    lines.extend(apart.map(|outcome| pair(outcome.label(), number(total(outcome)))));
    lines
}

fn process(model: &Model, target: &Target) -> Vec<String> {
    let mut lines = vec![pair("process", &target.name), pair("address", &target.address)];
    if let Some(hello) = &target.hello {
        let process = &hello.process;
        lines.push(pair("service", format!("{} {}", process.service, process.app_version.as_deref().unwrap_or("-"))));
        lines.push(pair("host, pid", format!("{} {}", process.host, process.pid)));
        lines.push(pair("boot", &process.boot));
        lines.push(pair("library", &hello.lib));
    }
    lines.push(pair("restarts seen", target.restarts.to_string()));
    lines.push(pair("lost", format!("{} events, {} bad lines", target.missed_events, target.bad_lines)));
    let world = model.world();
    if let Some(row) = fleet::rows(model).into_iter().find(|row| row.id == target.id) {
        let drift = if row.drift.is_empty() { "nothing".to_owned() } else { row.drift.join(", ") };
        let peers = world.targets.iter().filter(|peer| peer.service() == target.service()).count();
        lines.push(pair("differs in", format!("{drift} ({peers} of its service)")));
    }
    lines.extend(settings(target));
    lines.extend(running(target));
    lines
}

/// What has changed since the settings were told, and what warm-ups came to.
fn running(target: &Target) -> impl Iterator<Item = String> {
    target.caches().iter().flat_map(|cache| {
        let changes = tuned(&cache.tuned);
        let tuned = (!changes.is_empty()).then(|| format!("cache {}: tuned to {}", cache.name, changes.join(", ")));
        let warmup = &cache.warmup;
        let warm = (warmup.total > 0).then(|| {
            let counts = [
                (warmup.loaded, "loaded"),
                (warmup.skipped, "skipped"),
                (warmup.failed, "failed"),
                (warmup.cancelled, "cancelled"),
                (warmup.left, "left"),
            ];
            let counts = counts.map(|(count, word)| format!("{} {word}", number(count))).join(", ");
            format!("cache {}: warm-ups of {} keys: {counts}", cache.name, number(warmup.total))
        });
        [tuned, warm].into_iter().flatten()
    })
}

fn settings(target: &Target) -> Vec<String> {
    let Some(hello) = &target.hello else { return Vec::new() };
    let ms = |ms: u64| micros(ms.saturating_mul(1_000));
    let caches = hello.caches.iter().map(|c| {
        let times = format!("fresh {} stale {} if error {}", ms(c.fresh_ms), ms(c.stale_ms), ms(c.stale_if_error_ms));
        let limits = format!(
            "jitter {:.2} early {:.1} timeout {} deadline {}",
            c.jitter,
            c.early_refresh,
            ms(c.origin_timeout_ms),
            ms(c.flight_deadline_ms)
        );
        format!("cache {}: {times} {limits} capacity {}", c.name, number(c.capacity))
    });
    let gates = hello.gates.iter().map(|g| {
        format!(
            "gate {}: permits {} queue {} for {} refresh {}",
            g.name,
            g.permits,
            g.queue,
            ms(g.queue_timeout_ms),
            g.refresh_permits
        )
    });
    caches.chain(gates).collect()
}
