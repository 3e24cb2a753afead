//! What the warm-ups of one cache came to, done and in progress.

use herdfeed::Warmup;

use crate::sync::plain::atomic::{AtomicU64, Ordering::Relaxed};

/// Totals over all warm-ups, and two gauges.
#[derive(Debug, Default)]
pub(crate) struct Warmth {
    pub(crate) running: AtomicU64,
    /// Sum of the widths of those that run.
    pub(crate) width: AtomicU64,
    pub(crate) total: AtomicU64,
    pub(crate) loaded: AtomicU64,
    pub(crate) skipped: AtomicU64,
    pub(crate) failed: AtomicU64,
    pub(crate) cancelled: AtomicU64,
}

impl Warmth {
    /// What was done is read before what was given, so that nothing is left that was never there.
    pub(crate) fn read(&self) -> Warmup {
        let read = |counter: &AtomicU64| counter.load(Relaxed);
        let (loaded, skipped) = (read(&self.loaded), read(&self.skipped));
        let (failed, cancelled) = (read(&self.failed), read(&self.cancelled));
        let total = read(&self.total);
        let left = total.saturating_sub(loaded + skipped + failed + cancelled);
        let (running, width) = (read(&self.running), read(&self.width));
        Warmup { running, width, total, loaded, skipped, failed, cancelled, left }
    }
}
