//! The default store: moka's synchronous cache, used as a bounded map only.
//!
//! moka hashes and compares keys in its maintenance too, which runs in anybody's
//! read or look. The application's code must not run there: it may panic, and moka
//! would lose what it was doing. So a stored key brings its hash along, and is
//! equal to itself without being asked. Only where a key was written anew are the
//! two compared.

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
pub(crate) struct MokaStore<K: 'static, V: Send + Sync + 'static> {
    entries: Cache<Row<K>, Stored<V>, AsKnown>,
    hasher: RandomState,
}

impl<K, V> Store<K, V> for MokaStore<K, V>
where
    K: Hash + Eq + Clone + Send + Sync + 'static,
    V: Send + Sync + 'static,
{
    const NAME: &'static str = "moka";

    fn new(capacity: u64, hasher: RandomState, leavings: Arc<Leavings<K>>) -> Self {
        let listener = move |row: Arc<Row<K>>, stored: Stored<V>, notice: Notice| {
            let leaving = match notice {
                Notice::Explicit => Leaving::Removed,
                Notice::Replaced => Leaving::Overwritten,
                Notice::Size | Notice::Expired => Leaving::Room,
            };
            leavings.unlist(&stored);
            leavings.note(|| row.hash, &stored, leaving);
        };
        let builder = Cache::builder().max_capacity(capacity).eviction_listener(listener);
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

    fn each(&self, visit: &mut dyn FnMut(&K, &Stored<V>)) {
        // What others remove meanwhile may die here.
        let _vigil = Vigil::open();
        for (row, stored) in &self.entries {
            if let Some(key) = row.key.key() {
                visit(key, &stored);
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

/// A stored key with its hash.
struct Row<K: 'static> {
    hash: u64,
    key: Kept<K>,
}

impl<K> Hash for Row<K> {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl<K: Eq> PartialEq for Row<K> {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other) || (self.hash == other.hash && self.key == other.key)
    }
}

impl<K: Eq> Eq for Row<K> {}

/// What a lookup brings: any borrowed form of the key, and its hash.
struct Probe<'a, Q: ?Sized> {
    hash: u64,
    key: &'a Q,
}

impl<Q: ?Sized> Hash for Probe<'_, Q> {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl<K: Borrow<Q>, Q: Eq + ?Sized> Equivalent<Row<K>> for Probe<'_, Q> {
    fn equivalent(&self, row: &Row<K>) -> bool {
        self.hash == row.hash && row.key.key().is_some_and(|key| key.borrow() == self.key)
    }
}

/// Takes the hash that a key brings as it is.
#[derive(Clone, Copy, Debug)]
struct AsKnown;

impl BuildHasher for AsKnown {
    type Hasher = Known;

    #[inline]
    fn build_hasher(&self) -> Known {
        Known(0)
    }
}

/// The hash that was brought.
#[derive(Debug)]
struct Known(u64);

impl Hasher for Known {
    fn write(&mut self, bytes: &[u8]) {
        // Rows and probes write a number and nothing else.
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    #[inline]
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}
