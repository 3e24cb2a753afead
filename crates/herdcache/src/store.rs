//! The local store: bounds memory, knows nothing of freshness or flights.
//!
//! Everything that the engine asks of a store is the [`Store`] trait; the engine
//! is generic over it, and two stores implement it. A store tells each entry that
//! leaves exactly once, with a word on whether room or a writer asked for it.

#[cfg(any(herd_loom, herd_shuttle))]
pub(crate) mod model;
#[cfg(not(any(herd_loom, herd_shuttle)))]
pub(crate) mod moka;
#[cfg(test)]
#[cfg(not(any(herd_loom, herd_shuttle)))]
pub(crate) mod quick;
#[cfg(test)]
#[cfg(not(any(herd_loom, herd_shuttle)))]
mod tests;

use std::borrow::Borrow;
use std::hash::Hash;
use std::sync::Arc;

use herdfeed::RemovalCause;

use crate::account::Account;
use crate::clock;
use crate::entry::Stored;
use crate::freshness::Freshness;
use crate::ghost::Ghosts;
use crate::sync::RandomState;
use crate::sync::atomic::Ordering::Relaxed;
use crate::tags::Tags;
use crate::tuning::InForce;

/// What the engine needs of a local store.
///
/// Calls that change a key come under that key's table lock; `get` comes without.
pub(crate) trait Store<K: 'static, V: Send + Sync + 'static>: Send + Sync + 'static {
    /// The store's name in the effective configuration.
    const NAME: &'static str;

    /// A store that holds at most `capacity` entries and tells `leavings` of each that leaves.
    fn new(capacity: u64, hasher: RandomState, leavings: Arc<Leavings<K>>) -> Self;
    /// The key's state, if any.
    fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<Stored<V>>
    where
        K: Borrow<Q>;
    /// Stores, or overwrites.
    fn put(&self, key: K, stored: Stored<V>);
    /// Removes.
    fn remove<Q: Hash + Eq + ?Sized>(&self, key: &Q)
    where
        K: Borrow<Q>;
    /// Entries, after `settle`.
    fn len(&self) -> u64;
    /// Does pending maintenance, so that counts and causes are exact.
    fn settle(&self);
    /// Shows every entry.
    fn each(&self, visit: &mut dyn FnMut(&K, &Stored<V>));
}

/// Who asked for an entry to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leaving {
    /// The store, to make room.
    #[cfg_attr(any(herd_loom, herd_shuttle), expect(dead_code, reason = "the checkers' store has no bound"))]
    Room,
    /// A newer value took its place.
    Overwritten,
    /// An invalidation.
    Removed,
}

/// Classes the entries that leave, and remembers why.
#[derive(Debug)]
pub(crate) struct Leavings<K: 'static> {
    pub(crate) account: Arc<Account>,
    pub(crate) ghosts: Ghosts,
    pub(crate) tags: Tags<K>,
    pub(crate) in_force: Arc<InForce>,
}

impl<K> Leavings<K> {
    pub(crate) fn new(account: Arc<Account>, in_force: Arc<InForce>) -> Self {
        Self { account, ghosts: Ghosts::default(), tags: Tags::default(), in_force }
    }

    /// The entry's tags are no longer its key's. Apart from [`Leavings::note`], which needs the key's own hash.
    pub(crate) fn unlist<V: Send + Sync + 'static>(&self, stored: &Stored<V>) {
        if let Some(marks) = stored.stamps().marks() {
            self.tags.leave(marks);
        }
    }

    /// An entry has left. Told by the store exactly once per entry.
    ///
    /// `hash` is the application's code and may panic: it is asked when everything is counted.
    pub(crate) fn note<V: Send + Sync + 'static>(
        &self,
        hash: impl FnOnce() -> u64,
        stored: &Stored<V>,
        leaving: Leaving,
    ) {
        let stamps = stored.stamps();
        let expired = self.in_force.judge(stamps, clock::coarse()) >= Freshness::Reserve;
        let leaving = if stamps.is_superseded() { Leaving::Overwritten } else { leaving };
        let cause = match leaving {
            Leaving::Removed => RemovalCause::Invalidated,
            // Our own stamps decide, whoever removed it.
            Leaving::Room | Leaving::Overwritten if expired => RemovalCause::Expired,
            Leaving::Room => RemovalCause::Evicted,
            Leaving::Overwritten => RemovalCause::Replaced,
        };
        self.account.removals.add(cause);
        if let (Stored::Absent(_), RemovalCause::Evicted) = (stored, cause) {
            self.account.negatives_evicted.fetch_add(1, Relaxed);
        }
        // An overwritten key is still there: a later miss of it has another cause.
        // Absences come in floods, and would crowd out why values left.
        let told = matches!(stored, Stored::Value(_)) || cause == RemovalCause::Invalidated;
        if leaving != Leaving::Overwritten && told {
            self.ghosts.note(hash(), cause);
        }
    }
}
