//! G5: fail-fast for the whole origin. When too many loads fail, new ones are refused, except one probe at a time.
//!
//! Cooling is per key: with 100,000 keys of a dead origin each of them would pay a
//! full timeout first. Here one window is kept for all loads of the gate. It learns
//! of a load when its result is known, also if its work goes on.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use herdfeed::{CircuitState, Event, Fact, FailFastConfig, Severity};
use parking_lot::Mutex;

use super::FailFast;
use crate::clock::{Moment, nanos};
use crate::events;
use crate::ratio::Window;

/// What a load is for, beside its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Load,
    /// It tests whether the origin is back.
    Probe,
}

/// How a load ended, as far as the health of the origin goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Health {
    Good,
    Bad,
    /// It was given up, or never said.
    Unknown,
}

/// What an end has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    None,
    /// From here on loads are refused.
    Opened,
}

/// The circuit of one gate.
pub(super) struct Breaker {
    settings: FailFast,
    /// Whether `state` holds an outage, so that a healthy gate takes no lock to enter.
    open: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    window: Window,
    /// When the last outage ended; loads that began before say nothing about the origin now.
    healed: Moment,
    outage: Option<Outage>,
}

struct Outage {
    since: Moment,
    next_probe: Moment,
    probes_out: u64,
    last_failure: Moment,
    failed: u64,
    calls: u64,
    event: Event,
}

impl Breaker {
    pub(super) fn new(settings: FailFast) -> Self {
        Self { settings, open: AtomicBool::new(false), state: Mutex::default() }
    }

    /// Whether a load may pass, and as what; `None` if it is refused.
    pub(super) fn admit(&self, now: Moment) -> Option<Role> {
        if !self.open.load(Relaxed) {
            return Some(Role::Load);
        }
        let mut state = self.state.lock();
        let Some(outage) = &mut state.outage else { return Some(Role::Load) };
        if now < outage.next_probe {
            return None;
        }
        // Whether or not an earlier probe still hangs: it began when the origin was dead.
        outage.next_probe = now.saturating_add(nanos(self.settings.probe_every));
        outage.probes_out += 1;
        Some(Role::Probe)
    }

    /// Whether nobody may pass now.
    pub(super) fn is_shut(&self, now: Moment) -> bool {
        self.open.load(Relaxed) && self.state.lock().outage.as_ref().is_some_and(|outage| now < outage.next_probe)
    }

    /// A probe found no permit: the next who comes is the probe.
    pub(super) fn not_sent(&self, now: Moment) {
        if let Some(outage) = &mut self.state.lock().outage {
            outage.probes_out = outage.probes_out.saturating_sub(1);
            outage.next_probe = now;
        }
    }

    /// A load that began at `began` has ended.
    pub(super) fn ended(&self, gate: &str, role: Role, health: Health, began: Moment, now: Moment) -> Turn {
        let mut state = self.state.lock();
        if state.outage.is_some() {
            state.ended_in_outage(role, health, now);
            if state.is_over(role, health, now, nanos(self.settings.window)) {
                self.close(&mut state, gate, now);
            }
            return Turn::None;
        }
        if health == Health::Unknown || began < state.healed {
            return Turn::None;
        }
        let span = nanos(self.settings.window);
        state.window.count(now, span, u64::from(health == Health::Bad));
        let (calls, failed) = state.window.sums(now, span);
        if health == Health::Good
            || calls < self.settings.at_least
            || (failed as f64) < self.settings.ratio * calls as f64
        {
            return Turn::None;
        }
        let event = events::tell(gate, Severity::Critical, now, Fact::OriginDown { failed, calls });
        let next_probe = now.saturating_add(nanos(self.settings.probe_every));
        let outage = Outage { since: now, next_probe, probes_out: 0, last_failure: now, failed, calls, event };
        state.outage = Some(outage);
        self.open.store(true, Relaxed);
        Turn::Opened
    }

    fn close(&self, state: &mut State, gate: &str, now: Moment) {
        let since = state.outage.take().map_or(now, |outage| outage.since);
        self.open.store(false, Relaxed);
        (state.window, state.healed) = (Window::default(), now);
        let duration_us = now.saturating_sub(since) / 1_000;
        events::tell(gate, Severity::Info, now, Fact::OriginUp { duration_us });
    }

    /// Time until the next probe; `None` while loads pass.
    pub(super) fn retry_in(&self, now: Moment) -> Option<Duration> {
        let state = self.state.lock();
        let left = state.outage.as_ref()?.next_probe.saturating_sub(now);
        Some(Duration::from_nanos(left).max(Duration::from_millis(1)))
    }

    pub(super) fn circuit(&self) -> CircuitState {
        match &self.state.lock().outage {
            None => CircuitState::Closed,
            Some(outage) if outage.probes_out > 0 => CircuitState::HalfOpen,
            Some(_) => CircuitState::Open,
        }
    }

    /// The outage, with its latest figures.
    pub(super) fn active(&self) -> Option<Event> {
        let state = self.state.lock();
        let outage = state.outage.as_ref()?;
        let fact = Fact::OriginDown { failed: outage.failed, calls: outage.calls };
        Some(Event { fact, ..outage.event.clone() })
    }

    pub(super) fn config(&self) -> FailFastConfig {
        self.settings.config()
    }
}

impl State {
    fn ended_in_outage(&mut self, role: Role, health: Health, now: Moment) {
        let Some(outage) = &mut self.outage else { return };
        if role == Role::Probe {
            outage.probes_out = outage.probes_out.saturating_sub(1);
        }
        match health {
            Health::Good => outage.calls += 1,
            Health::Bad => {
                outage.calls += 1;
                outage.failed += 1;
                outage.last_failure = now;
            }
            Health::Unknown => {}
        }
    }

    /// A good probe ends an outage. So does a whole window without a failure in which probes went and none of them
    /// said how it fared: a gate that only queries of the application pass must not stay shut for ever.
    fn is_over(&self, role: Role, health: Health, now: Moment, window: u64) -> bool {
        let quiet = self.outage.as_ref().is_some_and(|outage| now.saturating_sub(outage.last_failure) >= window);
        role == Role::Probe && (health == Health::Good || health == Health::Unknown && quiet)
    }
}

#[cfg(test)]
mod tests;
