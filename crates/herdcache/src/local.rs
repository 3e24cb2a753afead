//! The local tier: values in one store, negative entries in another that is much smaller.
//!
//! N1: a flood of keys that do not exist fills the room of negative entries only, and
//! evicts no value. That room is made when the first absence comes. Whatever
//! changes a key holds its table lock, so that a key is in one of the two; readers
//! without the lock look for the value first.

use std::borrow::Borrow;
use std::hash::Hash;
use std::sync::Arc;

use crate::config::Settings;
use crate::entry::Stored;
use crate::graveyard::{Closes, Opens};
use crate::kept::Kept;
use crate::store::choice::LocalStore;
use crate::store::{Leavings, Plan, Store};
use crate::sync::OnceLock;
use crate::sync::RandomState;

/// What one cache holds.
pub(crate) struct Local<K: 'static, S> {
    // S2: who lets go of a cache has nothing to do with values whose Drop panics.
    _opens: Opens,
    values: S,
    negatives: OnceLock<S>,
    room: Room,
    hasher: RandomState,
    leavings: Arc<Leavings<K>>,
    _closes: Closes,
}

/// How much each store may hold, in entries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    pub(crate) values: u64,
    pub(crate) negatives: u64,
    /// In which store.
    pub(crate) store: LocalStore,
    /// Whether maintenance goes with each write instead of by the machine's time.
    pub(crate) steady: bool,
}

impl Room {
    /// The negatives' share is on top of the capacity.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "both factors are within their ranges")]
    pub(crate) fn new(settings: &Settings) -> Self {
        let (values, share) = (settings.capacity, settings.negative_share);
        let negatives = ((values as f64 * share) as u64).max(1);
        Self { values, negatives, store: settings.store, steady: settings.steady }
    }

    /// A store with so much of it.
    fn plan(self, capacity: u64) -> Plan {
        Plan { store: self.store, capacity, steady: self.steady }
    }
}

impl<K: Hash + Eq + 'static, S> Local<K, S> {
    pub(crate) fn new<V: Send + Sync + 'static>(room: Room, hasher: RandomState, leavings: Arc<Leavings<K>>) -> Self
    where
        S: Store<K, V>,
    {
        let values = S::new(room.plan(room.values), hasher.clone(), Arc::clone(&leavings));
        Self { _opens: Opens, values, negatives: OnceLock::new(), room, hasher, leavings, _closes: Closes }
    }

    /// The key's state, if any.
    #[inline]
    pub(crate) fn get<V: Send + Sync + 'static, Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<Stored<V>>
    where
        S: Store<K, V>,
        K: Borrow<Q>,
    {
        match self.values.get(key) {
            None => self.negatives.get()?.get(key),
            found => found,
        }
    }

    /// Stores, or overwrites.
    pub(crate) fn put<V: Send + Sync + 'static>(&self, key: K, stored: Stored<V>)
    where
        S: Store<K, V>,
    {
        if self.room.steady {
            // Reads of before count in who makes room, however much time has passed.
            self.settle();
        }
        // Taken out of the other store first, so that the key need not be cloned, which is the application's code. A
        // reader who finds it in neither looks again under the lock that is held here.
        match stored {
            Stored::Value(_) => {
                if let Some(negatives) = self.negatives.get() {
                    supersede(negatives, &key);
                }
                self.values.put(key, stored);
            }
            Stored::Absent(_) => {
                supersede(&self.values, &key);
                let open =
                    || S::new(self.room.plan(self.room.negatives), self.hasher.clone(), Arc::clone(&self.leavings));
                self.negatives.get_or_init(open).put(key, stored);
            }
        }
        if self.room.steady {
            self.settle();
        }
    }

    /// Removes.
    pub(crate) fn remove<V: Send + Sync + 'static, Q: Hash + Eq + ?Sized>(&self, key: &Q)
    where
        S: Store<K, V>,
        K: Borrow<Q>,
    {
        self.values.remove(key);
        if let Some(negatives) = self.negatives.get() {
            negatives.remove(key);
        }
    }

    /// Does pending maintenance, so that counts and causes are exact.
    pub(crate) fn settle<V: Send + Sync + 'static>(&self)
    where
        S: Store<K, V>,
    {
        self.values.settle();
        if let Some(negatives) = self.negatives.get() {
            negatives.settle();
        }
    }

    /// Entries, after [`Local::settle`]: all, and the negatives among them.
    pub(crate) fn len<V: Send + Sync + 'static>(&self) -> (u64, u64)
    where
        S: Store<K, V>,
    {
        let negatives = self.negatives.get().map_or(0, Store::len);
        (self.values.len() + negatives, negatives)
    }

    /// How much it may hold.
    pub(crate) fn room(&self) -> Room {
        self.room
    }

    /// Shows every entry.
    #[cfg(feature = "lab")]
    pub(crate) fn each<V: Send + Sync + 'static>(&self, visit: &mut dyn FnMut(&Stored<V>))
    where
        S: Store<K, V>,
    {
        self.values.each(visit);
        if let Some(negatives) = self.negatives.get() {
            negatives.each(visit);
        }
    }

    /// Gives every key to who is about to forget them: see [`Store::forget_each`].
    pub(crate) fn forget_each<V: Send + Sync + 'static>(&self, visit: &mut dyn FnMut(Kept<K>))
    where
        S: Store<K, V>,
    {
        self.values.forget_each(visit);
        if let Some(negatives) = self.negatives.get() {
            negatives.forget_each(visit);
        }
    }
}

/// Takes a key out of one store because the other has it now.
fn supersede<K: Hash + Eq + 'static, V: Send + Sync + 'static, S: Store<K, V>>(store: &S, key: &K) {
    if let Some(old) = store.get(key) {
        old.stamps().supersede();
        store.remove(key);
    }
}
