//! The stage of a scenario: the engine under a policy, and the database behind it.

use std::sync::Arc;
use std::time::Duration;

use herdcache::{Cache, ConfigError, Gate, Leasing, Loaded, ReadThrough, Shared, Switch, Ttl};
use herdfeed::Measure;
use tokio::time::Instant;

use super::key::RowKey;
use super::phases::Phases;
use super::source::{Row, Source};
use super::store::Store;
use super::watched::Watched;
use crate::origin::{Model, Origin, OriginError, Pool, Sharing};
use crate::policy::{Cure, Policy};
use crate::scenario::{CacheSpec, GateSpec, KeyForm, ModelSpec, OriginSpec, Scenario, SharedSpec, Warm};

pub(super) type RowCache = ReadThrough<RowKey, Row, OriginError>;

/// What a cure multiplies.
const CURE: u32 = 4;

/// Everything that a run drives.
pub(super) struct Stage {
    pub(super) cache: RowCache,
    pub(super) gate: Gate,
    pub(super) source: Arc<Source>,
    /// The same database for queries that no cache stands before, counted apart.
    pub(super) beside: Origin,
    /// What processes share, if the scenario has it.
    pub(super) store: Option<Store>,
    pub(super) settings: Settings,
    form: KeyForm,
}

/// Settings that a policy decides.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub(super) jitter: f64,
    pub(super) beta: f64,
    pub(super) origin_timeout: Duration,
    pub(super) flight_deadline: Duration,
    pub(super) connections: Option<usize>,
    pub(super) acquire_timeout: Duration,
    pub(super) wait_timeout: Option<Duration>,
}

impl Settings {
    /// Those of a scenario, as a policy changes them.
    fn of(scenario: &Scenario, policy: &Policy) -> Self {
        let (cache, origin) = (&scenario.cache, &scenario.origin);
        let times = |cure| if policy.cure() == Some(cure) { CURE } else { 1 };
        let longer = |limit: Duration| limit * times(Cure::Timeout);
        Self {
            jitter: cache.jitter.unwrap_or(0.10),
            // A policy that says refresh-ahead means it.
            beta: cache.beta.unwrap_or(if policy.has(Measure::Early) { 1.0 } else { 0.0 }),
            origin_timeout: longer(cache.origin_timeout.map_or(Duration::from_secs(5), Duration::from)),
            flight_deadline: longer(cache.flight_deadline.map_or(Duration::from_secs(10), Duration::from)),
            connections: origin.connections.map(|n| n * times(Cure::Pool) as usize),
            acquire_timeout: longer(origin.acquire_timeout.0),
            wait_timeout: scenario.traffic.wait_timeout.map(|limit| longer(limit.0)),
        }
    }
}

impl Stage {
    /// Builds it and fills the cache as the scenario says.
    pub(super) fn build(scenario: &Scenario, policy: &Policy, seed: u64, phases: Phases) -> Result<Self, ConfigError> {
        let settings = Settings::of(scenario, policy);
        let (origin, beside) = origins(&scenario.origin, &settings, seed);
        let gate = gate(&scenario.gate)?;
        let now = Instant::now();
        let warm_since = (scenario.keys.warm == Warm::Together).then_some(now);
        let (key, from) = scenario.keys.hot.first().map_or((0, Duration::ZERO), |hot| (hot.key, hot.from.0));
        let watched = Watched::new(key, scenario.cache.fresh_for.0, settings.jitter, warm_since).hot_since(now + from);
        let source = Arc::new(Source::new(origin, scenario.keys.count, scenario.origin.value_bytes, watched, phases));
        let store = scenario.shared.map(|spec| (Store::new(&spec), spec));
        let cache = cache(&scenario.cache, &settings, &gate, &source, store.as_ref())?;
        for measure in policy.off() {
            cache.set_measure(measure, Switch::Off);
        }
        let (store, form) = (store.map(|(store, _)| store), scenario.keys.form);
        let stage = Self { cache, gate, source, beside, store, settings, form };
        stage.warm(scenario, seed);
        Ok(stage)
    }

    /// The key of a row.
    pub(super) fn key(&self, number: u64) -> RowKey {
        RowKey::of(self.form, number)
    }

    fn warm(&self, scenario: &Scenario, seed: u64) {
        let mut random = fastrand::Rng::with_seed(seed);
        for key in (0..scenario.keys.count).filter(|_| scenario.keys.warm != Warm::Nothing) {
            let Some(row) = self.source.row(key) else { continue };
            let loaded = match scenario.keys.warm {
                Warm::Nothing | Warm::Together => Loaded::value(row),
                Warm::Spread => {
                    Loaded::value(row).fresh_for(scenario.cache.fresh_for.0.mul_f64(0.02 + 0.98 * random.f64()))
                }
            };
            self.cache.insert(self.key(key), loaded);
        }
    }
}

/// The origin behind the cache, and the same database beside it.
fn origins(spec: &OriginSpec, settings: &Settings, seed: u64) -> (Origin, Origin) {
    let model = match spec.model {
        ModelSpec::Fixed => Model::Fixed,
        ModelSpec::LogNormal => Model::LogNormal { sigma: spec.sigma.unwrap_or(OriginSpec::SIGMA) },
        ModelSpec::ProcessorSharing => Model::Sharing(Sharing::new(spec.capacity.unwrap_or(1.0))),
    };
    let pool = settings.connections.map(|connections| Pool::new(connections, settings.acquire_timeout));
    let origin = Origin::new(model.clone(), spec.latency.0, pool.clone(), seed);
    (origin, Origin::new(model, spec.latency.0, pool, seed.wrapping_add(1)))
}

fn gate(spec: &GateSpec) -> Result<Gate, ConfigError> {
    let mut gate = Gate::builder(spec.permits()).name("db");
    if let Some(queue) = spec.queue {
        gate = gate.queue(queue);
    }
    if let Some(timeout) = spec.queue_timeout {
        gate = gate.queue_timeout(timeout.0);
    }
    if let Some(permits) = spec.refresh_permits {
        gate = gate.refresh_permits(permits);
    }
    if let Some(permits) = spec.warm_up_permits {
        gate = gate.warm_up_permits(permits);
    }
    if spec.fail_fast == Some(false) {
        gate = gate.without_fail_fast();
    }
    gate.build()
}

fn cache(
    spec: &CacheSpec,
    settings: &Settings,
    gate: &Gate,
    source: &Arc<Source>,
    store: Option<&(Store, SharedSpec)>,
) -> Result<RowCache, ConfigError> {
    let mut ttl = Ttl::fresh_for(spec.fresh_for.0).stale_for(spec.stale_for.0);
    if let Some(bound) = spec.stale_if_error_for {
        ttl = ttl.stale_if_error_for(bound.0);
    }
    let mut cache = Cache::builder("rows", ttl, gate)
        .steady()
        .store(spec.store)
        .jitter(settings.jitter)
        .early_refresh(settings.beta)
        .origin_timeout(settings.origin_timeout)
        .flight_deadline(settings.flight_deadline)
        .max_waiters(spec.max_waiters)
        .max_flights(spec.max_flights.unwrap_or(1_000_000));
    if let Some(entries) = spec.capacity {
        cache = cache.capacity(entries);
    }
    if let Some(ttl) = spec.negative_ttl {
        cache = cache.negative_ttl(ttl.0);
    }
    if let Some([base, cap]) = spec.cooling {
        cache = cache.cooling(base.0, cap.0);
    }
    if let Some((store, spec)) = store {
        cache = cache.shared(shared(store, spec));
        if spec.lease {
            cache = cache.lease(Leasing::new(store.clone()));
        }
    }
    if spec.fallback {
        let source = Arc::clone(source);
        cache = cache.fallback(move |key: &RowKey, error| Some(source.degraded(key.number(), error)));
    }
    let source = Arc::clone(source);
    cache.build_over(move |cx| Arc::clone(&source).load(cx))
}

fn shared(store: &Store, spec: &SharedSpec) -> Shared<Row> {
    let mut shared = Shared::json(store.clone());
    if let Some(limit) = spec.operation_timeout {
        shared = shared.operation_timeout(limit.0);
    }
    let probe_every = spec.probe_every.map_or(SharedSpec::PROBE_EVERY, Duration::from);
    shared.breaker(spec.fails_in_a_row.unwrap_or(SharedSpec::FAILS_IN_A_ROW), probe_every)
}
