//! The local store: bounds memory, knows nothing of freshness or flights.
//!
//! Everything that the engine asks of a store is the [`Store`] trait; the engine
//! is generic over it, and moka, quick_cache and whichever of them a cache was built
//! with implement it. A store tells each entry that
//! leaves exactly once, with a word on whether room or a writer asked for it.

#[cfg(all(feature = "quick-cache", not(any(herd_loom, herd_shuttle))))]
mod any;
pub(crate) mod choice;
#[cfg(any(herd_loom, herd_shuttle))]
mod model;
mod moka;
#[cfg(feature = "quick-cache")]
mod quick;
mod row;
#[cfg(any(herd_loom, herd_shuttle))]
mod stepped;
#[cfg(all(test, not(any(herd_loom, herd_shuttle))))]
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
use crate::kept::Kept;
use crate::sync::RandomState;
use crate::sync::atomic::Ordering::Relaxed;
use crate::tags::Tags;
use crate::tuning::InForce;
use choice::LocalStore;

/// The store that caches use: moka, where nothing else is built.
#[cfg(not(any(feature = "quick-cache", herd_loom, herd_shuttle)))]
pub(crate) type StoreOf<K, V> = moka::MokaStore<K, V>;
/// The store that caches use: whichever they were built with.
#[cfg(all(feature = "quick-cache", not(any(herd_loom, herd_shuttle))))]
pub(crate) type StoreOf<K, V> = any::AnyStore<K, V>;
/// The store that caches use where a model checker decides what runs next.
#[cfg(any(herd_loom, herd_shuttle))]
pub(crate) type StoreOf<K, V> = stepped::Stepped<K, V>;

/// How a store is made.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(feature = "quick-cache"), expect(dead_code, reason = "moka needs less"))]
pub(crate) struct Plan {
    /// Which it is.
    pub(crate) store: LocalStore,
    /// The most entries that it holds.
    pub(crate) capacity: u64,
    /// Whether what it does may go by nothing but what it is asked.
    pub(crate) steady: bool,
}

/// What the engine needs of a local store.
///
/// Calls that change a key come under that key's table lock; `get` comes without.
pub(crate) trait Store<K: 'static, V: Send + Sync + 'static>: Send + Sync + 'static {
    /// A store that is empty, and tells `leavings` of each entry that leaves.
    fn new(plan: Plan, hasher: RandomState, leavings: Arc<Leavings<K>>) -> Self;
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
    /// Shows every entry, under no lock.
    #[cfg(feature = "lab")]
    fn each(&self, visit: &mut dyn FnMut(&Stored<V>));
    /// Gives every key, under no lock. A store may let go of an entry as it gives its key, without that key's table lock:
    /// who asks is about to forget them all, and removes what is still there.
    fn forget_each(&self, visit: &mut dyn FnMut(Kept<K>));
}

/// Who asked for an entry to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leaving {
    /// The store, to make room.
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
