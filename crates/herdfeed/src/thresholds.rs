//! When a herd is a herd: the constants of detection.
//!
//! Engine, documentation, lab and dashboard all read them here; so can a check of one's own:
//!
//! ```
//! use std::time::Duration;
//! use herdfeed::thresholds::{
//!     COLD_HIT_RATIO, COLD_MIN_REQUESTS, COLD_QUIET, COLD_WITHIN, REJECTING_MIN_REQUESTS, REJECTING_PER_SECOND,
//!     REJECTING_QUIET, REJECTING_RATIO, REJECTING_WINDOW,
//! };
//! /// A cache of this age with these figures of ten seconds is cold.
//! let cold = |age: Duration, requests: u64, hits: u64| {
//!     age < COLD_WITHIN && requests >= COLD_MIN_REQUESTS && (hits as f64 / requests as f64) < COLD_HIT_RATIO
//! };
//! let (young, old) = (Duration::from_secs(20), Duration::from_secs(90));
//! assert!(cold(young, 500, 100) && !cold(young, 50, 10) && !cold(young, 500, 400) && !cold(old, 500, 100));
//!
//! /// Refusals worth an alarm: many of the last second, or a large part of the window's requests.
//! let rejecting = |last_second: u64, refused: u64, requests: u64| {
//!     let part = refused as f64 / requests as f64;
//!     last_second >= REJECTING_PER_SECOND || (requests >= REJECTING_MIN_REQUESTS && part >= REJECTING_RATIO)
//! };
//! assert!(rejecting(10, 10, 100_000) && rejecting(1, 5, 200) && !rejecting(1, 1, 20));
//! // Each ends after a quiet time, not at the first good second.
//! assert!(COLD_QUIET < REJECTING_QUIET && REJECTING_QUIET < REJECTING_WINDOW);
//! ```
//!
//! The origin, and the store's capacity:
//!
//! ```
//! use std::time::Duration;
//! use herdfeed::thresholds::{
//!     EVICTION_SURGE_CAPACITY, EVICTION_SURGE_MIN_MISSES, EVICTION_SURGE_MISSES, EXHAUSTED_SHARE, EXHAUSTED_WAIT,
//!     FAILING_RATIO, ORIGIN_MIN_CALLS, ORIGIN_WINDOW, SATURATED_AFTER, SATURATED_QUIET, SLOW_FACTOR, SURGE_WINDOW,
//! };
//! let ms = Duration::from_millis;
//! // Of calls within `ORIGIN_WINDOW`: enough of them, and a fifth failed; or three times as slow as usual.
//! let failing = |failed: u64, calls: u64| calls >= ORIGIN_MIN_CALLS && failed as f64 / calls as f64 >= FAILING_RATIO;
//! assert!(failing(20, 100) && !failing(10, 100) && !failing(9, 10));
//! let slow = |p99: Duration, usual: Duration| p99.as_micros() >= usual.as_micros() * u128::from(SLOW_FACTOR);
//! assert!(slow(ms(300), ms(100)) && !slow(ms(200), ms(100)));
//! // Loads that wait for a connection wait for the pool, not for the database.
//! let exhausted = |wait: Duration, call: Duration| wait >= EXHAUSTED_WAIT && wait >= call.mul_f64(EXHAUSTED_SHARE);
//! assert!(exhausted(ms(80), ms(100)) && !exhausted(ms(80), ms(900)) && !exhausted(ms(9), ms(10)));
//! // All permits out: at first a burst, then saturation.
//! assert!(SATURATED_AFTER < SATURATED_QUIET && SATURATED_QUIET < ORIGIN_WINDOW);
//!
//! // A tenth of the store is thrown out within `SURGE_WINDOW`, and comes back as half of the misses.
//! let surge = |evicted: f64, capacity: f64, misses: u64, of_evicted: u64| {
//!     evicted >= capacity * EVICTION_SURGE_CAPACITY
//!         && misses >= EVICTION_SURGE_MIN_MISSES
//!         && of_evicted as f64 >= misses as f64 * EVICTION_SURGE_MISSES
//! };
//! assert!(surge(1_500.0, 10_000.0, 1_000, 700) && !surge(1_500.0, 10_000.0, 1_000, 300));
//! assert_eq!(SURGE_WINDOW, ORIGIN_WINDOW);
//! ```
//!
//! Keys, and how much is told:
//!
//! ```
//! use std::time::Duration;
//! use herdfeed::thresholds::{
//!     AVALANCHE_OVER_MEAN, AVALANCHE_QUIET, EVENTS_PER_SECOND, HOT_CHECK, HOT_OVER_OLD, HOT_SHARE,
//!     HOT_WARN_PER_SECOND, HOT_WARN_SHARE, STALE_NEAR, avalanche_keys, herd_waiters,
//! };
//! // Behind a gate of 64: 32 waiters of one key are a herd, 128 keys that start within a second an avalanche,
//! // if that is also four times the mean of the last minute.
//! assert_eq!((herd_waiters(64), avalanche_keys(64)), (32, 128));
//! let avalanche = |starts: u64, mean: u64| starts >= avalanche_keys(64) && starts >= mean * AVALANCHE_OVER_MEAN;
//! assert!(avalanche(200, 20) && !avalanche(200, 100));
//!
//! // The key asked for most is named, and named anew when another one is clearly hotter, at two looks.
//! let hotter = |new: f64, old: f64| new >= HOT_SHARE && new >= old * HOT_OVER_OLD;
//! assert!(hotter(0.13, 0.10) && !hotter(0.11, 0.10) && !hotter(0.04, 0.0) && HOT_CHECK > AVALANCHE_QUIET);
//! let warns = |share: f64, per_second: f64| share >= HOT_WARN_SHARE && per_second >= HOT_WARN_PER_SECOND;
//! assert!(warns(0.3, 500.0) && !warns(0.3, 5.0)); // a large share of little is no danger
//!
//! // A value of 60 s that may be 240 s stale is near its bound after four minutes.
//! assert_eq!(Duration::from_secs(60 + 240).mul_f64(STALE_NEAR), Duration::from_secs(240));
//! assert!(EVENTS_PER_SECOND < 100); // of one kind: the rest is counted
//! ```

use std::time::Duration;

/// Waiters of one flight that make it a herd, for a gate of `permits`:
/// half of the permits, at least 10 and at most 100.
///
/// Without coalescing this one key would take half of the gate. Below 10 is
/// noise, above 100 is a herd for any pool.
pub fn herd_waiters(permits: u64) -> u64 {
    (permits / 2).clamp(10, 100)
}

/// Distinct keys that start loading within one second and make an avalanche: twice the permits, at least 50.
pub fn avalanche_keys(permits: u64) -> u64 {
    (2 * permits).max(50)
}

/// An avalanche is also this many times the mean of the last minute.
pub const AVALANCHE_OVER_MEAN: u64 = 4;
/// An avalanche ends when starts stay below half of its threshold this long.
pub const AVALANCHE_QUIET: Duration = Duration::from_secs(2);

/// Part of the capacity that is evicted within [`SURGE_WINDOW`] in a surge.
pub const EVICTION_SURGE_CAPACITY: f64 = 0.10;
/// Part of all misses that eviction causes in a surge.
pub const EVICTION_SURGE_MISSES: f64 = 0.5;
/// Fewer misses than this prove nothing about a surge.
pub const EVICTION_SURGE_MIN_MISSES: u64 = 100;
/// The window of surge detection, also the quiet time that ends it.
pub const SURGE_WINDOW: Duration = Duration::from_secs(10);

/// All permits out and loads waiting this long means a saturated origin.
pub const SATURATED_AFTER: Duration = Duration::from_millis(500);
/// An empty queue for this long ends saturation.
pub const SATURATED_QUIET: Duration = Duration::from_secs(2);

/// The origin is slow when its p99 is this many times the usual.
pub const SLOW_FACTOR: u64 = 3;
/// The origin fails when this part of its calls does.
pub const FAILING_RATIO: f64 = 0.20;
/// Fewer calls than this prove nothing about the origin.
pub const ORIGIN_MIN_CALLS: u64 = 20;
/// The window over which the origin is judged, also the quiet time that ends a finding.
pub const ORIGIN_WINDOW: Duration = Duration::from_secs(10);

/// Connections are exhausted when waiting for them takes this part of the origin calls' time.
pub const EXHAUSTED_SHARE: f64 = 0.3;
/// Shorter mean waits for a connection than this are no exhaustion.
pub const EXHAUSTED_WAIT: Duration = Duration::from_millis(50);

/// Refusals within one second that are worth an alarm.
pub const REJECTING_PER_SECOND: u64 = 10;
/// Refused part of all requests within [`REJECTING_WINDOW`] that is worth an alarm.
pub const REJECTING_RATIO: f64 = 0.01;
/// Fewer requests than this prove nothing about the refused part.
pub const REJECTING_MIN_REQUESTS: u64 = 100;
/// The window of the refused part.
pub const REJECTING_WINDOW: Duration = Duration::from_secs(10);
/// This long without a refusal ends it.
pub const REJECTING_QUIET: Duration = Duration::from_secs(5);

/// A hit ratio of the last ten seconds below this, while the cache is young, is a cold start.
pub const COLD_HIT_RATIO: f64 = 0.5;
/// A cache is young for this long.
pub const COLD_WITHIN: Duration = Duration::from_secs(60);
/// Fewer requests than this within the ten seconds prove nothing about a cold start.
pub const COLD_MIN_REQUESTS: u64 = 100;
/// A better hit ratio, or nobody who asks, for this long ends a cold start.
pub const COLD_QUIET: Duration = Duration::from_secs(2);

/// A first key must hold this part of all requests to be named.
pub const HOT_SHARE: f64 = 0.05;
/// A new first key must be this many times as hot as the old one.
pub const HOT_OVER_OLD: f64 = 1.2;
/// Time between the two looks that must agree, and least time between two changes ×2.
pub const HOT_CHECK: Duration = Duration::from_secs(5);
/// A share that is a warning when the rate is at least [`HOT_WARN_PER_SECOND`].
pub const HOT_WARN_SHARE: f64 = 0.25;
/// A rate that makes a large share a warning.
pub const HOT_WARN_PER_SECOND: f64 = 100.0;

/// A served age of this part of its bound, after a failed refresh, is near the bound.
pub const STALE_NEAR: f64 = 0.8;

/// The most events of one kind within one second; the rest are counted.
pub const EVENTS_PER_SECOND: u32 = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn herd_size_follows_the_gate_within_bounds() {
        assert_eq!([herd_waiters(4), herd_waiters(64), herd_waiters(1_000)], [10, 32, 100]);
        assert_eq!([avalanche_keys(10), avalanche_keys(100)], [50, 200]);
    }
}
