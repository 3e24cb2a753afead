//! [`Ttl`]: how long a value may be answered, and under which circumstances.

use std::time::Duration;

/// How long a value may be answered.
///
/// | age of the value | name | what a reader gets |
/// |---|---|---|
/// | below `fresh_for` | fresh | the value |
/// | up to `stale_for` after freshness | stale | the value at once, while one refresh runs in the background |
/// | past that, up to `stale_if_error_for` after freshness | reserve | a new load; the old value only if that load fails |
/// | beyond | expired | a new load |
///
/// The age counts from the arrival of the origin's answer. On Linux the hit path
/// reads a coarse clock, so a value may be answered up to 4 ms past each bound.
///
/// ```
/// use std::time::Duration;
/// use herdcache::{Cache, Gate, Ttl};
/// const USERS: Ttl = Ttl::fresh_for(Duration::from_secs(60))
///     .stale_for(Duration::from_secs(300))             // while a refresh runs
///     .stale_if_error_for(Duration::from_secs(3_600)); // while the database is down
/// let users = Cache::<u64, String>::builder("users", USERS, &Gate::new(8)).build()?;
/// let in_force = users.snapshot().tuned;
/// assert_eq!((in_force.stale_ms, in_force.stale_if_error_ms), (300_000, 3_600_000));
/// # Ok::<(), herdcache::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "the fields are named like the setters that users know")]
pub struct Ttl {
    pub(crate) fresh_for: Duration,
    pub(crate) stale_for: Duration,
    pub(crate) stale_if_error_for: Option<Duration>,
}

impl Ttl {
    /// Fresh for this long (1 ms to 10 years), then expired.
    ///
    /// Longer: older data. Shorter: more loads.
    pub const fn fresh_for(fresh_for: Duration) -> Self {
        Self { fresh_for, stale_for: Duration::ZERO, stale_if_error_for: None }
    }

    /// Answered this much longer while a refresh runs. Default 0, at most 10 years.
    ///
    /// Longer: older answers when the origin is slow. Shorter: readers wait for the load.
    #[must_use]
    pub const fn stale_for(mut self, stale_for: Duration) -> Self {
        self.stale_for = stale_for;
        self
    }

    /// Answered this much longer, counted from the end of freshness, when loads fail.
    /// Default: as `stale_for`; at most 10 years.
    ///
    /// Longer: older answers while the origin is down. Shorter: errors sooner.
    #[must_use]
    pub const fn stale_if_error_for(mut self, stale_if_error_for: Duration) -> Self {
        self.stale_if_error_for = Some(stale_if_error_for);
        self
    }

    /// How long past freshness a value may be answered if loads fail: never shorter than `stale_for`.
    pub(crate) fn last_for(&self) -> Duration {
        self.stale_if_error_for.map_or(self.stale_for, |limit| limit.max(self.stale_for))
    }
}
