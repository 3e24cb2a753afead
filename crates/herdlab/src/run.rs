//! A run as JSON: what was set, what happened, what was checked.
//!
//! The field names are stable. All of them are always present, since a result
//! without its conditions means little; a figure that this kind of run has no
//! source for is `null`, never 0. Where both could count, figures come from the
//! side that does not judge itself: origin calls from the origin, requests and
//! latencies from the callers, outcomes from the engine (and L1 compares).

mod check;
mod machine;
mod scene;
mod stamp;

use std::time::Duration;

use herdcache::{Cache, Key};
use herdfeed::{Measure, OriginResult, Outcome, RejectReason, Tally};
use serde::Serialize;

use crate::quantiles::Quantiles;

pub use check::{Check, Ledger};
pub use machine::Machine;
pub use scene::{BystanderFacts, EarlyFacts, Peaks, Scene, Second, SizeFacts, StoreFacts, SweepFacts, WarmUpFacts};
pub use stamp::utc;

/// Version of the document's format; a higher one only adds until the first number changes.
pub const VERSION: &str = "1.2";

/// What one command of the lab prints.
#[derive(Clone, Debug, Serialize)]
pub struct Document {
    /// [`VERSION`].
    pub version: &'static str,
    /// Where it ran.
    pub machine: Machine,
    /// One for each scenario and policy.
    pub runs: Vec<Run>,
}

impl Document {
    /// Of these runs, on this machine.
    pub fn new(runs: Vec<Run>) -> Self {
        Self { version: VERSION, machine: Machine::this(), runs }
    }
}

/// One run of one scenario under one policy. On paper its parts are one flat object.
#[derive(Clone, Debug, Serialize)]
pub struct Run {
    /// What was set.
    #[serde(flatten)]
    pub setup: Setup,
    /// What happened.
    #[serde(flatten)]
    pub figures: Figures,
    /// What was checked.
    pub checks: Vec<Check>,
    /// Whether every check passed.
    pub pass: bool,
}

impl Run {
    /// A run with its verdict.
    pub fn new(setup: Setup, figures: Figures, checks: Vec<Check>) -> Self {
        Self { setup, figures, pass: checks.iter().all(|check| check.pass), checks }
    }
}

/// What was set for a run.
#[derive(Clone, Debug, Serialize)]
pub struct Setup {
    /// What was played.
    pub scenario: String,
    /// The measures that were on: `all`, `none`, or their labels joined with `+`.
    pub policy: String,
    /// Seed of arrivals and faults.
    pub seed: u64,
    /// Wall time of the start, UTC, RFC 3339.
    pub started_at: String,
    /// Whether time was virtual.
    pub virtual_time: bool,
    /// Processes that took part.
    pub processes: u32,
    /// Keys that may be asked for.
    pub keys: u64,
    /// The law that keys are drawn by, with the keys that are asked for beside it.
    pub distribution: String,
    /// Size of one value.
    pub value_bytes: u64,
    /// Size of all values.
    pub data_bytes: u64,
    /// The most entries in the local tier.
    pub capacity: u64,
    /// In which of the engine's stores they were, by its label.
    pub store: String,
    /// Intended arrivals each second; `null` where users wait for their answers.
    pub rate_per_s: Option<f64>,
    /// Users who wait for their answers; `null` where arrivals do not depend on answers.
    pub users: Option<u64>,
    /// How long one of them thinks between an answer and the next question, in the mean.
    pub think_ms: Option<f64>,
    /// Bounds of most values.
    pub ttl_ms: TtlMs,
    /// Bounds of the hot key's values, where it has its own.
    pub hot_ttl_ms: Option<TtlMs>,
    /// The other settings.
    pub config: RunConfig,
    /// The origin.
    pub origin: OriginFacts,
}

/// What happened in a run.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    /// From the start of the run, also where requests come later, to the end of the last request.
    pub duration_ms: u64,
    /// How long the run took the machine, on a real clock: like `started_at` not the same twice.
    pub wall_ms: f64,
    /// Requests that callers sent.
    pub requests: u64,
    /// Arrivals that were not sent because too many requests were in flight.
    pub dropped_arrivals: u64,
    /// Requests by how they ended, as the engine counted them.
    pub outcomes: Tally<Outcome>,
    /// Expiries of the hot key that a load has followed, as the origin saw them.
    pub expiries: Option<u64>,
    /// Calls that began, as the origin counted them.
    pub origin_calls: u64,
    /// Calls for the hot key ÷ `expiries`; 1.0 is ideal.
    pub origin_calls_per_expiry: Option<f64>,
    /// Most calls that the origin worked on at once.
    pub origin_peak_running: u64,
    /// Most calls of one key in progress at once; 1 while single-flight works.
    pub key_peak_calls: u64,
    /// Waits for a connection, where the origin has a pool.
    pub pool_wait_ms: Option<Quantiles>,
    /// Reads of the shared tier, where there is one.
    pub shared_reads: Option<u64>,
    /// Origin calls ÷ distinct keys loaded; 1.0 is ideal.
    pub amplification: Option<f64>,
    /// Requests ÷ origin calls.
    pub exposure: Option<f64>,
    /// Most requests that waited for one flight, its leader among them.
    pub waiters_peak: u64,
    /// Successful requests ÷ all that ended and were not cancelled.
    pub success_ratio: Option<f64>,
    /// From the intended start to the answer, as callers saw it.
    pub latency_ms: Option<Quantiles>,
    /// Callers whose own wait timeout passed.
    pub wait_timeouts: u64,
    /// Stale answers as callers saw them.
    pub stale: StaleFacts,
    /// Most loads that waited for a permit at once.
    pub queue_peak: u64,
    /// Refusals by reason.
    pub rejections: Tally<RejectReason>,
    /// Origin calls by how they ended; those that failed are `error`, `timeout`, `panicked`.
    pub failures: Failures,
    /// Parts of the run around a fault; empty where none was planned.
    pub phases: Vec<Phase>,
    /// What only a scenario's run knows; `null` elsewhere.
    pub scene: Option<Scene>,
}

/// Bounds of a value in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TtlMs {
    /// Soft TTL.
    pub fresh: u64,
    /// How long after it a value may be answered while a refresh runs.
    pub stale: u64,
    /// How long after it a value may be answered when loads fail.
    pub stale_if_error: u64,
}

/// Settings of a run.
#[derive(Clone, Debug, Serialize)]
pub struct RunConfig {
    /// The most concurrent origin calls.
    pub permits: u64,
    /// Of `permits`, the most that refreshes use.
    pub refresh_permits: u64,
    /// The most loads that wait for a permit.
    pub queue: u64,
    /// Limits of waiting.
    pub timeouts: TimeoutsMs,
    /// Largest part of the soft TTL that jitter takes away.
    pub jitter: f64,
    /// Refresh-ahead factor β.
    pub beta: f64,
    /// Lease time; `null` without a lease.
    pub lease_ms: Option<u64>,
    /// The most requests in flight.
    pub most_in_flight: u64,
}

/// Limits of waiting in milliseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct TimeoutsMs {
    /// Of one wait for a permit.
    pub queue: u64,
    /// Of one origin call.
    pub origin: u64,
    /// Of one flight.
    pub flight: u64,
    /// Of one caller; `null` without a wait timeout.
    pub wait: Option<u64>,
}

/// What the origin was.
#[derive(Clone, Debug, Serialize)]
pub struct OriginFacts {
    /// Its model.
    pub model: &'static str,
    /// What one call takes when nothing disturbs it.
    pub latency_ms: f64,
    /// Calls that it works on at full speed; `null` without a limit.
    pub capacity: Option<f64>,
    /// Its connections; `null` without a pool.
    pub connections: Option<u64>,
    /// `healthy`, or its faults at the end.
    pub state: String,
}

/// Stale answers.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct StaleFacts {
    /// Stale and reserve answers ÷ requests.
    pub ratio: Option<f64>,
    /// 99 of 100 values answered as stale were at most this old, counted from their load.
    pub age_ms_p99: Option<f64>,
    /// The oldest one.
    pub age_ms_max: Option<f64>,
}

/// Origin calls that failed, by how.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Failures {
    /// An error from the origin.
    pub error: u64,
    /// Longer than the origin timeout or the flight deadline.
    pub timeout: u64,
    /// The loader panicked.
    pub panicked: u64,
}

impl Failures {
    /// Those among all ends of origin calls.
    pub fn of(results: &Tally<OriginResult>) -> Self {
        Self {
            error: results[OriginResult::Error],
            timeout: results[OriginResult::Timeout],
            panicked: results[OriginResult::Panicked],
        }
    }
}

/// Part of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Phase {
    /// `before`, `fault` or `after`.
    pub name: &'static str,
    /// From the sending of a request to its answer, for those that were sent in this part.
    pub latency_ms: Option<Quantiles>,
    /// Requests that were sent in it, by how they ended.
    pub outcomes: Tally<Outcome>,
    /// Calls that began in it.
    pub origin_calls: u64,
}

/// The store that the engine says it keeps this cache's entries in.
pub(crate) fn store<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static>(cache: &Cache<K, V, E>) -> String {
    let (caches, _) = herdcache::process_config();
    caches.into_iter().find(|config| config.name == cache.name()).unwrap_or_default().store
}

/// Of nothing there is no part.
pub(crate) fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// Whole milliseconds.
pub(crate) fn whole_ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// The name of a policy: what is left when the measures in `off` are off.
pub fn policy(off: &[Measure]) -> String {
    use herdfeed::ClosedSet;
    let on: Vec<_> =
        Measure::all().iter().filter(|measure| !off.contains(measure)).map(|measure| measure.label()).collect();
    match on.len() {
        0 => "none".into(),
        n if n == Measure::all().len() => "all".into(),
        _ => on.join("+"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use herdfeed::ClosedSet;

    #[test]
    fn a_policy_is_named_by_what_is_on() {
        assert_eq!(policy(&[]), "all");
        assert_eq!(policy(Measure::all()), "none");
        assert_eq!(policy(&[Measure::SingleFlight, Measure::Permits]), "jitter+stale+early");
    }
}
