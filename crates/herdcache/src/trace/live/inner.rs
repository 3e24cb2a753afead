//! What the log of a flight holds once there is something to hold. Under its lock.

use std::sync::Arc;

use super::lit::Lit;
use super::promise::{Herd, Promise};
use super::tracer::Shared;
use crate::clock::Moment;
use crate::sync::plain::atomic::Ordering::Relaxed;
use crate::trace::facts::{Ended, TraceStep};

/// What is traced of a flight that was chosen, or may become a herd.
#[derive(Default)]
pub(super) struct Inner {
    pub(super) promise: Option<Promise>,
    /// Once it was chosen.
    pub(super) shared: Option<Arc<Shared>>,
    pub(super) lit: Option<Arc<Lit>>,
    pub(super) herd: Herd,
    /// Waits that got a span so far.
    pub(super) waits: u32,
    /// Waiters whose link is not made yet.
    pub(super) owed: u32,
    /// What it came to, once it has landed.
    pub(super) ended: Option<Ended>,
    /// Steps of what may become a herd: when they began and ended.
    pub(super) steps: Vec<(TraceStep, Moment, Moment)>,
    /// Steps beyond those that are noted.
    pub(super) unnoted: u64,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inner").field("waits", &self.waits).field("owed", &self.owed).finish_non_exhaustive()
    }
}

impl Inner {
    /// Whether one more wait of this flight may have a span.
    pub(super) fn claim_wait(&mut self) -> bool {
        let Some(shared) = &self.shared else { return false };
        let free = self.waits < shared.settings.waits;
        self.waits += u32::from(free);
        let count = if free { &shared.waits } else { &shared.waits_refused };
        count.fetch_add(1, Relaxed);
        free
    }

    /// The wait got none: nobody wants it, or a subscriber failed.
    pub(super) fn unclaim_wait(&mut self) {
        let Some(shared) = &self.shared else { return };
        self.waits = self.waits.saturating_sub(1);
        shared.waits.fetch_sub(1, Relaxed);
    }
}
