//! The default store: moka's synchronous cache, used as a bounded map only.
//!
//! moka hashes and compares keys in its maintenance too, which runs in anybody's
//! read or look; what its keys are (`row.rs`) keeps the application's code out of
//! that. Only where a key was written anew are the two compared.

use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

use moka::notification::RemovalCause as Notice;
use moka::policy::EvictionPolicy;
use moka::sync::Cache;

use super::choice::LocalStore;
use super::row::{AsKnown, Probe, Row};
use super::{Leaving, Leavings, Plan, Store};
use crate::contained::contained;
use crate::entry::Stored;
use crate::graveyard::Vigil;
use crate::kept::Kept;
use crate::sync::RandomState;

/// moka with our hasher, no TTL of its own, and a listener that only classes what leaves.
pub(crate) struct MokaStore<K: 'static, V: Send + Sync + 'static> {
    entries: Cache<Row<K>, Stored<V>, AsKnown>,
    hasher: RandomState,
}

impl<K, V> Store<K, V> for MokaStore<K, V>
where
    K: Hash + Eq + Clone + Send + Sync + 'static,
    V: Send + Sync + 'static,
{
    fn new(plan: Plan, hasher: RandomState, leavings: Arc<Leavings<K>>) -> Self {
        let listener = move |row: Arc<Row<K>>, stored: Stored<V>, notice: Notice| {
            let leaving = match notice {
                Notice::Explicit => Leaving::Removed,
                Notice::Replaced => Leaving::Overwritten,
                Notice::Size | Notice::Expired => Leaving::Room,
            };
            leavings.unlist(&stored);
            leavings.note(|| row.hash, &stored, leaving);
        };
        let policy = match plan.store {
            #[cfg(feature = "lab")]
            LocalStore::MokaLru => EvictionPolicy::lru(),
            LocalStore::Moka => EvictionPolicy::tiny_lfu(),
            #[cfg(feature = "quick-cache")]
            LocalStore::Quick => EvictionPolicy::tiny_lfu(),
            #[cfg(any(herd_loom, herd_shuttle))]
            LocalStore::Map => EvictionPolicy::tiny_lfu(),
        };
        let builder = Cache::builder().max_capacity(plan.capacity).eviction_policy(policy).eviction_listener(listener);
        Self { entries: builder.build_with_hasher(AsKnown), hasher }
    }

    #[inline]
    fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<Stored<V>>
    where
        K: Borrow<Q>,
    {
        // A read may run maintenance, which drops what was evicted.
        let _vigil = Vigil::open();
        self.entries.get(&self.probe(key))
    }

    fn put(&self, key: K, stored: Stored<V>) {
        let _vigil = Vigil::open();
        let hash = self.hasher.hash_one(&key);
        self.entries.insert(Row { hash, key: Kept::new(key) }, stored);
    }

    fn remove<Q: Hash + Eq + ?Sized>(&self, key: &Q)
    where
        K: Borrow<Q>,
    {
        let _vigil = Vigil::open();
        self.entries.invalidate(&self.probe(key));
    }

    fn len(&self) -> u64 {
        self.entries.entry_count()
    }

    fn settle(&self) {
        let _vigil = Vigil::open();
        // It compares a key with its successor, which is the application's code. Whoever looks at a process looks at all
        // caches, and one key must not spoil that; what is left undone is the next maintenance's.
        let _ = contained(|| self.entries.run_pending_tasks());
    }

    #[cfg(feature = "lab")]
    fn each(&self, visit: &mut dyn FnMut(&Stored<V>)) {
        let _vigil = Vigil::open();
        self.entries.iter().for_each(|(_row, stored)| visit(&stored));
    }

    fn forget_each(&self, visit: &mut dyn FnMut(Kept<K>)) {
        // What others remove meanwhile may die here.
        let _vigil = Vigil::open();
        for (row, _stored) in &self.entries {
            if let Some(key) = row.key.key() {
                visit(Kept::new(key.clone()));
            }
        }
    }
}

impl<K, V> MokaStore<K, V>
where
    K: 'static,
    V: Send + Sync + 'static,
{
    #[inline]
    fn probe<'a, Q: Hash + ?Sized>(&self, key: &'a Q) -> Probe<'a, Q> {
        Probe { hash: self.hasher.hash_one(key), key }
    }
}
