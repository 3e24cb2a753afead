//! Settings of a gate.

use std::time::Duration;

use super::{Gate, GateSettings};
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
        }
    }

    /// The longest that a load waits for a permit.
    pub(crate) fn queue_timeout(&self) -> Duration {
        self.chosen_queue_timeout.unwrap_or(Duration::from_millis(500))
    }
}

/// Builds a [`Gate`].
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

    /// What the origin can bear over all processes, for display and warnings. Default: not said.
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
        check.duration("queue_timeout", settings.queue_timeout(), Duration::ZERO, Duration::from_secs(3600))?;
        Ok(Gate::open(&self.name, self.settings))
    }
}
