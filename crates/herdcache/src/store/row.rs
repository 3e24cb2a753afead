//! A stored key with its hash, and how it is looked up.
//!
//! Stores hash and compare keys where the application's code must not run: in their
//! maintenance, in somebody else's read, under their own locks. It may panic, and a
//! store would lose what it was doing. So a stored key brings its hash along, and is
//! equal to itself without being asked. Only where two keys have one hash are they
//! compared.

use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash, Hasher};

// The same trait in both stores.
use moka::Equivalent;

use crate::kept::Kept;

/// A stored key with its hash.
pub(super) struct Row<K: 'static> {
    pub(super) hash: u64,
    pub(super) key: Kept<K>,
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
pub(super) struct Probe<'a, Q: ?Sized> {
    pub(super) hash: u64,
    pub(super) key: &'a Q,
}

impl<Q: ?Sized> Hash for Probe<'_, Q> {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl<K: Borrow<Q>, Q: Eq + ?Sized> Equivalent<Row<K>> for Probe<'_, Q> {
    #[inline]
    fn equivalent(&self, row: &Row<K>) -> bool {
        self.hash == row.hash && row.key.key().is_some_and(|key| key.borrow() == self.key)
    }
}

/// Takes the hash that a key brings as it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct AsKnown;

impl BuildHasher for AsKnown {
    type Hasher = Known;

    #[inline]
    fn build_hasher(&self) -> Known {
        Known(0)
    }
}

/// The hash that was brought.
#[derive(Debug)]
pub(super) struct Known(u64);

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
