//! How many of the calls within a sliding span have failed.

use crate::clock::Moment;

/// Cells of the sliding window.
const CELLS: usize = 10;

/// Calls that ended within the last span, in steps of a tenth of it.
#[derive(Debug, Default)]
pub(crate) struct Window([Cell; CELLS]);

#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    step: u64,
    calls: u64,
    failed: u64,
}

impl Window {
    /// One call has ended; `failed` is 1 if it failed, else 0.
    pub(crate) fn count(&mut self, now: Moment, span: u64, failed: u64) {
        let step = now / step_of(span);
        let cell = &mut self.0[usize::try_from(step % CELLS as u64).unwrap_or(0)];
        if cell.step != step {
            *cell = Cell { step, ..Cell::default() };
        }
        cell.calls += 1;
        cell.failed += failed;
    }

    /// Calls within the last span, and those of them that failed.
    pub(crate) fn sums(&self, now: Moment, span: u64) -> (u64, u64) {
        let step = now / step_of(span);
        let fresh = self.0.iter().filter(|cell| step.saturating_sub(cell.step) < CELLS as u64);
        fresh.fold((0, 0), |(calls, failed), cell| (calls + cell.calls, failed + cell.failed))
    }
}

fn step_of(span: u64) -> u64 {
    (span / CELLS as u64).max(1)
}
