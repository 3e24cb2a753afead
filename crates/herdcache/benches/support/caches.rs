//! herdcache and its peers, filled alike: 24-byte keys, 256-byte values behind an `Arc`.

use std::convert::Infallible;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::Duration;

use herdcache::{ConfigError, Gate, LoadContext, ReadThrough, Ttl};

use super::traffic::Value;

pub(crate) type Herdcache = ReadThrough<String, Value, Infallible>;
pub(crate) type MokaFuture = moka::future::Cache<String, Arc<Value>>;
pub(crate) type MokaSync<S> = moka::sync::Cache<String, Arc<Value>, S>;
pub(crate) type QuickCache = quick_cache::sync::Cache<String, Arc<Value>>;

/// The value of every key: what differs between keys is not measured here.
pub(crate) fn value() -> Arc<Value> {
    Arc::new([7; 256])
}

/// Everything on, with its defaults: single-flight, jitter, stale values, permits, account, hot keys.
pub(crate) fn herdcache(capacity: usize) -> Result<Herdcache, ConfigError> {
    let ttl = Ttl::fresh_for(Duration::from_secs(3_600)).stale_for(Duration::from_secs(3_600));
    ReadThrough::<String, Value, Infallible>::builder("bench", ttl, &Gate::new(64))
        .capacity(capacity as u64)
        .build_over(|_: LoadContext<String, Value>| async { Ok::<_, Infallible>(value()) })
}

/// As [`herdcache`], but each load gives way to the scheduler once before it ends.
pub(crate) fn herdcache_pending(capacity: usize) -> Result<Herdcache, ConfigError> {
    let ttl = Ttl::fresh_for(Duration::from_secs(3_600)).stale_for(Duration::from_secs(3_600));
    ReadThrough::<String, Value, Infallible>::builder("bench", ttl, &Gate::new(64))
        .capacity(capacity as u64)
        .build_over(|_: LoadContext<String, Value>| async {
            tokio::task::yield_now().await;
            Ok::<_, Infallible>(value())
        })
}

pub(crate) fn moka_future(capacity: usize) -> MokaFuture {
    moka::future::Cache::builder().max_capacity(capacity as u64).time_to_live(Duration::from_secs(3_600)).build()
}

pub(crate) fn moka_sync<S>(capacity: usize, hasher: S) -> MokaSync<S>
where
    S: BuildHasher + Clone + Send + Sync + 'static,
{
    moka::sync::Cache::builder()
        .max_capacity(capacity as u64)
        .time_to_live(Duration::from_secs(3_600))
        .build_with_hasher(hasher)
}

pub(crate) fn quick_cache(capacity: usize) -> QuickCache {
    quick_cache::sync::Cache::new(capacity)
}
