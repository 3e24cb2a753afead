//! What happens beside the readers.

use serde::Deserialize;

use super::{StoreTrouble, Time};

/// Queries of another kind on the same database, which no cache stands before.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bystander {
    /// Queries each second.
    pub per_second: f64,
}

/// A warm-up at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WarmUpSpec {
    /// The first key.
    #[serde(default)]
    pub from: u64,
    /// How many.
    pub keys: u64,
}

/// One task that loads listed keys anew on a schedule, so that readers never should.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RefresherSpec {
    /// How many keys are on its list, the most popular first; 100 if left out, or all if there are fewer.
    pub keys: Option<u64>,
    /// How long one round over the list takes; four fifths of the soft TTL if left out.
    pub every: Option<Time>,
}

/// Something that goes wrong for a while.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trouble {
    /// From then on.
    pub from: Time,
    /// Until then.
    pub until: Time,
    /// How many times slower the origin is.
    #[serde(default = "one")]
    pub slow: f64,
    /// Part of its calls that fail, at once.
    #[serde(default)]
    pub fail: f64,
    /// Whether the central refresher stands still, where the policy has one.
    #[serde(default)]
    pub stops_refresher: bool,
    /// What is wrong with the shared store.
    pub store: Option<StoreTrouble>,
}

fn one() -> f64 {
    1.0
}

/// Something that the application does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Act {
    /// When first.
    pub at: Time,
    /// And then again after each such time.
    pub every: Option<Time>,
    /// What.
    pub what: Deed,
    /// To which key; those that concern every key leave it out.
    #[serde(default)]
    pub key: u64,
}

/// What an application does to its cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deed {
    /// Writes a new version to the database, then invalidates the key.
    Write,
    /// A mistake: writes a new version to the database, and forgets the cache.
    WriteUnseen,
    /// Invalidates the key.
    Invalidate,
    /// Marks the key stale.
    MarkStale,
    /// Invalidates every key.
    Clear,
    /// Ends the freshness of every key now.
    ExpireAll,
}
