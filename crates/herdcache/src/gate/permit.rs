//! A permit that is out, and a place in the queue. Both come back when dropped.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use herdfeed::{PermitClass, PermitResult, RejectReason};
use tokio::sync::OwnedSemaphorePermit;

use super::Gate;
use crate::clock::{self, Moment, nanos};

/// The right to call the origin, until dropped.
pub(crate) struct Permit {
    gate: Gate,
    class: PermitClass,
    since: Moment,
    // Dropped after the count went down, so that a permit is never counted twice.
    _held: OwnedSemaphorePermit,
}

impl Permit {
    pub(super) fn new(gate: Gate, permit: OwnedSemaphorePermit, class: PermitClass, since: Moment) -> Self {
        Self { gate, class, since, _held: permit }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let inner = &self.gate.0;
        inner.in_use.sub(self.class);
        if self.class != PermitClass::Foreground {
            inner.claimed.sub(self.class);
        }
        // A moving mean over about 8 loads; it is only an estimate, so a lost update does no harm.
        let held = clock::exact().saturating_sub(self.since);
        let mean = inner.held_ns.load(Relaxed);
        inner.held_ns.store(if mean == 0 { held } else { mean - mean / 8 + held / 8 }, Relaxed);
    }
}

/// One place in a gate's queue, free again at once when dropped (G1).
pub(crate) struct Place {
    gate: Gate,
    /// How the wait ended, once it has.
    ended: Option<PermitResult>,
}

impl Place {
    /// A place, if one is free.
    pub(super) fn take(gate: &Gate) -> Option<Self> {
        let queue = gate.0.settings.queue;
        let before =
            gate.0.pending.fetch_update(Relaxed, Relaxed, |waiting| (waiting < queue).then_some(waiting + 1)).ok()?;
        let now = clock::exact();
        gate.0.pending_peak.note(now, before as u64 + 1);
        gate.check(now);
        Some(Self { gate: gate.clone(), ended: None })
    }

    /// Waits for a permit, at most the queue timeout and at most until `deadline`.
    ///
    /// # Cancel safety
    /// Dropping the future frees the place and takes no permit.
    pub(crate) async fn wait(mut self, deadline: Moment) -> Result<Permit, RejectReason> {
        let inner = &self.gate.0;
        let began = clock::exact();
        let queue_limit = nanos(inner.settings.queue_timeout);
        let left = deadline.saturating_sub(began);
        let acquire = std::sync::Arc::clone(&inner.semaphore).acquire_owned();
        let got = tokio::time::timeout(Duration::from_nanos(queue_limit.min(left)), acquire).await;
        let now = clock::exact();
        inner.wait.record(now.saturating_sub(began));
        // The semaphore is never closed, so an error is a timeout.
        if let Ok(Ok(permit)) = got {
            self.ended = Some(PermitResult::Granted);
            return Ok(self.gate.grant(permit, PermitClass::Foreground, now));
        }
        let (result, reason) = if left < queue_limit {
            (PermitResult::Deadline, RejectReason::Deadline)
        } else {
            (PermitResult::QueueTimeout, RejectReason::QueueTimeout)
        };
        self.ended = Some(result);
        self.gate.0.conditions.rejected();
        self.gate.check(now);
        Err(reason)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // A place that is given up before its wait has ended belonged to a cache that was shut down.
        self.gate.0.results.add(self.ended.unwrap_or(PermitResult::Closed));
        self.gate.0.pending.fetch_sub(1, Relaxed);
    }
}
