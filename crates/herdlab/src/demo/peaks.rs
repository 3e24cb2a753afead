//! Peaks of a whole demonstration.
//!
//! The engine keeps the maxima of the last minute; a longer run needs a look
//! often enough that no minute is missed.

use std::sync::Arc;
use std::time::Duration;

use herdcache::Gate;
use parking_lot::Mutex;
use tokio::runtime::Runtime;

use super::engine::PageCache;

/// Much less than the minute that the engine remembers.
const LOOK_EVERY: Duration = Duration::from_secs(20);

/// Largest values since the start.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RunPeaks {
    pub(super) flight_waiters: u64,
    pub(super) queue: u64,
}

/// Looks at the engine's peaks now and then. Ends with its runtime.
#[derive(Clone, Debug)]
pub(super) struct PeakWatch {
    seen: Arc<Mutex<RunPeaks>>,
}

impl PeakWatch {
    pub(super) fn start(runtime: &Runtime, cache: PageCache, gate: Gate) -> Self {
        let watch = Self { seen: Arc::default() };
        let looking = watch.clone();
        runtime.spawn(async move {
            loop {
                tokio::time::sleep(LOOK_EVERY).await;
                looking.look(&cache, &gate);
            }
        });
        watch
    }

    /// The peaks until now.
    pub(super) fn look(&self, cache: &PageCache, gate: &Gate) -> RunPeaks {
        let (waiters, queue) = (cache.snapshot().peaks.flight_waiters, gate.snapshot().pending_peak);
        let mut seen = self.seen.lock();
        seen.flight_waiters = seen.flight_waiters.max(waiters);
        seen.queue = seen.queue.max(queue);
        *seen
    }
}
