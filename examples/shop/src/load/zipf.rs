//! Popularity by Zipf's law: rank r is asked for in proportion to 1 / (r + 1)^s.

/// Chooses ranks by Zipf's law.
#[derive(Debug)]
pub(crate) struct Zipf {
    /// `cumulative[r]` is the chance of a rank of at most r.
    cumulative: Vec<f64>,
}

impl Zipf {
    /// Ranks `0..ranks` with the given exponent; 0 makes all alike.
    pub(crate) fn new(ranks: u32, exponent: f64) -> Self {
        let mut sum = 0.0;
        let mut cumulative: Vec<f64> = (1..=ranks)
            .map(|rank| {
                sum += f64::from(rank).powf(-exponent);
                sum
            })
            .collect();
        for chance in &mut cumulative {
            *chance /= sum;
        }
        Self { cumulative }
    }

    /// The rank that a uniform draw from 0..1 means.
    pub(crate) fn rank(&self, draw: f64) -> u32 {
        let rank = self.cumulative.partition_point(|chance| *chance <= draw);
        // Rounding may leave the last chance a little below 1.
        u32::try_from(rank.min(self.cumulative.len() - 1)).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_follow_the_law() {
        let zipf = Zipf::new(1_000, 1.0);
        let harmonic: f64 = (1..=1_000).map(|rank| 1.0 / f64::from(rank)).sum();
        let mut rng = fastrand::Rng::with_seed(7);
        let mut counts = [0_u32; 1_000];
        let draws = 200_000;
        for _ in 0..draws {
            counts[zipf.rank(rng.f64()) as usize] += 1;
        }
        for rank in [0_u32, 1, 9] {
            let chance = 1.0 / (f64::from(rank + 1) * harmonic);
            let (expected, sigma) = (f64::from(draws) * chance, (f64::from(draws) * chance * (1.0 - chance)).sqrt());
            let got = f64::from(counts[rank as usize]);
            assert!((got - expected).abs() < 5.0 * sigma, "rank {rank}: {got} for {expected}");
        }
    }

    #[test]
    fn every_draw_is_a_rank() {
        let zipf = Zipf::new(3, 0.0);
        assert_eq!([0.0, 0.4, 0.999_999].map(|draw| zipf.rank(draw)), [0, 1, 2]);
        assert_eq!(zipf.rank(1.0), 2);
        assert_eq!(Zipf::new(1, 5.0).rank(0.5), 0);
    }
}
