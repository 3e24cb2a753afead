//! What a snapshot says of single flights.

use serde::{Deserialize, Serialize};

use crate::words::{FlightEnd, FlightTrigger, MissCause};

/// A flight in progress, or one that landed of late.
#[doc = include_str!("../../docs/examples/live_flight.md")]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveFlight {
    /// Number of this flight, unique within the process.
    pub id: u64,
    /// The key as the application lets it be seen.
    pub key: String,
    /// What started it.
    pub trigger: FlightTrigger,
    /// Why it was needed, if a miss started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<MissCause>,
    /// When it started.
    pub started_mono_us: u64,
    /// Its age, or its duration once landed.
    pub age_us: u64,
    /// Requests waiting for it now; at landing for a landed one.
    pub waiters: u64,
    /// How far it has come.
    pub stage: Stage,
    /// How it ended, if it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<FlightEnd>,
}

/// How far a flight has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Waits until an older load of its key has ended.
    Held,
    /// Waits for a permit.
    Queued,
    /// At the origin.
    Origin,
    /// Superseded by an invalidation; its value cannot be stored.
    Doomed,
    /// Over.
    Landed,
    /// Reads the shared tier, or tries for the lease.
    Shared,
    /// Follows another process that loads the key.
    Following,
    /// A stage that this reader does not know.
    #[serde(other)]
    Unknown,
}
