//! What may be traced, as the application sets it.

use crate::config::{Check, ConfigError};

/// Which flights of a cache are traced, and how many at most. See [`Builder::traces`](crate::Builder::traces).
///
/// | setting | default | range | more / less |
/// |---|---|---|---|
/// | [`per_second`](Traces::per_second) | 10 flights | 0 (none) to 1,000 | load of the exporter / fewer examples |
/// | [`one_in`](Traces::one_in) | 1,000 | 0 (none) to 1,000,000,000 | rarer examples of ordinary keys / they use up the budget |
/// | [`hot_keys`](Traces::hot_keys) | 32 | 0 (none) to 256 | keys that matter less / only the very hottest |
/// | [`waits`](Traces::waits) | 64 of a flight | 0 (none) to 10,000 | load of the exporter in a herd / slow requests without a link |
///
/// ```
/// # use std::time::Duration;
/// # use herdcache::{Cache, Gate, Traces, Ttl};
/// let ttl = Ttl::fresh_for(Duration::from_secs(60));
/// let users = Cache::<u64, String>::builder("users", ttl, &Gate::new(8))
///     .traces(Traces::default().per_second(50).waits(200).one_in(10_000).hot_keys(16))
///     .build()?;
/// // What came of it, and what the limits left out: raise them if that is much.
/// let counts = users.traced();
/// assert_eq!((counts.flights, counts.flights_refused, counts.waits_refused), (0, 0, 0));
/// // A cache of which nothing is worth a span.
/// let flags = Cache::<u64, String>::builder("flags", ttl, &Gate::new(8)).traces(Traces::none()).build()?;
/// # let _ = flags;
/// # Ok::<(), herdcache::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Traces {
    pub(super) per_second: u32,
    pub(super) one_in: u64,
    pub(super) hot_keys: usize,
    pub(super) waits: u32,
}

impl Default for Traces {
    fn default() -> Self {
        Self { per_second: 10, one_in: 1_000, hot_keys: 32, waits: 64 }
    }
}

impl Traces {
    /// None at all: not even the choice is made.
    pub const fn none() -> Self {
        Self { per_second: 0, one_in: 0, hot_keys: 0, waits: 0 }
    }

    /// The most flights that are traced in a second, 0 to 1,000, herds included; one second's worth may come at once. Half
    /// of that is kept for herds. Default 10.
    pub const fn per_second(mut self, flights: u32) -> Self {
        self.per_second = flights;
        self
    }

    /// One in so many flights is traced, whatever its key: 0 (none) to 1,000,000,000. Default 1,000.
    pub const fn one_in(mut self, flights: u64) -> Self {
        self.one_in = flights;
        self
    }

    /// Flights of so many of the keys asked for most are traced: 0 (none) to 256. Default 32, as many as a snapshot
    /// lists.
    pub const fn hot_keys(mut self, keys: usize) -> Self {
        self.hot_keys = keys;
        self
    }

    /// The most callers of one traced flight whose wait gets a span, 0 to 10,000, its leader included. Default 64.
    pub const fn waits(mut self, callers: u32) -> Self {
        self.waits = callers;
        self
    }

    pub(crate) fn check(self, check: &Check) -> Result<(), ConfigError> {
        check.number("traces: per_second", self.per_second.into(), 0, 1_000)?;
        check.number("traces: one_in", self.one_in, 0, 1_000_000_000)?;
        check.number("traces: hot_keys", self.hot_keys as u64, 0, 256)?;
        check.number("traces: waits", self.waits.into(), 0, 10_000)
    }
}
