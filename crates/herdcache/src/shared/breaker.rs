//! T4: the circuit before the shared tier. When too many operations fail, it is left alone but for one probe at a time.
//!
//! Unlike the gate's fail-fast, it refuses no caller: a flight that may not ask the tier
//! loads under its own process's protection, at once.

use std::time::Duration;

use herdfeed::{CircuitState, Event, Fact, Severity, SharedOperation};

use crate::account::Counters;
use crate::clock::{Moment, nanos};
use crate::events;
use crate::ratio::{Sums, Window};
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The span over which the failed part of operations is judged.
const SPAN: u64 = 10_000_000_000;
/// Fewer operations than this within the span prove nothing, unless they fail in a row.
const AT_LEAST: u64 = 20;

/// When the circuit opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Breaking {
    /// Failures in a row.
    pub(crate) in_a_row: u64,
    /// Time between two probes.
    pub(crate) probe_every: Duration,
}

/// What an operation is for, beside its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Use,
    /// It tests whether the tier is back.
    Probe,
}

/// How an operation ended, as far as the health of the tier goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Health {
    Good,
    Bad,
    /// It was given up before the tier had its full time.
    Unknown,
}

/// The circuit of one cache.
pub(super) struct Breaker {
    settings: Breaking,
    /// Whether `state` holds an outage, so that a healthy tier takes no lock to be asked.
    open: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    window: Window,
    in_a_row: u64,
    /// When the last outage ended; operations that began before say nothing about the tier now.
    healed: Moment,
    outage: Option<Outage>,
}

struct Outage {
    since: Moment,
    next_probe: Moment,
    /// Whether a probe is on its way.
    probing: Probing,
    event: Event,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Probing {
    Yes,
    No,
}

/// What the breaker tells of, and to whom.
pub(super) struct Told<'a> {
    /// The cache.
    pub(super) subject: &'a str,
    pub(super) transitions: &'a Counters<CircuitState>,
}

impl Told<'_> {
    fn changed(&self, now: Moment, state: CircuitState) {
        self.transitions.add(state);
        events::tell(self.subject, Severity::Info, now, Fact::CircuitChanged { state });
    }
}

impl Breaker {
    pub(super) fn new(settings: Breaking) -> Self {
        Self { settings, open: AtomicBool::new(false), state: Mutex::default() }
    }

    /// Whether the tier may be asked, and as what; `None` if it is left alone.
    pub(super) fn admit(&self, told: &Told<'_>, now: Moment) -> Option<Role> {
        if !self.open.load(Relaxed) {
            return Some(Role::Use);
        }
        let mut state = self.state.lock();
        let Some(outage) = &mut state.outage else { return Some(Role::Use) };
        if now < outage.next_probe || outage.probing == Probing::Yes {
            return None;
        }
        outage.next_probe = now.saturating_add(nanos(self.settings.probe_every));
        outage.probing = Probing::Yes;
        told.changed(now, CircuitState::HalfOpen);
        Some(Role::Probe)
    }

    /// An operation that began at `began` has ended.
    pub(super) fn ended(
        &self,
        told: &Told<'_>,
        operation: SharedOperation,
        (role, health): (Role, Health),
        (began, now): (Moment, Moment),
    ) {
        let mut state = self.state.lock();
        if let Some(outage) = &mut state.outage {
            if role == Role::Probe {
                outage.probing = Probing::No;
                match health {
                    Health::Good => self.close(&mut state, told, now),
                    Health::Bad => told.changed(now, CircuitState::Open),
                    // It says nothing; the next who comes is the probe.
                    Health::Unknown => {
                        outage.next_probe = now;
                        told.changed(now, CircuitState::Open);
                    }
                }
            }
            return;
        }
        if health == Health::Unknown || began < state.healed {
            return;
        }
        let lost_ns = (health == Health::Bad).then_some(now.saturating_sub(began));
        state.in_a_row = if health == Health::Bad { state.in_a_row + 1 } else { 0 };
        state.window.count(now, SPAN, lost_ns);
        let Sums { calls, failed, .. } = state.window.sums(now, SPAN);
        let too_many = state.in_a_row >= self.settings.in_a_row || (calls >= AT_LEAST && failed * 2 >= calls);
        if health == Health::Bad && too_many {
            let event =
                events::tell(told.subject, Severity::Critical, now, Fact::SharedDown { operation, failed, calls });
            let next_probe = now.saturating_add(nanos(self.settings.probe_every));
            state.outage = Some(Outage { since: now, next_probe, probing: Probing::No, event });
            self.open.store(true, Relaxed);
            told.changed(now, CircuitState::Open);
        }
    }

    fn close(&self, state: &mut State, told: &Told<'_>, now: Moment) {
        let since = state.outage.take().map_or(now, |outage| outage.since);
        self.open.store(false, Relaxed);
        *state = State { healed: now, ..State::default() };
        events::tell(
            told.subject,
            Severity::Info,
            now,
            Fact::SharedUp { duration_us: now.saturating_sub(since) / 1_000 },
        );
        told.changed(now, CircuitState::Closed);
    }

    /// When the tier may be asked next; `None` while it may be now.
    pub(super) fn shut_until(&self) -> Option<Moment> {
        if !self.open.load(Relaxed) {
            return None;
        }
        self.state.lock().outage.as_ref().map(|outage| outage.next_probe)
    }

    pub(super) fn circuit(&self) -> CircuitState {
        match &self.state.lock().outage {
            None => CircuitState::Closed,
            Some(outage) if outage.probing == Probing::Yes => CircuitState::HalfOpen,
            Some(_) => CircuitState::Open,
        }
    }

    /// The outage, for who lists what has started and not ended.
    pub(super) fn active(&self) -> Option<Event> {
        self.state.lock().outage.as_ref().map(|outage| outage.event.clone())
    }

    pub(super) fn settings(&self) -> Breaking {
        self.settings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    struct Case {
        breaker: Breaker,
        transitions: Counters<CircuitState>,
    }

    impl Case {
        fn new() -> Self {
            let settings = Breaking { in_a_row: 5, probe_every: Duration::from_secs(1) };
            Self { breaker: Breaker::new(settings), transitions: Counters::new() }
        }

        fn told(&self) -> Told<'_> {
            Told { subject: "breaker", transitions: &self.transitions }
        }

        /// An operation at `at` that ends at once; whether it was sent.
        fn run(&self, at: u64, health: Health) -> bool {
            let Some(role) = self.breaker.admit(&self.told(), at) else { return false };
            self.breaker.ended(&self.told(), SharedOperation::Read, (role, health), (at, at));
            true
        }
    }

    /// T4: five failures in a row open it, one probe a second passes, the first good one closes it.
    #[test]
    fn t4_five_in_a_row_open_and_one_probe_a_second_passes() {
        let case = Case::new();
        (0..4).for_each(|n| assert!(case.run(n * MS, Health::Bad)));
        assert!(case.run(4 * MS, Health::Good));
        (5..10).for_each(|n| assert!(case.run(n * MS, Health::Bad)));
        assert_eq!(case.breaker.circuit(), CircuitState::Open);
        assert_eq!((10..5_010).filter(|n| case.run(n * MS, Health::Bad)).count(), 5);
        assert!(case.run(6_500 * MS, Health::Good));
        assert_eq!(case.breaker.circuit(), CircuitState::Closed);
        let seen = case.transitions.read();
        assert_eq!(CircuitState::all().iter().map(|state| seen[*state]).collect::<Vec<_>>(), [1, 6, 6]);
    }

    use herdfeed::ClosedSet;

    /// T4: one probe at a time, also while it hangs; one that was given up is followed by another.
    #[test]
    fn t4_a_hanging_probe_is_alone() {
        let case = Case::new();
        (0..5).for_each(|n| assert!(case.run(n, Health::Bad)));
        let role = case.breaker.admit(&case.told(), 2_000 * MS).unwrap();
        assert_eq!((role, case.breaker.circuit()), (Role::Probe, CircuitState::HalfOpen));
        assert!(!case.run(9_000 * MS, Health::Good));
        let times = (2_000 * MS, 9_001 * MS);
        case.breaker.ended(&case.told(), SharedOperation::Read, (role, Health::Unknown), times);
        assert!(case.run(9_002 * MS, Health::Good));
        assert_eq!(case.breaker.circuit(), CircuitState::Closed);
    }

    /// T4: half of at least twenty within ten seconds open it too; older ones are forgotten.
    #[test]
    fn t4_half_of_twenty_open_it() {
        let alternate = |case: &Case, count: u64, step: u64| {
            (0..count).filter(|n| case.run(n * step, if n % 2 == 0 { Health::Good } else { Health::Bad })).count()
        };
        let case = Case::new();
        assert_eq!((alternate(&case, 40, 10 * MS), case.breaker.circuit()), (20, CircuitState::Open));
        let case = Case::new();
        assert_eq!((alternate(&case, 40, 2_000 * MS), case.breaker.circuit()), (40, CircuitState::Closed));
    }

    /// T4: what began before the tier healed says nothing.
    #[test]
    fn t4_late_failures_of_the_last_outage_do_not_count() {
        let case = Case::new();
        (0..5).for_each(|n| assert!(case.run(n, Health::Bad)));
        assert!(case.run(2_000 * MS, Health::Good));
        for _ in 0..50 {
            case.breaker.ended(&case.told(), SharedOperation::Read, (Role::Use, Health::Bad), (MS, 2_001 * MS));
        }
        assert_eq!(case.breaker.circuit(), CircuitState::Closed);
    }
}
