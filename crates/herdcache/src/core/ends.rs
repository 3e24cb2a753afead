//! Ends of a flight that need no value: refused, never begun, dropped. And leaving the table, which is every flight's last step.

use std::sync::Arc;

use herdfeed::{FlightEnd, OriginResult, RejectReason};

use super::fly::Pilot;
use crate::error::Failure;
use crate::flight::Landing;
use crate::key::Key;
use crate::origin::call::Part;
use crate::store::Store;
use crate::sync::atomic::Ordering::Relaxed;

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> Pilot<K, V, E, S> {
    /// Ends a flight whose load could not even be made.
    pub(super) fn land_failure(self, failure: Failure<E>, part: Part) {
        self.call.ended(OriginResult::Panicked);
        let ending = self.core.fail(&self.flight, failure, FlightEnd::Panicked);
        drop(part);
        self.leave();
        if let Some(ending) = ending {
            ending.deliver();
        }
    }

    pub(super) fn reject(self, reason: RejectReason) {
        let retry_in = self.core.gate.retry_in(reason);
        if let Some(claim) = self.core.claim(&self.flight) {
            self.leave();
            claim.with(Landing::Rejected { reason, retry_in }, FlightEnd::Rejected).deliver();
        }
    }

    /// Ends a flight whose load never began.
    pub(super) fn end_early(self, failure: Failure<E>) {
        let end = if matches!(failure, Failure::Panicked { .. }) { FlightEnd::Panicked } else { FlightEnd::Failed };
        let ending = self.core.fail(&self.flight, failure, end);
        self.leave();
        if let Some(ending) = ending {
            ending.deliver();
        }
    }

    /// Leaves the table; the next load of the key may start.
    pub(super) fn leave(&self) {
        if self.left.swap(true, Relaxed) {
            return;
        }
        // L2: blocking work that goes on is still a load of this key.
        let later = || {
            let (core, flight) = (Arc::clone(&self.core), Arc::clone(&self.flight));
            Box::new(move || core.retire(&flight)) as Box<dyn FnOnce() + Send>
        };
        if self.call.after_end(later) {
            self.core.table.lock(self.flight.hash).set_aside(&self.flight);
        } else {
            self.core.retire(&self.flight);
        }
    }
}

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> Drop for Pilot<K, V, E, S> {
    fn drop(&mut self) {
        self.leave();
        // Nothing landed it: its task was dropped together with its runtime.
        if let Some(claim) = self.core.claim(&self.flight) {
            claim.with(Landing::Orphaned, FlightEnd::Abandoned).deliver();
        }
    }
}
