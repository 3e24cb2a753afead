//! A second store behind the same seam: quick_cache. Compiled for tests only, so
//! that the seam never comes to fit one store alone.

use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

use quick_cache::sync::Cache;
use quick_cache::{Lifecycle, OptionsBuilder, UnitWeighter};

use super::{Leaving, Leavings, Store};
use crate::entry::Stored;
use crate::sync::RandomState;

/// Collects what one request pushes out, to be classed after the store's own lock.
#[derive(Clone)]
struct Collect;

impl<K, V: Send + Sync + 'static> Lifecycle<K, Stored<V>> for Collect {
    type RequestState = Vec<(K, Stored<V>)>;

    fn on_evict(&self, gone: &mut Self::RequestState, key: K, stored: Stored<V>) {
        gone.push((key, stored));
    }
}

/// quick_cache with our hasher and exact causes.
pub(crate) struct QuickStore<K: 'static, V: Send + Sync + 'static> {
    entries: Cache<K, Stored<V>, UnitWeighter, RandomState, Collect>,
    keys: RandomState,
    leavings: Arc<Leavings<K>>,
}

impl<K, V> Store<K, V> for QuickStore<K, V>
where
    K: Hash + Eq + Clone + Send + Sync + 'static,
    V: Send + Sync + 'static,
{
    const NAME: &'static str = "quick_cache";

    fn new(capacity: u64, hasher: RandomState, leavings: Arc<Leavings<K>>) -> Self {
        let items = usize::try_from(capacity).unwrap();
        // One shard: the capacity is exact, which is what a test of the seam wants.
        let options = OptionsBuilder::new().estimated_items_capacity(items).weight_capacity(capacity).shards(1).build();
        let entries = Cache::with_options(options.unwrap(), UnitWeighter, hasher.clone(), Collect);
        Self { entries, keys: hasher, leavings }
    }

    fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<Stored<V>>
    where
        K: Borrow<Q>,
    {
        self.entries.get(key)
    }

    fn put(&self, key: K, stored: Stored<V>) {
        let mut gone = Vec::new();
        self.entries.insert_with_lifecycle(key.clone(), stored, &mut gone);
        for (left, stored) in gone {
            // It tells replaced entries as evicted ones; the key tells them apart.
            let leaving = if left == key { Leaving::Overwritten } else { Leaving::Room };
            self.leavings.unlist(&stored);
            self.leavings.note(|| self.keys.hash_one(&left), &stored, leaving);
        }
    }

    fn remove<Q: Hash + Eq + ?Sized>(&self, key: &Q)
    where
        K: Borrow<Q>,
    {
        if let Some((key, stored)) = self.entries.remove(key) {
            self.leavings.unlist(&stored);
            self.leavings.note(|| self.keys.hash_one(&key), &stored, Leaving::Removed);
        }
    }

    fn len(&self) -> u64 {
        self.entries.len() as u64
    }

    fn settle(&self) {}

    fn each(&self, visit: &mut dyn FnMut(&K, &Stored<V>)) {
        for (key, stored) in self.entries.iter() {
            visit(&key, &stored);
        }
    }
}
