//! [`Gate`]: the right to call the origin, a bounded wait for it, and the refusal.
//!
//! A gate knows neither keys nor loads. `queue` holds the limit and the bounded
//! queue in front of it; this file joins it with classes and the account.

mod acquire;
mod adaptive;
mod breaker;
mod builder;
mod conditions;
mod fail_fast;
mod permit;
mod queue;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use herdfeed::{Event, GateConfig, GateSnapshot, OriginResult, PermitClass, PermitResult, RejectReason, Tally};

use crate::account::{AtomicHistogram, Counters, Peak};
use crate::clock::{self, Moment};
use crate::group::Group;
use crate::recorder::{self, Measured};
use crate::registry::{self, ObservedGate};
use crate::sync::atomic::{AtomicU64, Ordering::Relaxed};
use crate::sync::{Mutex, Notify};

pub use acquire::{GatePermit, Rejected};
use adaptive::{Adaptive, Met};
use breaker::{Breaker, Role};
pub use builder::GateBuilder;
pub use fail_fast::FailFast;
pub(crate) use permit::{Permit, Place};
use queue::{Entry, Queue, Slot};

/// Bounds concurrent origin calls: the permits that protect a database.
///
/// One gate may serve several caches in front of the same database; cloning it
/// gives the same gate. Advice for the number of permits: at most the connection
/// pool's size − 2, so that queries that bypass the cache find a connection;
/// about a + 2√a for a mean of a = misses per second × seconds per load
/// (Little's law), and count the *maximum* number of processes.
///
/// ```
/// use std::time::Duration;
/// use herdcache::Gate;
/// let gate = Gate::builder(8).name("orders-db").queue(32).queue_timeout(Duration::from_millis(250)).build()?;
/// assert_eq!((gate.snapshot().limit, Gate::new(0).snapshot().limit), (8, 1)); // never none at all
/// # Ok::<(), herdcache::ConfigError>(())
/// ```
#[derive(Clone)]
pub struct Gate(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) name: String,
    built: u64,
    pub(crate) settings: GateSettings,
    queue: Arc<Queue>,
    /// Permits out, by class.
    in_use: Counters<PermitClass>,
    /// Places taken in the shares of the background classes.
    claimed: Counters<PermitClass>,
    granted: Counters<PermitClass>,
    results: Counters<PermitResult>,
    skipped: AtomicU64,
    wait: AtomicHistogram,
    usage_peak: Peak,
    pending_peak: Peak,
    /// Moving mean of how long a permit is held, for `retry_in`.
    held_ns: AtomicU64,
    /// Permits found out beyond the limit (law L3); must stay 0.
    pub(crate) law_violations: AtomicU64,
    conditions: conditions::GateConditions,
    breaker: Option<Breaker>,
    adaptive: Option<Mutex<Adaptive>>,
    /// U1: how warm-ups take turns.
    pub(crate) turns: WarmUpTurns,
}

/// U1: what warm-ups behind one gate tell each other, so that the one that holds the permits does not keep them.
#[derive(Debug, Default)]
pub(crate) struct WarmUpTurns {
    /// Told of each permit that one of them gives back: the one that waits longest.
    pub(crate) free: Notify,
    /// How often one of them has found no permit.
    pub(crate) denied: AtomicU64,
}

#[derive(Clone, Debug)]
pub(crate) struct GateSettings {
    pub(crate) permits: usize,
    pub(crate) queue: usize,
    /// As the application set it.
    pub(crate) chosen_queue_timeout: Option<Duration>,
    pub(crate) refresh_permits: usize,
    pub(crate) warmup_permits: usize,
    pub(crate) origin_capacity: Option<u64>,
    pub(crate) fail_fast: Option<FailFast>,
    /// The least that the limit may become, if it follows the origin.
    pub(crate) adaptive_floor: Option<usize>,
}

/// What a load that comes to the gate gets.
pub(crate) enum Admission {
    /// It may call the origin.
    Granted(Permit),
    /// It has a place in the queue.
    Queued(Place),
    /// It is refused.
    Refused(RejectReason),
}

impl Gate {
    /// At most `permits` concurrent origin calls (1 to 65,536), with the documented defaults:
    /// a queue of 4 × permits, a queue timeout of 500 ms, a quarter of the permits for refreshes.
    ///
    /// More permits: an emptier pool. Fewer: earlier rejections. A number out of
    /// range is moved to the nearest end; use [`Gate::builder`] to be told instead.
    pub fn new(permits: usize) -> Self {
        let settings = GateSettings::new(permits.clamp(1, builder::MOST_PERMITS));
        Self::open("gate", settings)
    }

    /// Sets everything that [`Gate::new`] leaves at its default.
    pub fn builder(permits: usize) -> GateBuilder {
        GateBuilder::new(permits)
    }

    fn open(name: &str, settings: GateSettings) -> Self {
        let build = |name| Inner {
            name,
            built: registry::number(),
            queue: Queue::new(settings.adaptive_floor.unwrap_or(settings.permits), settings.queue),
            adaptive: settings.adaptive_floor.map(|floor| Mutex::new(Adaptive::new(floor, settings.permits))),
            breaker: settings.fail_fast.map(Breaker::new),
            settings,
            in_use: Counters::new(),
            claimed: Counters::new(),
            granted: Counters::new(),
            results: Counters::new(),
            skipped: AtomicU64::new(0),
            wait: AtomicHistogram::new(),
            usage_peak: Peak::new(),
            pending_peak: Peak::new(),
            held_ns: AtomicU64::new(0),
            law_violations: AtomicU64::new(0),
            conditions: conditions::GateConditions::default(),
            turns: WarmUpTurns::default(),
        };
        Self(registry::add_gate(name, |name| Arc::new(build(name))))
    }

    /// Its name in telemetry.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Its account now.
    pub fn snapshot(&self) -> GateSnapshot {
        self.0.snapshot()
    }

    /// G1: a foreground load asks to call the origin. Never waits.
    pub(crate) fn enter(&self, group: Option<Group>, now: Moment) -> Admission {
        let inner = &self.0;
        let Some(role) = inner.admit(now) else { return self.refuse(RejectReason::OriginDown, now) };
        match inner.queue.enter(group) {
            Entry::Free(slot) => {
                inner.waited(PermitResult::Granted, 0);
                Admission::Granted(self.grant(slot, PermitClass::Foreground, role, now))
            }
            Entry::Waits(waiter) => Admission::Queued(Place::new(self, waiter, role)),
            Entry::Refused(reason) => {
                inner.not_sent(role, now);
                self.refuse(reason, now)
            }
        }
    }

    fn refuse(&self, reason: RejectReason, now: Moment) -> Admission {
        self.0.waited(result_of(reason), 0);
        // A gate that is shut is not saturated.
        if reason != RejectReason::OriginDown {
            self.0.conditions.rejected();
        }
        self.check(now);
        Admission::Refused(reason)
    }

    /// G2: a background load asks. It gets a permit of its class's share now, or none.
    pub(crate) fn enter_background(&self, class: PermitClass) -> Option<Permit> {
        let inner = &self.0;
        let share = match class {
            PermitClass::Foreground => inner.settings.permits,
            PermitClass::Refresh => inner.settings.refresh_permits,
            PermitClass::Warmup => inner.settings.warmup_permits,
        };
        let permit = self.claim(class, inner.in_force(share));
        if permit.is_none() {
            inner.skipped.fetch_add(1, Relaxed);
        }
        permit
    }

    /// A permit out of a share. The place in the share is taken first, so that two cannot both get the last.
    fn claim(&self, class: PermitClass, share: u64) -> Option<Permit> {
        let (inner, now) = (&self.0, clock::exact());
        let shut = inner.breaker.as_ref().is_some_and(|breaker| breaker.is_shut(now));
        if inner.claimed.raise(class) <= share && !shut {
            // A permit that is free while foreground loads wait is theirs: the queue sees to that.
            if let Some(slot) = inner.queue.try_enter() {
                // G5: where every read is answered stale, refreshes are the only ones that can find the origin back.
                if let Some(role) = inner.admit(now) {
                    inner.tell(class, PermitResult::Granted, 0);
                    return Some(self.grant(slot, class, role, now));
                }
            }
        }
        inner.claimed.sub(class);
        None
    }

    fn grant(&self, slot: Slot, class: PermitClass, role: Role, now: Moment) -> Permit {
        let inner = &self.0;
        inner.in_use.add(class);
        inner.granted.add(class);
        let used = inner.in_use.total();
        if used > inner.settings.permits as u64 {
            inner.law_violations.fetch_add(1, Relaxed);
        }
        inner.usage_peak.note(now, used);
        self.check(now);
        Permit::new(self.clone(), slot, (class, role), now)
    }

    /// When a refused caller has a fair chance: at the next probe, or when the queue before it is worked off.
    pub(crate) fn retry_in(&self, reason: RejectReason) -> Duration {
        let inner = &self.0;
        if reason == RejectReason::OriginDown {
            let probe = inner.breaker.as_ref().and_then(|breaker| breaker.retry_in(clock::exact()));
            return probe.unwrap_or(Duration::from_millis(1));
        }
        let ahead = inner.queue.waiting() as u64 + 1;
        let each = inner.held_ns.load(Relaxed) / inner.queue.limit().max(1) as u64;
        Duration::from_nanos(each.saturating_mul(ahead)).clamp(Duration::from_millis(100), Duration::from_secs(10))
    }

    /// Looks for conditions that started or ended; cheap unless some time has passed.
    pub(crate) fn check(&self, now: Moment) {
        self.0.conditions.check(&self.0, now);
    }

    /// Tells gates apart; the same for every handle of one gate.
    pub(crate) fn address(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    /// How many permits are in force.
    pub(crate) fn limit(&self) -> usize {
        self.0.queue.limit()
    }

    /// How many permits there are.
    pub(crate) fn permits(&self) -> u64 {
        self.0.settings.permits as u64
    }
}

impl Inner {
    /// A foreground load's wait for a permit has ended.
    fn waited(&self, result: PermitResult, ns: u64) {
        self.results.add(result);
        self.tell(PermitClass::Foreground, result, ns);
    }

    fn tell(&self, class: PermitClass, result: PermitResult, ns: u64) {
        let waited = Duration::from_nanos(ns);
        recorder::tell(|| Measured::Permit { gate: &self.name, class, result, waited });
    }

    /// G5: as what a load may pass now, if it may.
    fn admit(&self, now: Moment) -> Option<Role> {
        self.breaker.as_ref().map_or(Some(Role::Load), |breaker| breaker.admit(now))
    }

    /// G3: a load has ended; the limit may move with it.
    fn adapt(&self, began: Moment, now: Moment, result: OriginResult) {
        let Some(adaptive) = &self.adaptive else { return };
        let met = || if self.queue.was_full() { Met::Limit } else { Met::Less };
        let (before, after) = {
            let mut adaptive = adaptive.lock();
            adaptive.ended(began, now, result, met);
            let (before, after) = (self.queue.limit(), adaptive.limit());
            if before != after {
                self.queue.set_limit(after);
            }
            (before, after)
        };
        if after > before {
            self.queue.wake();
        }
    }

    /// G2: a share of the permits, while fewer are in force.
    fn in_force(&self, share: usize) -> u64 {
        (share as u64 * self.queue.limit() as u64).div_ceil(self.settings.permits as u64)
    }

    /// Permits that are out. Those that were handed to loads whose tasks have not run yet are theirs already: on a busy
    /// runtime these can be most of them, and a gate that showed them as free would look idle beside a full queue.
    fn out(&self) -> Tally<PermitClass> {
        let mut out = self.in_use.read();
        let background = out[PermitClass::Refresh].saturating_add(out[PermitClass::Warmup]);
        let foreground = (self.queue.out() as u64).saturating_sub(background);
        out[PermitClass::Foreground] = out[PermitClass::Foreground].max(foreground);
        out
    }

    /// What has started and not ended, with its latest figures.
    fn active(&self) -> Vec<Event> {
        let down = self.breaker.as_ref().and_then(Breaker::active);
        self.conditions.active().into_iter().chain(down).collect()
    }

    /// G5: one that would have been a probe got no permit.
    fn not_sent(&self, role: Role, now: Moment) {
        if let (Role::Probe, Some(breaker)) = (role, &self.breaker) {
            breaker.not_sent(now);
        }
    }
}

/// How a wait for a permit ended that was refused.
fn result_of(reason: RejectReason) -> PermitResult {
    match reason {
        RejectReason::QueueTimeout => PermitResult::QueueTimeout,
        RejectReason::Deadline => PermitResult::Deadline,
        RejectReason::GroupShare => PermitResult::GroupShare,
        RejectReason::OriginDown => PermitResult::OriginDown,
        // The last two are a cache's, not a gate's.
        RejectReason::QueueFull | RejectReason::FlightsFull | RejectReason::WaitersFull => PermitResult::QueueFull,
    }
}

impl ObservedGate for Inner {
    fn snapshot(&self) -> GateSnapshot {
        let now = clock::exact();
        self.conditions.check(self, now);
        GateSnapshot {
            name: self.name.clone(),
            built: self.built,
            limit: self.queue.limit() as u64,
            in_use: self.out(),
            pending: self.queue.waiting() as u64,
            queue: self.settings.queue as u64,
            granted: self.granted.read(),
            results: self.results.read(),
            skipped: self.skipped.load(Relaxed),
            wait: self.wait.read(),
            usage_peak: self.usage_peak.read(now),
            pending_peak: self.pending_peak.read(now),
            origin_capacity: self.settings.origin_capacity,
            circuit: self.breaker.as_ref().map(Breaker::circuit),
            ceiling: self.adaptive.is_some().then_some(self.settings.permits as u64),
            conditions: self.active(),
            law_violations: self.law_violations.load(Relaxed),
        }
    }

    fn config(&self) -> GateConfig {
        let ms = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        GateConfig {
            name: self.name.clone(),
            permits: self.settings.permits as u64,
            queue: self.settings.queue as u64,
            queue_timeout_ms: ms(self.settings.queue_timeout()),
            refresh_permits: self.settings.refresh_permits as u64,
            warmup_permits: self.settings.warmup_permits as u64,
            origin_capacity: self.settings.origin_capacity,
            adaptive_floor: self.settings.adaptive_floor.map(|floor| floor as u64),
            fail_fast: self.breaker.as_ref().map(Breaker::config),
        }
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").field("name", &self.0.name).field("settings", &self.0.settings).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
