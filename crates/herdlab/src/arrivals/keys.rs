//! Which key a request asks for: Zipf over ranks, and hot keys beside it.
//!
//! Zipf is drawn by inversion of a table of cumulative weights: exact for every
//! exponent from 0 on, one binary search a draw and eight bytes a key, which is
//! little at the number of keys that one machine's lab can load. A rejection
//! method would save the table and cost the exactness that the tests lean on.

use std::fmt::Write;
use std::sync::Arc;

/// Zipf's law over the ranks `0..keys`: rank r is drawn with weight 1/(r+1)^s.
#[derive(Clone, Debug)]
pub struct Zipf {
    cumulative: Arc<[f64]>,
}

impl Zipf {
    /// Over `keys` ranks (at least 1) with exponent `s`; 0 draws all alike.
    pub fn new(keys: u64, s: f64) -> Self {
        let mut sum = 0.0;
        let cumulative = (1..=keys.max(1))
            .map(|rank| {
                sum += (rank as f64).powf(-s);
                sum
            })
            .collect();
        Self { cumulative }
    }

    /// The rank that the fraction `unit` (0..1) of the total weight falls on.
    pub fn rank(&self, unit: f64) -> u64 {
        let last = self.cumulative.len() - 1;
        let weight = unit * self.cumulative[last];
        self.cumulative.partition_point(|sum| *sum <= weight).min(last) as u64
    }

    /// The probability of `rank`; 0 beyond the last.
    pub fn probability(&self, rank: u64) -> f64 {
        let last = self.cumulative.len() - 1;
        let Some(rank) = usize::try_from(rank).ok().filter(|rank| *rank <= last) else {
            return 0.0;
        };
        let below = if rank == 0 { 0.0 } else { self.cumulative[rank - 1] };
        (self.cumulative[rank] - below) / self.cumulative[last]
    }

    /// Number of ranks.
    pub fn keys(&self) -> u64 {
        self.cumulative.len() as u64
    }
}

/// One key that gets a fixed part of all requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HotShare {
    /// The key; it may lie outside the ranks of the Zipf part.
    pub key: u64,
    /// Its part of all requests, 0..=1.
    pub share: f64,
}

/// The law that keys are drawn by.
#[derive(Clone, Debug)]
pub struct KeyChoice {
    zipf: Zipf,
    exponent: f64,
    hot: Vec<HotShare>,
}

impl KeyChoice {
    /// Zipf(s) over `0..keys`.
    pub fn zipf(keys: u64, s: f64) -> Self {
        Self { zipf: Zipf::new(keys, s), exponent: s, hot: Vec::new() }
    }

    /// The same, with one more hot key beside it. Shares beyond 1 in all get nothing.
    #[must_use]
    pub fn with_hot(mut self, hot: HotShare) -> Self {
        self.hot.push(hot);
        self
    }

    /// Draws one key.
    pub fn draw(&self, random: &mut fastrand::Rng) -> u64 {
        let mut unit = random.f64();
        for hot in &self.hot {
            if unit < hot.share {
                return hot.key;
            }
            unit -= hot.share;
        }
        self.zipf.rank(random.f64())
    }

    /// In words, as the JSON of a run tells it.
    pub fn describe(&self) -> String {
        let mut law = format!("zipf({})", self.exponent);
        for hot in &self.hot {
            // Writing to a string cannot fail.
            let _ = write!(law, ", hot key {}", hot.share);
        }
        law
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::cast_possible_truncation, reason = "ranks below 200")]
    fn counts(choice: &KeyChoice, draws: usize, slots: usize) -> Vec<f64> {
        let mut random = fastrand::Rng::with_seed(42);
        let mut counts = vec![0.0; slots];
        (0..draws).for_each(|_| counts[choice.draw(&mut random) as usize] += 1.0);
        counts
    }

    #[test]
    fn zipf_passes_a_chi_square_test() {
        for s in [0.0, 0.7, 0.99, 1.5] {
            let zipf = Zipf::new(100, s);
            let counts = counts(&KeyChoice::zipf(100, s), 200_000, 100);
            let chi_square: f64 = counts
                .iter()
                .enumerate()
                .map(|(rank, seen)| {
                    let expected = 200_000.0 * zipf.probability(rank as u64);
                    (seen - expected).powi(2) / expected
                })
                .sum();
            // 99 degrees of freedom: mean 99, sigma 14.07; four sigma above.
            assert!(chi_square < 99.0 + 4.0 * 14.07, "s = {s}: {chi_square}");
        }
    }

    #[test]
    fn probabilities_follow_the_law_and_sum_to_one() {
        let zipf = Zipf::new(1_000, 0.99);
        let sum: f64 = (0..1_000).map(|rank| zipf.probability(rank)).sum();
        assert!((sum - 1.0).abs() < 1e-9);
        let ratio = zipf.probability(0) / zipf.probability(9);
        assert!((ratio - 10_f64.powf(0.99)).abs() < 1e-9, "{ratio}");
        assert!(zipf.probability(1_000).abs() < f64::EPSILON);
    }

    #[test]
    fn hot_keys_get_their_shares() {
        let choice = KeyChoice::zipf(100, 0.99)
            .with_hot(HotShare { key: 100, share: 0.4 })
            .with_hot(HotShare { key: 101, share: 0.1 });
        let counts = counts(&choice, 100_000, 102);
        for (key, share) in [(100, 0.4), (101, 0.1)] {
            let sigma = (100_000.0_f64 * share * (1.0 - share)).sqrt();
            assert!((counts[key] - 100_000.0 * share).abs() < 4.0 * sigma, "{key}: {}", counts[key]);
        }
        assert_eq!(choice.describe(), "zipf(0.99), hot key 0.4, hot key 0.1");
    }

    #[test]
    fn the_ends_of_the_unit_interval_are_ranks() {
        let zipf = Zipf::new(3, 1.0);
        assert_eq!([zipf.rank(0.0), zipf.rank(1.0)], [0, 2]);
        assert_eq!(Zipf::new(0, 1.0).keys(), 1);
    }
}
