//! What a cache says of its shared tier and of its lease.

use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;
use crate::tally::Tally;
use crate::words::{
    CircuitState, LeaseLoss, LeasePoll, LeaseResult, Outcome, SharedOperation, SharedRead, SharedWrite,
};

/// One cache's account of its shared tier.
///
/// Every operation on the tier or the lease is in `operations`; `timeouts` + `connection_errors` + `refusals` are
/// those that failed.
#[doc = include_str!("../../docs/examples/shared_snapshot.md")]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SharedSnapshot {
    /// What reads found: one for each key that was read, by a flight's first look, however many callers wait for it, or by
    /// a follower's.
    pub reads: Tally<SharedRead>,
    /// What became of values that were to be written.
    pub writes: Tally<SharedWrite>,
    /// Of the requests, those that the shared tier's values answered, by outcome.
    pub outcomes: Tally<Outcome>,
    /// Operations without an answer in time.
    pub timeouts: Tally<SharedOperation>,
    /// Operations that found no way to the tier.
    pub connection_errors: Tally<SharedOperation>,
    /// Operations that the tier refused.
    pub refusals: Tally<SharedOperation>,
    /// How often each operation was sent, and how long it took; one entry for each.
    pub operations: Vec<OperationTimes>,
    /// What the circuit before the tier lets through.
    pub circuit: Option<CircuitState>,
    /// How often the circuit came into each state.
    pub transitions: Tally<CircuitState>,
    /// Keys whose invalidation has not reached the tier yet; reads of them bypass it meanwhile.
    pub queued: u64,
    /// The most of them that are remembered.
    pub queue: u64,
    /// Invalidations that have reached the tier.
    pub sent: u64,
    /// Invalidations that were forgotten because too many waited: other processes may answer these keys until
    /// their time is over.
    pub lost: u64,
}

/// How long operations of one kind took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperationTimes {
    /// Which.
    pub operation: SharedOperation,
    /// Durations, failed ones included.
    pub times: Histogram,
}

/// One cache's account of its lease.
#[doc = include_str!("../../docs/examples/lease_snapshot.md")]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LeaseSnapshot {
    /// Tries for a lease, by how they ended.
    pub acquisitions: Tally<LeaseResult>,
    /// Leases that were lost before their load had ended.
    pub losses: Tally<LeaseLoss>,
    /// What followers found.
    pub polls: Tally<LeasePoll>,
    /// Renewals that succeeded.
    pub renewals: u64,
    /// Leases held now.
    pub held: u64,
    /// Flights that follow another process now.
    pub following: u64,
}
