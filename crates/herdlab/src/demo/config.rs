//! What a demonstration is made of. The defaults are tuned so that it shows its point.
//!
//! The arithmetic behind them, with λ the ticker's requests per second, w the
//! work of a load and c the origin's capacity: λ·w = 110 > c = 26, so without
//! coalescing the first answer after an expiry comes after (c/λ)·e^(λw/c − 1) ≈
//! 0.6 s and 650 loads, which take another 2.5 s to work off. Refresh-ahead with
//! so small a β starts a quarter of a load's time before the expiry, which
//! shortens the herd and does not spare it. Protected, the few dozen loads a
//! second need a fifth of the capacity.

use std::time::Duration;

use herdfeed::Measure;

use crate::run::{TtlMs, whole_ms};

/// The hot key: a ticker that every second reader wants, and nobody may see stale.
/// Nothing but single-flight and permits stands between it and the origin.
pub(super) const TICKER: u64 = u64::MAX;

/// The second hot key: a front page that is answered stale while it is renewed.
pub(super) const FRONT: u64 = u64::MAX - 1;

/// Settings of a demonstration.
#[derive(Clone, Debug)]
pub struct DemoConfig {
    /// Decides arrivals, first ages and partial failures.
    pub seed: u64,
    /// Measures that are off from the start.
    pub off: Vec<Measure>,
    /// How long requests are sent; `None` until it is dropped.
    pub length: Option<Duration>,
    /// Requests each second.
    pub rate_per_s: f64,
    /// Part of them that asks for the ticker, 0..=1: the hot key.
    pub ticker_share: f64,
    /// Part of them that asks for the front page, 0..=1.
    pub front_share: f64,
    /// Other pages.
    pub pages: u64,
    /// Exponent of Zipf's law over them.
    pub zipf: f64,
    /// Size of one value.
    pub value_bytes: usize,
    /// The most requests in flight; more are dropped and counted.
    pub most_in_flight: usize,
    /// Soft TTL of the ticker, which is never stale.
    pub ticker_fresh_for: Duration,
    /// Soft TTL of the front page.
    pub front_fresh_for: Duration,
    /// Soft TTL of the others.
    pub fresh_for: Duration,
    /// How long after it a value may be answered while a refresh runs.
    pub stale_for: Duration,
    /// How long after it a value may be answered when loads fail.
    pub stale_if_error_for: Duration,
    /// Largest part of a soft TTL that jitter takes away.
    pub jitter: f64,
    /// Refresh-ahead factor β.
    pub beta: f64,
    /// The most entries in the cache.
    pub capacity: u64,
    /// The most waiters of one flight.
    pub max_waiters: usize,
    /// Limit of an origin call.
    pub origin_timeout: Duration,
    /// Limit of a flight.
    pub flight_deadline: Duration,
    /// The most concurrent origin calls.
    pub permits: usize,
    /// Of these, the most that refreshes use.
    pub refresh_permits: usize,
    /// The most loads that wait for a permit.
    pub queue: usize,
    /// The longest that one waits.
    pub queue_timeout: Duration,
    /// What one load takes when nothing disturbs it.
    pub origin_work: Duration,
    /// Loads that the origin works on at full speed.
    pub origin_capacity: f64,
    /// Connections that it has; a call beyond them fails at once.
    pub origin_connections: usize,
    /// How many times slower the origin is made.
    pub slow_factor: f64,
    /// Part of calls that fails when the origin is made to.
    pub fail_ratio: f64,
}

impl Default for DemoConfig {
    fn default() -> Self {
        Self {
            seed: 1,
            off: Vec::new(),
            length: None,
            rate_per_s: 2_000.0,
            ticker_share: 0.55,
            front_share: 0.10,
            pages: 3_000,
            zipf: 0.99,
            value_bytes: 512,
            most_in_flight: 5_000,
            ticker_fresh_for: Duration::from_secs(1),
            front_fresh_for: Duration::from_secs(2),
            fresh_for: Duration::from_secs(60),
            stale_for: Duration::from_secs(15),
            stale_if_error_for: Duration::from_secs(30),
            jitter: 0.10,
            beta: 0.1,
            capacity: 10_000,
            max_waiters: 10_000,
            origin_timeout: Duration::from_secs(5),
            flight_deadline: Duration::from_secs(8),
            permits: 20,
            refresh_permits: 12,
            queue: 80,
            queue_timeout: Duration::from_millis(500),
            origin_work: Duration::from_millis(100),
            origin_capacity: 26.0,
            origin_connections: 1_000,
            slow_factor: 5.0,
            fail_ratio: 1.0,
        }
    }
}

impl DemoConfig {
    /// Bounds of the pages' values.
    pub(super) fn ttl(&self) -> TtlMs {
        TtlMs {
            fresh: whole_ms(self.fresh_for),
            stale: whole_ms(self.stale_for),
            stale_if_error: whole_ms(self.stale_if_error_for),
        }
    }

    /// Bounds of the hot key's values.
    pub(super) fn hot_ttl(&self) -> TtlMs {
        TtlMs { fresh: whole_ms(self.ticker_fresh_for), stale: 0, ..self.ttl() }
    }

    /// All keys that may be asked for: the pages and the two hot ones.
    pub(super) fn keys(&self) -> u64 {
        self.pages + 2
    }
}
