//! The only place where herdtop reads a clock.
//!
//! Everything else is told the time by a tick, so that it can be tested with
//! any time. The monotonic part measures, the wall part is only shown.

use std::sync::OnceLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// One moment on both clocks, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// Since this program started measuring.
    pub mono_us: u64,
    /// Since the Unix epoch.
    pub unix_us: u64,
}

impl Now {
    /// Microseconds since an earlier reading of the monotonic part; 0 when it lies ahead.
    pub fn since_us(self, earlier_mono_us: u64) -> u64 {
        self.mono_us.saturating_sub(earlier_mono_us)
    }

    /// This moment moved by `us`.
    #[must_use]
    pub fn plus_us(self, us: u64) -> Self {
        Self { mono_us: self.mono_us.saturating_add(us), unix_us: self.unix_us.saturating_add(us) }
    }
}

/// Reads both clocks.
pub fn read() -> Now {
    static START: OnceLock<Instant> = OnceLock::new();
    // The monotonic clock starts at an hour, so that moments before the start can be named.
    const HEAD_START_US: u64 = 3_600_000_000;
    let start = *START.get_or_init(Instant::now);
    let micros = |duration: std::time::Duration| u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
    Now {
        mono_us: micros(start.elapsed()).saturating_add(HEAD_START_US),
        unix_us: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, micros),
    }
}
