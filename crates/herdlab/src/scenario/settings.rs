//! What is set of the cache, of the gate, and of the database behind them.

use herdcache::LocalStore;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::Time;

/// Settings of the cache; what is left out is the engine's default.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheSpec {
    /// Soft TTL.
    pub fresh_for: Time,
    /// How long after it a value may be answered while a refresh runs.
    #[serde(default)]
    pub stale_for: Time,
    /// How long after it a value may be answered when loads fail.
    pub stale_if_error_for: Option<Time>,
    /// The most entries.
    pub capacity: Option<u64>,
    /// In which of the engine's stores they are, by its label.
    #[serde(default, deserialize_with = "store")]
    pub store: LocalStore,
    /// Largest part of the soft TTL that jitter takes away.
    pub jitter: Option<f64>,
    /// Refresh-ahead factor β.
    pub beta: Option<f64>,
    /// How long "does not exist" is remembered.
    pub negative_ttl: Option<Time>,
    /// Limit of an origin call.
    pub origin_timeout: Option<Time>,
    /// Limit of a flight.
    pub flight_deadline: Option<Time>,
    /// Cooling after failed loads: base and cap.
    pub cooling: Option<[Time; 2]>,
    /// The most flights.
    pub max_flights: Option<usize>,
    /// The most waiters of one flight.
    #[serde(default = "max_waiters")]
    pub max_waiters: usize,
    /// Whether the application has a degraded value where nothing else may be answered.
    #[serde(default)]
    pub fallback: bool,
}

/// A store by its label; another word is told with those that there are.
fn store<'de, D: Deserializer<'de>>(text: D) -> Result<LocalStore, D::Error> {
    let label = String::deserialize(text)?;
    LocalStore::of_label(&label).ok_or_else(|| {
        let known: Vec<_> = LocalStore::ALL.iter().map(|store| store.label()).collect();
        D::Error::custom(format!("no store {label:?}: say one of {}", known.join(", ")))
    })
}

fn max_waiters() -> usize {
    1_000_000
}

/// Settings of the gate; what is left out is the engine's default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GateSpec {
    /// The most concurrent origin calls.
    pub permits: Option<usize>,
    /// The most loads that wait for a permit.
    pub queue: Option<usize>,
    /// The longest that one waits.
    pub queue_timeout: Option<Time>,
    /// Of the permits, the most that refreshes use.
    pub refresh_permits: Option<usize>,
    /// Of the permits, the most that a warm-up uses.
    pub warm_up_permits: Option<usize>,
    /// Whether the gate shuts when too many loads fail; it does if left out.
    pub fail_fast: Option<bool>,
}

impl GateSpec {
    /// Permits if the scenario says nothing of them.
    pub const PERMITS: usize = 64;

    /// The most concurrent origin calls.
    pub fn permits(&self) -> usize {
        self.permits.unwrap_or(Self::PERMITS)
    }
}

/// The database.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OriginSpec {
    /// How fast it works.
    #[serde(default)]
    pub model: ModelSpec,
    /// What one call takes when nothing disturbs it: with `log_normal` the median.
    pub latency: Time,
    /// `log_normal`: σ of the logarithm.
    pub sigma: Option<f64>,
    /// `processor_sharing`: calls that it works on at full speed.
    pub capacity: Option<f64>,
    /// Its connections; without a limit if left out.
    pub connections: Option<usize>,
    /// How long a call waits for one.
    #[serde(default)]
    pub acquire_timeout: Time,
    /// Size of one value.
    #[serde(default = "value_bytes")]
    pub value_bytes: u64,
}

impl OriginSpec {
    /// σ of the logarithm of a call's time where the scenario says nothing of it.
    pub const SIGMA: f64 = 0.5;

    /// What one call takes in the mean when nothing disturbs it: a log-normal time has more than its median, m·e^(σ²/2).
    pub fn mean_s(&self) -> f64 {
        match self.model {
            ModelSpec::Fixed | ModelSpec::ProcessorSharing => self.latency.seconds(),
            ModelSpec::LogNormal => {
                let sigma = self.sigma.unwrap_or(Self::SIGMA);
                self.latency.seconds() * (sigma * sigma / 2.0).exp()
            }
        }
    }
}

fn value_bytes() -> u64 {
    256
}

/// How fast a database works.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelSpec {
    /// Every call takes the same time, however many run.
    #[default]
    Fixed,
    /// Every call takes a time of its own, drawn from a log-normal law.
    LogNormal,
    /// Running calls share a capacity.
    ProcessorSharing,
}
