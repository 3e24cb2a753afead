//! Herd detection: conditions that start and end, told once each.
//!
//! Works on differences of the account's own totals, so it adds nothing to any
//! path: slow paths and readers ask now and then whether it is time for a look.
//! Thresholds are `herdfeed::thresholds`.

mod conditions;
mod hot;
mod near;
mod window;

use std::time::Duration;

use herdfeed::thresholds::herd_waiters;
use herdfeed::{
    Event, Fact, FlightEnd, FlightTrigger, HerdEnd, Histogram, MissCause, OriginResult, Outcome, RejectReason,
    RemovalCause, Severity, Tally,
};

use crate::by_hash::ByHash;
use crate::clock::{Moment, nanos};
use crate::events;
use crate::sync::plain::Mutex;
use crate::sync::plain::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use conditions::Watch;
pub(crate) use near::Cover;
use near::Near;

/// Looks are at least this far apart.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Keys that may be herds at once, and keys whose last herd is remembered to tell what repeats.
const REMEMBERED: usize = 256;

/// The account's totals at one moment, as far as detection needs them.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) now: Moment,
    pub(crate) subject: String,
    pub(crate) permits: u64,
    pub(crate) capacity: u64,
    pub(crate) outcomes: Tally<Outcome>,
    pub(crate) misses: Tally<MissCause>,
    pub(crate) rejections: Tally<RejectReason>,
    pub(crate) removals: Tally<RemovalCause>,
    /// Distinct keys that began to load because they had expired or been invalidated.
    pub(crate) keys: u64,
    pub(crate) origin_results: Tally<OriginResult>,
    pub(crate) origin_call: Histogram,
    pub(crate) connection_wait: Histogram,
    pub(crate) hottest: Option<Hottest>,
}

/// The key asked for most.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Hottest {
    pub(crate) hash: u64,
    pub(crate) key: String,
    pub(crate) share: f64,
    pub(crate) per_s: f64,
}

/// How much a look wants to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    Counters,
    HotKeys,
}

/// A key whose load many callers wait for, or that is loaded many times at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crowd {
    pub(crate) waiters: u64,
    pub(crate) loads: u64,
}

/// The flight that a crowd gathers about.
pub(crate) struct About<'a> {
    pub(crate) subject: &'a str,
    pub(crate) permits: u64,
    pub(crate) flight: u64,
    pub(crate) hash: u64,
    pub(crate) trigger: FlightTrigger,
    pub(crate) cause: Option<MissCause>,
    pub(crate) now: Moment,
    /// The key as the application lets it be seen; asked for only when there is something to tell.
    pub(crate) key: &'a dyn Fn() -> String,
}

/// What a flight came to.
pub(crate) struct Landed {
    pub(crate) started: Moment,
    pub(crate) deadline: Moment,
    pub(crate) most_waiting: u64,
    pub(crate) end: FlightEnd,
}

/// Detection for one cache.
pub(crate) struct Herds {
    next_look: AtomicU64,
    watch: Mutex<Watch>,
    book: Mutex<Book>,
    /// Herds in progress.
    flying: AtomicUsize,
    near: Near,
}

/// Herds in progress, and when the last herd of each key ended.
#[derive(Default)]
struct Book {
    flying: ByHash<Flying>,
    last: ByHash<Last>,
}

/// A herd in progress.
struct Flying {
    event: Event,
    since: Moment,
    peak: Crowd,
}

struct Last {
    ended: Moment,
    distance: u64,
    repeats: u64,
}

impl Herds {
    pub(crate) fn new(now: Moment) -> Self {
        Self {
            next_look: AtomicU64::new(0),
            watch: Mutex::new(Watch::new(now)),
            book: Mutex::new(Book::default()),
            flying: AtomicUsize::new(0),
            near: Near::default(),
        }
    }

    /// Takes a look if it is time for one.
    pub(crate) fn check(&self, now: Moment, sample: impl FnOnce(Depth) -> Sample) {
        let due = self.next_look.load(Relaxed);
        if now < due {
            return;
        }
        let next = now + nanos(LOOK_EVERY);
        if self.next_look.compare_exchange(due, next, Relaxed, Relaxed).is_err() {
            return;
        }
        let depth = self.watch.lock().depth(now);
        let sample = sample(depth);
        self.near.look(&sample.subject, now);
        self.watch.lock().look(&sample);
    }

    /// What has started and not ended, with its latest figures; `crowd` counts a key's callers now.
    pub(crate) fn active(&self, crowd: impl Fn(u64) -> Crowd) -> Vec<Event> {
        let flying: Vec<(u64, Event)> =
            self.book.lock().flying.iter().map(|(hash, herd)| (*hash, herd.event.clone())).collect();
        // Counted outside the book's lock: the table has locks of its own.
        let mut active: Vec<Event> = flying.into_iter().map(|(hash, event)| with_crowd(event, crowd(hash))).collect();
        active.extend(self.watch.lock().active());
        active.extend(self.near.active());
        active
    }

    /// A value past freshness was answered after a failed load.
    pub(crate) fn covered(&self, subject: &str, cover: Cover, now: Moment, key: impl FnOnce() -> String) {
        self.near.served(subject, cover, now, key);
    }

    /// A load of the key of this hash was stored.
    pub(crate) fn refreshed(&self, subject: &str, hash: u64, now: Moment) {
        self.near.refreshed(subject, hash, now);
    }

    /// A key draws a crowd: tells a herd once it is one.
    ///
    /// Looks at the crowd's doublings only, so that a herd of ten thousand costs a handful of looks.
    pub(crate) fn grown(&self, about: &About<'_>, crowd: Crowd) {
        let (size, threshold) = (crowd.waiters.max(crowd.loads), herd_waiters(about.permits));
        if crowd.loads > 1 {
            self.raise_loads(about.hash, crowd.loads);
        }
        if size < threshold || !(size == threshold || size.is_power_of_two()) {
            return;
        }
        let fact = Fact::HerdStarted {
            flight: about.flight,
            key: (about.key)(),
            cause: about.cause,
            trigger: about.trigger,
            waiters: crowd.waiters,
            loads: crowd.loads,
        };
        let mut book = self.book.lock();
        if let Some(herd) = book.flying.get_mut(&about.hash) {
            herd.event.fact = fact;
            herd.peak.waiters = herd.peak.waiters.max(crowd.waiters);
            herd.peak.loads = herd.peak.loads.max(crowd.loads);
            return;
        }
        if book.flying.len() >= REMEMBERED {
            return;
        }
        // Many loads of one key at once are what single-flight is there to prevent.
        let severity = if crowd.loads >= threshold { Severity::Critical } else { Severity::Info };
        let event = events::tell(about.subject, severity, about.now, fact);
        book.flying.insert(about.hash, Flying { event, since: about.now, peak: crowd });
        self.flying.store(book.flying.len(), Relaxed);
    }

    /// Loads of a key come one by one, each costly: their peak is kept exactly.
    fn raise_loads(&self, hash: u64, loads: u64) {
        if self.flying.load(Relaxed) > 0 {
            if let Some(herd) = self.book.lock().flying.get_mut(&hash) {
                herd.peak.loads = herd.peak.loads.max(loads);
            }
        }
    }

    /// Whether this key's herd is in progress; cheap while there is none at all.
    pub(crate) fn is_flying(&self, hash: u64) -> bool {
        self.flying.load(Relaxed) > 0 && self.book.lock().flying.contains_key(&hash)
    }

    /// A flight of the key has landed, `left` loads of it go on: the herd may be over. Always told, with its peak.
    pub(crate) fn landed(&self, about: &About<'_>, landed: &Landed, left: u64) {
        if left > herd_waiters(about.permits) / 2 {
            return;
        }
        let mut book = self.book.lock();
        let Some(herd) = book.flying.remove(&about.hash) else { return };
        self.flying.store(book.flying.len(), Relaxed);
        let (since_last_us, repeats) = book.end(about.hash, about.now);
        drop(book);
        let took_ns = about.now.saturating_sub(herd.since.min(landed.started));
        let peak = herd.peak.waiters.max(landed.most_waiting);
        let late = took_ns > landed.deadline.saturating_sub(landed.started) / 2;
        let severity = if late || herd.peak.loads > 1 { Severity::Warn } else { Severity::Info };
        let fact = Fact::HerdEnded(HerdEnd {
            flight: about.flight,
            key: (about.key)(),
            cause: about.cause,
            trigger: about.trigger,
            peak,
            loads: herd.peak.loads,
            avoided: peak.saturating_sub(herd.peak.loads),
            arrivals_per_s: peak.max(herd.peak.loads) as f64 * 1e9 / took_ns.max(1) as f64,
            duration_us: took_ns / 1_000,
            end: landed.end,
            since_last_us,
            repeats,
        });
        events::tell(about.subject, severity, about.now, fact);
    }
}

/// A herd's event with its callers as they are now.
fn with_crowd(mut event: Event, crowd: Crowd) -> Event {
    if let Fact::HerdStarted { waiters, loads, .. } = &mut event.fact {
        (*waiters, *loads) = (crowd.waiters, crowd.loads);
    }
    event
}

impl Book {
    /// Time since the last herd of this key in µs, and how often it has come at that distance.
    fn end(&mut self, hash: u64, now: Moment) -> (u64, u64) {
        if self.last.len() >= REMEMBERED && !self.last.contains_key(&hash) {
            let oldest = self.last.iter().min_by_key(|(_, last)| last.ended).map(|(hash, _)| *hash);
            oldest.and_then(|hash| self.last.remove(&hash));
        }
        let known = self.last.get(&hash).map(|last| (now.saturating_sub(last.ended), last.distance, last.repeats));
        let (distance, repeats) = match known {
            // About the same distance as before: within a fifth.
            Some((distance, before, repeats)) if before > 0 && distance.abs_diff(before) <= before / 5 => {
                (distance, repeats + 1)
            }
            Some((distance, ..)) => (distance, 1),
            None => (0, 0),
        };
        self.last.insert(hash, Last { ended: now, distance, repeats });
        (distance / 1_000, repeats)
    }
}

#[cfg(test)]
mod tests;
