//! The bounded ring of events: one for the process, a cursor for each reader.
//!
//! Writers never wait for readers. What the ring overwrites, and what the rate
//! limit leaves out, is counted.

use std::collections::VecDeque;
use std::sync::Arc;

use herdfeed::thresholds::EVENTS_PER_SECOND;
use herdfeed::{Event, Fact, Severity};

use crate::clock::{self, Moment};
use crate::sync::plain::Mutex;
use crate::sync::plain::atomic::{AtomicU64, Ordering::Relaxed};
use crate::trace;

/// The most events that are kept.
pub(crate) const RING: usize = 4_096;

/// The ring. Its methods are short and hold no user code.
pub(crate) struct Ring {
    inner: Mutex<Inner>,
    dropped: AtomicU64,
}

struct Inner {
    next: u64,
    events: VecDeque<Arc<Event>>,
    budget: Budget,
}

/// Events of each kind told within the current second.
#[derive(Default)]
struct Budget {
    second: u64,
    told: Vec<(std::mem::Discriminant<Fact>, u32)>,
}

impl Budget {
    /// Whether one event more of this kind may be told in this second.
    fn allows(&mut self, now: Moment, fact: &Fact) -> bool {
        let second = now / 1_000_000_000;
        if second != self.second {
            self.second = second;
            self.told.clear();
        }
        let kind = std::mem::discriminant(fact);
        let Some((_, told)) = self.told.iter_mut().find(|(known, _)| *known == kind) else {
            self.told.push((kind, 1));
            return true;
        };
        *told += 1;
        *told <= EVENTS_PER_SECOND
    }
}

static RING_OF_PROCESS: Ring = Ring {
    inner: Mutex::new(Inner { next: 1, events: VecDeque::new(), budget: Budget { second: 0, told: Vec::new() } }),
    dropped: AtomicU64::new(0),
};

/// The process's ring.
pub(crate) fn ring() -> &'static Ring {
    &RING_OF_PROCESS
}

/// Tells one fact. The event is given back also when the rate limit left it out of the ring.
pub(crate) fn tell(subject: &str, severity: Severity, now: Moment, fact: Fact) -> Event {
    let event = ring().push(Event {
        seq: 0,
        mono_us: now / 1_000,
        unix_us: clock::unix_us(),
        severity,
        subject: subject.to_owned(),
        fact,
    });
    trace::note(&event);
    event
}

impl Ring {
    fn push(&self, mut event: Event) -> Event {
        let mut inner = self.inner.lock();
        if !inner.budget.allows(event.mono_us * 1_000, &event.fact) {
            // Examples are a choice anyway: one example less is no loss.
            if !matches!(event.fact, Fact::FlightStarted { .. } | Fact::FlightLanded { .. }) {
                self.dropped.fetch_add(1, Relaxed);
            }
            return event;
        }
        event.seq = inner.next;
        inner.next += 1;
        inner.events.push_back(Arc::new(event.clone()));
        let overwritten = if inner.events.len() > RING { inner.events.pop_front() } else { None };
        drop(inner);
        if overwritten.is_some() {
            self.dropped.fetch_add(1, Relaxed);
        }
        event
    }

    /// Events from `since` on, at most `most`; with the sequence number to ask for next.
    pub(crate) fn read(&self, since: u64, most: usize) -> (Vec<Arc<Event>>, u64) {
        let inner = self.inner.lock();
        let first = inner.events.front().map_or(inner.next, |event| event.seq);
        let skip = usize::try_from(since.saturating_sub(first)).unwrap_or(usize::MAX);
        let events: Vec<_> = inner.events.iter().skip(skip).take(most).cloned().collect();
        let next = events.last().map_or(inner.next, |event| event.seq + 1);
        (events, next)
    }

    /// The sequence number that the next event will get.
    pub(crate) fn next(&self) -> u64 {
        self.inner.lock().next
    }

    /// Events that were overwritten or left out.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Relaxed)
    }
}

/// A reader of one cache's events, from the moment it was made. See [`Cache::events`](crate::Cache::events).
///
/// ```
/// use std::time::Duration;
/// use herdcache::herdfeed::Fact;
/// use herdcache::{Cache, Events, Gate, Ttl, Tuning};
///
/// let ttl = Ttl::fresh_for(Duration::from_secs(60)).stale_for(Duration::from_secs(60));
/// let users = Cache::<u64, u64>::builder("users", ttl, &Gate::new(8)).build()?;
/// let mut events: Events = users.events();
/// users.tune(Tuning::new().stale_for(Duration::from_secs(10)))?;
///
/// // Now and then, in a task of the service's own: into its log.
/// let mut log = Vec::new();
/// for event in events.take() {
///     if let Fact::Tuned { what } = &event.fact {
///         log.push(format!("{:?} {}: {what}", event.severity, event.subject));
///     }
/// }
/// assert!(log.iter().any(|line| line.starts_with("Info users: stale_for")));
/// assert_eq!((events.take().len(), events.missed()), (0, 0)); // each event once; none was lost
/// # Ok::<(), herdcache::ConfigError>(())
/// ```
#[derive(Debug)]
pub struct Events {
    subject: String,
    next: u64,
    missed: u64,
}

impl Events {
    pub(crate) fn new(subject: String) -> Self {
        Self { subject, next: ring().next(), missed: 0 }
    }

    /// Events since the last call, oldest first; never waits.
    ///
    /// The ring holds 4,096 events of all caches and gates; what was overwritten
    /// before it was read is counted in [`Events::missed`].
    pub fn take(&mut self) -> Vec<Arc<Event>> {
        let (events, next) = ring().read(self.next, RING);
        if let Some(first) = events.first() {
            self.missed += first.seq.saturating_sub(self.next);
        }
        self.next = next;
        events.into_iter().filter(|event| event.subject == self.subject).collect()
    }

    /// Events of the whole process that were overwritten before this reader came for them.
    pub fn missed(&self) -> u64 {
        self.missed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn private() -> Ring {
        Ring {
            inner: Mutex::new(Inner { next: 1, events: VecDeque::new(), budget: Budget::default() }),
            dropped: AtomicU64::new(0),
        }
    }

    fn event(at_ms: u64) -> Event {
        Event {
            seq: 0,
            mono_us: at_ms * 1_000,
            unix_us: 0,
            severity: Severity::Info,
            subject: "c".into(),
            fact: Fact::Tuned { what: "x".into() },
        }
    }

    /// L7: the ring is bounded and every loss is counted.
    #[test]
    fn l7_the_ring_is_bounded_and_counts_its_losses() {
        let ring = private();
        // Spread over time, so that the rate limit lets all pass.
        (0..RING as u64 + 10).for_each(|i| _ = ring.push(event(i * 100)));
        let (events, next) = ring.read(0, RING * 2);
        assert_eq!((events.len(), events[0].seq, next), (RING, 11, RING as u64 + 11));
        assert_eq!(ring.dropped(), 10);
        let (later, next) = ring.read(next, 10);
        assert_eq!((later.len(), next), (0, RING as u64 + 11));
    }

    /// At most 20 events of a kind within a second.
    #[test]
    fn events_of_a_kind_are_rate_limited() {
        let ring = private();
        (0..50).for_each(|_| _ = ring.push(event(1)));
        ring.push(event(1_001));
        assert_eq!(ring.read(0, 100).0.len(), 21);
        assert_eq!(ring.dropped(), 30);
    }
}
