//! [`Gate`]: the right to call the origin, a bounded wait for it, and the refusal.
//!
//! A gate knows neither keys nor loads. `queue` holds the limit and the bounded
//! queue in front of it; this file joins it with classes and the account.

mod acquire;
mod builder;
mod conditions;
mod permit;
mod queue;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use herdfeed::{GateConfig, GateSnapshot, PermitClass, PermitResult, RejectReason};

use crate::account::{AtomicHistogram, Counters, Peak};
use crate::clock::{self, Moment};
use crate::registry::{self, ObservedGate};

pub use acquire::{GatePermit, Rejected};
pub use builder::GateBuilder;
pub(crate) use permit::{Permit, Place};
pub(crate) use queue::Group;
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
/// # Ok::<(), herdcache::ConfigError>(())
/// ```
#[derive(Clone)]
pub struct Gate(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) name: String,
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
            queue: Queue::new(settings.permits, settings.queue),
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
        match inner.queue.enter(group) {
            Entry::Free(slot) => {
                inner.results.add(PermitResult::Granted);
                Admission::Granted(self.grant(slot, PermitClass::Foreground, now))
            }
            Entry::Waits(waiter) => Admission::Queued(Place::new(self, waiter)),
            Entry::Refused(reason) => {
                inner.results.add(PermitResult::QueueFull);
                inner.conditions.rejected();
                self.check(now);
                Admission::Refused(reason)
            }
        }
    }

    /// G2: a background load asks. It gets a permit of its class's share now, or none.
    pub(crate) fn enter_background(&self, class: PermitClass) -> Option<Permit> {
        let inner = &self.0;
        let share = match class {
            PermitClass::Foreground => inner.settings.permits,
            PermitClass::Refresh => inner.settings.refresh_permits,
            PermitClass::Warmup => inner.settings.warmup_permits,
        };
        let permit = self.claim(class, share as u64);
        if permit.is_none() {
            inner.skipped.fetch_add(1, Relaxed);
        }
        permit
    }

    /// A permit out of a share. The place in the share is taken first, so that two cannot both get the last.
    fn claim(&self, class: PermitClass, share: u64) -> Option<Permit> {
        let inner = &self.0;
        if inner.claimed.raise(class) <= share {
            // A permit that is free while foreground loads wait is theirs: the queue sees to that.
            if let Some(slot) = inner.queue.try_enter() {
                return Some(self.grant(slot, class, clock::exact()));
            }
        }
        inner.claimed.sub(class);
        None
    }

    fn grant(&self, slot: Slot, class: PermitClass, now: Moment) -> Permit {
        let inner = &self.0;
        inner.in_use.add(class);
        inner.granted.add(class);
        let used = inner.in_use.total();
        if used > inner.settings.permits as u64 {
            inner.law_violations.fetch_add(1, Relaxed);
        }
        inner.usage_peak.note(now, used);
        self.check(now);
        Permit::new(self.clone(), slot, class, now)
    }

    /// When a refused caller has a fair chance: the time in which the queue before it is worked off.
    pub(crate) fn retry_in(&self, _reason: RejectReason) -> Duration {
        let inner = &self.0;
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

    /// How many permits there are.
    pub(crate) fn permits(&self) -> u64 {
        self.0.settings.permits as u64
    }
}

impl ObservedGate for Inner {
    fn snapshot(&self) -> GateSnapshot {
        let now = clock::exact();
        self.conditions.check(self, now);
        GateSnapshot {
            name: self.name.clone(),
            limit: self.settings.permits as u64,
            in_use: self.in_use.read(),
            pending: self.queue.waiting() as u64,
            queue: self.settings.queue as u64,
            granted: self.granted.read(),
            results: self.results.read(),
            skipped: self.skipped.load(Relaxed),
            wait: self.wait.read(),
            usage_peak: self.usage_peak.read(now),
            pending_peak: self.pending_peak.read(now),
            origin_capacity: self.settings.origin_capacity,
            conditions: self.conditions.active(),
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
