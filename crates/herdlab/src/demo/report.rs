//! Sums a finished demonstration up as a [`Run`].

use herdfeed::{CacheSnapshot, Measure, Outcome};

use super::engine::choice;
use super::peaks::RunPeaks;
use super::{Demo, DemoAccount, DemoConfig};
use crate::load::LoadFigures;
use crate::origin::{Origin, Pool};
use crate::quantiles::Quantiles;
use crate::run::{
    Check, Failures, Figures, Ledger, OriginFacts, Run, RunConfig, Setup, StaleFacts, TimeoutsMs, policy, ratio, store,
    utc, whole_ms,
};

/// Everything that is known of `demo`, which must be at rest.
pub(super) fn run(demo: &Demo) -> Run {
    let peaks = demo.peaks.look(&demo.engine.cache, &demo.engine.gate);
    let (cache, gate) = (demo.engine.cache.snapshot(), demo.engine.gate.snapshot());
    let account = demo.account();
    let ledger = Ledger { callers: &account.callers, origin: &account.origin, cache: &cache, gate: &gate };
    let checks = checks(demo, &ledger, peaks);
    let waits = demo.engine.pages.origin().pool().and_then(Pool::waits);
    Run::new(setup(demo), figures(&account, &cache, peaks, waits), checks)
}

fn setup(demo: &Demo) -> Setup {
    let config = &demo.config;
    Setup {
        scenario: "demo".into(),
        policy: policy(&config.off),
        seed: config.seed,
        started_at: utc(demo.started.wall),
        virtual_time: false,
        processes: 1,
        keys: config.keys(),
        distribution: choice(config).describe(),
        value_bytes: config.value_bytes as u64,
        data_bytes: config.value_bytes as u64 * config.keys(),
        capacity: config.capacity,
        store: store(&demo.engine.cache),
        rate_per_s: Some(config.rate_per_s),
        users: None,
        think_ms: None,
        ttl_ms: config.ttl(),
        hot_ttl_ms: Some(config.hot_ttl()),
        config: settings(config),
        origin: origin_facts(demo.engine.pages.origin()),
    }
}

fn figures(account: &DemoAccount, cache: &CacheSnapshot, peaks: RunPeaks, waits: Option<Quantiles>) -> Figures {
    let (callers, origin) = (&account.callers, &account.origin);
    Figures {
        duration_ms: whole_ms(account.elapsed),
        // A demonstration is in real time.
        wall_ms: account.elapsed.as_secs_f64() * 1_000.0,
        requests: callers.requests,
        dropped_arrivals: callers.dropped_arrivals,
        outcomes: cache.outcomes.clone(),
        expiries: Some(account.expiries),
        origin_calls: origin.started,
        origin_calls_per_expiry: ratio(account.hot.started, account.expiries),
        origin_peak_running: origin.peak_running,
        key_peak_calls: origin.peak_of_a_key,
        pool_wait_ms: waits,
        shared_reads: None,
        amplification: ratio(origin.started, origin.distinct_keys),
        exposure: ratio(callers.requests, origin.started),
        waiters_peak: peaks.flight_waiters,
        success_ratio: cache.success_ratio(),
        latency_ms: callers.latency,
        wait_timeouts: cache.outcomes[Outcome::TimedOut],
        stale: stale(callers, cache),
        queue_peak: peaks.queue,
        rejections: cache.rejections.clone(),
        failures: Failures::of(&cache.origin_results),
        phases: Vec::new(),
        scene: None,
    }
}

fn checks(demo: &Demo, ledger: &Ledger<'_>, peaks: RunPeaks) -> Vec<Check> {
    let switches = demo.switches.lock().clone();
    let always_on = |measure| !switches.ever_off().contains(&measure);
    let mut checks = ledger.l1();
    if always_on(Measure::SingleFlight) {
        checks.push(ledger.l2(0));
    }
    if always_on(Measure::Permits) {
        checks.push(ledger.l3());
    }
    checks.extend(ledger.l6());
    checks.extend(ledger.l7(peaks.queue, peaks.flight_waiters, demo.config.max_waiters as u64));
    checks
}

fn settings(config: &DemoConfig) -> RunConfig {
    RunConfig {
        permits: config.permits as u64,
        refresh_permits: config.refresh_permits as u64,
        queue: config.queue as u64,
        timeouts: TimeoutsMs {
            queue: whole_ms(config.queue_timeout),
            origin: whole_ms(config.origin_timeout),
            flight: whole_ms(config.flight_deadline),
            wait: None,
        },
        jitter: config.jitter,
        beta: config.beta,
        lease_ms: None,
        most_in_flight: config.most_in_flight as u64,
    }
}

fn origin_facts(origin: &Origin) -> OriginFacts {
    OriginFacts {
        model: origin.model().label(),
        latency_ms: origin.work().as_secs_f64() * 1_000.0,
        capacity: origin.model().capacity(),
        connections: origin.pool().map(|pool| pool.connections() as u64),
        state: origin.faults().describe(),
    }
}

fn stale(callers: &LoadFigures, cache: &CacheSnapshot) -> StaleFacts {
    let answered = cache.outcomes[Outcome::Stale] + cache.outcomes[Outcome::Reserve];
    StaleFacts {
        ratio: ratio(answered, cache.outcomes.total()),
        age_ms_p99: callers.stale_age.map(|ages| ages.p99),
        age_ms_max: callers.stale_age.map(|_| callers.oldest_stale.as_secs_f64() * 1_000.0),
    }
}
