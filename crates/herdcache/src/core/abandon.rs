//! S1: a load that nobody waits for any more is given up, where the cache was built so.

use std::sync::Arc;

use herdfeed::{FlightEnd, FlightTrigger, OriginResult, RejectReason};

use super::Core;
use super::fly::Pilot;
use super::land::Claim;
use crate::clock::{self, nanos};
use crate::flight::{Flight, Landing};
use crate::key::Key;
use crate::store::Store;
use crate::unwatched::WhenUnwatched;

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> Core<K, V, E, S> {
    /// A waiter has left a flight that has not landed; it may have been the last.
    pub(crate) fn left(&self, flight: &Arc<Flight<K, V, E>>) {
        match (self.settings.when_unwatched, flight.trigger) {
            (WhenUnwatched::Abandon, FlightTrigger::Miss) => self.abandon(flight),
            // Nobody waits for a refresh or a warm-up from the start, and a batch loads other keys too.
            (WhenUnwatched::Finish, _)
            | (
                WhenUnwatched::Abandon,
                FlightTrigger::Stale
                | FlightTrigger::Early
                | FlightTrigger::Forced
                | FlightTrigger::Warmup
                | FlightTrigger::Batch,
            ) => {}
        }
    }

    fn abandon(&self, flight: &Arc<Flight<K, V, E>>) {
        let Some(claim) = self.claim_unwatched(flight) else { return };
        if let Some(call) = flight.call() {
            call.ended(OriginResult::Abandoned);
            call.abandon();
        }
        // Nobody is there to read it. Its tasks are stopped, and with the load's future its permit comes back.
        claim.with(Landing::Orphaned, FlightEnd::Abandoned).deliver();
    }

    /// G2: ends a background flight that found no permit, unless a caller has joined it and waits.
    pub(super) fn end_unwatched(&self, pilot: &Pilot<K, V, E, S>) -> bool {
        let Some(claim) = self.claim_unwatched(&pilot.flight) else { return false };
        if let Some(previous) = pilot.flight.previous() {
            // It has asked the shared tier for nothing; the next read must not ask again at once.
            previous.stamps().cool_until(clock::exact().saturating_add(nanos(self.settings.cooling_base)));
        }
        pilot.leave();
        let reason = RejectReason::QueueFull;
        let retry_in = self.gate.retry_in(reason);
        claim.with(Landing::Rejected { reason, retry_in }, FlightEnd::Rejected).deliver();
        true
    }

    /// Claims the end of a flight that nobody waits for, and frees its key in the same step.
    ///
    /// Callers join under the key's shard lock: one that came before keeps the flight alive, one that comes after
    /// finds no flight and opens the next. Nobody joins what is about to be dropped.
    fn claim_unwatched<'a>(&'a self, flight: &'a Arc<Flight<K, V, E>>) -> Option<Claim<'a, K, V, E, S>> {
        let mut shard = self.table.lock(flight.hash);
        if flight.waiting() > 0 || flight.is_wanted() {
            return None;
        }
        let claim = self.claim(flight)?;
        shard.set_aside(flight);
        Some(claim)
    }
}
