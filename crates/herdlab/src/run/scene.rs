//! What only a scenario's run knows, beside the figures that every run has.

use herdfeed::{DiscardReason, MissCause, RemovalCause, Tally};
use serde::Serialize;

use crate::quantiles::Quantiles;

/// What only a scenario's run knows.
#[derive(Clone, Debug, Serialize)]
pub struct Scene {
    /// Requests that found nothing servable, by cause.
    pub misses: Tally<MissCause>,
    /// Entries that left, by cause.
    pub removals: Tally<RemovalCause>,
    /// Values that were loaded and not stored, by reason.
    pub discards: Tally<DiscardReason>,
    /// Absences in the cache at the end.
    pub negatives: u64,
    /// Loads of the watched key, since it became hot.
    pub hot_loads: u64,
    /// From its first load to the first answer of the origin, and the loads that began meanwhile.
    pub first_answer_ms: Option<f64>,
    /// The loads that began until then.
    pub first_answer_loads: Option<u64>,
    /// Refreshes ahead of expiry of the watched key.
    pub early: EarlyFacts,
    /// Most origin calls that began within one second.
    pub origin_calls_peak_per_s: u64,
    /// Most entries that were found expired within one second.
    pub expired_peak_per_s: u64,
    /// Mean of origin calls each second.
    pub origin_calls_per_s: f64,
    /// How long after the last trouble a reader still got nothing; `null` where nobody was told anything after it.
    pub recovery_ms: Option<f64>,
    /// Answers that were another key's. L8: none.
    pub foreign_answers: u64,
    /// Answers older than an invalidation that came before the question. L5: none.
    pub outdated_answers: u64,
    /// The queries that no cache stands before.
    pub bystander: Option<BystanderFacts>,
    /// The warm-up, if there was one.
    pub warm_up: Option<WarmUpFacts>,
    /// The shared store, if there was one.
    pub store: Option<StoreFacts>,
    /// Degraded values that the application was asked for, as it counted them; `null` if it has none.
    pub degraded: Option<u64>,
    /// Requests for the same keys before caches of several sizes, if the scenario says so.
    pub sweep: Option<SweepFacts>,
    /// Each second of the run.
    pub seconds: Vec<Second>,
}

/// Refreshes ahead of expiry of one key.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct EarlyFacts {
    /// How many.
    pub starts: u64,
    /// How long before expiry they began, in the mean.
    pub lead_ms_mean: Option<f64>,
    /// The same in the median.
    pub lead_ms_median: Option<f64>,
    /// Expiries that one of them was the first load of.
    pub expiries: u64,
    /// `starts` ÷ `expiries`; 1 with single-flight.
    pub starts_per_expiry: Option<f64>,
}

/// Queries of another kind on the same database.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct BystanderFacts {
    /// How many.
    pub requests: u64,
    /// Those that were answered ÷ all.
    pub success_ratio: Option<f64>,
    /// How long they took, those that failed included.
    pub latency_ms: Option<Quantiles>,
}

/// A warm-up.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct WarmUpFacts {
    /// Keys that it loaded.
    pub loaded: u64,
    /// Keys that were there, or were being loaded.
    pub skipped: u64,
    /// Keys whose load failed.
    pub failed: u64,
    /// How long it took.
    pub duration_ms: f64,
}

/// A store that processes share, as it counted its callers itself.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct StoreFacts {
    /// Operations that arrived.
    pub calls: u64,
    /// Those that arrived while it was in trouble.
    pub calls_in_trouble: u64,
    /// Of these, those that came when its callers must have noticed: one probe interval after the trouble began.
    pub probes: u64,
    /// The shortest time between two of them.
    pub least_gap_ms: Option<f64>,
    /// Values in it at the end.
    pub values: u64,
}

/// Requests for the same keys before caches of several sizes.
#[derive(Clone, Debug, Serialize)]
pub struct SweepFacts {
    /// Requests that were counted.
    pub requests: u64,
    /// The least that a size has more of hits than the one before it, as parts of all requests.
    pub least_gain: Option<f64>,
    /// The least that the engine has more of hits than an exact LRU of its size.
    pub least_over_lru: Option<f64>,
    /// Each size.
    pub sizes: Vec<SizeFacts>,
}

/// Caches of one size.
#[derive(Clone, Debug, Serialize)]
pub struct SizeFacts {
    /// The size as text: the word by which a check names it.
    pub name: String,
    /// How many entries each may hold.
    pub entries: u64,
    /// Hits of the engine's cache ÷ requests.
    pub hit_ratio: Option<f64>,
    /// The same where the least recently used key makes room.
    pub lru_hit_ratio: Option<f64>,
    /// The same where the key that was asked for least makes room.
    pub lfu_hit_ratio: Option<f64>,
}

/// One second of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Second {
    /// Requests that began.
    pub requests: u64,
    /// Origin calls that began.
    pub origin_calls: u64,
    /// Calls that the origin worked on at its end.
    pub origin_running: u64,
    /// Requests that waited at its end.
    pub waiting: u64,
    /// Requests answered with an older value.
    pub stale: u64,
    /// Requests answered after they had waited for a load.
    pub blocked: u64,
    /// Requests that got nothing.
    pub failed: u64,
    /// Requests that found their value expired.
    pub expired: u64,
}

/// The largest figures of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Peaks {
    /// Requests that waited for one flight, its leader among them.
    pub flight_waiters: u64,
    /// Loads that waited for a permit.
    pub queue: u64,
}
