//! Events that an operator wants, as structured events of `tracing`: for people with logs only.
//!
//! They are noted where they happen, which may be under a lock, and said later, by a corridor that holds none. So many
//! of a kind in a second; how many were left out is said with the next one of the kind. Not attached to any span: what
//! happens to a cache is no part of a caller's request.

use std::mem::Discriminant;

use herdfeed::{Event, Fact, Severity};
use tracing::Level;
use tracing::level_filters::LevelFilter;

use crate::contained::contained;
use crate::sync::plain::Mutex;
use crate::sync::plain::atomic::{AtomicBool, Ordering::Relaxed};

/// Events of one kind that are said within a second.
const PER_SECOND: u32 = 5;
/// Events that wait to be said.
const WAITING: usize = 64;

static NOTED: Mutex<Noted> = Mutex::new(Noted { kinds: Vec::new(), waiting: Vec::new() });
/// So that a corridor with nothing to say pays one load.
static IS_ANY: AtomicBool = AtomicBool::new(false);

/// What waits, and what was said of each kind.
struct Noted {
    kinds: Vec<Kind>,
    waiting: Vec<(Event, u64)>,
}

struct Kind {
    of: Discriminant<Fact>,
    second: u64,
    said: u32,
    /// Left out since the last one that was said.
    left_out: u64,
}

impl Noted {
    fn note(&mut self, event: &Event) {
        let (of, second) = (std::mem::discriminant(&event.fact), event.mono_us / 1_000_000);
        let place = self.kinds.iter().position(|kind| kind.of == of).unwrap_or_else(|| {
            self.kinds.push(Kind { of, second, said: 0, left_out: 0 });
            self.kinds.len() - 1
        });
        let kind = &mut self.kinds[place];
        if kind.second != second {
            (kind.second, kind.said) = (second, 0);
        }
        if kind.said >= PER_SECOND || self.waiting.len() >= WAITING {
            kind.left_out += 1;
            return;
        }
        kind.said += 1;
        self.waiting.push((event.clone(), std::mem::take(&mut kind.left_out)));
    }
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
    NOTED.lock().note(event);
    IS_ANY.store(true, Relaxed);
}

/// Says what was noted. Never under a lock of ours.
#[inline]
pub(crate) fn say() {
    if IS_ANY.load(Relaxed) {
        say_all();
    }
}

#[cold]
fn say_all() {
    IS_ANY.store(false, Relaxed);
    let waiting = std::mem::take(&mut NOTED.lock().waiting);
    for (event, left_out) in &waiting {
        contained(|| say_one(event, *left_out));
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
    let left_out = (left_out > 0).then_some(i64::try_from(left_out).unwrap_or(i64::MAX));
    macro_rules! say {
        ($level:ident) => {
            tracing::event!(
                target: "herdcache::events",
                parent: None,
                Level::$level,
                herdcache.event = kind,
                herdcache.name = event.subject.as_str(),
                herdcache.key = key,
                herdcache.facts = facts.as_str(),
                herdcache.left_out = left_out,
                "{kind}"
            )
        };
    }
    match event.severity {
        Severity::Info => say!(INFO),
        Severity::Warn => say!(WARN),
        Severity::Critical => say!(ERROR),
    }
}
