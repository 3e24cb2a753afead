//! Settings of a gate.

use std::time::Duration;

use super::{FailFast, Gate, GateSettings};
use crate::config::{Check, ConfigError, check_name};

pub(super) const MOST_PERMITS: usize = 65_536;

impl GateSettings {
    pub(super) fn new(permits: usize) -> Self {
        let quarter = (permits / 4).max(1);
        Self {
            permits,
            queue: permits.saturating_mul(4),
            chosen_queue_timeout: None,
            refresh_permits: quarter,
            warmup_permits: quarter,
            origin_capacity: None,
            fail_fast: Some(FailFast::new()),
            adaptive_floor: None,
        }
    }

    /// The longest that a load waits for a permit.
    pub(crate) fn queue_timeout(&self) -> Duration {
        self.chosen_queue_timeout.unwrap_or(Duration::from_millis(500))
    }
}

/// Builds a [`Gate`].
#[doc = include_str!("../../docs/examples/gate_builder.md")]
#[derive(Debug, Clone)]
pub struct GateBuilder {
    name: String,
    settings: GateSettings,
}

impl GateBuilder {
    pub(super) fn new(permits: usize) -> Self {
        Self { name: "gate".to_owned(), settings: GateSettings::new(permits) }
    }

    /// Its name in telemetry: 1 to 64 of `a-z0-9_.-`. Default `gate`.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// The most loads that wait for a permit (0 to 100,000). Default 4 × permits.
    ///
    /// Longer: more latency in overload. Shorter: short bursts are rejected.
    #[must_use]
    pub fn queue(mut self, places: usize) -> Self {
        self.settings.queue = places;
        self
    }

    /// The longest a load waits for a permit: 0 to 1 h, and no longer than the flight deadline of any cache behind the
    /// gate. Default 500 ms, or the flight's deadline if that comes sooner.
    ///
    /// Longer: more latency in overload. Shorter: short bursts are rejected.
    #[must_use]
    pub fn queue_timeout(mut self, limit: Duration) -> Self {
        self.settings.chosen_queue_timeout = Some(limit);
        self
    }

    /// Of the permits, the most that background refreshes use at once (0 to permits). Default a quarter, at least 1.
    ///
    /// More: a smaller share for callers. Fewer: staler values.
    #[must_use]
    pub fn refresh_permits(mut self, permits: usize) -> Self {
        self.settings.refresh_permits = permits;
        self
    }

    /// Of the permits, the most that warm-up uses at once (0 to permits). Default a quarter, at least 1.
    ///
    /// More: a smaller share for callers while it runs. Fewer: a longer warm-up.
    #[must_use]
    pub fn warm_up_permits(mut self, permits: usize) -> Self {
        self.settings.warmup_permits = permits;
        self
    }

    /// When too many loads fail, new ones are refused as `origin_down`, except one probe at a time; the first good
    /// probe ends that. Stale and reserve values are answered meanwhile. Default [`FailFast::new`].
    ///
    /// Origin errors, timeouts and panics are failures; refused and cancelled loads are none. Refreshes are skipped
    /// meanwhile, unless one is the probe. Without it every key of a dead origin pays a whole timeout.
    #[must_use]
    pub fn fail_fast(mut self, when: FailFast) -> Self {
        self.settings.fail_fast = Some(when);
        self
    }

    /// Never refuses a load because others failed. Each key of a dead origin then pays a whole timeout. Default: as
    /// [`fail_fast`](Self::fail_fast) says.
    #[must_use]
    pub fn without_fail_fast(mut self) -> Self {
        self.settings.fail_fast = None;
        self
    }

    /// The limit follows the origin's latency: it falls while loads take longer because too many run, and grows
    /// again when they do not. The permits become its ceiling, a tenth of them (at least 1) its floor, where it starts.
    /// Off by default.
    ///
    /// For an origin whose capacity is not known or changes. It needs traffic that meets the limit: about 16 loads, or
    /// twice the limit, for each step, so it is of no use below some loads a second. Permits of [`Gate::acquire`] count
    /// towards the limit and teach it nothing: where nothing else passes it stays at the floor. A fixed limit that fits
    /// is steadier: this one moves, and looks at the origin with a quarter less every ten seconds.
    #[must_use]
    pub fn adaptive(mut self) -> Self {
        self.settings.adaptive_floor = Some((self.settings.permits / 10).max(1));
        self
    }

    /// [`GateBuilder::adaptive`] with a floor of its own: 1 to permits. Off by default.
    ///
    /// Higher: a sick origin gets more calls. Lower: a longer way back up.
    #[must_use]
    pub fn adaptive_from(mut self, floor: usize) -> Self {
        self.settings.adaptive_floor = Some(floor);
        self
    }

    /// What the origin can bear at once over all processes, in calls; for display and warnings, never a limit by itself.
    /// Default: not said.
    ///
    /// The dashboard adds up the permits of all processes and warns when the sum passes it.
    #[must_use]
    pub fn origin_capacity(mut self, calls: u64) -> Self {
        self.settings.origin_capacity = Some(calls);
        self
    }

    /// Opens the gate.
    ///
    /// # Errors
    /// [`ConfigError`] naming the field that is out of its range.
    pub fn build(self) -> Result<Gate, ConfigError> {
        let check = Check { subject: format!("gate {:?}", self.name) };
        check_name(&check.subject, &self.name)?;
        let settings = &self.settings;
        check.number("permits", settings.permits as u64, 1, MOST_PERMITS as u64)?;
        check.number("queue", settings.queue as u64, 0, 100_000)?;
        check.number("refresh_permits", settings.refresh_permits as u64, 0, settings.permits as u64)?;
        check.number("warm_up_permits", settings.warmup_permits as u64, 0, settings.permits as u64)?;
        if let Some(floor) = settings.adaptive_floor {
            check.number("adaptive floor", floor as u64, 1, settings.permits as u64)?;
        }
        if let Some(when) = &settings.fail_fast {
            when.check(&check)?;
        }
        check.duration("queue_timeout", settings.queue_timeout(), Duration::ZERO, Duration::from_secs(3600))?;
        Ok(Gate::open(&self.name, self.settings))
    }
}
