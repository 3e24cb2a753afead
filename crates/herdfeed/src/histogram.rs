//! [`Histogram`]: bounded logarithmic buckets for durations in microseconds.

use serde::{Deserialize, Serialize};

/// Buckets per doubling.
const STEPS: usize = 4;
/// Doublings covered: 1 µs up to 2³⁴ µs (about 4.8 hours).
const DOUBLINGS: usize = 34;

/// Number of buckets: one for 0, four for each doubling, one for all above.
pub const BUCKETS: usize = STEPS * DOUBLINGS + 2;

/// Counts of durations in logarithmic buckets, four to each doubling.
///
/// A quantile read from it is at most 25 % above the true one. The scheme is
/// named `log2x4`, the unit is the microsecond. On the wire empty buckets at
/// the end are left out.
///
/// ```
/// use herdfeed::Histogram;
/// let mut loads = Histogram::default();
/// for us in [900, 1_000, 1_100, 80_000] {
///     loads.record_us(us);
/// }
/// // At least the true value, and at most a quarter above it.
/// assert!((1_000..=1_250).contains(&loads.quantile_us(0.5).unwrap_or(0)));
/// assert!((80_000..=100_000).contains(&loads.quantile_us(1.0).unwrap_or(0)));
/// assert_eq!(Histogram::default().quantile_us(0.5), None); // nothing was recorded
///
/// // What a later look adds, and two processes together.
/// let earlier = loads.clone();
/// loads.record_us(5);
/// assert_eq!((loads.since(&earlier).count, loads.since(&earlier).sum_us), (1, 5));
/// loads.add(&earlier);
/// assert_eq!(loads.count, 9);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Histogram {
    /// Samples recorded.
    pub count: u64,
    /// Sum of all samples in microseconds.
    pub sum_us: u64,
    /// Samples by bucket; see [`bucket_of`].
    pub buckets: Vec<u64>,
}

/// The bucket that a duration of `us` microseconds falls into: 0 to [`BUCKETS`] − 1.
///
/// ```
/// use herdfeed::histogram::{BUCKETS, bucket_of, upper_bound_us};
/// let bucket = bucket_of(1_000);
/// assert!(upper_bound_us(bucket - 1) < 1_000 && upper_bound_us(bucket) >= 1_000);
/// assert_eq!((bucket_of(0), upper_bound_us(0)), (0, 0));
/// assert_eq!((bucket_of(u64::MAX), upper_bound_us(BUCKETS - 1)), (BUCKETS - 1, u64::MAX)); // all that is longer
/// ```
pub fn bucket_of(us: u64) -> usize {
    if us == 0 {
        return 0;
    }
    let doubling = us.ilog2() as usize;
    if doubling >= DOUBLINGS {
        return BUCKETS - 1;
    }
    // The two bits below the leading one choose the step.
    let step = if doubling >= 2 { us >> (doubling - 2) } else { us << (2 - doubling) } & 3;
    1 + doubling * STEPS + usize::from(step.to_le_bytes()[0])
}

/// The largest duration in microseconds that falls into `bucket`; `u64::MAX` for the last one and beyond.
pub fn upper_bound_us(bucket: usize) -> u64 {
    if bucket == 0 {
        return 0;
    }
    if bucket >= BUCKETS - 1 {
        return u64::MAX;
    }
    let (doubling, step) = ((bucket - 1) / STEPS, (bucket - 1) % STEPS);
    // ceil(2^d * (4 + step + 1) / 4) - 1, exact for the small doublings too.
    ((1_u64 << doubling) * (STEPS + step + 1) as u64).div_ceil(STEPS as u64) - 1
}

impl Histogram {
    /// Records one duration in microseconds.
    pub fn record_us(&mut self, us: u64) {
        let bucket = bucket_of(us);
        if self.buckets.len() <= bucket {
            self.buckets.resize(bucket + 1, 0);
        }
        // What came over the wire may be as large as can be.
        self.buckets[bucket] = self.buckets[bucket].saturating_add(1);
        self.count = self.count.saturating_add(1);
        self.sum_us = self.sum_us.saturating_add(us);
    }

    /// The duration in microseconds below or at which the fraction `q` (0..=1) of all samples lies.
    ///
    /// `None` when nothing was recorded.
    pub fn quantile_us(&self, q: f64) -> Option<u64> {
        if self.count == 0 {
            return None;
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "q is clamped to 0..=1")]
        let rank = ((self.count as f64 * q.clamp(0.0, 1.0)).ceil() as u64).max(1);
        let mut seen = 0;
        for (bucket, count) in self.buckets.iter().enumerate() {
            seen = u64::saturating_add(seen, *count);
            if seen >= rank {
                return Some(upper_bound_us(bucket));
            }
        }
        Some(upper_bound_us(BUCKETS - 1))
    }

    /// What was recorded since `earlier`. A bucket that fell (another boot) gives 0.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let buckets = self
            .buckets
            .iter()
            .enumerate()
            .map(|(i, now)| now.saturating_sub(earlier.buckets.get(i).copied().unwrap_or(0)))
            .collect();
        Self {
            count: self.count.saturating_sub(earlier.count),
            sum_us: self.sum_us.saturating_sub(earlier.sum_us),
            buckets,
        }
    }

    /// Adds every sample of `other`.
    pub fn add(&mut self, other: &Self) {
        if self.buckets.len() < other.buckets.len() {
            self.buckets.resize(other.buckets.len(), 0);
        }
        for (mine, theirs) in self.buckets.iter_mut().zip(&other.buckets) {
            *mine = mine.saturating_add(*theirs);
        }
        self.count = self.count.saturating_add(other.count);
        self.sum_us = self.sum_us.saturating_add(other.sum_us);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_duration_lies_within_its_bucket() {
        for us in (0..5_000).chain([1 << 20, (1 << 33) + 17, 1 << 34, u64::MAX]) {
            let bucket = bucket_of(us);
            assert!(us <= upper_bound_us(bucket), "{us} above bucket {bucket}");
            if bucket > 0 {
                assert!(us > upper_bound_us(bucket - 1) || us == 0, "{us} fits the bucket below {bucket}");
            }
        }
    }

    #[test]
    fn what_came_over_the_wire_overflows_nothing() {
        let full = Histogram { count: u64::MAX, sum_us: u64::MAX, buckets: vec![u64::MAX; BUCKETS] };
        let mut more = full.clone();
        more.record_us(7);
        more.add(&full);
        assert_eq!((&more, more.quantile_us(0.5)), (&full, Some(0)));
    }

    #[test]
    fn a_quantile_is_at_most_a_quarter_above_the_truth() {
        let mut histogram = Histogram::default();
        (1..=10_000).for_each(|us| histogram.record_us(us));
        for q in [0.5, 0.9, 0.99] {
            let truth = 10_000.0 * q;
            let read = histogram.quantile_us(q).unwrap() as f64;
            assert!(read >= truth && read <= truth * 1.25, "q{q}: {read} for {truth}");
        }
        assert_eq!(Histogram::default().quantile_us(0.5), None);
    }
}
