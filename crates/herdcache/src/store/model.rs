//! The store of the model checkers: a map under one lock that they decide about.
//!
//! The locks of moka and of quick_cache are not theirs to decide about, and moka does
//! its maintenance by real time, so that not every schedule could be played again.
//! This one has no bound and evicts nothing. `stepped.rs` says what is tried over real stores.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

use super::{Leaving, Leavings, Plan, Store};
use crate::entry::Stored;
use crate::kept::Kept;
use crate::sync::{Mutex, RandomState};

/// Entries under one lock.
pub(crate) struct ModelStore<K: 'static, V: Send + Sync + 'static> {
    entries: Mutex<HashMap<K, Stored<V>, RandomState>>,
    hasher: RandomState,
    leavings: Arc<Leavings<K>>,
}

impl<K: Hash + Eq + Clone, V: Send + Sync + 'static> ModelStore<K, V> {
    fn left(&self, key: &K, stored: &Stored<V>, leaving: Leaving) {
        self.leavings.unlist(stored);
        self.leavings.note(|| self.hasher.hash_one(key), stored, leaving);
    }
}

impl<K, V> Store<K, V> for ModelStore<K, V>
where
    K: Hash + Eq + Clone + Send + Sync + 'static,
    V: Send + Sync + 'static,
{
    fn new(_plan: Plan, hasher: RandomState, leavings: Arc<Leavings<K>>) -> Self {
        Self { entries: Mutex::new(HashMap::with_hasher(hasher.clone())), hasher, leavings }
    }

    fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<Stored<V>>
    where
        K: Borrow<Q>,
    {
        self.entries.lock().get(key).cloned()
    }

    fn put(&self, key: K, stored: Stored<V>) {
        let old = self.entries.lock().insert(key.clone(), stored);
        if let Some(old) = old {
            self.left(&key, &old, Leaving::Overwritten);
        }
    }

    fn remove<Q: Hash + Eq + ?Sized>(&self, key: &Q)
    where
        K: Borrow<Q>,
    {
        let old = self.entries.lock().remove_entry(key);
        if let Some((key, old)) = old {
            self.left(&key, &old, Leaving::Removed);
        }
    }

    fn len(&self) -> u64 {
        self.entries.lock().len() as u64
    }

    fn settle(&self) {}

    #[cfg(feature = "lab")]
    fn each(&self, visit: &mut dyn FnMut(&Stored<V>)) {
        let all: Vec<_> = self.entries.lock().values().cloned().collect();
        all.iter().for_each(visit);
    }

    fn forget_each(&self, visit: &mut dyn FnMut(Kept<K>)) {
        let all: Vec<_> = self.entries.lock().keys().cloned().collect();
        all.into_iter().for_each(|key| visit(Kept::new(key)));
    }
}
