//! Sums a finished run up: its settings, figures and checks.

use herdfeed::{CacheSnapshot, Measure, Outcome, StaleReason};

use super::Played;
use super::source::ms;
use super::store::Store;
use super::watched::WatchedFigures;
use crate::origin::Pool;
use crate::policy::Policy;
use crate::run::{
    Check, EarlyFacts, Failures, Figures, Ledger, OriginFacts, Run, RunConfig, Scene, Setup, StaleFacts, TimeoutsMs,
    TtlMs, ratio, store, utc, whole_ms,
};
use crate::scenario::Scenario;
use crate::verdict;

pub(super) fn run(scenario: &Scenario, policy: &Policy, seed: u64, played: &Played) -> Run {
    let cache = played.stage.cache.snapshot();
    let setup = setup(scenario, policy, seed, played, &cache);
    let figures = figures(played, &cache);
    let laws = laws(scenario, policy, played, &cache, setup.ttl_ms);
    let run = Run::new(setup, figures, laws);
    let checks = verdict::checks(scenario, &run);
    Run::new(run.setup, run.figures, run.checks.into_iter().chain(checks).collect())
}

fn setup(scenario: &Scenario, policy: &Policy, seed: u64, played: &Played, cache: &CacheSnapshot) -> Setup {
    let (stage, spec, traffic) = (&played.stage, &scenario.cache, &scenario.traffic);
    let (origin, settings) = (&stage.source.origin, &stage.settings);
    let stale_if_error = spec.stale_if_error_for.unwrap_or(spec.stale_for);
    Setup {
        scenario: scenario.name.clone(),
        policy: policy.to_string(),
        seed,
        started_at: utc(played.wall),
        virtual_time: true,
        processes: 1,
        keys: scenario.keys.count,
        distribution: scenario.keys.describe(),
        value_bytes: scenario.origin.value_bytes,
        data_bytes: scenario.origin.value_bytes * scenario.keys.count,
        capacity: cache.capacity,
        store: store(&stage.cache),
        rate_per_s: traffic.open_rate(),
        users: traffic.open().is_none().then_some(traffic.users),
        think_ms: traffic.open().is_none().then_some(ms(traffic.think.0)),
        ttl_ms: TtlMs {
            fresh: whole_ms(spec.fresh_for.0),
            stale: whole_ms(spec.stale_for.0),
            stale_if_error: whole_ms(stale_if_error.0),
        },
        hot_ttl_ms: None,
        config: config(scenario, played),
        origin: OriginFacts {
            model: origin.model().label(),
            latency_ms: ms(origin.work()),
            capacity: origin.model().capacity(),
            connections: settings.connections.map(|connections| connections as u64),
            state: origin.faults().describe(),
        },
    }
}

fn config(scenario: &Scenario, played: &Played) -> RunConfig {
    let (settings, stage) = (&played.stage.settings, &played.stage);
    let (caches, gates) = herdcache::process_config();
    let told = gates.into_iter().find(|config| config.name == stage.gate.name()).unwrap_or_default();
    let lease = caches.into_iter().find(|config| config.name == stage.cache.name()).and_then(|config| config.lease);
    RunConfig {
        permits: told.permits,
        refresh_permits: told.refresh_permits,
        queue: told.queue,
        timeouts: TimeoutsMs {
            queue: told.queue_timeout_ms,
            origin: whole_ms(settings.origin_timeout),
            flight: whole_ms(settings.flight_deadline),
            wait: settings.wait_timeout.map(whole_ms),
        },
        jitter: settings.jitter,
        beta: settings.beta,
        lease_ms: lease.map(|lease| lease.time_ms),
        most_in_flight: scenario.traffic.most_in_flight as u64,
    }
}

fn figures(played: &Played, cache: &CacheSnapshot) -> Figures {
    let (stage, callers) = (&played.stage, &played.callers);
    let (origin, watched) = (stage.source.origin.counts(), stage.source.watched());
    let answered = cache.outcomes[Outcome::Stale] + cache.outcomes[Outcome::Reserve];
    Figures {
        duration_ms: whole_ms(played.took),
        wall_ms: ms(played.real.elapsed()),
        requests: callers.requests,
        dropped_arrivals: callers.dropped_arrivals,
        outcomes: cache.outcomes.clone(),
        expiries: Some(watched.expiries),
        origin_calls: origin.started,
        origin_calls_per_expiry: ratio(watched.loads, watched.expiries),
        origin_peak_running: origin.peak_running,
        key_peak_calls: origin.peak_of_a_key,
        pool_wait_ms: stage.source.origin.pool().and_then(Pool::waits),
        shared_reads: cache.shared.as_ref().map(|shared| shared.reads.total()),
        amplification: ratio(origin.started, origin.distinct_keys),
        exposure: ratio(callers.requests, origin.started),
        waiters_peak: played.peaks.flight_waiters,
        success_ratio: cache.success_ratio(),
        latency_ms: callers.latency,
        wait_timeouts: cache.outcomes[Outcome::TimedOut],
        stale: StaleFacts {
            ratio: ratio(answered, cache.outcomes.total()),
            age_ms_p99: callers.stale_age.map(|ages| ages.p99),
            age_ms_max: callers.stale_age.map(|_| ms(callers.oldest_stale)),
        },
        queue_peak: played.peaks.queue,
        rejections: cache.rejections.clone(),
        failures: Failures::of(&cache.origin_results),
        phases: played.witness.phases(stage.source.calls_by_phase()),
        scene: Some(scene(played, cache, &watched)),
    }
}

fn scene(played: &Played, cache: &CacheSnapshot, watched: &WatchedFigures) -> Scene {
    let (seconds, witness) = (&played.seconds, &played.witness);
    Scene {
        misses: cache.misses.clone(),
        removals: cache.removals.clone(),
        discards: cache.discards.clone(),
        negatives: cache.negatives,
        hot_loads: watched.loads,
        first_answer_ms: watched.first_answer.map(|(after, _)| ms(after)),
        first_answer_loads: watched.first_answer.map(|(_, loads)| loads),
        early: EarlyFacts {
            starts: watched.leads.count,
            lead_ms_mean: watched.leads.mean_ms,
            lead_ms_median: watched.leads.median_ms,
            expiries: watched.leads.expiries,
            starts_per_expiry: ratio(watched.leads.count, watched.leads.expiries),
        },
        origin_calls_peak_per_s: seconds.iter().map(|second| second.origin_calls).max().unwrap_or_default(),
        expired_peak_per_s: seconds.iter().map(|second| second.expired).max().unwrap_or_default(),
        origin_calls_per_s: played.stage.source.origin.counts().started as f64
            / played.sent_for.as_secs_f64().max(f64::MIN_POSITIVE),
        recovery_ms: witness.recovery().map(ms),
        foreign_answers: witness.foreign(),
        outdated_answers: witness.outdated(),
        bystander: played.bystander,
        warm_up: played.warm_up,
        store: played.stage.store.as_ref().map(Store::facts),
        degraded: played.degrades.then(|| played.stage.source.degradations().0),
        sweep: played.sweep.clone(),
        seconds: seconds.clone(),
    }
}

/// L1, L6, L7 always; L2 and L3 where their measure is on; L5 and L8 on every answer.
fn laws(scenario: &Scenario, policy: &Policy, played: &Played, cache: &CacheSnapshot, ttl: TtlMs) -> Vec<Check> {
    let (gate, origin) = (played.stage.gate.snapshot(), played.stage.source.origin.counts());
    let ledger = Ledger { callers: &played.callers, origin: &origin, cache, gate: &gate };
    let mut checks = ledger.l1();
    checks.extend(refusals(scenario, played, cache));
    let by_phase = played.stage.source.calls_by_phase().iter().sum();
    checks.push(Check::equal("L1 origin calls of all phases = of the origin", origin.started, by_phase));
    if policy.has(Measure::SingleFlight) {
        checks.push(ledger.l2(u64::from(!scenario.act.is_empty())));
    }
    if policy.has(Measure::Permits) {
        checks.push(ledger.l3());
    }
    checks.extend(ledger.l4(ttl));
    checks.push(Check::equal("L5 answers older than an invalidation", 0, played.witness.outdated()));
    checks.extend(ledger.l6());
    checks.extend(ledger.l7(played.peaks.queue, played.peaks.flight_waiters, scenario.cache.max_waiters as u64));
    checks.push(Check::equal("L8 answers of another key", 0, played.witness.foreign()));
    checks
}

/// Each refusal that the cache counted is a caller who was refused, or who got the degraded value instead: both are counted
/// apart from the engine. Only where no older value can stand in, which the caller is not told the reason of.
fn refusals(scenario: &Scenario, played: &Played, cache: &CacheSnapshot) -> Vec<Check> {
    let mut checks = Vec::new();
    let (degraded, refused) = played.stage.source.degradations();
    if cache.stale_serves[StaleReason::Rejected] == 0 {
        checks.push(refused_are_told(cache.rejections.total(), [played.callers.outcomes[Outcome::Rejected], refused]));
    }
    if scenario.cache.fallback {
        let told = played.callers.outcomes[Outcome::Fallback];
        checks.push(Check::equal("L1 degraded answers = degraded values of the application", degraded, told));
    }
    checks
}

/// The engine's count, and the callers who were refused with those who got a degraded value instead.
fn refused_are_told(counted: u64, told: [u64; 2]) -> Check {
    Check::equal("L1 refusals = callers refused or degraded", counted, told.iter().sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// L1: a refusal that nobody was told, or that was told twice, is found.
    #[test]
    fn l1_a_refusal_that_is_not_told_is_found() {
        for (counted, told, pass) in [(7, [5, 2], true), (8, [5, 2], false), (6, [5, 2], false), (5, [5, 2], false)] {
            assert_eq!(refused_are_told(counted, told).pass, pass, "{counted} and {told:?}");
        }
    }
}
