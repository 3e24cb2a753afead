//! Cooling: keys whose last load failed, and until when no load of them starts.
//!
//! Bounded: when there is no room, a key whose window ends soon is forgotten, which
//! costs one load more, never an answer. What has not failed for long is forgotten
//! too. Lives under the key's shard lock, so that what it lets go of (errors of the
//! application) is dropped after it.

use std::borrow::Borrow;
use std::time::Duration;

use hashbrown::HashTable;

use crate::clock::{Moment, nanos};
use crate::error::Failure;
use crate::freshness::cooling_window;
use crate::graveyard;

/// How many rows are looked at for the one to give up: a full table must not be read at every failure.
const LOOKED_AT: usize = 64;

/// The cooling keys of one shard.
pub(crate) struct Cooling<K, E> {
    rows: HashTable<Cold<K, E>>,
    places: usize,
    windows: Windows,
    /// The number of rows at which the next sweep is due: twice what the last one left.
    sweep_at: usize,
}

struct Cold<K, E> {
    key: K,
    hash: u64,
    failures: u32,
    until: Moment,
    last: Failure<E>,
}

impl<K, E> Cold<K, E> {
    /// Whether its last failure no longer counts.
    fn is_past(&self, now: Moment, windows: Windows) -> bool {
        self.until.saturating_add(nanos(windows.cap)) <= now
    }
}

/// A key that must not be loaded yet.
pub(crate) struct StillCooling<E> {
    pub(crate) last: Failure<E>,
    pub(crate) until: Moment,
}

/// How long keys cool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Windows {
    pub(crate) base: Duration,
    pub(crate) cap: Duration,
}

impl<K: 'static, E: 'static> Cooling<K, E> {
    pub(crate) fn new(places: usize, windows: Windows) -> Self {
        Self { rows: HashTable::new(), places: places.max(1), windows, sweep_at: LOOKED_AT }
    }

    /// E1: whether the key cools now.
    pub(crate) fn check<Q: Eq + ?Sized>(&self, hash: u64, key: &Q, now: Moment) -> Option<StillCooling<E>>
    where
        K: Borrow<Q>,
    {
        let cold = self.rows.find(hash, |cold| cold.hash == hash && cold.key.borrow() == key)?;
        (now < cold.until).then(|| StillCooling { last: cold.last.clone(), until: cold.until })
    }

    /// E1: one load more has failed. Gives until when the key cools.
    ///
    /// Failures count as being in a row until the key has been left alone for as long as it may cool at most.
    pub(crate) fn failed(&mut self, key: K, hash: u64, last: Failure<E>, now: Moment) -> Moment
    where
        K: Eq,
    {
        let (windows, unit) = (self.windows, fastrand::f64());
        let until = |failures| now.saturating_add(cooling_window(windows.base, windows.cap, failures, unit));
        if self.rows.len() >= self.sweep_at {
            self.sweep(now);
        }
        if let Some(cold) = self.rows.find_mut(hash, |cold| cold.hash == hash && cold.key == key) {
            cold.failures = if cold.is_past(now, windows) { 1 } else { cold.failures.saturating_add(1) };
            cold.until = until(cold.failures);
            graveyard::keep((std::mem::replace(&mut cold.last, last), key));
            return cold.until;
        }
        self.make_room();
        let cold = Cold { key, hash, failures: 1, until: until(1), last };
        let until = cold.until;
        self.rows.insert_unique(hash, cold, |cold| cold.hash);
        until
    }

    /// E1: a success, an insert or an invalidation ends it.
    pub(crate) fn end<Q: Eq + ?Sized>(&mut self, hash: u64, key: &Q)
    where
        K: Borrow<Q>,
    {
        if let Ok(found) = self.rows.find_entry(hash, |cold| cold.hash == hash && cold.key.borrow() == key) {
            graveyard::keep(found.remove().0);
        }
    }

    /// E1: every key may be loaded again.
    pub(crate) fn clear(&mut self) {
        self.rows.drain().for_each(graveyard::keep);
    }

    /// L7: forgets keys that have not failed for long, with the errors that they hold on to.
    pub(crate) fn sweep(&mut self, now: Moment) {
        let windows = self.windows;
        self.rows.extract_if(|cold| cold.is_past(now, windows)).for_each(graveyard::keep);
        self.sweep_at = (self.rows.len() * 2).max(LOOKED_AT);
    }

    /// L7: forgets a key whose window ends soon when every place is taken.
    fn make_room(&mut self) {
        if self.rows.len() < self.places {
            return;
        }
        let some = self.rows.iter().take(LOOKED_AT);
        let first = some.min_by_key(|cold| cold.until).map(|cold| (cold.hash, cold.until));
        if let Some((hash, until)) = first {
            if let Ok(found) = self.rows.find_entry(hash, |cold| cold.hash == hash && cold.until == until) {
                graveyard::keep(found.remove().0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOWS: Windows = Windows { base: Duration::from_millis(100), cap: Duration::from_secs(1) };

    fn failure() -> Failure<()> {
        Failure::Contract { what: "test" }
    }

    /// E1: the window doubles with each failure in a row and ends with a success.
    #[test]
    fn e1_windows_double_until_a_success() {
        let mut cooling = Cooling::<u64, ()>::new(4, WINDOWS);
        let lengths: Vec<u64> = (0..5).map(|_| cooling.failed(1, 1, failure(), 0) / 1_000_000).collect();
        let bounds = [100..=150, 200..=300, 400..=600, 666..=1_000, 666..=1_000];
        assert!(bounds.iter().zip(&lengths).all(|(bound, length)| bound.contains(length)), "{lengths:?}");
        assert!(cooling.check(1, &1, 0).is_some());
        cooling.end(1, &1);
        assert!(cooling.check(1, &1, 0).is_none());
    }

    /// L7: the number of cooling keys is bounded; the one that ends first goes.
    #[test]
    fn l7_cooling_keys_are_bounded() {
        let mut cooling = Cooling::<u64, ()>::new(4, WINDOWS);
        (0..10).for_each(|key| _ = cooling.failed(key, key, failure(), key * 60_000_000));
        assert_eq!(cooling.rows.len(), 4);
        assert!(cooling.check(9, &9, 540_000_000).is_some());
        assert!(cooling.check(0, &0, 0).is_none());
    }

    /// E1: a key that was left alone for as long as it may cool at most starts over.
    #[test]
    fn e1_failures_in_a_row_are_forgotten_in_time() {
        let mut cooling = Cooling::<u64, ()>::new(4, WINDOWS);
        (0..5).for_each(|_| _ = cooling.failed(1, 1, failure(), 0));
        let until = cooling.failed(1, 1, failure(), 0);
        let length = |from: u64, until: u64| (until - from) / 1_000_000;
        assert!((666..=1_000).contains(&length(0, until)), "{until}");
        let soon = until + nanos(WINDOWS.cap) - 1;
        let later = cooling.failed(1, 1, failure(), soon);
        assert!((666..=1_000).contains(&length(soon, later)), "{later}");
        let late = later + nanos(WINDOWS.cap);
        assert!((100..=150).contains(&length(late, cooling.failed(1, 1, failure(), late))));
    }

    /// L7: what has not failed for long holds no memory, nor the application's error.
    #[test]
    fn l7_old_failures_are_swept_out() {
        let mut cooling = Cooling::<u64, ()>::new(100, WINDOWS);
        (0..10).for_each(|key| _ = cooling.failed(key, key, failure(), 0));
        cooling.sweep(1_000_000_000);
        assert_eq!(cooling.rows.len(), 10);
        cooling.sweep(1_200_000_000);
        assert_eq!(cooling.rows.len(), 0);
        // Failures themselves sweep whenever the rows have doubled.
        (0..1_000).for_each(|key| _ = cooling.failed(key, key, failure(), key * 1_000_000_000));
        assert!(cooling.rows.len() <= LOOKED_AT, "{}", cooling.rows.len());
    }
}
