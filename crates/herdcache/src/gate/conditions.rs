//! Whether the gate is saturated: every permit out and loads waiting, or being refused.

use herdfeed::thresholds::{SATURATED_AFTER, SATURATED_QUIET};
use herdfeed::{Event, Fact, Severity};

use super::Inner;
use crate::clock::{Moment, nanos};
use crate::events;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Detects `origin_saturated` on slow paths and whenever somebody reads.
#[derive(Default)]
pub(super) struct GateConditions {
    rejected: AtomicU64,
    /// Refusals that the last look saw.
    seen: AtomicU64,
    /// Whether a look has to go on: the gate was full or saturated at the last.
    active: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Since when every permit has been out with loads waiting.
    full_since: Option<Moment>,
    saturated: Option<Saturated>,
}

struct Saturated {
    since: Moment,
    last_full: Moment,
    rejected_before: u64,
    event: Event,
}

impl GateConditions {
    /// A load was refused.
    pub(super) fn rejected(&self) {
        self.rejected.fetch_add(1, Relaxed);
    }

    /// What has started and not ended, with its latest figures.
    pub(super) fn active(&self) -> Vec<Event> {
        self.state.lock().saturated.iter().map(|saturated| saturated.event.clone()).collect()
    }

    pub(super) fn check(&self, gate: &Inner, now: Moment) {
        // Nothing waits, was refused or is active: the common case costs two loads.
        let calm = gate.queue.waiting() == 0 && self.rejected.load(Relaxed) == self.seen.load(Relaxed);
        if calm && !self.active.load(Relaxed) {
            return;
        }
        // Whoever comes while another looks need not look.
        let Some(mut state) = self.state.try_lock() else { return };
        let rejected = self.rejected.load(Relaxed);
        let pending = gate.queue.waiting() as u64;
        let limit = gate.queue.limit() as u64;
        let full = pending > 0 && gate.in_use.total() >= limit;
        let before = self.seen.swap(rejected, Relaxed);
        let refused = rejected > before;
        state.full_since = if full { state.full_since.or(Some(now)) } else { None };
        let long_full = state.full_since.is_some_and(|since| now.saturating_sub(since) >= nanos(SATURATED_AFTER));
        match &mut state.saturated {
            None if long_full || refused => {
                let fact = Fact::OriginSaturated { limit, pending, rejected: rejected - before };
                let severity = if refused { Severity::Critical } else { Severity::Warn };
                let event = events::tell(&gate.name, severity, now, fact);
                state.saturated = Some(Saturated { since: now, last_full: now, rejected_before: before, event });
            }
            None => {}
            Some(saturated) => {
                let refusals = rejected - saturated.rejected_before;
                saturated.event.fact = Fact::OriginSaturated { limit, pending, rejected: refusals };
                if refusals > 0 {
                    saturated.event.severity = Severity::Critical;
                }
                if pending > 0 || refused {
                    saturated.last_full = now;
                } else if now.saturating_sub(saturated.last_full) >= nanos(SATURATED_QUIET) {
                    let duration_us = now.saturating_sub(saturated.since) / 1_000;
                    state.saturated = None;
                    events::tell(&gate.name, Severity::Info, now, Fact::OriginRelieved { duration_us });
                }
            }
        }
        self.active.store(state.saturated.is_some() || state.full_since.is_some(), Relaxed);
    }
}
