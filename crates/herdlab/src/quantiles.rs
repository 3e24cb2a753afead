//! Durations summed up as quantiles, to three significant digits.
//!
//! The wire's histogram is four steps to a doubling, which is right for a feed
//! and too coarse for a verdict about a run; so the lab keeps its own.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;

/// The longest duration told apart from longer ones: one hour.
const LONGEST_US: u64 = 3_600_000_000;

/// Quantiles of durations in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Quantiles {
    /// Half of all lie at or below.
    pub p50: f64,
    /// 95 of 100 lie at or below.
    pub p95: f64,
    /// 99 of 100 lie at or below.
    pub p99: f64,
    /// The largest.
    pub max: f64,
    /// How many there were.
    #[serde(skip)]
    pub count: u64,
}

impl Quantiles {
    /// Of what was recorded; `None` when nothing was.
    pub fn of(histogram: &Histogram<u64>) -> Option<Self> {
        let ms = |us: u64| us as f64 / 1_000.0;
        (!histogram.is_empty()).then(|| Self {
            p50: ms(histogram.value_at_quantile(0.50)),
            p95: ms(histogram.value_at_quantile(0.95)),
            p99: ms(histogram.value_at_quantile(0.99)),
            max: ms(histogram.max()),
            count: histogram.len(),
        })
    }
}

/// An empty histogram of microseconds, 1 µs to 1 h, three significant digits.
#[expect(clippy::expect_used, reason = "the bounds are constants that the tests prove valid")]
pub(crate) fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LONGEST_US, 3).expect("constant bounds are valid")
}

/// Records a duration; one beyond the range counts as its end.
pub(crate) fn record(histogram: &mut Histogram<u64>, duration: Duration) {
    let us = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
    histogram.saturating_record(us);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_right_to_three_digits() {
        let mut histogram = histogram();
        assert_eq!(Quantiles::of(&histogram), None);
        (1..=1_000).for_each(|ms| record(&mut histogram, Duration::from_millis(ms)));
        let quantiles = Quantiles::of(&histogram).unwrap();
        for (read, truth) in [(quantiles.p50, 500.0), (quantiles.p95, 950.0), (quantiles.p99, 990.0)] {
            assert!((read - truth).abs() / truth < 0.002, "{read} for {truth}");
        }
        assert!((quantiles.max - 1_000.0).abs() < 1.0);
        record(&mut histogram, Duration::MAX);
        assert_eq!(Quantiles::of(&histogram).unwrap().count, 1_001);
    }
}
