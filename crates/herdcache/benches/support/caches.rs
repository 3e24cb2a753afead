//! herdcache and its peers behind one trait: 24-byte keys, 256-byte values behind an `Arc`.
//!
//! A batch is one call through the trait object; the lookups inside it are compiled
//! for each cache, so the trait itself costs nothing that would be measured.

use std::collections::hash_map::RandomState as SipHash;
use std::convert::Infallible;
use std::error::Error;
use std::hash::BuildHasher;
use std::hint::black_box;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use foldhash::fast::RandomState as Foldhash;
use herdcache::{Cache, Gate, LoadContext, LocalStore, ReadThrough, Ttl};
use moka::policy::EvictionPolicy;

use super::ready;
use super::traffic::Value;

/// How a load behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Load {
    /// Ready at its first poll.
    Ready,
    /// Gives way to the scheduler once.
    Pending,
}

impl Load {
    pub(crate) async fn value(self) -> Result<Arc<Value>, Infallible> {
        if self == Self::Pending {
            tokio::task::yield_now().await;
        }
        Ok(value())
    }
}

/// The value of every key: what differs between keys is not measured here.
pub(crate) fn value() -> Arc<Value> {
    Arc::new([7; 256])
}

/// A cache that is measured.
pub(crate) trait Subject: Sync {
    /// Stores this value.
    fn store(&self, key: String, value: Arc<Value>);
    /// Reads a byte of the value; 1 if it was there.
    fn hit(&self, key: &str) -> u64;
    /// Loads keys that are missing, one after another; gives how many were answered.
    ///
    /// Where a cache has no asynchronous load: look, load, store, without protection.
    fn misses<'a>(&'a self, keys: &'a [String], load: Load) -> Pin<Box<dyn Future<Output = u64> + 'a>> {
        Box::pin(async move {
            let mut answered = 0;
            for key in keys {
                if self.hit(key) == 0 {
                    let Ok(value) = load.value().await;
                    self.store(key.clone(), Arc::clone(&value));
                    answered += seen(&value);
                }
            }
            answered
        })
    }

    /// Stores a value.
    fn put(&self, key: String) {
        self.store(key, value());
    }

    /// Looks up the keys of a sequence; gives how many were there.
    fn hits(&self, keys: &[String], sequence: &[usize]) -> u64 {
        sequence.iter().map(|index| self.hit(&keys[*index])).sum()
    }
}

/// The subjects, by name.
pub(crate) const HERDCACHE: &str = "herdcache get";
pub(crate) const HERDCACHE_WITH: &str = "herdcache get_with";
/// The same on the fast store.
pub(crate) const HERDCACHE_QUICK: &str = "herdcache get, quick_cache";
pub(crate) const HERDCACHE_QUICK_WITH: &str = "herdcache get_with, quick_cache";
pub(crate) const MOKA_FUTURE: &str = "moka::future";
pub(crate) const MOKA_SYNC: &str = "moka::sync";
pub(crate) const MOKA_FOLDHASH: &str = "moka::sync, foldhash";
pub(crate) const MOKA_LRU: &str = "moka::sync, LRU";
pub(crate) const QUICK_CACHE: &str = "quick_cache";

/// Makes an empty subject.
pub(crate) fn subject(name: &str, capacity: usize) -> Result<Box<dyn Subject>, Box<dyn Error>> {
    Ok(match name {
        HERDCACHE => Box::new(herdcache(capacity, LocalStore::Moka)?),
        HERDCACHE_WITH => Box::new(WithLoader(herdcache(capacity, LocalStore::Moka)?)),
        HERDCACHE_QUICK => Box::new(herdcache(capacity, fast()?)?),
        HERDCACHE_QUICK_WITH => Box::new(WithLoader(herdcache(capacity, fast()?)?)),
        MOKA_FUTURE => Box::new(moka_future(capacity)),
        MOKA_SYNC => Box::new(moka_sync(capacity, EvictionPolicy::tiny_lfu(), SipHash::new())),
        MOKA_FOLDHASH => Box::new(moka_sync(capacity, EvictionPolicy::tiny_lfu(), Foldhash::default())),
        MOKA_LRU => Box::new(moka_sync(capacity, EvictionPolicy::lru(), SipHash::new())),
        QUICK_CACHE => Box::new(quick_cache(capacity)),
        _ => return Err(format!("no subject is called {name}").into()),
    })
}

const HOUR: Duration = Duration::from_secs(3_600);

pub(crate) type Herdcache = ReadThrough<String, Value, Infallible>;

/// The fast store, if this build has it.
fn fast() -> Result<LocalStore, &'static str> {
    LocalStore::of_label("quick").ok_or("build with the feature `quick-cache`")
}

/// Everything on, with its defaults: single-flight, jitter, stale values, permits, account, hot keys.
pub(crate) fn herdcache(capacity: usize, store: LocalStore) -> Result<Herdcache, Box<dyn Error>> {
    let ttl = Ttl::fresh_for(HOUR).stale_for(HOUR);
    let cache = Cache::<String, Value, Infallible>::builder("bench", ttl, &Gate::new(64))
        .store(store)
        .capacity(capacity as u64)
        .build_over(|_: LoadContext<String, Value>| Load::Ready.value())?;
    Ok(cache)
}

fn moka_future(capacity: usize) -> moka::future::Cache<String, Arc<Value>> {
    moka::future::Cache::builder().max_capacity(capacity as u64).time_to_live(HOUR).build()
}

fn moka_sync<S>(capacity: usize, policy: EvictionPolicy, hasher: S) -> moka::sync::Cache<String, Arc<Value>, S>
where
    S: BuildHasher + Clone + Send + Sync + 'static,
{
    moka::sync::Cache::builder()
        .max_capacity(capacity as u64)
        .eviction_policy(policy)
        .time_to_live(HOUR)
        .build_with_hasher(hasher)
}

fn quick_cache(capacity: usize) -> quick_cache::sync::Cache<String, Arc<Value>> {
    quick_cache::sync::Cache::new(capacity)
}

/// Reads a byte of it.
pub(crate) fn seen(value: &Value) -> u64 {
    u64::from(black_box(value[0]) > 0)
}

impl Subject for Herdcache {
    fn store(&self, key: String, value: Arc<Value>) {
        self.insert(key, value);
    }

    #[inline]
    fn hit(&self, key: &str) -> u64 {
        match ready(self.get(key)) {
            Ok(Some(answer)) => seen(&answer),
            Ok(None) | Err(_) => 0,
        }
    }

    fn misses<'a>(&'a self, keys: &'a [String], load: Load) -> Pin<Box<dyn Future<Output = u64> + 'a>> {
        Box::pin(async move {
            let mut answered = 0;
            for key in keys {
                if let Ok(Some(answer)) = self.get_with(key.as_str(), |_| load.value()).await {
                    answered += seen(&answer);
                }
            }
            answered
        })
    }
}

/// herdcache through `get_with`, also for hits.
struct WithLoader(Herdcache);

impl Subject for WithLoader {
    fn store(&self, key: String, value: Arc<Value>) {
        self.0.store(key, value);
    }

    #[inline]
    fn hit(&self, key: &str) -> u64 {
        match ready(self.0.get_with(key, |_| Load::Ready.value())) {
            Ok(Some(answer)) => seen(&answer),
            Ok(None) | Err(_) => 0,
        }
    }

    fn misses<'a>(&'a self, keys: &'a [String], load: Load) -> Pin<Box<dyn Future<Output = u64> + 'a>> {
        self.0.misses(keys, load)
    }
}

impl Subject for moka::future::Cache<String, Arc<Value>> {
    fn store(&self, key: String, value: Arc<Value>) {
        ready(self.insert(key, value));
    }

    #[inline]
    fn hit(&self, key: &str) -> u64 {
        ready(self.get(key)).map_or(0, |value| seen(&value))
    }

    fn misses<'a>(&'a self, keys: &'a [String], load: Load) -> Pin<Box<dyn Future<Output = u64> + 'a>> {
        Box::pin(async move {
            let mut answered = 0;
            for key in keys {
                // By reference: the key is cloned on a miss only, as herdcache does.
                if let Ok(value) = self.try_get_with_by_ref(key.as_str(), load.value()).await {
                    answered += seen(&value);
                }
            }
            answered
        })
    }
}

impl<S: BuildHasher + Clone + Send + Sync + 'static> Subject for moka::sync::Cache<String, Arc<Value>, S> {
    fn store(&self, key: String, value: Arc<Value>) {
        self.insert(key, value);
    }

    #[inline]
    fn hit(&self, key: &str) -> u64 {
        self.get(key).map_or(0, |value| seen(&value))
    }
}

impl Subject for quick_cache::sync::Cache<String, Arc<Value>> {
    fn store(&self, key: String, value: Arc<Value>) {
        self.insert(key, value);
    }

    #[inline]
    fn hit(&self, key: &str) -> u64 {
        self.get(key).map_or(0, |value| seen(&value))
    }

    fn misses<'a>(&'a self, keys: &'a [String], load: Load) -> Pin<Box<dyn Future<Output = u64> + 'a>> {
        Box::pin(async move {
            let mut answered = 0;
            for key in keys {
                let Ok(value) = self.get_or_insert_async(key.as_str(), load.value()).await;
                answered += seen(&value);
            }
            answered
        })
    }
}
