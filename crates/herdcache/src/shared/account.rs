//! The account of one cache's shared tier and lease.

use herdfeed::{
    CircuitState, ClosedSet, LeaseLoss, LeasePoll, LeaseResult, LeaseSnapshot, OperationTimes, Outcome,
    SharedOperation, SharedRead, SharedSnapshot, SharedWrite,
};

use crate::account::{AtomicHistogram, Counters};
use crate::sync::plain::atomic::{AtomicU64, Ordering::Relaxed};

/// Everything that is counted about them. Each fact once, at one place.
#[derive(Debug)]
pub(crate) struct SharedAccount {
    pub(crate) reads: Counters<SharedRead>,
    pub(crate) writes: Counters<SharedWrite>,
    pub(crate) outcomes: Counters<Outcome>,
    pub(super) timeouts: Counters<SharedOperation>,
    pub(super) connection_errors: Counters<SharedOperation>,
    pub(super) refusals: Counters<SharedOperation>,
    pub(super) times: Box<[AtomicHistogram]>,
    pub(super) transitions: Counters<CircuitState>,
    pub(crate) sent: AtomicU64,
    pub(crate) lost: AtomicU64,
    pub(crate) acquisitions: Counters<LeaseResult>,
    pub(crate) losses: Counters<LeaseLoss>,
    pub(crate) polls: Counters<LeasePoll>,
    pub(crate) renewals: AtomicU64,
    pub(crate) held: AtomicU64,
    pub(crate) following: AtomicU64,
}

impl SharedAccount {
    pub(super) fn new() -> Self {
        Self {
            reads: Counters::new(),
            writes: Counters::new(),
            outcomes: Counters::new(),
            timeouts: Counters::new(),
            connection_errors: Counters::new(),
            refusals: Counters::new(),
            times: SharedOperation::all().iter().map(|_| AtomicHistogram::new()).collect(),
            transitions: Counters::new(),
            sent: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            acquisitions: Counters::new(),
            losses: Counters::new(),
            polls: Counters::new(),
            renewals: AtomicU64::new(0),
            held: AtomicU64::new(0),
            following: AtomicU64::new(0),
        }
    }

    /// What the tier's part of a snapshot says; queue and circuit are others' to add.
    pub(super) fn shared(&self) -> SharedSnapshot {
        let times = SharedOperation::all().iter().zip(&self.times);
        SharedSnapshot {
            reads: self.reads.read(),
            writes: self.writes.read(),
            outcomes: self.outcomes.read(),
            timeouts: self.timeouts.read(),
            connection_errors: self.connection_errors.read(),
            refusals: self.refusals.read(),
            operations: times
                .map(|(operation, times)| OperationTimes { operation: *operation, times: times.read() })
                .collect(),
            transitions: self.transitions.read(),
            sent: self.sent.load(Relaxed),
            lost: self.lost.load(Relaxed),
            ..SharedSnapshot::default()
        }
    }

    pub(super) fn lease(&self) -> LeaseSnapshot {
        LeaseSnapshot {
            acquisitions: self.acquisitions.read(),
            losses: self.losses.read(),
            polls: self.polls.read(),
            renewals: self.renewals.load(Relaxed),
            held: self.held.load(Relaxed),
            following: self.following.load(Relaxed),
        }
    }
}
