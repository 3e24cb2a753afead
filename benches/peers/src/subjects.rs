//! The peers that herdcache's own benches do without.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use cached::ShardedLruTtlCache;
use mixtrics::registry::prometheus_0_14::PrometheusMetricsRegistry;

use crate::support::caches::{self, Subject, seen};
use crate::support::traffic::Value;

pub(crate) const FOYER: &str = "foyer, prometheus";
pub(crate) const CACHED: &str = "cached, sharded LRU with TTL";
pub(crate) const STRETTO: &str = "stretto, metrics on";

const HOUR: Duration = Duration::from_secs(3_600);

/// Makes an empty subject.
pub(crate) fn subject(name: &str, capacity: usize) -> Result<Box<dyn Subject>, Box<dyn Error>> {
    Ok(match name {
        FOYER => Box::new(foyer(capacity)),
        CACHED => Box::new(ShardedLruTtlCache::builder().max_size(capacity).ttl(HOUR).build()?),
        STRETTO => Box::new(stretto(capacity)?),
        _ => caches::subject(name, capacity)?,
    })
}

/// Of the version whose registry keeps its counters in Prometheus's own client.
fn foyer(capacity: usize) -> foyer::Cache<String, Arc<Value>> {
    let registry = PrometheusMetricsRegistry::new(prometheus::Registry::new());
    foyer::CacheBuilder::new(capacity).with_metrics_registry(Box::new(registry)).build()
}

/// Ten counters for each entry, as its documentation advises.
fn stretto(capacity: usize) -> Result<stretto::Cache<String, Arc<Value>>, stretto::CacheError> {
    let cost = i64::try_from(capacity).unwrap_or(i64::MAX);
    stretto::Cache::builder(10 * capacity, cost).set_metrics(true).set_ignore_internal_cost(true).finalize()
}

impl Subject for foyer::Cache<String, Arc<Value>> {
    fn store(&self, key: String, value: Arc<Value>) {
        self.insert(key, value);
    }

    #[inline]
    fn hit(&self, key: &str) -> u64 {
        self.get(key).map_or(0, |entry| seen(entry.value()))
    }
}

impl Subject for ShardedLruTtlCache<String, Arc<Value>> {
    fn store(&self, key: String, value: Arc<Value>) {
        self.set(key, value);
    }

    #[inline]
    fn hit(&self, key: &str) -> u64 {
        self.get(key).map_or(0, |value| seen(&value))
    }
}

impl Subject for stretto::Cache<String, Arc<Value>> {
    fn store(&self, key: String, value: Arc<Value>) {
        // Writes are queued, and dropped where the queue is full.
        self.insert(key, value, 1);
        let _ = self.wait();
    }

    #[inline]
    fn hit(&self, key: &str) -> u64 {
        self.get(key).map_or(0, |entry| seen(entry.value()))
    }
}
