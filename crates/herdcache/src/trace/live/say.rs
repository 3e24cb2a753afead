//! Events that an operator wants, as structured events of `tracing`: for people with logs only.
//!
//! They are noted where they happen, which may be under a lock, and said later, by a corridor that holds none. Which of
//! them become lines is decided in [`lines`](super::lines). Not attached to any span: what happens to a cache is no part
//! of a caller's request.

use herdfeed::{Event, Fact, Severity};
use tracing::Level;
use tracing::level_filters::LevelFilter;

use super::lines::{Line, Lines, Rest};
use crate::clock::{self, Moment};
use crate::contained::contained;
use crate::sync::plain::Mutex;
use crate::sync::plain::atomic::{AtomicU64, Ordering::Relaxed};

const NEVER: Moment = Moment::MAX;

static LINES: Mutex<Lines> = Mutex::new(Lines::new());
/// When there is something to say, so that a corridor with nothing to say pays one load.
static DUE: AtomicU64 = AtomicU64::new(NEVER);

/// A line at the level of its severity, part of no span.
macro_rules! line {
    ($severity:expr, $($fields:tt)*) => {
        match $severity {
            Severity::Info => tracing::event!(target: "herdcache::events", parent: None, Level::INFO, $($fields)*),
            Severity::Warn => tracing::event!(target: "herdcache::events", parent: None, Level::WARN, $($fields)*),
            Severity::Critical => tracing::event!(target: "herdcache::events", parent: None, Level::ERROR, $($fields)*),
        }
    };
}

fn level(severity: Severity) -> Level {
    match severity {
        Severity::Info => Level::INFO,
        Severity::Warn => Level::WARN,
        Severity::Critical => Level::ERROR,
    }
}

/// Something has happened. May be called under a lock of ours.
#[inline]
pub(crate) fn note(event: &Event) {
    if LevelFilter::current() >= level(event.severity) {
        note_heard(event);
    }
}

#[cold]
fn note_heard(event: &Event) {
    // Examples of single flights are for recordings: a log would have nothing else.
    if matches!(event.fact, Fact::FlightStarted { .. } | Fact::FlightLanded { .. }) {
        return;
    }
    let mut lines = LINES.lock();
    lines.note(event, clock::exact());
    DUE.store(lines.due().unwrap_or(NEVER), Relaxed);
}

/// Says what was noted. Never under a lock of ours.
#[inline]
pub(crate) fn say() {
    let due = DUE.load(Relaxed);
    if due != NEVER && (due == 0 || due <= clock::coarse()) {
        say_all(Rest::InTime);
    }
}

/// Says what was noted, and how much was left out: a cache ends, and nobody may say it later.
pub(crate) fn say_last() {
    if DUE.load(Relaxed) != NEVER {
        say_all(Rest::Now);
    }
}

#[cold]
fn say_all(rest: Rest) {
    let taken = {
        let mut lines = LINES.lock();
        let taken = lines.take(rest, clock::exact());
        DUE.store(lines.due().unwrap_or(NEVER), Relaxed);
        taken
    };
    for line in &taken {
        contained(|| match line {
            Line::Event(event, left_out) => say_one(event, *left_out),
            Line::LeftOut { kind, count, severity } => say_left_out(kind, *count, *severity),
        });
    }
}

/// The fields of a fact are those of the feed, as JSON; its kind and its key are fields of their own.
fn say_one(event: &Event, left_out: u64) {
    let Ok(serde_json::Value::Object(mut facts)) = serde_json::to_value(&event.fact) else { return };
    let kind = facts.remove("kind");
    let kind = kind.as_ref().and_then(serde_json::Value::as_str).unwrap_or("unknown");
    let key = facts.remove("key");
    let key = key.as_ref().and_then(serde_json::Value::as_str);
    let facts = serde_json::Value::Object(facts).to_string();
    let left_out = (left_out > 0).then_some(integer(left_out));
    line!(
        event.severity,
        herdcache.event = kind,
        herdcache.name = event.subject.as_str(),
        herdcache.key = key,
        herdcache.facts = facts.as_str(),
        herdcache.left_out = left_out,
        "{kind}"
    );
}

/// Events of any cache that were left out, and none came after them to say so.
fn say_left_out(kind: &str, count: u64, severity: Severity) {
    let facts = serde_json::json!({ "of": kind }).to_string();
    line!(
        severity,
        herdcache.event = "left_out",
        herdcache.facts = facts.as_str(),
        herdcache.left_out = integer(count),
        "{count} more {kind}"
    );
}

fn integer(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
