//! What a run was like from second to second, and its peaks.
//!
//! The engine keeps the maxima of the last minute; a longer run needs a look often
//! enough that no minute is missed.

use std::sync::Arc;
use std::time::Duration;

use herdfeed::{MissCause, Outcome};
use parking_lot::Mutex;
use tokio::task::JoinHandle;

use super::stage::Stage;
use crate::run::{Peaks, Second};

/// Keeps one line for each second, until it is dropped.
pub(super) struct Record {
    kept: Arc<Mutex<Kept>>,
    task: JoinHandle<()>,
}

#[derive(Default)]
struct Kept {
    seconds: Vec<Second>,
    peaks: Peaks,
    last: Totals,
}

/// Counters whose differences make a second.
#[derive(Clone, Copy, Default)]
struct Totals {
    requests: u64,
    origin_calls: u64,
    stale: u64,
    blocked: u64,
    failed: u64,
    expired: u64,
}

impl Record {
    pub(super) fn start(stage: &Arc<Stage>) -> Self {
        let kept = Arc::<Mutex<Kept>>::default();
        let (stage, keeping) = (Arc::clone(stage), Arc::clone(&kept));
        let task = tokio::spawn(async move {
            let mut tick = tokio::time::interval(Duration::from_secs(1));
            tick.tick().await;
            loop {
                tick.tick().await;
                keeping.lock().look(&stage);
            }
        });
        Self { kept, task }
    }

    /// Ends it with a last look.
    pub(super) fn end(self, stage: &Stage) -> (Vec<Second>, Peaks) {
        self.task.abort();
        let mut kept = self.kept.lock();
        kept.look(stage);
        (std::mem::take(&mut kept.seconds), kept.peaks)
    }
}

impl Kept {
    fn look(&mut self, stage: &Stage) {
        let (cache, gate, origin) = (stage.cache.snapshot(), stage.gate.snapshot(), stage.source.origin.counts());
        let outcomes = &cache.outcomes;
        let now = Totals {
            requests: cache.begun,
            origin_calls: origin.started,
            stale: outcomes[Outcome::Stale] + outcomes[Outcome::Reserve],
            blocked: outcomes[Outcome::Loaded] + outcomes[Outcome::Coalesced],
            failed: outcomes.iter().filter(|(outcome, _)| outcome.is_success() == Some(false)).map(|(_, n)| n).sum(),
            expired: cache.misses[MissCause::Expired],
        };
        let was = std::mem::replace(&mut self.last, now);
        self.seconds.push(Second {
            requests: now.requests - was.requests,
            origin_calls: now.origin_calls - was.origin_calls,
            origin_running: origin.running,
            waiting: cache.waiting,
            stale: now.stale - was.stale,
            blocked: now.blocked - was.blocked,
            failed: now.failed - was.failed,
            expired: now.expired - was.expired,
        });
        self.peaks.flight_waiters = self.peaks.flight_waiters.max(cache.peaks.flight_waiters);
        self.peaks.queue = self.peaks.queue.max(gate.pending_peak);
    }
}
