//! Keys and who asks for them.

use fastrand::Rng;

/// The bytes of a value.
pub(crate) type Value = [u8; 256];

/// Keys of 24 bytes.
pub(crate) fn keys(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("customer:{number:015}")).collect()
}

/// Ranks below `keys`, Zipf-distributed with exponent `skew`, drawn from `rng`.
pub(crate) struct Zipf {
    /// Cumulated weights.
    sums: Vec<f64>,
}

impl Zipf {
    pub(crate) fn new(keys: usize, skew: f64) -> Self {
        let mut sum = 0.0;
        let weight = |rank: usize| {
            sum += (rank as f64).powf(-skew);
            sum
        };
        Self { sums: (1..=keys).map(weight).collect() }
    }

    pub(crate) fn draw(&self, rng: &mut Rng) -> usize {
        let total = self.sums.last().copied().unwrap_or(0.0);
        let point = rng.f64() * total;
        self.sums.partition_point(|sum| *sum < point).min(self.sums.len().saturating_sub(1))
    }

    /// A sequence of ranks, in which the popular ones are scattered over the whole range of keys.
    pub(crate) fn sequence(&self, length: usize, rng: &mut Rng) -> Vec<usize> {
        let mut places: Vec<usize> = (0..self.sums.len()).collect();
        Rng::with_seed(1).shuffle(&mut places);
        (0..length).map(|_| places[self.draw(rng)]).collect()
    }
}
