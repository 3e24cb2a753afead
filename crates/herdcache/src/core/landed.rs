//! The flights that ended last and were slow or waited for, for display.

use std::collections::VecDeque;
use std::sync::Arc;

use herdfeed::{FlightEnd, FlightTrigger, MissCause};

use crate::clock::Moment;
use crate::sync::plain::Mutex;

/// How many are kept.
const KEPT: usize = 64;
/// Shorter flights that nobody joined are not worth a line on a screen.
const SLOW_NS: u64 = 20_000_000;

/// A flight that is over.
pub(super) struct LandedFlight<K> {
    pub(super) id: u64,
    pub(super) key: K,
    pub(super) trigger: FlightTrigger,
    pub(super) cause: Option<MissCause>,
    pub(super) started: Moment,
    pub(super) took_ns: u64,
    pub(super) waiters: u64,
    pub(super) end: FlightEnd,
}

impl<K> LandedFlight<K> {
    pub(super) fn is_notable(waiters: u64, took_ns: u64) -> bool {
        // The leader waits too.
        waiters > 1 || took_ns >= SLOW_NS
    }
}

/// The last notable flights, newest last.
pub(super) struct LandedRing<K>(Mutex<VecDeque<Arc<LandedFlight<K>>>>);

impl<K> Default for LandedRing<K> {
    fn default() -> Self {
        Self(Mutex::new(VecDeque::new()))
    }
}

impl<K> LandedRing<K> {
    pub(super) fn push(&self, flight: LandedFlight<K>) {
        let flight = Arc::new(flight);
        let mut ring = self.0.lock();
        ring.push_back(flight);
        let oldest = if ring.len() > KEPT { ring.pop_front() } else { None };
        drop(ring);
        // A key's own Drop runs outside the lock.
        drop(oldest);
    }

    /// Copied out, so that keys are shown outside the lock.
    pub(super) fn all(&self) -> Vec<Arc<LandedFlight<K>>> {
        self.0.lock().iter().cloned().collect()
    }
}
