//! [`Past`]: what happened before a reader attached.
//!
//! One-second deltas of every cache, within a budget for the whole process: with
//! many caches each keeps fewer seconds.

use std::collections::{BTreeMap, VecDeque};

use crate::line::{self, Second};
use crate::snapshot::{CacheSnapshot, Snapshot};
use crate::tally::Tally;
use crate::words::{ClosedSet, Outcome};

/// The most seconds of one cache.
const SECONDS: usize = 300;
/// The most bytes over all caches.
const BUDGET: usize = 1024 * 1024;

/// One-second deltas of every cache.
#[derive(Debug, Default)]
pub(super) struct Past {
    caches: BTreeMap<String, History>,
}

#[derive(Debug)]
struct History {
    outcomes: Tally<Outcome>,
    origin_calls: u64,
    seconds: VecDeque<Second>,
}

impl History {
    fn since(cache: &CacheSnapshot) -> Self {
        Self { outcomes: cache.outcomes.clone(), origin_calls: cache.origin_calls, seconds: VecDeque::new() }
    }

    fn note(&mut self, cache: &CacheSnapshot, mono_us: u64) {
        self.seconds.push_back(Second {
            mono_us,
            outcomes: cache.outcomes.since(&self.outcomes),
            origin_calls: cache.origin_calls.saturating_sub(self.origin_calls),
            waiting: cache.waiting,
        });
        self.outcomes = cache.outcomes.clone();
        self.origin_calls = cache.origin_calls;
    }
}

impl Past {
    /// Adds the second that ended with this snapshot.
    ///
    /// A cache's first snapshot only sets its base; a cache that is gone is forgotten.
    pub(super) fn note(&mut self, snapshot: &Snapshot) {
        self.caches.retain(|name, _| snapshot.caches.iter().any(|cache| cache.name == *name));
        let keep = keep(snapshot.caches.len());
        for cache in &snapshot.caches {
            if let Some(history) = self.caches.get_mut(&cache.name) {
                history.note(cache, snapshot.mono_us);
                let over = history.seconds.len().saturating_sub(keep);
                history.seconds.drain(..over);
            } else if keep > 0 {
                self.caches.insert(cache.name.clone(), History::since(cache));
            }
        }
    }

    /// One line's content for each cache that has a past.
    pub(super) fn lines(&self) -> Vec<line::Past> {
        let lines = self.caches.iter().filter(|(_, history)| !history.seconds.is_empty());
        lines
            .map(|(name, history)| line::Past {
                cache: name.clone(),
                seconds: history.seconds.iter().cloned().collect(),
            })
            .collect()
    }
}

/// Seconds that each of `caches` may keep.
fn keep(caches: usize) -> usize {
    // The counters of a second live on the heap; a history weighs about two seconds itself.
    let second = size_of::<Second>() + Outcome::all().len() * size_of::<u64>();
    // A ring may hold room for twice of what is in it.
    let share = BUDGET / 2 / second / caches.max(1);
    share.saturating_sub(2).min(SECONDS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::{Line, MAX_LINE};

    fn snapshot(second: u64, caches: &[(&str, u64)]) -> Snapshot {
        let cache = |(name, hits): &(&str, u64)| {
            let mut outcomes = Tally::new();
            outcomes[Outcome::Hit] = *hits;
            CacheSnapshot {
                name: (*name).into(),
                outcomes,
                origin_calls: hits / 10,
                waiting: 3,
                ..CacheSnapshot::default()
            }
        };
        Snapshot { mono_us: second * 1_000_000, caches: caches.iter().map(cache).collect(), ..Snapshot::default() }
    }

    #[test]
    fn seconds_are_deltas_and_the_oldest_leave() {
        let mut past = Past::default();
        for second in 0..=310 {
            past.note(&snapshot(second, &[("users", 1_000 + second * 20)]));
        }
        let lines = past.lines();
        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0].seconds.len(), SECONDS);
        assert_eq!(lines[0].seconds[0].mono_us, 11_000_000);
        let newest = &lines[0].seconds[SECONDS - 1];
        assert_eq!((newest.mono_us, newest.outcomes[Outcome::Hit], newest.origin_calls), (310_000_000, 20, 2));
        assert_eq!(newest.waiting, 3);
    }

    #[test]
    fn a_cache_that_is_gone_is_forgotten() {
        let mut past = Past::default();
        past.note(&snapshot(0, &[("a", 0), ("b", 0)]));
        past.note(&snapshot(1, &[("a", 1), ("b", 1)]));
        past.note(&snapshot(2, &[("b", 2)]));
        let names: Vec<_> = past.lines().into_iter().map(|line| line.cache).collect();
        assert_eq!(names, ["b"]);
    }

    #[test]
    fn l7_the_past_keeps_to_its_budget_whatever_the_caches() {
        let second = size_of::<Second>() + Outcome::all().len() * size_of::<u64>();
        for caches in [1, 10, 100, 1_000, 100_000] {
            let held = if keep(caches) == 0 { 0 } else { caches * (keep(caches) + 2) * second * 2 };
            assert!(held <= BUDGET, "{caches} caches hold {held} bytes");
        }
        assert_eq!([keep(1), keep(100_000)], [SECONDS, 0]);
        assert!(keep(10) >= 200, "{}", keep(10));
    }

    #[test]
    fn the_largest_past_fits_a_line() {
        let mut second = Second { mono_us: u64::MAX, origin_calls: u64::MAX, waiting: u64::MAX, ..Second::default() };
        for outcome in Outcome::all() {
            second.outcomes[*outcome] = u64::MAX;
        }
        let past = line::Past { cache: "c".repeat(64), seconds: vec![second; SECONDS] };
        assert!(Line::Past(past).encode().unwrap().len() < MAX_LINE);
    }
}
