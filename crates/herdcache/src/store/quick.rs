//! The fast store: `quick_cache`'s sharded map, with the cause of every removal.
//!
//! It evicts within the write that needs the room, and tells what it pushed out to a
//! state of that very call. So everything that leaves passes through one of three
//! functions here, which class it when the shard's lock is free: no value, key or
//! account of ours is touched under it. What it does not tell (its `clear`) is not
//! called. The one code of the application that runs under a shard's lock is a key's
//! `Eq`, where two keys have one hash.

use std::borrow::Borrow;
#[cfg(feature = "lab")]
use std::cell::RefCell;
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

use quick_cache::sync::Cache;
use quick_cache::{Lifecycle, OptionsBuilder, UnitWeighter};

use super::row::{AsKnown, Probe, Row};
use super::{Leaving, Leavings, Plan, Store};
use crate::entry::Stored;
use crate::graveyard::Vigil;
use crate::kept::Kept;
use crate::sync::RandomState;
use crate::sync::plain::LazyLock;

/// The fewest entries of a shard where there are several.
///
/// Keys fall on shards by chance, give or take the root of how many each has: with 256 the fullest of a few is full when
/// the others are at nine tenths or so.
const LEAST: u64 = 256;
/// Shards for each processor, so that two that write seldom meet.
const PER_PROCESSOR: u64 = 4;

/// `quick_cache` with our hasher and exact causes.
pub(crate) struct QuickStore<K: 'static, V: Send + Sync + 'static> {
    entries: Cache<Row<K>, Stored<V>, UnitWeighter, AsKnown, Collect>,
    hasher: RandomState,
    leavings: Arc<Leavings<K>>,
}

/// Collects what one call pushes out, to be classed after the store's own lock.
#[derive(Clone)]
struct Collect;

/// What one call pushed out: nothing or one entry as a rule, which need no allocation.
struct Gone<K: 'static, V: Send + Sync + 'static> {
    first: Option<(Row<K>, Stored<V>, Leaving)>,
    more: Vec<(Row<K>, Stored<V>, Leaving)>,
    /// Whether what is told next makes room.
    room: bool,
}

impl<K, V: Send + Sync + 'static> Default for Gone<K, V> {
    fn default() -> Self {
        Self { first: None, more: Vec::new(), room: false }
    }
}

impl<K: 'static, V: Send + Sync + 'static> Lifecycle<Row<K>, Stored<V>> for Collect {
    type RequestState = Gone<K, V>;

    // Called for what makes room, just before it is told, and for nothing that is replaced.
    fn before_evict(&self, gone: &mut Gone<K, V>, _row: &Row<K>, _stored: &mut Stored<V>) {
        gone.room = true;
    }

    // Called for what is replaced too, whatever its documentation says. Not told apart by the hash: keys may have it in common.
    fn on_evict(&self, gone: &mut Gone<K, V>, row: Row<K>, stored: Stored<V>) {
        let leaving = if std::mem::take(&mut gone.room) { Leaving::Room } else { Leaving::Overwritten };
        match gone.first {
            None => gone.first = Some((row, stored, leaving)),
            Some(_) => gone.more.push((row, stored, leaving)),
        }
    }
}

/// Into how many shards `capacity` is split where there are so many processors: a power of two.
fn shards(capacity: u64, processors: u64) -> u64 {
    let most = (capacity / LEAST).max(1);
    let wanted = (processors * PER_PROCESSOR).next_power_of_two();
    // The largest power of two that is not above.
    wanted.min(1 << most.ilog2())
}

/// Asked once: the answer is slow to come by.
static PROCESSORS: LazyLock<u64> =
    LazyLock::new(|| std::thread::available_parallelism().map_or(1, |processors| processors.get() as u64));

impl<K, V> Store<K, V> for QuickStore<K, V>
where
    K: Hash + Eq + Clone + Send + Sync + 'static,
    V: Send + Sync + 'static,
{
    #[expect(clippy::expect_used, reason = "both that it wants are given in the same line")]
    fn new(plan: Plan, hasher: RandomState, leavings: Arc<Leavings<K>>) -> Self {
        // A run that is to be played again must not go by the machine's processors.
        let shards = if plan.steady { 1 } else { shards(plan.capacity, *PROCESSORS) };
        // It would round up, and hold more than was asked for.
        let whole = plan.capacity / shards * shards;
        let (count, items) = (usize::try_from(shards).unwrap_or(1), usize::try_from(whole).unwrap_or(usize::MAX));
        let options =
            OptionsBuilder::new().shards(count).estimated_items_capacity(items).weight_capacity(whole).build();
        let options = options.expect("its size is given");
        Self { entries: Cache::with_options(options, UnitWeighter, AsKnown, Collect), hasher, leavings }
    }

    #[inline]
    fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<Stored<V>>
    where
        K: Borrow<Q>,
    {
        // Nothing can die in a read: there is no need of a vigil.
        self.entries.get(&self.probe(key))
    }

    fn put(&self, key: K, stored: Stored<V>) {
        // Where the key's `Eq` panics, what was to be stored dies under the shard's lock.
        let _vigil = Vigil::open();
        let hash = self.hasher.hash_one(&key);
        let mut gone = Gone::default();
        self.entries.insert_with_lifecycle(Row { hash, key: Kept::new(key) }, stored, &mut gone);
        for (row, stored, leaving) in gone.first.into_iter().chain(gone.more) {
            self.left(&row, &stored, leaving);
        }
    }

    fn remove<Q: Hash + Eq + ?Sized>(&self, key: &Q)
    where
        K: Borrow<Q>,
    {
        let _vigil = Vigil::open();
        if let Some((row, stored)) = self.entries.remove(&self.probe(key)) {
            self.left(&row, &stored, Leaving::Removed);
        }
    }

    fn len(&self) -> u64 {
        self.entries.len() as u64
    }

    fn settle(&self) {}

    #[cfg(feature = "lab")]
    fn each(&self, visit: &mut dyn FnMut(&Stored<V>)) {
        let _vigil = Vigil::open();
        // Its iterator would clone keys under the shard's lock; this keeps all and clones handles of ours.
        let all = RefCell::new(Vec::new());
        self.entries.retain(|_, stored| {
            all.borrow_mut().push(stored.clone());
            true
        });
        all.into_inner().iter().for_each(visit);
    }

    fn forget_each(&self, visit: &mut dyn FnMut(Kept<K>)) {
        let _vigil = Vigil::open();
        // A walk that leaves the entries there would clone their keys under the shard's lock.
        for (row, stored) in self.entries.drain() {
            self.left(&row, &stored, Leaving::Removed);
            visit(row.key);
        }
    }
}

impl<K: 'static, V: Send + Sync + 'static> QuickStore<K, V> {
    #[inline]
    fn probe<'a, Q: Hash + ?Sized>(&self, key: &'a Q) -> Probe<'a, Q> {
        Probe { hash: self.hasher.hash_one(key), key }
    }

    fn left(&self, row: &Row<K>, stored: &Stored<V>, leaving: Leaving) {
        self.leavings.unlist(stored);
        self.leavings.note(|| row.hash, stored, leaving);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// L7: shards are as many as the processors can use and the room is worth.
    #[test]
    fn l7_a_small_store_is_in_one_piece() {
        let table = [(1, 64, 1), (511, 64, 1), (512, 64, 2), (10_000, 2, 8), (10_000, 64, 32), (1 << 32, 3, 16)];
        for (capacity, processors, expected) in table {
            assert_eq!(shards(capacity, processors), expected, "{capacity} entries, {processors} processors");
        }
    }
}
