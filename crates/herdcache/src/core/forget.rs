//! Forgetting more than one key: by tag, or all of them. And marking stale what need not be forgotten.

use std::borrow::Borrow;
use std::hash::Hash;

use super::Core;
use crate::clock;
use crate::graveyard::Vigil;
use crate::kept::Kept;
use crate::key::Key;
use crate::store::Store;

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> Core<K, V, E, S> {
    /// W2: forgets every key whose value has this tag, and the loads that will turn out to have it.
    pub(crate) fn invalidate_tag(&self, tag: &str) {
        for kept in self.leavings.tags.invalidate(tag) {
            if let Some(key) = kept.key() {
                self.invalidate(key);
            }
        }
    }

    /// W2: forgets everything, and every load in progress.
    pub(crate) fn clear(&self) {
        let now = clock::exact();
        // Key by key, each under its lock together with its loads; keys are copied out first, since a
        // walk through the store must not be held up by locks.
        let mut keys = Vec::new();
        self.store.each(&mut |key, _| keys.push(Kept::new(key.clone())));
        keys.iter().filter_map(Kept::key).for_each(|key| self.invalidate(key));
        // What is being loaded for the first time is not in the store.
        self.table.each_shard(|shard| shard.doom_all(now));
    }

    /// W2: the key's value is stale from now on, and so is what loads that have begun will bring.
    pub(crate) fn mark_stale<Q>(&self, key: &Q)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let hash = self.hash(key);
        let _vigil = Vigil::open();
        let shard = self.table.lock(hash);
        shard.outpace(hash, key);
        if let Some(stored) = self.store.get(key) {
            stored.stamps().mark_stale(clock::coarse());
        }
        drop(shard);
    }
}
