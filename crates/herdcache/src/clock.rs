//! The one clock: nanoseconds on the monotonic clock.
//!
//! The hit path reads the coarse clock (a kernel tick, at most 4 ms behind);
//! slow paths read the exact one, which lies on the same line. Under `test-util`
//! both follow tokio's clock, so that paused time moves freshness, deadlines and
//! sleeps together. Nothing else in this crate asks for the time.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A moment in nanoseconds on the process's monotonic clock.
pub(crate) type Moment = u64;

/// Where the clock starts, 18 years in: values may be older at their source than the machine has been up.
const HEAD_START: Moment = 1 << 59;

/// Nanoseconds of a duration; 584 years and more saturate.
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Now, cheap: up to one kernel tick (4 ms) in the past.
#[cfg(not(any(test, feature = "test-util")))]
#[inline]
pub(crate) fn coarse() -> Moment {
    #[cfg(target_os = "linux")]
    return since_boot(rustix::time::ClockId::MonotonicCoarse);
    #[cfg(not(target_os = "linux"))]
    return elapsed();
}

/// Now, exact.
#[cfg(not(any(test, feature = "test-util")))]
#[inline]
pub(crate) fn exact() -> Moment {
    #[cfg(target_os = "linux")]
    return since_boot(rustix::time::ClockId::Monotonic);
    #[cfg(not(target_os = "linux"))]
    return elapsed();
}

/// Now on tokio's clock.
#[cfg(any(test, feature = "test-util"))]
pub(crate) fn coarse() -> Moment {
    elapsed()
}

/// Now on tokio's clock.
#[cfg(any(test, feature = "test-util"))]
pub(crate) fn exact() -> Moment {
    elapsed()
}

#[cfg(all(target_os = "linux", not(any(test, feature = "test-util"))))]
#[inline]
fn since_boot(clock: rustix::time::ClockId) -> Moment {
    let time = rustix::time::clock_gettime(clock);
    // Neither part is ever negative on a monotonic clock.
    HEAD_START + u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}

/// Time since the first call in this process, on tokio's clock.
#[cfg(any(test, feature = "test-util", not(target_os = "linux")))]
fn elapsed() -> Moment {
    use crate::sync::plain::LazyLock;
    use crate::sync::time::Instant;
    static ANCHOR: LazyLock<Instant> = LazyLock::new(Instant::now);
    let anchor = *ANCHOR;
    let now = Instant::now();
    // Each paused runtime stands still at its own moment, which may lie before the first call of the process.
    let (after, before) = (now.saturating_duration_since(anchor), anchor.saturating_duration_since(now));
    HEAD_START.saturating_add(nanos(after)).saturating_sub(nanos(before))
}

/// Wall time in microseconds; for display only, never for a decision.
pub(crate) fn unix_us() -> u64 {
    let since = wall().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

/// Wall time; for display only, never for a decision.
pub(crate) fn wall() -> SystemTime {
    SystemTime::now()
}

/// How far the coarse clock may lag behind the exact one: one tick of a kernel at 100 Hz.
pub(crate) const SLACK: u64 = 10_000_000;
