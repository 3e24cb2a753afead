//! The store under a model checker: the checkers' map, or a real store whose calls are steps.
//!
//! No checker can decide what happens within moka or quick_cache. What it can decide
//! is what happens between their calls, and that a removal which they tell of comes where they tell it:
//! moka in the middle of its call, quick_cache's after its shard's lock.

use std::borrow::Borrow;
use std::hash::Hash;
use std::sync::Arc;

use super::choice::LocalStore;
use super::model::ModelStore;
use super::moka::MokaStore;
use super::quick::QuickStore;
use super::{Leavings, Plan, Store};
use crate::entry::Stored;
use crate::kept::Kept;
use crate::sync::{Mutex, RandomState};

/// The map unless the environment or the cache says otherwise.
pub(crate) enum Stepped<K: 'static, V: Send + Sync + 'static> {
    Map(ModelStore<K, V>),
    /// Held over each call: its listener comes to our locks, and whoever went on meanwhile would wait for one of moka's.
    Moka(Mutex<MokaStore<K, V>>),
    /// Before each call is a point where others go on; it comes to no lock of ours.
    Quick(Mutex<()>, QuickStore<K, V>),
}

/// The same call of whichever it is.
macro_rules! on {
    ($of:expr, $store:ident => $call:expr) => {
        match $of {
            Stepped::Map($store) => $call,
            Stepped::Moka(held) => {
                let $store = &*held.lock();
                $call
            }
            Stepped::Quick(point, $store) => {
                drop(point.lock());
                $call
            }
        }
    };
}

impl<K, V> Store<K, V> for Stepped<K, V>
where
    K: Hash + Eq + Clone + Send + Sync + 'static,
    V: Send + Sync + 'static,
{
    fn new(plan: Plan, hasher: RandomState, leavings: Arc<Leavings<K>>) -> Self {
        match plan.store {
            LocalStore::Map => Self::Map(ModelStore::new(plan, hasher, leavings)),
            LocalStore::Quick => {
                // One shard, whatever the machine: a schedule is to be played again.
                let plan = Plan { steady: true, ..plan };
                Self::Quick(Mutex::default(), QuickStore::new(plan, hasher, leavings))
            }
            _ => Self::Moka(Mutex::new(MokaStore::new(plan, hasher, leavings))),
        }
    }

    fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<Stored<V>>
    where
        K: Borrow<Q>,
    {
        on!(self, store => store.get(key))
    }

    fn put(&self, key: K, stored: Stored<V>) {
        on!(self, store => store.put(key, stored));
    }

    fn remove<Q: Hash + Eq + ?Sized>(&self, key: &Q)
    where
        K: Borrow<Q>,
    {
        on!(self, store => store.remove(key));
    }

    fn len(&self) -> u64 {
        on!(self, store => store.len())
    }

    fn settle(&self) {
        on!(self, store => store.settle());
    }

    #[cfg(feature = "lab")]
    fn each(&self, visit: &mut dyn FnMut(&Stored<V>)) {
        on!(self, store => store.each(visit));
    }

    fn forget_each(&self, visit: &mut dyn FnMut(Kept<K>)) {
        // Moka's walk is under no lock, and what it shows calls the store.
        if let Self::Moka(held) = self {
            let mut keys = Vec::new();
            held.lock().forget_each(&mut |key| keys.push(key));
            keys.into_iter().for_each(visit);
        } else {
            on!(self, store => store.forget_each(visit));
        }
    }
}
