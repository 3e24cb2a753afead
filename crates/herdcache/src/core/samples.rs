//! Single flights told as events: a few each second, so that a recording has examples of its calm times too.
//!
//! A flight that is told at its start is told at its landing. Failures are told
//! beside them, since they are what one looks for.

use herdfeed::{Fact, FlightEnd, Severity};

use super::Core;
use crate::clock::Moment;
use crate::events;
use crate::flight::Flight;
use crate::key::Key;
use crate::store::Store;
use crate::sync::plain::atomic::{AtomicU64, Ordering::Relaxed};

/// Flights of one cache that are told within a second, and as many failures.
const PER_SECOND: u64 = 5;

/// The flights that are told.
#[derive(Debug, Default)]
pub(super) struct Samples {
    starts: Quota,
    failures: Quota,
}

/// How many of a kind were told in this second.
#[derive(Debug, Default)]
struct Quota {
    /// The second, times 256, plus how many were told in it.
    told: AtomicU64,
}

impl Quota {
    /// Whether one more may be told now.
    fn take(&self, now: Moment) -> bool {
        let second = (now / 1_000_000_000) << 8;
        let old = self.told.load(Relaxed);
        let told = if old & !0xff == second { old & 0xff } else { 0 };
        // Losing a race costs one example.
        told < PER_SECOND && self.told.compare_exchange(old, second + told + 1, Relaxed, Relaxed).is_ok()
    }
}

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> Core<K, V, E, S> {
    /// A flight was opened: perhaps it is an example, or traced.
    pub(super) fn sample_start(&self, flight: &Flight<K, V, E>, now: Moment) {
        self.light(flight);
        if !self.samples.starts.take(now) {
            return;
        }
        flight.set_told();
        let key = self.names.show(&flight.key);
        let fact = Fact::FlightStarted { flight: flight.id, key, trigger: flight.trigger, cause: flight.cause };
        events::tell(&self.name, Severity::Info, now, fact);
    }

    /// A flight has ended: told if its start was, or if it failed.
    pub(super) fn sample_end(&self, flight: &Flight<K, V, E>, end: FlightEnd, waiters: u64, now: Moment) {
        let told = flight.was_told() || (is_failure(end) && self.samples.failures.take(now));
        if !told {
            return;
        }
        let duration_us = now.saturating_sub(flight.started) / 1_000;
        let fact =
            Fact::FlightLanded { flight: flight.id, key: self.names.show(&flight.key), end, waiters, duration_us };
        events::tell(&self.name, Severity::Info, now, fact);
    }
}

fn is_failure(end: FlightEnd) -> bool {
    match end {
        FlightEnd::Failed | FlightEnd::Deadline | FlightEnd::Panicked | FlightEnd::Rejected => true,
        FlightEnd::Loaded
        | FlightEnd::NotModified
        | FlightEnd::Absent
        | FlightEnd::SharedHit
        | FlightEnd::Followed
        | FlightEnd::Discarded
        | FlightEnd::Abandoned
        | FlightEnd::Closed => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// L7: at most five in a second, whatever the number of flights.
    #[test]
    fn l7_a_few_flights_a_second_are_told() {
        let quota = Quota::default();
        let told = |from: u64| (0..1_000).filter(|i| quota.take(from + i * 1_000_000)).count();
        assert_eq!([told(0), told(1_000_000_000), told(7_000_000_000)], [5, 5, 5]);
    }
}
