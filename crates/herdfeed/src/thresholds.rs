//! When a herd is a herd: the constants of detection.
//!
//! Engine, documentation, lab and dashboard all read them here.

use std::time::Duration;

/// Waiters of one flight that make it a herd, for a gate of `permits`:
/// half of the permits, at least 10 and at most 100.
///
/// Without coalescing this one key would take half of the gate. Below 10 is
/// noise, above 100 is a herd for any pool.
pub fn herd_waiters(permits: u64) -> u64 {
    (permits / 2).clamp(10, 100)
}

/// Distinct keys that start loading within one second and make an avalanche.
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
