//! [`Pulse`]: when the counters of a cache last moved.
//!
//! A condition outlives its cause by some seconds, so that it does not flicker. To say whether it is about now
//! takes more than the totals of two moments: it takes the time of the last movement, however long ago.

use std::collections::HashMap;

use herdfeed::{CacheSnapshot, Fact, OriginResult, Outcome, RemovalCause, Snapshot};

use crate::figures;

/// A counter that has moved stands still once it has not moved for this long.
const STILL_US: u64 = 1_500_000;
/// A counter that was never seen to move needs less: one look over a second proves that it does not.
const NEVER_MOVED_US: u64 = 1_000_000;

/// When one counter last moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beat {
    total: u64,
    watched_us: u64,
    moved_us: Option<u64>,
}

impl Beat {
    fn new(total: u64, at_us: u64) -> Self {
        Self { total, watched_us: at_us, moved_us: None }
    }

    fn take(&mut self, total: u64, at_us: u64) {
        if total != self.total {
            self.total = total;
            self.moved_us = Some(at_us);
        }
    }

    /// How long it has stood still, as far as it was watched.
    pub fn still_us(&self, at_us: u64) -> u64 {
        at_us.saturating_sub(self.moved_us.unwrap_or(self.watched_us))
    }

    /// How long ago it moved, if that was seen.
    pub fn moved_ago_us(&self, at_us: u64) -> Option<u64> {
        self.moved_us.map(|moved| at_us.saturating_sub(moved))
    }

    /// Whether it stands still for long enough that what it counts is over.
    pub fn is_still(&self, at_us: u64) -> bool {
        let enough = if self.moved_us.is_some() { STILL_US } else { NEVER_MOVED_US };
        self.still_us(at_us) >= enough
    }
}

/// The counters of one cache that judgements ask about.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pulse {
    /// Requests and loads that were refused.
    pub refusals: Beat,
    /// Requests that got an error.
    pub failures: Beat,
    /// Origin calls that failed.
    pub bad_calls: Beat,
    /// Origin calls that succeeded.
    pub good_calls: Beat,
    /// Failures since a call last succeeded, if the last one failed.
    pub streak: Option<Streak>,
    /// Entries removed to make room.
    pub evictions: Beat,
    /// Flights that started.
    pub starts: Beat,
    /// Origin calls that ended; an origin without a call has nothing to answer and counts as moving.
    pub answers: Beat,
    /// Answers with a value that is near its last bound.
    pub near: Beat,
}

/// Failed origin calls with no success among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Streak {
    /// When the first of them was seen.
    pub since_us: u64,
    /// How many were seen.
    pub failed: u64,
}

/// The pulses of one process: of its caches, and of its gates' being full.
#[derive(Clone, Debug, Default)]
pub struct Pulses {
    caches: HashMap<String, Pulse>,
    gates: HashMap<String, Beat>,
}

impl Pulses {
    /// Takes a snapshot in that came at `at_us` of our monotonic clock.
    pub fn take(&mut self, snapshot: &Snapshot, at_us: u64) {
        self.caches.retain(|name, _| snapshot.caches.iter().any(|cache| cache.name == *name));
        self.gates.retain(|name, _| snapshot.gates.iter().any(|gate| gate.name == *name));
        for cache in &snapshot.caches {
            match self.caches.get_mut(&cache.name) {
                Some(pulse) => pulse.take(cache, at_us),
                None => _ = self.caches.insert(cache.name.clone(), Pulse::new(cache, at_us)),
            }
        }
        for gate in &snapshot.gates {
            let is_full = gate.limit > 0 && gate.used() >= gate.limit && gate.pending > 0;
            let beat = self.gates.entry(gate.name.clone()).or_insert_with(|| Beat::new(0, at_us));
            beat.take(beat.total.wrapping_add(u64::from(is_full)), at_us);
        }
    }

    /// Of a cache.
    pub fn cache(&self, name: &str) -> Option<&Pulse> {
        self.caches.get(name)
    }

    /// When a gate was last full with loads waiting.
    pub fn full(&self, gate: &str) -> Option<&Beat> {
        self.gates.get(gate)
    }
}

impl Pulse {
    fn new(cache: &CacheSnapshot, at_us: u64) -> Self {
        let [refusals, failures, bad_calls, good_calls, evictions, starts, answers, near] =
            totals(cache).map(|total| Beat::new(total, at_us));
        let mut pulse =
            Self { refusals, failures, bad_calls, good_calls, streak: None, evictions, starts, answers, near };
        pulse.rest(cache, at_us);
        pulse
    }

    fn take(&mut self, cache: &CacheSnapshot, at_us: u64) {
        let (bad, good) = (self.bad_calls.total, self.good_calls.total);
        let beats = [
            &mut self.refusals,
            &mut self.failures,
            &mut self.bad_calls,
            &mut self.good_calls,
            &mut self.evictions,
            &mut self.starts,
            &mut self.answers,
            &mut self.near,
        ];
        for (beat, total) in beats.into_iter().zip(totals(cache)) {
            beat.take(total, at_us);
        }
        self.count_streak(bad, good, at_us);
        self.rest(cache, at_us);
    }

    /// Which came first within one step is not known: a success in it ends the streak.
    fn count_streak(&mut self, bad_before: u64, good_before: u64, at_us: u64) {
        let failed = self.bad_calls.total.saturating_sub(bad_before);
        if self.good_calls.total != good_before {
            self.streak = None;
        } else if failed > 0 {
            let streak = self.streak.get_or_insert(Streak { since_us: at_us, failed: 0 });
            streak.failed = streak.failed.saturating_add(failed);
        }
    }

    /// An origin without a call has nothing to answer.
    fn rest(&mut self, cache: &CacheSnapshot, at_us: u64) {
        if cache.origin_active == 0 {
            self.answers.moved_us = Some(at_us);
        }
    }
}

/// In the order of the fields.
fn totals(cache: &CacheSnapshot) -> [u64; 8] {
    let bad = [OriginResult::Error, OriginResult::Timeout, OriginResult::Panicked];
    let good = [OriginResult::Value, OriginResult::Absent, OriginResult::NotModified];
    let failed = [Outcome::Failed, Outcome::Cooling];
    [
        cache.rejections.total().saturating_add(cache.outcomes[Outcome::Rejected]),
        figures::sum(failed.map(|outcome| cache.outcomes[outcome])),
        figures::sum(bad.map(|result| cache.origin_results[result])),
        figures::sum(good.map(|result| cache.origin_results[result])),
        cache.removals[RemovalCause::Evicted],
        cache.flight_starts.total(),
        cache.origin_results.total(),
        near(cache),
    ]
}

/// Each such answer changes the figure of its condition, though no counter: what is left becomes less.
fn near(cache: &CacheSnapshot) -> u64 {
    let mut left = cache.conditions.iter().filter_map(|event| match &event.fact {
        Fact::StaleBoundNear { left_us, .. } => Some(*left_us),
        _ => None,
    });
    left.next().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(active: u64, ended: u64) -> Snapshot {
        let mut cache = CacheSnapshot { name: "c".into(), origin_active: active, ..CacheSnapshot::default() };
        cache.origin_results[OriginResult::Value] = ended;
        Snapshot { caches: vec![cache], ..Snapshot::default() }
    }

    #[test]
    fn a_counter_is_still_since_it_last_moved_or_since_it_is_watched() {
        let mut beat = Beat::new(7, 1_000_000);
        assert_eq!((beat.still_us(1_900_000), beat.is_still(1_900_000)), (900_000, false));
        assert_eq!((beat.moved_ago_us(2_000_000), beat.is_still(2_000_000)), (None, true));
        beat.take(8, 3_000_000);
        assert_eq!((beat.moved_ago_us(4_400_000), beat.is_still(4_400_000)), (Some(1_400_000), false));
        beat.take(8, 4_500_000);
        assert!(beat.is_still(4_500_000));
    }

    #[test]
    fn an_origin_is_silent_only_while_calls_run() {
        let mut pulses = Pulses::default();
        let still = |pulses: &Pulses, at| pulses.cache("c").unwrap().answers.still_us(at);
        pulses.take(&snapshot(0, 5), 1_000_000);
        pulses.take(&snapshot(0, 5), 9_000_000);
        assert_eq!(still(&pulses, 9_000_000), 0);
        pulses.take(&snapshot(3, 5), 9_250_000);
        pulses.take(&snapshot(3, 5), 11_000_000);
        assert_eq!(still(&pulses, 11_000_000), 2_000_000);
        pulses.take(&snapshot(3, 6), 11_250_000);
        assert_eq!(still(&pulses, 11_250_000), 0);
    }

    /// The first look at an idle origin is a look at one that has nothing to answer.
    #[test]
    fn an_origin_that_was_idle_at_the_first_look_begins_to_be_silent_with_its_first_call() {
        let mut pulses = Pulses::default();
        pulses.take(&snapshot(0, 5), 1_000_000);
        assert_eq!(pulses.cache("c").unwrap().answers.moved_ago_us(1_500_000), Some(500_000));
        pulses.take(&snapshot(1, 5), 2_000_000);
        assert_eq!(pulses.cache("c").unwrap().answers.moved_ago_us(2_000_000), Some(1_000_000));
        let mut busy = Pulses::default();
        busy.take(&snapshot(1, 5), 1_000_000);
        assert_eq!(busy.cache("c").unwrap().answers.moved_ago_us(2_000_000), None);
    }

    #[test]
    fn a_streak_of_failures_lasts_until_a_call_succeeds() {
        let mut pulses = Pulses::default();
        let mut now = snapshot(0, 5);
        let mut take = |bad: u64, good: u64, at_us| {
            now.caches[0].origin_results[OriginResult::Error] += bad;
            now.caches[0].origin_results[OriginResult::Value] += good;
            pulses.take(&now, at_us);
            pulses.cache("c").unwrap().streak
        };
        assert_eq!([take(0, 0, 1), take(2, 3, 2)], [None, None]);
        assert_eq!(take(1, 0, 3), Some(Streak { since_us: 3, failed: 1 }));
        assert_eq!(take(0, 0, 4), Some(Streak { since_us: 3, failed: 1 }));
        assert_eq!(take(2, 0, 5), Some(Streak { since_us: 3, failed: 3 }));
        assert_eq!(take(0, 1, 6), None);
    }

    #[test]
    fn caches_that_are_gone_are_forgotten() {
        let mut pulses = Pulses::default();
        pulses.take(&snapshot(0, 0), 1);
        pulses.take(&Snapshot::default(), 2);
        assert!(pulses.cache("c").is_none());
    }
}
