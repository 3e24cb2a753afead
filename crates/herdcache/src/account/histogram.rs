//! Durations in the feed's logarithmic buckets, recorded without a lock.

use herdfeed::Histogram;
use herdfeed::histogram::{BUCKETS, bucket_of};

use crate::sync::plain::atomic::{AtomicU64, Ordering::Relaxed};

/// An atomic [`Histogram`]; records nanoseconds, keeps microseconds.
#[derive(Debug)]
pub(crate) struct AtomicHistogram {
    sum_us: AtomicU64,
    buckets: Box<[AtomicU64]>,
}

impl AtomicHistogram {
    pub(crate) fn new() -> Self {
        Self { sum_us: AtomicU64::new(0), buckets: (0..BUCKETS).map(|_| AtomicU64::new(0)).collect() }
    }

    pub(crate) fn record(&self, ns: u64) {
        let us = ns / 1_000;
        self.buckets[bucket_of(us)].fetch_add(1, Relaxed);
        self.sum_us.fetch_add(us, Relaxed);
    }

    pub(crate) fn read(&self) -> Histogram {
        let mut buckets: Vec<u64> = self.buckets.iter().map(|bucket| bucket.load(Relaxed)).collect();
        let used = buckets.iter().rposition(|count| *count > 0).map_or(0, |last| last + 1);
        buckets.truncate(used);
        Histogram { count: buckets.iter().sum(), sum_us: self.sum_us.load(Relaxed), buckets }
    }
}
