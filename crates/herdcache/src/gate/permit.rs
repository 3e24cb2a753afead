//! A permit that is out, and a place in the queue. Both come back when dropped.

use std::time::Duration;

use herdfeed::{OriginResult, PermitClass, PermitResult, RejectReason};

use super::breaker::{Breaker, Health, Of, Role, Turn};
use super::queue::{Slot, Waiter};
use super::{Gate, result_of};
use crate::clock::{self, Moment, nanos};
use crate::sync::atomic::{AtomicBool, Ordering::Relaxed};
use crate::sync::time;

/// The right to call the origin, until dropped.
pub(crate) struct Permit {
    gate: Gate,
    class: PermitClass,
    role: Role,
    since: Moment,
    /// Whether it is known how its load ended.
    told: AtomicBool,
    /// `None` once given back: after the count went down, so that a permit is never counted twice.
    slot: Option<Slot>,
}

impl Permit {
    pub(super) fn new(gate: Gate, slot: Slot, (class, role): (PermitClass, Role), since: Moment) -> Self {
        Self { gate, class, role, since, told: AtomicBool::new(false), slot: Some(slot) }
    }

    /// The duty to tell the gate how the load ended; once. It may be told without holding what holds the permit.
    pub(crate) fn report(&self) -> Option<Report> {
        if self.told.swap(true, Relaxed) {
            return None;
        }
        Some(Report { gate: self.gate.clone(), role: self.role, since: self.since })
    }

    /// G5: no call was made under it after all: if it was to be a probe, the next who comes is one.
    pub(crate) fn unused(self) {
        if !self.told.swap(true, Relaxed) {
            self.gate.0.not_sent(self.role, clock::exact());
        }
    }

    pub(super) fn gate(&self) -> &Gate {
        &self.gate
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
        // G5: given up without a word. Of interest only if it was to find out something.
        if let (Role::Probe, Some(report)) = (self.role, self.report()) {
            report.tell(Health::Unknown);
        }
        drop(self.slot.take());
        if self.class == PermitClass::Warmup {
            inner.turns.free.notify_one();
        }
    }
}

/// The news of how a load ended.
pub(crate) struct Report {
    gate: Gate,
    role: Role,
    since: Moment,
}

impl Report {
    /// A load of a cache has ended. Wakes those whom the gate sends away because of it.
    pub(crate) fn load_ended(self, result: OriginResult) {
        self.gate.0.adapt(self.since, clock::exact(), result);
        let health = match result {
            OriginResult::Value | OriginResult::Absent | OriginResult::NotModified => Health::Good,
            OriginResult::Error | OriginResult::Timeout | OriginResult::Panicked => Health::Bad,
            // Given up by its callers or with its runtime: it says nothing about the origin, but a probe is back.
            OriginResult::Abandoned => Health::Unknown,
        };
        self.tell(health);
    }

    pub(super) fn tell(self, health: Health) {
        let inner = &self.gate.0;
        let now = clock::exact();
        let of = Of { gate: &inner.name, permits: inner.queue.limit() as u64 };
        let turn = |breaker: &Breaker| breaker.ended(of, self.role, health, self.since, now);
        match inner.breaker.as_ref().map_or(Turn::None, turn) {
            Turn::None => {}
            // Each of those who wait would pay what the others have just paid.
            Turn::Opened => inner.queue.dismiss(RejectReason::OriginDown),
        }
    }
}

/// One place in a gate's queue, free again at once when dropped (G1).
pub(crate) struct Place {
    gate: Gate,
    waiter: Waiter,
    role: Role,
    since: Moment,
    /// How the wait ended, once it has.
    ended: Option<PermitResult>,
}

impl Place {
    pub(super) fn new(gate: &Gate, waiter: Waiter, role: Role) -> Self {
        let now = clock::exact();
        gate.0.pending_peak.note(now, gate.0.queue.waiting() as u64);
        gate.check(now);
        Self { gate: gate.clone(), waiter, role, since: now, ended: None }
    }

    /// Waits for a permit, at most the queue timeout and at most until `deadline`.
    ///
    /// # Cancel safety
    /// Dropping the future frees the place and takes no permit.
    pub(crate) async fn wait(mut self, deadline: Moment) -> Result<Permit, RejectReason> {
        let inner = &self.gate.0;
        let now = clock::exact();
        let ends = self.since.saturating_add(nanos(inner.settings.queue_timeout()));
        let left = ends.min(deadline).saturating_sub(now);
        let answer = time::timeout(Duration::from_nanos(left), self.waiter.answer()).await;
        let now = clock::exact();
        inner.wait.record(now.saturating_sub(self.since));
        let late = if deadline < ends { RejectReason::Deadline } else { RejectReason::QueueTimeout };
        let answer = answer.ok().or_else(|| self.waiter.leave()).unwrap_or(Err(late));
        self.ended = Some(match &answer {
            Ok(_) => PermitResult::Granted,
            Err(reason) => result_of(*reason),
        });
        match answer {
            Ok(slot) => Ok(self.gate.grant(slot, PermitClass::Foreground, self.role, now)),
            Err(reason) => {
                if reason != RejectReason::OriginDown {
                    self.gate.0.conditions.rejected();
                }
                self.gate.check(now);
                Err(reason)
            }
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // A place that is given up before its wait has ended belonged to a cache that was shut down.
        let now = clock::exact();
        self.gate.0.waited(self.ended.unwrap_or(PermitResult::Closed), now.saturating_sub(self.since));
        if self.ended != Some(PermitResult::Granted) {
            self.gate.0.not_sent(self.role, now);
        }
    }
}
