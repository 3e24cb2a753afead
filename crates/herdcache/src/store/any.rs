//! One of the two stores, chosen when the cache is built.
//!
//! A store that is known by its type only would be in the type of every cache; one
//! behind a pointer could have no generic lookup. A look at which it is costs a hit
//! two instructions.

use std::borrow::Borrow;
use std::hash::Hash;
use std::sync::Arc;

use super::choice::LocalStore;
use super::moka::MokaStore;
use super::quick::QuickStore;
use super::{Leavings, Plan, Store};
use crate::entry::Stored;
use crate::kept::Kept;
use crate::sync::RandomState;

/// Whichever store the cache was built with.
pub(crate) enum AnyStore<K: 'static, V: Send + Sync + 'static> {
    Moka(MokaStore<K, V>),
    Quick(QuickStore<K, V>),
}

impl<K, V> Store<K, V> for AnyStore<K, V>
where
    K: Hash + Eq + Clone + Send + Sync + 'static,
    V: Send + Sync + 'static,
{
    fn new(plan: Plan, hasher: RandomState, leavings: Arc<Leavings<K>>) -> Self {
        match plan.store {
            LocalStore::Moka => Self::Moka(MokaStore::new(plan, hasher, leavings)),
            #[cfg(feature = "lab")]
            LocalStore::MokaLru => Self::Moka(MokaStore::new(plan, hasher, leavings)),
            LocalStore::Quick => Self::Quick(QuickStore::new(plan, hasher, leavings)),
        }
    }

    #[inline]
    fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<Stored<V>>
    where
        K: Borrow<Q>,
    {
        match self {
            Self::Moka(store) => store.get(key),
            Self::Quick(store) => store.get(key),
        }
    }

    fn put(&self, key: K, stored: Stored<V>) {
        match self {
            Self::Moka(store) => store.put(key, stored),
            Self::Quick(store) => store.put(key, stored),
        }
    }

    fn remove<Q: Hash + Eq + ?Sized>(&self, key: &Q)
    where
        K: Borrow<Q>,
    {
        match self {
            Self::Moka(store) => store.remove(key),
            Self::Quick(store) => store.remove(key),
        }
    }

    fn len(&self) -> u64 {
        match self {
            Self::Moka(store) => store.len(),
            Self::Quick(store) => store.len(),
        }
    }

    fn settle(&self) {
        match self {
            Self::Moka(store) => store.settle(),
            Self::Quick(store) => store.settle(),
        }
    }

    #[cfg(feature = "lab")]
    fn each(&self, visit: &mut dyn FnMut(&Stored<V>)) {
        match self {
            Self::Moka(store) => store.each(visit),
            Self::Quick(store) => store.each(visit),
        }
    }

    fn forget_each(&self, visit: &mut dyn FnMut(Kept<K>)) {
        match self {
            Self::Moka(store) => store.forget_each(visit),
            Self::Quick(store) => store.forget_each(visit),
        }
    }
}
