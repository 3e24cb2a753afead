//! How many of the calls within a sliding span have failed, and what the failed ones have cost.

use crate::clock::Moment;

/// Cells of the sliding window.
pub(crate) const CELLS: usize = 10;

/// Calls that ended within the last span, in steps of a tenth of it.
#[derive(Debug, Default)]
pub(crate) struct Window([Cell; CELLS]);

#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    step: u64,
    sums: Sums,
}

/// What the window shows.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sums {
    pub(crate) calls: u64,
    pub(crate) failed: u64,
    /// How long the failed ones took.
    pub(crate) lost_ns: u64,
}

impl Sums {
    fn and(self, other: Self) -> Self {
        Self {
            calls: self.calls + other.calls,
            failed: self.failed + other.failed,
            lost_ns: self.lost_ns.saturating_add(other.lost_ns),
        }
    }
}

impl Window {
    /// One call has ended; `lost_ns` is how long it took if it failed.
    pub(crate) fn count(&mut self, now: Moment, span: u64, lost_ns: Option<u64>) {
        let step = now / step_of(span);
        let cell = &mut self.0[usize::try_from(step % CELLS as u64).unwrap_or(0)];
        if cell.step != step {
            *cell = Cell { step, ..Cell::default() };
        }
        let one = Sums { calls: 1, failed: u64::from(lost_ns.is_some()), lost_ns: lost_ns.unwrap_or(0) };
        cell.sums = cell.sums.and(one);
    }

    /// What ended within the last span.
    pub(crate) fn sums(&self, now: Moment, span: u64) -> Sums {
        let step = now / step_of(span);
        let fresh = self.0.iter().filter(|cell| step.saturating_sub(cell.step) < CELLS as u64);
        fresh.fold(Sums::default(), |sums, cell| sums.and(cell.sums))
    }
}

/// The time that one cell covers.
pub(crate) fn step_of(span: u64) -> u64 {
    (span / CELLS as u64).max(1)
}
