//! Arrivals: when each request is meant to start, and for which key.
//!
//! The schedule is open-loop: it never waits for an answer, because users do
//! not. It knows nothing of clocks or engines; it yields intended offsets from
//! the start of a run, the same ones for the same seed.

mod keys;

use std::time::Duration;

pub use keys::{HotShare, KeyChoice, Zipf};

/// How the gaps between arrivals are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    /// Independent users: exponential gaps.
    Poisson,
    /// A metronome: equal gaps.
    Constant,
    /// So many at once, at independent moments: a page that asks for all it shows, a batch that starts.
    Bursts(u32),
}

/// One request that is meant to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Offset from the start of the run.
    pub at: Duration,
    /// The key that it asks for.
    pub key: u64,
}

/// An endless schedule of arrivals.
///
/// ```
/// use herdlab::arrivals::{Arrivals, KeyChoice, Pacing};
/// let keys = KeyChoice::zipf(1_000, 0.99);
/// let first_second = Arrivals::new(Pacing::Constant, 250.0, keys, 7)
///     .take_while(|arrival| arrival.at.as_secs_f64() <= 1.0)
///     .count();
/// assert_eq!(first_second, 250);
/// ```
#[derive(Clone, Debug)]
pub struct Arrivals {
    pacing: Pacing,
    mean_gap_s: f64,
    keys: KeyChoice,
    random: fastrand::Rng,
    at_s: f64,
    /// What is left of a burst.
    left: u32,
}

impl Arrivals {
    /// A schedule of `per_second` arrivals in the mean; a rate below one in 1,000 s counts as that.
    pub fn new(pacing: Pacing, per_second: f64, keys: KeyChoice, seed: u64) -> Self {
        Self {
            pacing,
            mean_gap_s: 1.0 / per_second.max(0.001),
            keys,
            random: fastrand::Rng::with_seed(seed),
            at_s: 0.0,
            left: 0,
        }
    }
}

impl Arrivals {
    /// A gap with mean 1 of a process without memory.
    fn exponential(&mut self) -> f64 {
        // 1 − u lies in (0, 1], so the logarithm is finite.
        -(1.0 - self.random.f64()).ln()
    }
}

impl Iterator for Arrivals {
    type Item = Arrival;

    fn next(&mut self) -> Option<Arrival> {
        self.at_s += match self.pacing {
            Pacing::Poisson => self.exponential() * self.mean_gap_s,
            Pacing::Constant => self.mean_gap_s,
            Pacing::Bursts(_) if self.left > 0 => {
                self.left -= 1;
                0.0
            }
            Pacing::Bursts(size) => {
                self.left = size.saturating_sub(1);
                self.exponential() * self.mean_gap_s * f64::from(size.max(1))
            }
        };
        let key = self.keys.draw(&mut self.random);
        Some(Arrival { at: Duration::from_secs_f64(self.at_s), key })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals(pacing: Pacing, seed: u64) -> Arrivals {
        Arrivals::new(pacing, 1_000.0, KeyChoice::zipf(10, 0.0), seed)
    }

    #[test]
    fn poisson_counts_and_gaps_are_within_four_sigma() {
        let schedule: Vec<_> =
            arrivals(Pacing::Poisson, 11).map(|arrival| arrival.at.as_secs_f64()).take_while(|at| *at < 50.0).collect();
        let count = schedule.len() as f64;
        assert!((count - 50_000.0).abs() < 4.0 * 50_000_f64.sqrt(), "{count}");
        // Exponential gaps: P(gap > mean) = 1/e.
        let long = schedule.windows(2).filter(|pair| pair[1] - pair[0] > 0.001).count() as f64;
        let expected = count / std::f64::consts::E;
        let sigma = (expected * (1.0 - 1.0 / std::f64::consts::E)).sqrt();
        assert!((long - expected).abs() < 4.0 * sigma, "{long} for {expected} ± {sigma}");
        // A Poisson process has as much variance as mean in its counts per window.
        let mut windows = vec![0_f64; 500];
        for at in &schedule {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at lies in 0..50")]
            let window = (at * 10.0) as usize;
            windows[window] += 1.0;
        }
        let variance = windows.iter().map(|n| (n - 100.0).powi(2)).sum::<f64>() / 500.0;
        assert!((70.0..130.0).contains(&variance), "{variance}");
    }

    #[test]
    fn constant_pacing_is_even() {
        let schedule: Vec<_> = arrivals(Pacing::Constant, 3).take(3).map(|arrival| arrival.at).collect();
        assert_eq!(schedule, [1, 2, 3].map(Duration::from_millis));
    }

    /// Bursts of Poisson: as many in the mean, and as many times more variance as there are in one.
    #[test]
    fn bursts_come_together_and_keep_the_rate() {
        let schedule: Vec<_> = arrivals(Pacing::Bursts(20), 5).map(|arrival| arrival.at).take(40_000).collect();
        assert!(schedule.chunks(20).all(|burst| burst.iter().all(|at| *at == burst[0])));
        assert!(schedule.windows(21).all(|some| some[0] < some[20]), "each burst has its own moment");
        // 2,000 gaps with a mean of 20 ms: the last lies at 40 s ± 4σ.
        let (end, sigma) = (schedule[39_999].as_secs_f64(), 0.02 * 2_000_f64.sqrt());
        assert!((end - 40.0).abs() < 4.0 * sigma, "{end}");
    }

    #[test]
    fn a_seed_gives_the_same_schedule_and_another_seed_another() {
        let take = |seed| arrivals(Pacing::Poisson, seed).take(100).collect::<Vec<_>>();
        assert_eq!(take(5), take(5));
        assert_ne!(take(5), take(6));
    }
}
