//! Groups of keys (tenants), so that the misses of one cannot use up what all share.
//!
//! A group is known by the hash of what the application calls it, so that nothing
//! is kept of groups that hold nothing (L7), and one tenant is one group for all
//! caches behind a gate.

use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

use crate::sync::RandomState;
use crate::sync::plain::LazyLock;

/// The group of a load, and how much of what is bounded it may hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Group {
    /// Tells groups apart over all caches of the process; two that collide share one share.
    pub(crate) id: u64,
    /// Its part, above 0 and at most 1.
    pub(crate) share: f64,
}

impl Group {
    /// Its share of `places`: at least one where there are any.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a part of a usize")]
    pub(crate) fn part_of(self, places: usize) -> usize {
        ((places as f64 * self.share) as usize).clamp(1.min(places), places)
    }
}

/// How the keys of a cache are grouped.
#[derive(Clone)]
pub(crate) struct Grouping<K> {
    pub(crate) share: f64,
    name: Arc<dyn Fn(&K) -> u64 + Send + Sync>,
}

impl<K> Grouping<K> {
    pub(crate) fn new<G: Hash>(share: f64, name: impl Fn(&K) -> G + Send + Sync + 'static) -> Self {
        static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::default);
        Self { share, name: Arc::new(move |key| HASHER.hash_one(name(key))) }
    }

    /// Runs the application's code: never under a lock.
    pub(crate) fn of(&self, key: &K) -> Group {
        Group { id: (self.name)(key), share: self.share }
    }
}

impl<K> fmt::Debug for Grouping<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grouping").field("share", &self.share).finish_non_exhaustive()
    }
}
