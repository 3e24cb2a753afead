//! The default store: moka's synchronous cache, used as a bounded map only.

use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;

use moka::Equivalent;
use moka::notification::RemovalCause as Notice;
use moka::sync::Cache;

use super::{Leaving, Leavings, Store};
use crate::contained::contained;
use crate::entry::Stored;
use crate::graveyard::Vigil;
use crate::kept::Kept;
use crate::sync::RandomState;

/// moka with our hasher, no TTL of its own, and a listener that only classes what leaves.
pub(crate) struct MokaStore<K: 'static, V: Send + Sync + 'static>(Cache<Kept<K>, Stored<V>, RandomState>);

impl<K, V> Store<K, V> for MokaStore<K, V>
where
    K: Hash + Eq + Clone + Send + Sync + 'static,
    V: Send + Sync + 'static,
{
    const NAME: &'static str = "moka";

    fn new(capacity: u64, hasher: RandomState, leavings: Arc<Leavings<K>>) -> Self {
        let keys = hasher.clone();
        let listener = move |key: Arc<Kept<K>>, stored: Stored<V>, notice: Notice| {
            let leaving = match notice {
                Notice::Explicit => Leaving::Removed,
                Notice::Replaced => Leaving::Overwritten,
                Notice::Size | Notice::Expired => Leaving::Room,
            };
            // A key's own `Hash` may panic; moka would then never call this listener again.
            leavings.unlist(&stored);
            let _ = contained(|| leavings.note(|| keys.hash_one(&*key), &stored, leaving));
        };
        Self(Cache::builder().max_capacity(capacity).eviction_listener(listener).build_with_hasher(hasher))
    }

    #[inline]
    fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<Stored<V>>
    where
        K: Borrow<Q>,
    {
        // A read may run maintenance, which drops what was evicted.
        let _vigil = Vigil::open();
        self.0.get(&Probe(key))
    }

    fn put(&self, key: K, stored: Stored<V>) {
        let _vigil = Vigil::open();
        self.0.insert(Kept::new(key), stored);
    }

    fn remove<Q: Hash + Eq + ?Sized>(&self, key: &Q)
    where
        K: Borrow<Q>,
    {
        let _vigil = Vigil::open();
        self.0.invalidate(&Probe(key));
    }

    fn len(&self) -> u64 {
        self.0.entry_count()
    }

    fn settle(&self) {
        let _vigil = Vigil::open();
        self.0.run_pending_tasks();
    }

    fn each(&self, visit: &mut dyn FnMut(&K, &Stored<V>)) {
        // What others remove meanwhile may die here.
        let _vigil = Vigil::open();
        for (key, stored) in &self.0 {
            if let Some(key) = key.key() {
                visit(key, &stored);
            }
        }
    }
}

/// What a lookup brings: any borrowed form of the key.
struct Probe<'a, Q: ?Sized>(&'a Q);

impl<Q: Hash + ?Sized> Hash for Probe<'_, Q> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl<K: Borrow<Q>, Q: Eq + ?Sized> Equivalent<Kept<K>> for Probe<'_, Q> {
    fn equivalent(&self, kept: &Kept<K>) -> bool {
        kept.key().is_some_and(|key| key.borrow() == self.0)
    }
}
