//! Maxima of the last minute that no reader resets.
//!
//! A herd of half a second falls between two scrapes; its peak does not.

use crate::clock::Moment;
use crate::sync::plain::atomic::{AtomicU64, Ordering::Relaxed};

const SECOND: u64 = 1_000_000_000;
const SECONDS: usize = 60;
/// How far back peaks reach.
pub(super) const MINUTE: u64 = SECONDS as u64 * SECOND;

/// One-second cells, each a second (high half) with a value (low half).
#[derive(Debug)]
struct Cells<const N: usize>([AtomicU64; N]);

impl<const N: usize> Cells<N> {
    fn new() -> Self {
        Self(std::array::from_fn(|_| AtomicU64::new(0)))
    }

    /// Applies `merge` to the cell of `now`, or puts `fresh` there if it belongs to another second.
    fn update(&self, now: Moment, fresh: u64, merge: impl Fn(u64) -> u64) {
        let second = now / SECOND;
        let cell = &self.0[index(second, N)];
        let tag = second << 32;
        // The closure always gives a value, so the update cannot fail.
        let _ = cell.fetch_update(Relaxed, Relaxed, |old| {
            let value = if old & TAG == tag & TAG { merge(old & VALUE) } else { fresh };
            Some((tag & TAG) | value.min(VALUE))
        });
    }

    /// Largest value of the 60 seconds up to `now` and of `ahead` seconds more.
    fn max(&self, now: Moment, ahead: u64) -> u64 {
        let second = now / SECOND;
        let oldest = second.saturating_sub(SECONDS as u64 - 1);
        (oldest..=second.saturating_add(ahead))
            .map(|at| (at, self.0[index(at, N)].load(Relaxed)))
            .filter(|(at, cell)| cell & TAG == (at << 32) & TAG)
            .map(|(_, cell)| cell & VALUE)
            .max()
            .unwrap_or(0)
    }
}

const VALUE: u64 = 0xffff_ffff;
const TAG: u64 = !VALUE;

fn index(second: u64, cells: usize) -> usize {
    usize::try_from(second % cells as u64).unwrap_or(0)
}

/// The largest value noted within the last 60 seconds.
#[derive(Debug)]
pub(crate) struct Peak(Cells<SECONDS>);

impl Peak {
    pub(crate) fn new() -> Self {
        Self(Cells::new())
    }

    pub(crate) fn note(&self, now: Moment, value: u64) {
        self.0.update(now, value, |old| old.max(value));
    }

    pub(crate) fn read(&self, now: Moment) -> u64 {
        self.0.max(now, 0)
    }
}

/// The largest number of notes within one second of the last 60.
#[derive(Debug)]
pub(crate) struct Rate(Cells<SECONDS>);

impl Rate {
    pub(crate) fn new() -> Self {
        Self(Cells::new())
    }

    pub(crate) fn note(&self, now: Moment) {
        self.0.update(now, 1, |old| old + 1);
    }

    pub(crate) fn read(&self, now: Moment) -> u64 {
        self.0.max(now, 0)
    }
}

/// The largest number of notes that belong to one second, among those up to a minute back and a minute ahead.
///
/// More cells than seconds in that span, so that no note of it takes the cell of another.
#[derive(Debug)]
pub(crate) struct Around(Cells<128>);

impl Around {
    pub(crate) fn new() -> Self {
        Self(Cells::new())
    }

    pub(crate) fn note(&self, at: Moment) {
        self.0.update(at, 1, |old| old + 1);
    }

    pub(crate) fn read(&self, now: Moment) -> u64 {
        self.0.max(now, SECONDS as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peak_lasts_sixty_seconds() {
        let peak = Peak::new();
        peak.note(5 * SECOND, 7);
        peak.note(5 * SECOND + 1, 3);
        assert_eq!(peak.read(6 * SECOND), 7);
        assert_eq!(peak.read(64 * SECOND), 7);
        assert_eq!(peak.read(65 * SECOND), 0);
        peak.note(65 * SECOND, 2);
        assert_eq!(peak.read(65 * SECOND), 2);
    }

    #[test]
    fn a_rate_is_the_busiest_second() {
        let rate = Rate::new();
        (0..5).for_each(|i| rate.note(2 * SECOND + i));
        rate.note(3 * SECOND);
        assert_eq!(rate.read(10 * SECOND), 5);
    }
}
