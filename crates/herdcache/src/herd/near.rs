//! Values that are answered close to their last bound because loads fail: time to act before they turn into errors.

use std::time::Duration;

use herdfeed::thresholds::STALE_NEAR;
use herdfeed::{Event, Fact, Severity};

use crate::clock::{Moment, nanos};
use crate::events;
use crate::sync::plain::Mutex;
use crate::sync::plain::atomic::{AtomicU64, Ordering::Relaxed};

/// Answers are looked at this far apart at least.
const EVERY: Duration = Duration::from_millis(100);
/// A key that nobody asks for any more is near its bound for nobody.
const FORGOTTEN: Duration = Duration::from_secs(10);

/// A value that was answered although its load failed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cover {
    pub(crate) hash: u64,
    pub(crate) born: Moment,
    /// Until when it may be answered at all.
    pub(crate) last: Moment,
}

/// The value that is nearest to its bound, if one is near.
#[derive(Default)]
pub(super) struct Near {
    next: AtomicU64,
    found: Mutex<Option<Found>>,
}

struct Found {
    hash: u64,
    since: Moment,
    seen: Moment,
    event: Event,
}

impl Near {
    /// Such a value was answered.
    pub(super) fn served(&self, subject: &str, cover: Cover, now: Moment, key: impl FnOnce() -> String) {
        let span = cover.last.saturating_sub(cover.born).max(1);
        let ratio = now.saturating_sub(cover.born) as f64 / span as f64;
        if ratio < STALE_NEAR || now < self.next.load(Relaxed) {
            return;
        }
        self.next.store(now.saturating_add(nanos(EVERY)), Relaxed);
        // The key is shown before the lock is taken: that is the application's code.
        let left_us = cover.last.saturating_sub(now) / 1_000;
        let fact = Fact::StaleBoundNear { key: key(), ratio: ratio.min(1.0), left_us };
        let mut found = self.found.lock();
        match &mut *found {
            Some(found) if found.hash == cover.hash => {
                found.seen = now;
                found.event.fact = fact;
            }
            // One at a time is enough to act on; the others are told when it is over.
            Some(_) => {}
            None => {
                let event = events::tell(subject, Severity::Warn, now, fact);
                *found = Some(Found { hash: cover.hash, since: now, seen: now, event });
            }
        }
    }

    /// A load of this key succeeded.
    pub(super) fn refreshed(&self, subject: &str, hash: u64, now: Moment) {
        self.end_if(subject, now, |found| found.hash == hash);
    }

    /// Forgets a key that nobody asks for any more.
    pub(super) fn look(&self, subject: &str, now: Moment) {
        self.end_if(subject, now, |found| now.saturating_sub(found.seen) >= nanos(FORGOTTEN));
    }

    pub(super) fn active(&self) -> Option<Event> {
        self.found.lock().as_ref().map(|found| found.event.clone())
    }

    fn end_if(&self, subject: &str, now: Moment, over: impl FnOnce(&Found) -> bool) {
        let ended = {
            let mut found = self.found.lock();
            if found.as_ref().is_some_and(over) { found.take() } else { None }
        };
        if let Some(found) = ended {
            let duration_us = now.saturating_sub(found.since) / 1_000;
            events::tell(subject, Severity::Info, now, Fact::StaleBoundNearEnded { duration_us });
        }
    }
}
