//! [`Hello`]: who speaks, and with which effective settings.
//!
//! Durations of settings are milliseconds (`_ms`), readings of clocks microseconds (`_us`). Ranges and defaults are
//! those of the settings that they show. What a feed of an earlier version does not tell reads as 0, empty or `None`.

use serde::{Deserialize, Serialize};

/// Version of the feed: `[major, minor]`. A minor only adds.
pub const VERSION: [u16; 2] = [1, 3];

/// The first line of every stream.
#[doc = include_str!("../docs/examples/hello.md")]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// Version of the feed, `[major, minor]`.
    pub v: [u16; 2],
    /// Lowest major version that a reader must speak.
    pub min: u16,
    /// Name and version of the speaking library, as `herdcache 0.1.0`.
    pub lib: String,
    /// The process.
    pub process: Process,
    /// Its clocks, read together.
    pub clock: Clock,
    /// What the feed can tell: `flights`, `hot_keys`, `conditions`, `past` …
    #[serde(default)]
    pub caps: Vec<String>,
    /// Effective settings of every cache.
    #[serde(default)]
    pub caches: Vec<CacheConfig>,
    /// Effective settings of every gate.
    #[serde(default)]
    pub gates: Vec<GateConfig>,
}

/// The speaking process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Process {
    /// The service's name as given to the feed.
    pub service: String,
    /// The application's version, if it gave one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub app_version: Option<String>,
    /// Host name, empty if unknown.
    pub host: String,
    /// Process id.
    pub pid: u32,
    /// Another value after every start of the process.
    pub boot: String,
    /// When the feed started, wall time.
    pub started_unix_us: u64,
}

/// Two clocks read at the same moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Clock {
    /// The process's monotonic clock.
    pub mono_us: u64,
    /// Wall time.
    pub unix_us: u64,
}

/// Effective settings of one cache, in milliseconds where they are durations.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CacheConfig {
    /// The cache's name.
    pub name: String,
    /// The gate its loads pass.
    pub gate: String,
    /// The local store.
    pub store: String,
    /// The most entries.
    pub capacity: u64,
    /// Soft TTL.
    pub fresh_ms: u64,
    /// How long after it a value may be answered while a refresh runs.
    pub stale_ms: u64,
    /// How long after it a value may be answered when loads fail.
    pub stale_if_error_ms: u64,
    /// The most that an operator may tune `stale_ms` to.
    pub tunable_stale_ms: u64,
    /// The most that an operator may tune `stale_if_error_ms` to.
    pub tunable_stale_if_error_ms: u64,
    /// Whether an operator has switched background refreshes off.
    pub refresh_off: bool,
    /// Largest part of the soft TTL that jitter takes away, 0..=0.5.
    pub jitter: f64,
    /// Refresh-ahead factor β; 0 is off.
    pub early_refresh: f64,
    /// Soft timeout, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub soft_timeout_ms: Option<u64>,
    /// Limit of the origin call.
    pub origin_timeout_ms: u64,
    /// Limit of the whole flight.
    pub flight_deadline_ms: u64,
    /// TTL of a cached "does not exist".
    pub negative_ttl_ms: u64,
    /// First cooling window after a failed load.
    pub cooling_base_ms: u64,
    /// Largest cooling window before its random part.
    pub cooling_cap_ms: u64,
    /// The most flights at once.
    pub max_flights: u64,
    /// The most waiters of one flight.
    pub max_waiters: u64,
    /// Part of the flights and of the gate's queue that one group (tenant) may hold, if keys are grouped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group_share: Option<f64>,
    /// What becomes of a load that nobody waits for any more: `finish` or `abandon`; empty if not said.
    pub when_unwatched: String,
    /// Whether the application gives a degraded value when nothing else can be answered.
    pub fallback: bool,
    /// How keys are shown: `hash`, `plain` or `function`.
    pub keys: String,
    /// The shared tier, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared: Option<SharedConfig>,
    /// The lease, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease: Option<LeaseConfig>,
}

/// Effective settings of a cache's shared tier.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SharedConfig {
    /// The longest one operation may take.
    pub operation_timeout_ms: u64,
    /// The largest value that is written, in bytes.
    pub largest_value: u64,
    /// The application's version of what keys and values look like.
    pub schema_version: u32,
    /// How values are encoded.
    pub codec: String,
    /// What a write that failed means for a load: `ignore` or `fail`.
    pub write_failure: String,
    /// Failures in a row that open the circuit.
    pub breaker_in_a_row: u64,
    /// Time between two probes.
    pub probe_every_ms: u64,
    /// The most keys whose invalidation may wait.
    pub queue: u64,
}

/// Effective settings of a cache's lease.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LeaseConfig {
    /// How long a lease lasts.
    pub time_ms: u64,
    /// How often it is renewed at most.
    pub renewals: u32,
    /// A follower's first pause between two looks.
    pub poll_ms: u64,
    /// Its longest one.
    pub poll_most_ms: u64,
    /// How long a flight follows at most; absent if until its deadline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub follow_ms: Option<u64>,
}

/// Effective settings of one gate.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GateConfig {
    /// The gate's name.
    pub name: String,
    /// The most concurrent origin calls.
    pub permits: u64,
    /// The most loads that wait.
    pub queue: u64,
    /// The longest a load waits.
    pub queue_timeout_ms: u64,
    /// Of `permits`, the most that background refreshes use.
    pub refresh_permits: u64,
    /// Of `permits`, the most that warm-up uses.
    pub warmup_permits: u64,
    /// What the origin can bear over all processes, if the application said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin_capacity: Option<u64>,
    /// The least that the limit may become, if it follows the origin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adaptive_floor: Option<u64>,
    /// When the gate refuses all loads because too many fail; absent if never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fail_fast: Option<FailFastConfig>,
}

/// When a gate refuses all loads because too many fail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FailFastConfig {
    /// The failed part of loads that opens it, 0..=1.
    pub ratio: f64,
    /// Fewer loads than this prove nothing.
    pub at_least: u64,
    /// The span over which they are counted.
    pub window_ms: u64,
    /// Time between two probes.
    pub probe_every_ms: u64,
}
