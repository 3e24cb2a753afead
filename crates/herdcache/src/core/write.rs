//! Writing: what a load brought, what the application inserts, what it invalidates.
//!
//! L5 is held here. Each of the three takes the key's shard lock, so that a load
//! that began before a change of its key can never be stored after it.

use std::borrow::Borrow;
use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use herdfeed::{DiscardReason, Measure};

use super::Core;
use crate::clock::{self, Moment, nanos};
use crate::entry::{Entry, Stamps, Stored, Word};
use crate::flight::{Doom, Flight};
use crate::freshness::Bounds;
use crate::graveyard::Vigil;
use crate::key::Key;
use crate::loaded::{Keep, Loaded};
use crate::measures::Policy;
use crate::store::Store;

/// What became of a load's value.
pub(super) enum Written {
    Stored,
    Discarded(DiscardReason),
}

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> Core<K, V, E, S> {
    /// The store's form of a loaded value that arrived at `born`.
    pub(super) fn stored(&self, loaded: &Loaded<V>, policy: Policy, born: Moment, load_ns: u64) -> Stored<V> {
        let ttl = loaded.ttl(&self.settings.ttl, self.settings.negative_ttl);
        let jitter = if policy.has(Measure::Jitter) { self.settings.jitter } else { 0.0 };
        let bounds = Bounds::new(born, &ttl, jitter, fastrand::f64());
        let word = match (&loaded.value, loaded.stale_for) {
            (Some(_), None) => Word::Cache,
            (Some(_), Some(_)) => Word::Loader,
            (None, _) => Word::Fixed,
        };
        let stamps = Stamps::new(born, load_ns, bounds, word);
        // R1: what arrives stale, or nearly so, is not refreshed at every read.
        if ttl.fresh_for < Duration::from_millis(1) {
            stamps.cool_until(born.saturating_add(nanos(self.settings.cooling_base)));
        }
        match &loaded.value {
            Some(value) => Stored::Value(Arc::new(Entry { value: Arc::clone(value), stamps })),
            None => Stored::Absent(Arc::new(stamps)),
        }
    }

    /// W1: stores what a flight brought, if it may still be stored, and ends the key's cooling.
    pub(super) fn write_back(&self, flight: &Arc<Flight<K, V, E>>, stored: &Stored<V>, keep: Keep) -> Written {
        let key = flight.key.clone();
        let _vigil = Vigil::open();
        let mut shard = self.table.lock(flight.hash);
        if let Some(doom) = flight.doomed() {
            return Written::Discarded(match doom {
                Doom::Invalidated => DiscardReason::Invalidated,
                Doom::NewerWrite | Doom::Outrun => DiscardReason::NewerWrite,
            });
        }
        if !shard.holds(flight) {
            // Law L5: a load that is not registered has no business here.
            self.account.law_violations.fetch_add(1, Relaxed);
            return Written::Discarded(DiscardReason::Invalidated);
        }
        shard.cooling.end(flight.hash, &flight.key);
        match keep {
            Keep::DoNotStore => Written::Discarded(DiscardReason::DoNotStore),
            Keep::Store => {
                self.store.put(key, stored.clone());
                shard.outrun(flight);
                Written::Stored
            }
        }
    }

    /// The application's own value: newer than every load in progress.
    pub(crate) fn insert(&self, key: K, loaded: &Loaded<V>) {
        let hash = self.hash(&key);
        let stored = self.stored(loaded, self.measures.read(), clock::exact(), 0);
        let _vigil = Vigil::open();
        let mut shard = self.table.lock(hash);
        shard.doom(hash, &key, Doom::NewerWrite);
        shard.cooling.end(hash, &key);
        match loaded.keep {
            Keep::Store => self.store.put(key, stored),
            Keep::DoNotStore => self.store.remove(&key),
        }
    }

    /// W1: forgets the key, and every load of it that is in progress.
    pub(crate) fn invalidate<Q>(&self, key: &Q)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let hash = self.hash(key);
        self.account.invalidations.fetch_add(1, Relaxed);
        let _vigil = Vigil::open();
        let mut shard = self.table.lock(hash);
        shard.doom(hash, key, Doom::Invalidated);
        shard.cooling.end(hash, key);
        self.store.remove(key);
    }
}
