//! Times that differ from call to call by a log-normal law, as those of real databases do.

use std::time::Duration;

use parking_lot::Mutex;

/// Draws how much longer or shorter than the median a call takes.
#[derive(Debug)]
pub(super) struct Spread {
    random: Mutex<fastrand::Rng>,
}

impl Spread {
    pub(super) fn new(seed: u64) -> Self {
        // Another stream than that of partial failures.
        Self { random: Mutex::new(fastrand::Rng::with_seed(seed.rotate_left(32))) }
    }

    /// `work` × e^(σ·N(0, 1)), at most an hour.
    pub(super) fn stretch(&self, work: Duration, sigma: f64) -> Duration {
        let factor = (sigma * self.normal()).exp();
        Duration::try_from_secs_f64(work.as_secs_f64() * factor)
            .unwrap_or(Duration::MAX)
            .min(Duration::from_secs(3_600))
    }

    /// A standard normal number (Box and Muller, 1958).
    fn normal(&self) -> f64 {
        let mut random = self.random.lock();
        // 1 − u lies in (0, 1], so the logarithm is finite.
        let (radius, angle) = ((-2.0 * (1.0 - random.f64()).ln()).sqrt(), std::f64::consts::TAU * random.f64());
        radius * angle.cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_and_the_spread_are_those_that_were_asked_for() {
        let spread = Spread::new(5);
        let mut times: Vec<f64> =
            (0..10_000).map(|_| spread.stretch(Duration::from_millis(100), 0.5).as_secs_f64() * 1_000.0).collect();
        times.sort_by(f64::total_cmp);
        assert!((times[5_000] - 100.0).abs() < 3.0, "{}", times[5_000]);
        // 84.13 of 100 lie below one σ above the median: 100 ms × e^0.5.
        assert!((times[8_413] - 164.9).abs() < 6.0, "{}", times[8_413]);
        assert_eq!(spread.stretch(Duration::from_millis(7), 0.0), Duration::from_millis(7));
    }
}
