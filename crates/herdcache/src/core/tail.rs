//! What a flight does on the shared tier after its load: the write, then the lease goes back.
//!
//! Waiters have their value before that, unless the cache was built to fail with the
//! write. The work belongs to the runtime and outlives its flight; a shutdown waits for it.

use std::sync::Arc;

use herdfeed::{DiscardReason, Fact, FlightEnd, LeaseLoss, Severity, SharedOperation, SharedWrite};

use super::fly::{LoadEnd, Pilot};
use super::land::Ending;
use super::trip::{Trip, Way};
use super::{Core, SharedOf};
use crate::clock;
use crate::entry::Stored;
use crate::error::Failure;
use crate::events;
use crate::flight::Flight;
use crate::key::Key;
use crate::loaded::Keep;
use crate::origin::LoadFuture;
use crate::origin::call::Part;
use crate::shared::link::{Fault, NO_DEADLINE};
use crate::shared::{Fence, LeaseSight, SharedKey, Write, WriteFailure, Writing};
use crate::store::Store;
use crate::sync::atomic::Ordering::SeqCst;
use crate::sync::runtime::Handle;
use crate::trace::{Kept, TraceStep};

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> Pilot<K, V, E, S> {
    /// The load's answer has been stored here: the tier is to have it too.
    pub(super) fn bring(&self, stored: &Stored<V>, keep: Keep) {
        // W2: what was marked stale meanwhile would be fresh for others.
        if let (Some(trip), Keep::Store, false) = (&self.trip, keep, self.flight.fate.is_outpaced()) {
            let mut state = trip.state.lock();
            // X1: from before the landing on, a shutdown waits for the write.
            state.tail = Some(trip.tiers.tail());
            state.brought = Some(stored.clone());
            state.kept = self.flight.trace.keep();
        }
    }

    /// The lease stays beyond the landing if there is something to be written first.
    pub(super) fn keep_lease(&self) {
        let Some(trip) = &self.trip else { return };
        let state = trip.state.lock();
        if let (Some(held), Some(_)) = (&state.held, &state.brought) {
            held.keep();
        }
    }

    /// Sends what the load brought on its way, and gives the lease back behind it.
    pub(super) fn share(mut self) {
        let Some(trip) = self.trip.take() else { return };
        let (brought, held) = {
            let mut state = trip.state.lock();
            (state.brought.take(), state.held.clone())
        };
        let Some(stored) = brought else { return };
        let link = Arc::clone(&trip.tiers.link);
        let (core, flight) = (Arc::clone(&self.core), Arc::clone(&self.flight));
        let work = async move {
            core.write_shared(&trip, &flight, &stored).await;
            if let Some(held) = held {
                held.give_back().await;
            }
            drop(trip);
        };
        match Handle::try_current() {
            Ok(runtime) => _ = runtime.spawn(work),
            // A load that was ready at once, away from any runtime: nothing could be sent.
            Err(_) => link.account.writes.add(SharedWrite::SkippedAfterFault),
        }
    }

    /// Whether callers wait for the shared write.
    pub(super) fn waits_for_write(&self) -> bool {
        self.trip.as_ref().is_some_and(|trip| trip.tiers.settings.write_failure == WriteFailure::Fail)
    }

    /// Writes what was brought first: the flight's end is another one if the tier does not take it.
    pub(super) async fn written<'a>(&'a self, ending: Ending<'a, K, V, E, S>) -> Ending<'a, K, V, E, S> {
        let brought = self.trip.as_ref().and_then(|trip| Some((trip, trip.state.lock().brought.take()?)));
        let Some((trip, stored)) = brought else { return ending };
        match self.core.write_shared(trip, &self.flight, &stored).await {
            Some(write) if is_failure(write) && !is_overtaken(trip, write) => {
                self.core.forget_this(&self.flight.key, self.flight.hash, &stored);
                let failure = Failure::SharedWrite { write };
                self.core.fail_claimed(ending.withdraw(), failure, FlightEnd::Failed)
            }
            Some(_) | None => ending,
        }
    }

    /// The load has ended; the tier is told before the callers are.
    pub(super) async fn finish_written(self, end: LoadEnd<V, E>, load: LoadFuture<V, E>, part: Part) {
        let ending = self.settle(end);
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(load)));
        drop(part);
        let ending = match ending {
            Some(ending) => Some(self.written(ending).await),
            None => None,
        };
        self.leave();
        if let Some(ending) = ending {
            ending.deliver();
        }
    }
}

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> Core<K, V, E, S> {
    /// T5: offers what a load brought to the tier. `None` if there is nothing to be kept.
    pub(super) async fn write_shared(
        &self,
        trip: &Trip<V>,
        flight: &Flight<K, V, E>,
        stored: &Stored<V>,
    ) -> Option<SharedWrite> {
        let kept = std::mem::replace(&mut trip.state.lock().kept, Kept::nothing());
        let step = kept.step(TraceStep::WriteBack);
        let write = match (trip.way(), &trip.key) {
            (Way::Clear, Some(key)) => self.write_by(trip, key, stored).await?,
            (Way::Faulty | Way::Bypass, _) => SharedWrite::SkippedAfterFault,
            (Way::Shut, _) => SharedWrite::BreakerOpen,
            (Way::Nameless | Way::Clear, _) => SharedWrite::EncodeError,
        };
        step.ends();
        trip.tiers.link.account.writes.add(write);
        match write {
            SharedWrite::RefusedVersion | SharedWrite::RefusedFence => self.refused(trip, flight, stored, write),
            SharedWrite::EncodeError => self.account.discards.add(DiscardReason::EncodeError),
            SharedWrite::TooLarge => self.account.discards.add(DiscardReason::Oversize),
            SharedWrite::Stored
            | SharedWrite::Timeout
            | SharedWrite::ConnectionError
            | SharedWrite::BreakerOpen
            | SharedWrite::SkippedAfterFault => {}
        }
        Some(write)
    }

    async fn write_by(&self, trip: &Trip<V>, key: &SharedKey, stored: &Stored<V>) -> Option<SharedWrite> {
        let fence = {
            let state = trip.state.lock();
            match &state.held {
                Some(held) if state.sight != LeaseSight::Unknown => held.fence,
                Some(_) | None => state.seen,
            }
        };
        // W2: a change that came since takes the tier first.
        if trip.tiers.outbox.holds(key) {
            return Some(SharedWrite::SkippedAfterFault);
        }
        self.offer(&trip.tiers, key, stored, Fence::Load(fence)).await
    }

    /// One conditional write. `None` if there is nothing to be kept.
    pub(super) async fn offer(
        &self,
        tiers: &SharedOf<V>,
        key: &SharedKey,
        stored: &Stored<V>,
        fence: Fence,
    ) -> Option<SharedWrite> {
        let number = match fence {
            Fence::Load(number) => number,
            Fence::Newest => 0,
        };
        let sealed = match self.seal(tiers, key, stored, (number, clock::exact())) {
            Ok(sealed) if sealed.keep_for.is_zero() => return None,
            Ok(sealed) => sealed,
            Err(write) => return Some(write),
        };
        let writing = Writing { bytes: &sealed.bytes, keep_for: sealed.keep_for, version: sealed.version, fence };
        let link = &tiers.link;
        let written = link.send(SharedOperation::Write, NO_DEADLINE, || link.tier.write(key, writing)).await;
        Some(match written {
            Ok(Write::Stored) => SharedWrite::Stored,
            Ok(Write::OlderVersion) => SharedWrite::RefusedVersion,
            Ok(Write::OlderFence) => SharedWrite::RefusedFence,
            Err(Fault::Timeout) => SharedWrite::Timeout,
            Err(Fault::Connection | Fault::Refused) => SharedWrite::ConnectionError,
            Err(Fault::BreakerOpen) => SharedWrite::BreakerOpen,
        })
    }

    /// L5, Z3: the tier has something newer: what was stored here is not answered any more. Those who waited have it.
    fn refused(&self, trip: &Trip<V>, flight: &Flight<K, V, E>, stored: &Stored<V>, write: SharedWrite) {
        self.forget_this(&flight.key, flight.hash, stored);
        let held = { trip.state.lock().held.clone() };
        let reason = match (write, &held) {
            (SharedWrite::RefusedVersion, _) => DiscardReason::OlderVersion,
            (_, Some(held)) if held.is_lost() => DiscardReason::LeaseLost,
            (_, _) => DiscardReason::Invalidated,
        };
        self.account.discards.add(reason);
        if held.is_some() && write == SharedWrite::RefusedFence {
            trip.tiers.link.account.losses.add(LeaseLoss::Fenced);
        }
        let fact = Fact::WriteRefused { key: self.names.show(&flight.key), write };
        events::tell(&self.name, Severity::Warn, clock::exact(), fact);
    }
}

/// W2: nothing was written since a change of the key is on its way, after which every process loads anew. Unless that
/// change waits for a tier in trouble, this is no failure: else each read just after an invalidation would be one.
fn is_overtaken<V: Send + Sync + 'static>(trip: &Trip<V>, write: SharedWrite) -> bool {
    let by_a_change = write == SharedWrite::SkippedAfterFault && trip.way() != Way::Faulty;
    by_a_change && !trip.tiers.resting.load(SeqCst)
}

/// Whether the tier does not have the value, nor anything newer.
fn is_failure(write: SharedWrite) -> bool {
    match write {
        SharedWrite::Stored | SharedWrite::RefusedVersion | SharedWrite::RefusedFence => false,
        SharedWrite::Timeout
        | SharedWrite::ConnectionError
        | SharedWrite::BreakerOpen
        | SharedWrite::SkippedAfterFault
        | SharedWrite::TooLarge
        | SharedWrite::EncodeError => true,
    }
}
