//! G5: fail-fast for the whole origin. When too many loads fail, new ones are refused, except one probe at a time.
//!
//! Cooling is per key: with 100,000 keys of a dead origin each of them would pay a
//! full timeout first. Here one window is kept for all loads of the gate. It learns
//! of a load when its result is known, also if its work goes on.

use std::time::Duration;

use herdfeed::{CircuitState, Event, Fact, FailFastConfig, Severity};

use super::FailFast;
use crate::clock::{Moment, nanos};
use crate::events;
use crate::ratio::{CELLS, Sums, Window, step_of};
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicU64, Ordering::Relaxed};

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

/// The gate whose load has ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Of<'a> {
    pub(super) gate: &'a str,
    /// Its permits in force.
    pub(super) permits: u64,
}

/// The circuit of one gate.
pub(super) struct Breaker {
    settings: FailFast,
    /// When the next probe may go; 0 without an outage. Written under the lock and read without it: neither a healthy
    /// gate nor those whom a shut one turns away, every stale answer's refresh among them (F3), wait for each other.
    next_probe: AtomicU64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    window: Window,
    streak: Streak,
    /// When the last outage ended; loads that began before say nothing about the origin now.
    healed: Moment,
    outage: Option<Outage>,
}

struct Outage {
    since: Moment,
    probes_out: u64,
    last_failure: Moment,
    failed: u64,
    calls: u64,
    event: Event,
}

impl Breaker {
    pub(super) fn new(settings: FailFast) -> Self {
        Self { settings, next_probe: AtomicU64::new(0), state: Mutex::default() }
    }

    /// Whether a load may pass, and as what; `None` if it is refused.
    pub(super) fn admit(&self, now: Moment) -> Option<Role> {
        match self.next_probe.load(Relaxed) {
            0 => return Some(Role::Load),
            next if now < next => return None,
            _ => {}
        }
        let mut state = self.state.lock();
        let Some(outage) = &mut state.outage else { return Some(Role::Load) };
        if now < self.next_probe.load(Relaxed) {
            return None;
        }
        // Whether or not an earlier probe still hangs: it began when the origin was dead.
        self.probe_next(now);
        outage.probes_out += 1;
        Some(Role::Probe)
    }

    /// Whether nobody may pass now.
    pub(super) fn is_shut(&self, now: Moment) -> bool {
        now < self.next_probe.load(Relaxed)
    }

    /// Under the lock: another probe may go when it is time again.
    fn probe_next(&self, now: Moment) {
        self.next_probe.store(now.saturating_add(nanos(self.settings.probe_every)), Relaxed);
    }

    /// A probe found no permit: the next who comes is the probe.
    pub(super) fn not_sent(&self, now: Moment) {
        if let Some(outage) = &mut self.state.lock().outage {
            outage.probes_out = outage.probes_out.saturating_sub(1);
            self.next_probe.store(now, Relaxed);
        }
    }

    /// A load has ended that began at `began` under one of `permits`.
    pub(super) fn ended(&self, of: Of<'_>, role: Role, health: Health, began: Moment, now: Moment) -> Turn {
        let mut state = self.state.lock();
        let window = nanos(self.settings.window);
        if state.outage.is_some() {
            state.ended_in_outage(role, health, now);
            if state.is_over(role, health, now, window) {
                self.close(&mut state, of.gate, now);
            }
            return Turn::None;
        }
        if health == Health::Unknown || began < state.healed {
            return Turn::None;
        }
        let lost_ns = (health == Health::Bad).then(|| now.saturating_sub(began).min(window));
        state.window.count(now, window, lost_ns);
        let seen = state.window.sums(now, window);
        state.streak.count(health, now);
        // Failures of long ago prove nothing in a row, either.
        let in_a_row = state.streak.failed.min(seen.failed) >= self.settings.at_least;
        let proven = self.proves(seen, of.permits) || in_a_row && state.streak.lasts(step_of(window), now);
        if health == Health::Good || !proven {
            return Turn::None;
        }
        let Sums { calls, failed, .. } = seen;
        let event = events::tell(of.gate, Severity::Critical, now, Fact::OriginDown { failed, calls });
        state.outage = Some(Outage { since: now, probes_out: 0, last_failure: now, failed, calls, event });
        self.probe_next(now);
        Turn::Opened
    }

    /// Whether so much has failed within the window that the origin is to be given up.
    ///
    /// A gate of few permits before an origin that hangs sees few loads end, so their number alone would never do. What
    /// it sees is where its permits were: half of them, or one at least, for the whole window (of which the cells show
    /// nine tenths at least) with loads that failed.
    fn proves(&self, seen: Sums, permits: u64) -> bool {
        let window = nanos(self.settings.window);
        let much = (window.saturating_mul(permits) / 2).max(window / CELLS as u64 * (CELLS as u64 - 1));
        let enough = seen.calls >= self.settings.at_least || seen.lost_ns >= much;
        enough && (seen.failed as f64) >= self.settings.ratio * seen.calls as f64
    }

    fn close(&self, state: &mut State, gate: &str, now: Moment) {
        let since = state.outage.take().map_or(now, |outage| outage.since);
        self.next_probe.store(0, Relaxed);
        (state.window, state.streak, state.healed) = (Window::default(), Streak { failed: 0, last_good: now }, now);
        let duration_us = now.saturating_sub(since) / 1_000;
        events::tell(gate, Severity::Info, now, Fact::OriginUp { duration_us });
    }

    /// Time until the next probe; `None` while loads pass.
    pub(super) fn retry_in(&self, now: Moment) -> Option<Duration> {
        let next = self.next_probe.load(Relaxed);
        let left = (next > 0).then(|| next.saturating_sub(now))?;
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

/// Failures in a row.
///
/// An origin that answered thousands a second and hangs now ends a handful: in the window the many good ones of before
/// would outweigh them until they leave it. That none succeeds any more shows sooner.
#[derive(Default)]
struct Streak {
    failed: u64,
    last_good: Moment,
}

impl Streak {
    fn count(&mut self, health: Health, now: Moment) {
        match health {
            Health::Good => *self = Self { failed: 0, last_good: now },
            Health::Bad => self.failed += 1,
            Health::Unknown => {}
        }
    }

    /// Whether nothing has succeeded for so long: what fails in one moment, as when connections are cut, is a glitch.
    fn lasts(&self, span: u64, now: Moment) -> bool {
        now.saturating_sub(self.last_good) >= span
    }
}

#[cfg(test)]
mod tests;
