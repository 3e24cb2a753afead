//! Rows of the event panel, newest first, and what they say.

use herdfeed::words::ClosedSet;
use herdfeed::{Fact, HerdEnd, MissCause};

use crate::figures::{micros, number, percent, seconds};
use crate::filter::Facets;
use crate::model::{Entry, Model, Occurrence};
use crate::msg::Farewell;

/// The entries that the filter shows, newest first.
pub fn rows(model: &Model) -> Vec<&Entry> {
    model.world().log.entries().rev().filter(|entry| shows(model, entry)).collect()
}

/// What an entry says, in parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// The stable name of the fact.
    pub kind: &'static str,
    /// The cache or gate, empty for a process.
    pub subject: String,
    /// The key, if it is about one.
    pub key: Option<String>,
    /// The figures.
    pub figures: String,
}

/// What an entry says.
pub fn told(entry: &Entry) -> Told {
    let own = |kind, figures: String| Told { kind, figures, ..Told::default() };
    match &entry.occurrence {
        Occurrence::Attached => own("attached", String::new()),
        Occurrence::Lost { why } => own("lost", why.clone()),
        Occurrence::Silent => {
            own("silent", "its stream is open, nothing comes: stopped, or its host is overloaded".into())
        }
        Occurrence::Heard { after_us } => own("heard", format!("again after {}", seconds(*after_us))),
        Occurrence::Ended(Farewell::Said) => own("ended", "it said goodbye".into()),
        Occurrence::Ended(Farewell::Unsaid) => own("died", "no goodbye: crashed or killed".into()),
        Occurrence::Restarted { versions } => own("restarted", format!("counters start anew {versions}")),
        Occurrence::Missed { events } => own("missed", format!("{} events did not arrive", number(*events))),
        Occurrence::Event(event) => {
            let (kind, key, figures) = fact(&event.fact);
            Told { kind, subject: event.subject.clone(), key: key.map(str::to_owned), figures }
        }
    }
}

fn fact(fact: &Fact) -> (&'static str, Option<&str>, String) {
    match fact {
        Fact::FlightStarted { key, trigger, .. } => ("flight_started", Some(key), trigger.to_string()),
        Fact::FlightLanded { key, end, waiters, duration_us, .. } => {
            ("flight_landed", Some(key), format!("{end} waiters={} {}", number(*waiters), micros(*duration_us)))
        }
        Fact::HerdStarted { key, cause, waiters, loads, .. } => {
            ("herd_started", Some(key), format!("waiters={} loads={loads} {}", number(*waiters), why(*cause)))
        }
        Fact::HerdEnded(end) => ("herd_ended", Some(&end.key), herd_end(end)),
        Fact::Avalanche { keys, within_us } => {
            ("avalanche", None, format!("keys={} within {}", number(*keys), micros(*within_us)))
        }
        Fact::EvictionSurge { evictions, miss_share } => {
            ("eviction_surge", None, format!("evictions={}/10s of misses={}", number(*evictions), percent(*miss_share)))
        }
        Fact::OriginSaturated { limit, pending, rejected } => (
            "origin_saturated",
            None,
            format!("limit={limit} pending={} rejected={}", number(*pending), number(*rejected)),
        ),
        Fact::OriginSlow { p99_us, usual_us } => {
            ("origin_slow", None, format!("p99={} usual={}", micros(*p99_us), micros(*usual_us)))
        }
        Fact::OriginFailing { ratio, calls } => {
            ("origin_failing", None, format!("{} of {} calls", percent(*ratio), number(*calls)))
        }
        Fact::OriginDown { failed, calls } => {
            ("origin_down", None, format!("{} of {} loads failed", number(*failed), number(*calls)))
        }
        Fact::ConnectionsExhausted { wait_us, call_us } => {
            ("connections_exhausted", None, format!("wait={} of call={}", micros(*wait_us), micros(*call_us)))
        }
        Fact::Rejecting { per_s, reason } => ("rejecting", None, format!("{}/s {reason}", number(*per_s))),
        Fact::ColdStart { hit_ratio } => ("cold_start", None, format!("hit ratio {}", percent(*hit_ratio))),
        Fact::HotKeyChanged { key, share, per_s } => {
            ("hot_key_changed", Some(key), format!("share={} {}/s", percent(*share), crate::figures::count(*per_s)))
        }
        Fact::StaleBoundNear { key, ratio, left_us } => {
            ("stale_bound_near", Some(key), format!("{} of its bound, {} left", percent(*ratio), micros(*left_us)))
        }
        Fact::DuplicateName { name } => ("duplicate_name", None, format!("a second cache is called {name}")),
        Fact::Tuned { what } => ("tuned", None, what.clone()),
        Fact::SharedDown { operation, failed, calls } => (
            "shared_down",
            None,
            format!("{} of {} operations failed, last {operation}", number(*failed), number(*calls)),
        ),
        Fact::CircuitChanged { state } => ("circuit_changed", None, format!("shared tier {state}")),
        Fact::LeaseLost { key, loss } => ("lease_lost", Some(key), loss.to_string()),
        Fact::WriteRefused { key, write } => ("write_refused", Some(key), write.to_string()),
        Fact::AvalancheEnded { duration_us }
        | Fact::EvictionSurgeEnded { duration_us }
        | Fact::OriginRelieved { duration_us }
        | Fact::OriginSlowEnded { duration_us }
        | Fact::OriginFailingEnded { duration_us }
        | Fact::OriginUp { duration_us }
        | Fact::ConnectionsExhaustedEnded { duration_us }
        | Fact::RejectingEnded { duration_us }
        | Fact::ColdStartEnded { duration_us }
        | Fact::SharedUp { duration_us }
        | Fact::StaleBoundNearEnded { duration_us } => (ended(fact), None, format!("after {}", micros(*duration_us))),
        Fact::Unknown => ("unknown", None, "a kind that this herdtop does not know: upgrade it".into()),
    }
}

fn ended(fact: &Fact) -> &'static str {
    match fact {
        Fact::AvalancheEnded { .. } => "avalanche_ended",
        Fact::EvictionSurgeEnded { .. } => "eviction_surge_ended",
        Fact::OriginRelieved { .. } => "origin_relieved",
        Fact::OriginSlowEnded { .. } => "origin_slow_ended",
        Fact::OriginFailingEnded { .. } => "origin_failing_ended",
        Fact::OriginUp { .. } => "origin_up",
        Fact::ConnectionsExhaustedEnded { .. } => "connections_exhausted_ended",
        Fact::RejectingEnded { .. } => "rejecting_ended",
        Fact::ColdStartEnded { .. } => "cold_start_ended",
        Fact::StaleBoundNearEnded { .. } => "stale_bound_near_ended",
        Fact::SharedUp { .. } => "shared_up",
        Fact::FlightStarted { .. }
        | Fact::FlightLanded { .. }
        | Fact::HerdStarted { .. }
        | Fact::HerdEnded(_)
        | Fact::Avalanche { .. }
        | Fact::EvictionSurge { .. }
        | Fact::OriginSaturated { .. }
        | Fact::OriginSlow { .. }
        | Fact::OriginFailing { .. }
        | Fact::OriginDown { .. }
        | Fact::ConnectionsExhausted { .. }
        | Fact::Rejecting { .. }
        | Fact::ColdStart { .. }
        | Fact::HotKeyChanged { .. }
        | Fact::StaleBoundNear { .. }
        | Fact::DuplicateName { .. }
        | Fact::Tuned { .. }
        | Fact::SharedDown { .. }
        | Fact::CircuitChanged { .. }
        | Fact::LeaseLost { .. }
        | Fact::WriteRefused { .. }
        | Fact::Unknown => "",
    }
}

fn herd_end(end: &HerdEnd) -> String {
    let mut text = format!("peak={} loads={} {} {}", number(end.peak), end.loads, micros(end.duration_us), end.end);
    if let Some(cause) = end.cause {
        text = format!("{text} cause={cause}");
    }
    if end.repeats >= 2 {
        let every = if end.since_last_us < 1_000_000 { micros(end.since_last_us) } else { seconds(end.since_last_us) };
        text = format!("{text} every {every}");
    }
    text
}

fn why(cause: Option<MissCause>) -> String {
    cause.map_or_else(String::new, |cause| format!("cause={cause}"))
}

fn shows(model: &Model, entry: &Entry) -> bool {
    if model.filter.is_empty() {
        return true;
    }
    let told = told(entry);
    let key = told.key.as_deref().map(|key| model.key_text(key)).unwrap_or_default();
    let (ends, cause, waiters) = facets(entry);
    model.filter.shows(&Facets {
        key: &key,
        cache: &told.subject,
        target: &entry.target,
        words: &format!("{} {}", told.kind, told.figures),
        ends: &ends,
        cause,
        waiters,
        age_us: None,
    })
}

fn facets(entry: &Entry) -> (Vec<&'static str>, Option<MissCause>, Option<u64>) {
    let Occurrence::Event(event) = &entry.occurrence else {
        return (Vec::new(), None, None);
    };
    match &event.fact {
        Fact::HerdStarted { cause, waiters, .. } => (Vec::new(), *cause, Some(*waiters)),
        Fact::HerdEnded(end) => (vec![end.end.label()], end.cause, Some(end.peak)),
        Fact::Rejecting { .. } => (vec![herdfeed::Outcome::Rejected.label()], None, None),
        _ => (Vec::new(), None, None),
    }
}
