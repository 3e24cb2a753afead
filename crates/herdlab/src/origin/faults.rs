//! Trouble that can be switched while an origin runs.
//!
//! A fault touches calls that begin after it was switched; what runs already
//! runs on as it began.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

/// The switches for trouble of one origin.
#[derive(Debug)]
pub struct Faults {
    slow: AtomicU64,
    fail_ratio: AtomicU64,
    random: Mutex<fastrand::Rng>,
}

impl Faults {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            slow: AtomicU64::new(1.0_f64.to_bits()),
            fail_ratio: AtomicU64::new(0.0_f64.to_bits()),
            random: Mutex::new(fastrand::Rng::with_seed(seed)),
        }
    }

    /// Makes calls take `factor` times their work, 0.001..=1,000; 1 heals.
    pub fn set_slow(&self, factor: f64) {
        let factor = if factor.is_finite() { factor.clamp(0.001, 1_000.0) } else { 1.0 };
        self.slow.store(factor.to_bits(), Ordering::Relaxed);
    }

    /// Makes this part of calls fail at once, 0..=1; 0 heals.
    pub fn set_fail_ratio(&self, ratio: f64) {
        let ratio = if ratio.is_finite() { ratio.clamp(0.0, 1.0) } else { 0.0 };
        self.fail_ratio.store(ratio.to_bits(), Ordering::Relaxed);
    }

    /// How many times slower than healthy it is.
    pub fn slow(&self) -> f64 {
        f64::from_bits(self.slow.load(Ordering::Relaxed))
    }

    /// Which part of calls fails.
    pub fn fail_ratio(&self) -> f64 {
        f64::from_bits(self.fail_ratio.load(Ordering::Relaxed))
    }

    /// In words, as the JSON of a run tells it.
    pub fn describe(&self) -> String {
        let mut state = Vec::new();
        if self.slow() > 1.0 {
            state.push(format!("slow x{}", self.slow()));
        }
        if self.fail_ratio() > 0.0 {
            state.push(format!("failing {}", self.fail_ratio()));
        }
        if state.is_empty() { "healthy".into() } else { state.join(", ") }
    }

    pub(super) fn next_fails(&self) -> bool {
        let ratio = self.fail_ratio();
        ratio > 0.0 && self.random.lock().f64() < ratio
    }

    pub(super) fn slowed(&self, work: Duration) -> Duration {
        work.mul_f64(self.slow())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_fails_that_part_of_calls() {
        let faults = Faults::new(9);
        faults.set_fail_ratio(0.3);
        let failed = (0..10_000).filter(|_| faults.next_fails()).count() as f64;
        assert!((failed - 3_000.0).abs() < 4.0 * 2_100_f64.sqrt(), "{failed}");
    }

    #[test]
    fn senseless_figures_are_cut_to_the_range() {
        let faults = Faults::new(9);
        assert_eq!(faults.describe(), "healthy");
        faults.set_slow(f64::NAN);
        assert!((faults.slow() - 1.0).abs() < f64::EPSILON);
        faults.set_slow(1e9);
        faults.set_fail_ratio(7.0);
        assert_eq!(faults.describe(), "slow x1000, failing 1");
    }
}
