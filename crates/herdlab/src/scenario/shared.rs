//! A store that processes share, and what goes wrong with it.
//!
//! It is in this process: what needs a second one is not a scenario of virtual time.

use std::time::Duration;

use serde::Deserialize;

use super::Time;

/// A shared tier behind the cache; what is left out is the engine's default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharedSpec {
    /// How long each operation takes.
    #[serde(default)]
    pub latency: Time,
    /// The longest that the cache waits for one.
    pub operation_timeout: Option<Time>,
    /// Time between two probes of a store that is down.
    pub probe_every: Option<Time>,
    /// Failures in a row after which it counts as down.
    pub fails_in_a_row: Option<u64>,
    /// Whether loads take a lease there.
    #[serde(default)]
    pub lease: bool,
}

impl SharedSpec {
    /// Time between two probes if the scenario says nothing of it: the engine's default, since one call sets both.
    pub const PROBE_EVERY: Duration = Duration::from_secs(1);
    /// Failures in a row likewise.
    pub const FAILS_IN_A_ROW: u64 = 5;
}

/// What is wrong with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoreTrouble {
    /// It answers every operation with an error, at once.
    Refused,
    /// Connections break, at once.
    Reset,
    /// It answers nothing, as a process does that was stopped.
    Hung,
    /// It has lost everything, and works.
    Emptied,
}
