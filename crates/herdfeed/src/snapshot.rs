//! [`Snapshot`]: state now, and totals since the process began.
//!
//! Every counter is cumulative per boot. A reader subtracts; losing a snapshot
//! loses nothing but sight of one moment. Times are microseconds: `_us` alone is
//! a duration, `mono_us` the process's monotonic clock, `unix_us` wall time.

mod ratios;
mod shared;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::event::Event;
use crate::histogram::Histogram;
use crate::tally::Tally;
use crate::words::{
    CircuitState, DiscardReason, FlightEnd, FlightRole, FlightTrigger, Law, Measure, MissCause, OriginResult, Outcome,
    PermitClass, PermitResult, ProtectionLevel, RefreshResult, RejectReason, RemovalCause, StaleReason,
};

pub use shared::{LeaseSnapshot, OperationTimes, SharedSnapshot};

/// The most live flights that a snapshot lists, per cache: those with most waiters or age.
pub const LIVE_FLIGHTS: usize = 256;
/// The class of errors that are of none of the application's classes.
pub const OTHER_ERROR: &str = "_OTHER";
/// The most hot keys that a snapshot lists, per cache.
pub const HOT_KEYS: usize = 32;

/// Everything that a process says about its caches and gates at one moment.
#[doc = include_str!("../docs/examples/snapshot.md")]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Snapshot {
    /// Counts snapshots of this process; grows by one each time.
    pub seq: u64,
    /// When it was taken, on the process's monotonic clock.
    pub mono_us: u64,
    /// When it was taken, wall time.
    pub unix_us: u64,
    /// One record for each live cache.
    pub caches: Vec<CacheSnapshot>,
    /// One record for each live gate; a gate may serve several caches.
    pub gates: Vec<GateSnapshot>,
    /// The sequence number that the next event will get.
    pub next_event: u64,
    /// Events that the bounded ring has overwritten, or that a rate limit has left out.
    pub events_dropped: u64,
}

/// One cache's account.
#[doc = include_str!("../docs/examples/cache_snapshot.md")]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CacheSnapshot {
    /// The cache's name.
    pub name: String,
    /// Counts what was built in this process, from 1 on: another cache of the same name has another number. 0 if not said.
    pub built: u64,
    /// The name of the gate its loads pass.
    pub gate: String,
    /// How far its protection reaches now.
    pub protection: Option<ProtectionLevel>,
    /// Countermeasures that are switched off now.
    pub off: Vec<Measure>,
    /// Settings in force that an operator may tune while the cache runs.
    pub tuned: TunedNow,
    /// What the measures that are off would have saved.
    pub saved: Saved,

    /// Requests that began.
    pub begun: u64,
    /// Requests that have not ended: `begun` − Σ `outcomes` (law L1).
    pub active: u64,
    /// Requests by how they ended.
    pub outcomes: Tally<Outcome>,
    /// Requests that found nothing servable, by cause.
    pub misses: Tally<MissCause>,
    /// Stale and reserve answers by reason.
    pub stale_serves: Tally<StaleReason>,
    /// Refusals by reason.
    pub rejections: Tally<RejectReason>,
    /// Of these, the refusals of background refreshes, which are no requests.
    pub refresh_rejections: Tally<RejectReason>,

    /// Flights that started, by trigger.
    pub flight_starts: Tally<FlightTrigger>,
    /// Flights that ended, by how.
    pub flights: Tally<FlightEnd>,
    /// Requests that took part in a flight, by role.
    pub participants: Tally<FlightRole>,
    /// Flights in progress.
    pub flights_active: u64,
    /// Requests waiting for a flight.
    pub waiting: u64,
    /// Flights in progress that nobody waits for.
    pub flights_unwatched: u64,
    /// Age of the oldest flight in progress; 0 when there is none.
    pub flight_oldest_us: u64,
    /// Of the flights in progress, the background refreshes.
    pub refreshes_active: u64,
    /// Background refreshes by how they ended.
    pub refreshes: Tally<RefreshResult>,
    /// Values that were loaded and not stored, by reason.
    pub discards: Tally<DiscardReason>,

    /// Origin calls that started.
    pub origin_calls: u64,
    /// Origin calls that ended, by how.
    pub origin_results: Tally<OriginResult>,
    /// Of these, the errors, by the classes that the application named; [`OTHER_ERROR`] for what is of none.
    pub origin_errors: BTreeMap<String, u64>,
    /// Origin calls in progress.
    pub origin_active: u64,
    /// Origin calls that go on after their flight ended: they hold a permit until they end.
    pub origin_abandoned: u64,

    /// Entries in the local store.
    pub entries: u64,
    /// The most entries it may hold, negative ones apart.
    pub capacity: u64,
    /// Of the entries, the negative ones: keys that the origin said do not exist.
    #[serde(default)]
    pub negatives: u64,
    /// The most negative entries it may hold.
    #[serde(default)]
    pub negative_capacity: u64,
    /// Entries that left the store, by cause.
    pub removals: Tally<RemovalCause>,
    /// Keys that were invalidated by the application.
    pub invalidations: u64,

    /// Duration of origin calls.
    pub origin_call: Histogram,
    /// Duration of flights.
    pub flight: Histogram,
    /// How long requests waited for a flight.
    pub wait: Histogram,
    /// How far past freshness stale answers were.
    pub stale_age: Histogram,
    /// What loaders reported of their wait for a connection.
    pub connection_wait: Histogram,

    /// Largest values of the last 60 seconds.
    pub peaks: Peaks,
    /// The live flights with most waiters or age; at most [`LIVE_FLIGHTS`].
    pub live: Vec<LiveFlight>,
    /// Flights that ended of late and were slow or waited for; newest last.
    pub landed: Vec<LiveFlight>,
    /// The keys asked for most; at most [`HOT_KEYS`].
    pub hot: Vec<HotKey>,
    /// Conditions that have started and not ended, with their latest figures.
    pub conditions: Vec<Event>,
    /// Laws found broken by the run-time checks; must stay 0.
    pub law_violations: u64,
    /// Which of them, as far as the checks of a cache tell.
    pub laws: Tally<Law>,
    /// Warm-ups, done and in progress.
    pub warmup: Warmup,
    /// The shared tier; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared: Option<SharedSnapshot>,
    /// The lease; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease: Option<LeaseSnapshot>,
}

/// What warm-ups came to: `total` = `loaded` + `skipped` + `failed` + `cancelled` + `left`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Warmup {
    /// Warm-ups in progress.
    pub running: u64,
    /// Loads that they may have in progress at once by now; grows and shrinks with the origin's calm.
    pub width: u64,
    /// Keys that warm-ups were given.
    pub total: u64,
    /// Keys that were loaded.
    pub loaded: u64,
    /// Keys that were there or under way already.
    pub skipped: u64,
    /// Keys whose load failed, or had failed just before.
    pub failed: u64,
    /// Keys whose warm-up ended before them.
    pub cancelled: u64,
    /// Keys that warm-ups in progress have not done with.
    pub left: u64,
}

/// Settings in force that can be tuned while a cache runs. Read in the example at [`Peaks`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TunedNow {
    /// How long past freshness values are answered while a refresh runs.
    pub stale_ms: u64,
    /// How long past freshness values are answered when loads fail.
    pub stale_if_error_ms: u64,
    /// Whether background refreshes are switched off; no cache is built so.
    pub refresh_off: bool,
    /// What the cache was built with for `stale_ms`; absent where a feed does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub built_stale_ms: Option<u64>,
    /// The same for `stale_if_error_ms`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub built_stale_if_error_ms: Option<u64>,
}

/// What measures that are off would have saved, as estimates: a cache that only observes says how much
/// protection it lacks. Cumulative, except the peaks. Nothing is added while every measure is on.
///
/// Origin calls with protection are about `origin_calls` − `coalesced` − `cooled`, and fewer still where
/// loads `over_limit` would have been refused. Read in the example at [`Peaks`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Saved {
    /// Loads that began while another load of their key ran whose answer they could have shared.
    pub coalesced: u64,
    /// Loads that began while their key would have cooled after a failed load.
    pub cooled: u64,
    /// Requests that a stale value could have answered at once.
    pub stale: u64,
    /// Requests that got an error though an older value could have stood in.
    pub reserve: u64,
    /// Loads beyond the gate's limit: they would have waited for a permit or been refused.
    pub over_limit: u64,
    /// Most values of the last 60 seconds that expired within one second and were asked for.
    pub expiries_peak: u64,
    /// The same, had jitter spread these expiries.
    pub jittered_peak: u64,
}

/// Maxima of the last 60 seconds that no reader resets, so that a herd of half a
/// second is not lost between two scrapes.
#[doc = include_str!("../docs/examples/beside.md")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Peaks {
    /// Most requests waiting for flights at once.
    pub waiting: u64,
    /// Most waiters of one flight.
    pub flight_waiters: u64,
    /// Most origin calls that started within one second.
    pub origin_starts: u64,
    /// Most origin calls in progress at once.
    pub origin_active: u64,
}

/// A flight in progress, or one that landed of late.
#[doc = include_str!("../docs/examples/live_flight.md")]
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

/// One key among those asked for most.
///
/// Found by sampled Space-Saving over two 30-second windows; `requests` is an
/// estimate that is too high by at most `error`. The counts of slow paths
/// (`loads`, `coalesced`, `stale`) are exact since the key entered the summary.
#[doc = include_str!("../docs/examples/hot_key.md")]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HotKey {
    /// The key as the application lets it be seen.
    pub key: String,
    /// Estimated requests within the window.
    pub requests: u64,
    /// How much too high `requests` may be.
    pub error: u64,
    /// Part of all requests of the cache within the window, 0..=1.
    pub share: f64,
    /// Length of the window.
    pub window_us: u64,
    /// Loads of this key.
    pub loads: u64,
    /// Requests of this key that another caller's load answered.
    pub coalesced: u64,
    /// Stale and reserve answers.
    pub stale: u64,
    /// Duration of its last load.
    pub load_us: u64,
    /// Age of its value, if it is stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub age_us: Option<u64>,
    /// Time until its value is no longer fresh; negative once stale.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fresh_left_us: Option<i64>,
    /// Time until its hard bound; negative once beyond.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale_left_us: Option<i64>,
}

/// One gate's account.
#[doc = include_str!("../docs/examples/gate_snapshot.md")]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GateSnapshot {
    /// The gate's name.
    pub name: String,
    /// The same as of a cache.
    pub built: u64,
    /// The most concurrent origin calls now.
    pub limit: u64,
    /// The most that `limit` may become, if it follows the origin; absent when it is fixed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<u64>,
    /// Permits in use by class.
    pub in_use: Tally<PermitClass>,
    /// Loads waiting for a permit.
    pub pending: u64,
    /// The most loads that may wait.
    pub queue: u64,
    /// Permits granted by class.
    pub granted: Tally<PermitClass>,
    /// Waits for a foreground permit by how they ended.
    pub results: Tally<PermitResult>,
    /// Refreshes that found no permit and were skipped.
    pub skipped: u64,
    /// How long foreground loads waited for a permit.
    pub wait: Histogram,
    /// Most permits in use at once within the last 60 seconds.
    pub usage_peak: u64,
    /// Most loads waiting at once within the last 60 seconds.
    pub pending_peak: u64,
    /// What the origin can bear over all processes, if the application said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin_capacity: Option<u64>,
    /// Whether loads are refused because too many failed; absent where fail-fast is off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub circuit: Option<CircuitState>,
    /// Conditions that have started and not ended, with their latest figures.
    pub conditions: Vec<Event>,
    /// Permits found out beyond the limit (law L3) by the run-time check; must stay 0.
    pub law_violations: u64,
}
