//! Figures that follow from others.

use super::{CacheSnapshot, GateSnapshot};

impl GateSnapshot {
    /// Permits in use over all classes.
    pub fn used(&self) -> u64 {
        self.in_use.total()
    }
}

impl CacheSnapshot {
    /// Successful requests ÷ all that ended and were not cancelled, 0..=1; `None` before the first.
    pub fn success_ratio(&self) -> Option<f64> {
        let (mut good, mut all) = (0_u64, 0_u64);
        for (outcome, count) in self.outcomes.iter() {
            if let Some(success) = outcome.is_success() {
                // A feed may say anything: figures saturate.
                all = all.saturating_add(count);
                good = good.saturating_add(if success { count } else { 0 });
            }
        }
        (all > 0).then(|| good as f64 / all as f64)
    }

    /// Requests ÷ origin calls: what the origin would see if this cache vanished, as a multiple of what it sees now.
    /// `None` before the first call. Below 1 where the cache loads more than it is asked for, as a warm-up does.
    pub fn exposure(&self) -> Option<f64> {
        (self.origin_calls > 0).then(|| self.outcomes.total() as f64 / self.origin_calls as f64)
    }
}
