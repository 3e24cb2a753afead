//! One atomic counter for each value of a closed set.

use std::marker::PhantomData;

use herdfeed::{ClosedSet, Tally};

use crate::sync::plain::atomic::{
    AtomicU64,
    Ordering::{Relaxed, Release},
};

/// Counters indexed by a closed set; read as a [`Tally`].
#[derive(Debug)]
pub(crate) struct Counters<E> {
    counts: Box<[AtomicU64]>,
    set: PhantomData<fn(E)>,
}

impl<E: ClosedSet> Counters<E> {
    pub(crate) fn new() -> Self {
        Self { counts: E::all().iter().map(|_| AtomicU64::new(0)).collect(), set: PhantomData }
    }

    /// Adds one. Released, so that whoever reads an end and then the begins finds that of this end among them.
    #[inline]
    pub(crate) fn add(&self, value: E) {
        self.counts[value.index()].fetch_add(1, Release);
    }

    /// Adds one and gives the new count.
    pub(crate) fn raise(&self, value: E) -> u64 {
        self.counts[value.index()].fetch_add(1, Relaxed) + 1
    }

    /// Takes one back, for counters that are gauges.
    pub(crate) fn sub(&self, value: E) {
        self.counts[value.index()].fetch_sub(1, Relaxed);
    }

    /// Sum over all values. Unlike [`Counters::read`] it allocates nothing.
    pub(crate) fn total(&self) -> u64 {
        self.counts.iter().map(|count| count.load(Relaxed)).sum()
    }

    pub(crate) fn read(&self) -> Tally<E> {
        let mut tally = Tally::new();
        for (value, count) in E::all().iter().zip(&self.counts) {
            tally[*value] = count.load(Relaxed);
        }
        tally
    }
}
