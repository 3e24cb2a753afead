//! A batch call has ended: its reply is handed to its flights, each of which ends as if it had flown alone.
//!
//! What may be stored, and what a failure means, is every flight's own to know (`core/fly.rs`).

use std::panic::{AssertUnwindSafe, catch_unwind};

use herdfeed::OriginResult;

use super::{Batch, BatchEnd, LEFT_OUT, shielded};
use crate::clock;
use crate::core::fly::Pilot;
use crate::core::land::Ending;
use crate::error::Failure;
use crate::key::Key;
use crate::loaded::What;
use crate::origin::BatchFuture;
use crate::origin::call::Part;
use crate::store::Store;

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> Batch<K, V, E, S> {
    pub(super) fn finish(self, end: BatchEnd<V, E>, load: Option<BatchFuture<K, V, E>>, part: Part) {
        self.come_home(end, load, part);
        self.share();
    }

    /// The call has ended: each flight writes back its part; then the permit comes back, and all land.
    fn come_home(&self, end: BatchEnd<V, E>, load: Option<BatchFuture<K, V, E>>, part: Part) {
        let endings = self.settle(end);
        shielded(|| drop(load));
        drop(part);
        self.pilots.iter().for_each(Pilot::keep_lease);
        self.land(endings);
    }

    pub(super) fn land(&self, endings: Vec<Option<Ending<'_, K, V, E, S>>>) {
        self.pilots.iter().for_each(Pilot::leave);
        for ending in endings.into_iter().flatten() {
            shielded(|| ending.deliver());
        }
    }

    /// Each flight writes back its part of the reply.
    pub(super) fn settle(&self, end: BatchEnd<V, E>) -> Vec<Option<Ending<'_, K, V, E, S>>> {
        let now = clock::exact();
        // S7: those that are late first, so that the call is told as late.
        for flight in self.flights().filter(|flight| now > flight.limit()) {
            shielded(|| self.core.expire(flight));
        }
        match (result_of(&end), &end) {
            (OriginResult::Error, Err(failure)) => self.call.failed(self.core.classes.of(failure)),
            (result, _) => self.call.ended(result),
        }
        let mut parts = end.map(Vec::into_iter);
        let mut endings = Vec::with_capacity(self.pilots.len());
        for pilot in &self.pilots {
            let part = match &mut parts {
                Ok(parts) => parts.next().flatten().ok_or(Failure::Contract { what: LEFT_OUT }),
                Err(failure) => Err(failure.clone()),
            };
            // S2: a panic here lands this flight and no other.
            endings.push(catch_unwind(AssertUnwindSafe(|| pilot.settle(part))).unwrap_or(None));
        }
        endings
    }

    /// What was brought goes to the shared tier, each key by itself.
    fn share(self) {
        self.each(Pilot::share);
    }
}

/// The call's one word: a value if it brought any, else a confirmation, else an absence.
fn result_of<V, E>(end: &BatchEnd<V, E>) -> OriginResult {
    let parts = match end {
        Ok(parts) => parts,
        Err(Failure::Panicked { .. }) => return OriginResult::Panicked,
        Err(_) => return OriginResult::Error,
    };
    let words = parts.iter().flatten().map(|loaded| match loaded.what {
        What::Value(_) => OriginResult::Value,
        What::NotModified => OriginResult::NotModified,
        What::Absent => OriginResult::Absent,
    });
    let told = [OriginResult::Value, OriginResult::NotModified, OriginResult::Absent];
    // A reply that names none of its keys is none.
    told.into_iter().find(|word| words.clone().any(|other| other == *word)).unwrap_or(OriginResult::Error)
}
