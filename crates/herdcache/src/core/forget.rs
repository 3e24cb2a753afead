//! Forgetting more than one key: by tag, or all of them. And marking stale what need not be forgotten.

use std::borrow::Borrow;
use std::hash::Hash;
use std::sync::Arc;

use super::Core;
use crate::clock;
use crate::entry::Stored;
use crate::graveyard::Vigil;
use crate::kept::Kept;
use crate::key::Key;
use crate::spread::Ticket;
use crate::store::Store;

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> Core<K, V, E, S> {
    /// W2: forgets every key whose value has this tag, and the loads that will turn out to have it.
    pub(crate) fn invalidate_tag(&self, tag: &str, ticket: Option<&Arc<Ticket>>) {
        for kept in self.leavings.tags.invalidate(tag) {
            if let Some(key) = kept.key() {
                self.invalidate(key, ticket);
            }
        }
    }

    /// W2: forgets everything, and every load in progress.
    pub(crate) fn clear(&self, ticket: Option<&Arc<Ticket>>) {
        let now = clock::exact();
        // What the shared tier holds of other keys is not believed here any more.
        if let Some(tiers) = &self.shared {
            tiers.distrust(now);
        }
        // Loads first: none of those that have begun can be stored from here on, so that what the walk finds is all.
        self.table.each_shard(|shard| shard.doom_all(now));
        // Key by key, each under its lock; keys are taken out first, since a walk through the store must not be
        // held up by locks.
        let mut keys = Vec::new();
        self.store.forget_each(&mut |key| keys.push(key));
        keys.iter().filter_map(Kept::key).for_each(|key| self.invalidate(key, ticket));
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
        // An absence is never answered stale: marking it would make the next reader wait.
        if let Some(stored @ Stored::Value(_)) = self.store.get(key) {
            stored.stamps().mark_stale(clock::coarse());
        }
        drop(shard);
    }
}
