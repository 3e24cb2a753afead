//! Cooling: keys whose last load failed, and until when no load of them starts.
//!
//! Bounded: when there is no room, the key whose window ends first is forgotten,
//! which costs one load more, never an answer. Lives under the key's shard lock,
//! so that what it lets go of (errors of the application) is dropped after it.

use std::borrow::Borrow;
use std::time::Duration;

use hashbrown::HashTable;

use crate::clock::Moment;
use crate::error::Failure;
use crate::freshness::cooling_window;
use crate::graveyard;

/// The cooling keys of one shard.
pub(crate) struct Cooling<K, E> {
    rows: HashTable<Cold<K, E>>,
    places: usize,
}

struct Cold<K, E> {
    key: K,
    hash: u64,
    failures: u32,
    until: Moment,
    last: Failure<E>,
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
    pub(crate) fn new(places: usize) -> Self {
        Self { rows: HashTable::new(), places: places.max(1) }
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
    pub(crate) fn failed(&mut self, key: K, hash: u64, last: Failure<E>, now: Moment, windows: Windows) -> Moment
    where
        K: Eq,
    {
        let unit = fastrand::f64();
        let until = |failures| now.saturating_add(cooling_window(windows.base, windows.cap, failures, unit));
        if let Some(cold) = self.rows.find_mut(hash, |cold| cold.hash == hash && cold.key == key) {
            cold.failures = cold.failures.saturating_add(1);
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

    /// L7: forgets the key whose window ends first when every place is taken.
    fn make_room(&mut self) {
        if self.rows.len() < self.places {
            return;
        }
        let first = self.rows.iter().min_by_key(|cold| cold.until).map(|cold| (cold.hash, cold.until));
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
        let mut cooling = Cooling::<u64, ()>::new(4);
        let lengths: Vec<u64> = (0..5).map(|_| cooling.failed(1, 1, failure(), 0, WINDOWS) / 1_000_000).collect();
        for (length, base) in lengths.iter().zip([100, 200, 400, 800, 1_000]) {
            assert!((base..=base * 3 / 2).contains(length), "{lengths:?}");
        }
        assert!(cooling.check(1, &1, 0).is_some());
        cooling.end(1, &1);
        assert!(cooling.check(1, &1, 0).is_none());
    }

    /// L7: the number of cooling keys is bounded; the one that ends first goes.
    #[test]
    fn l7_cooling_keys_are_bounded() {
        let mut cooling = Cooling::<u64, ()>::new(4);
        (0..10).for_each(|key| _ = cooling.failed(key, key, failure(), key * 1_000_000_000, WINDOWS));
        assert_eq!(cooling.rows.len(), 4);
        assert!(cooling.check(9, &9, 9_000_000_000).is_some());
        assert!(cooling.check(0, &0, 0).is_none());
    }
}
