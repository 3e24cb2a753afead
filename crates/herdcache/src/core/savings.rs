//! O1: what a load without single-flight, or a value without jitter, would have been with it.

use std::borrow::Borrow;
use std::hash::Hash;

use super::Core;
use super::join::Want;
use crate::account::{Spared, Unlimited};
use crate::clock::Moment;
use crate::entry::{Stamps, Stored};
use crate::flight::Flight;
use crate::flight::table::Shard;
use crate::key::Key;
use crate::origin::call::{Call, Ticket};
use crate::store::Store;

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> Core<K, V, E, S> {
    /// Whether single-flight would have spared the load that is about to be registered.
    ///
    /// As with single-flight, a key has one load that others would share. Loads which it would have spared do not
    /// count: nobody would have found them running.
    pub(super) fn would_spare<Q>(
        shard: &Shard<K, V, E>,
        want: &Want<'_, Q>,
        stored: Option<&Stored<V>>,
        now: Moment,
    ) -> Option<Spared>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        if shard.shared_load(want.hash, want.key) || stored.is_some_and(|stored| stored.stamps().is_fresh(now)) {
            return Some(Spared::Coalesced);
        }
        shard.cooling.is_cold(want.hash, want.key, now).then_some(Spared::Cooled)
    }

    /// An origin call begins: counted where protection would have spared it or made it wait.
    pub(super) fn call_without(&self, flight: &Flight<K, V, E>, call: &Call, ticket: Ticket) -> Ticket {
        if let Some(why) = flight.spared() {
            self.account.savings.spared(why);
            return ticket;
        }
        match ticket {
            Ticket::Free(None) if !call.is_nested() => {
                Ticket::Free(Some(Unlimited::begin(&self.account, self.gate.permits())))
            }
            Ticket::Free(_) | Ticket::Permit { .. } | Ticket::Parent { .. } => ticket,
        }
    }

    /// A value past freshness was asked for while jitter is off; counted once for each value.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a part of a TTL, at least 0")]
    pub(crate) fn expired_together(&self, stamps: &Stamps, now: Moment) {
        if !stamps.claim_expiry() {
            return;
        }
        let soft = stamps.soft();
        // Jitter takes away up to this much. Counted forward from the moment of expiry, which keeps the distances.
        let most = soft.saturating_sub(stamps.born) as f64 * self.settings.jitter;
        self.account.savings.expired(soft, (most * fastrand::f64()) as u64, now);
    }
}
