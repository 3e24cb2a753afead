//! The stores whose policies are compared: bare, each with a pointer as its value, and as herdcache uses them.

use std::convert::Infallible;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use foldhash::fast::RandomState;
use herdcache::{Cache, Gate, LocalStore, Ttl};
use moka::policy::EvictionPolicy;

const TINY_LFU: &str = "moka TinyLFU";
const LRU: &str = "moka LRU";
const QUICK: &str = "quick_cache";

/// The bare stores, and herdcache's as far as this build has them.
pub(crate) fn names() -> Vec<&'static str> {
    // A handful, for as long as the bench runs.
    let ours = LocalStore::ALL.iter().map(|store| &*format!("herdcache {store}").leak());
    [TINY_LFU, LRU, QUICK].into_iter().chain(ours).collect()
}

/// What a read found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    Hit,
    /// Missing; loaded and stored.
    Load,
}

impl Read {
    pub(crate) fn loads(self) -> u64 {
        match self {
            Self::Hit => 0,
            Self::Load => 1,
        }
    }
}

/// A store, read cache-aside.
pub(crate) trait Store {
    /// Whether it is there, which the policy learns too.
    fn get(&self, key: u64) -> bool;
    fn put(&self, key: u64);

    fn read(&self, key: u64) -> Read {
        self.read_with(key, 0)
    }

    /// A read whose load, if there is one, `joined` others join after a look of their own.
    fn read_with(&self, key: u64, joined: usize) -> Read {
        if self.get(key) {
            return Read::Hit;
        }
        (0..joined).for_each(|_| _ = self.get(key));
        self.put(key);
        Read::Load
    }
}

/// Makes an empty store.
pub(crate) fn store(name: &str, capacity: usize) -> Result<Box<dyn Store>, Box<dyn Error>> {
    let moka = |policy| {
        moka::sync::Cache::builder()
            .max_capacity(capacity as u64)
            .eviction_policy(policy)
            .build_with_hasher(RandomState::default())
    };
    let ours = name.strip_prefix("herdcache ").and_then(LocalStore::of_label);
    Ok(match (name, ours) {
        (_, Some(store)) => Box::new(herdcache(capacity, store)?),
        (TINY_LFU, None) => Box::new(moka(EvictionPolicy::tiny_lfu())),
        (LRU, None) => Box::new(moka(EvictionPolicy::lru())),
        (QUICK, None) => Box::new(quick_cache::sync::Cache::new(capacity)),
        _ => return Err(format!("no store is called {name}").into()),
    })
}

type Herdcache = Cache<u64, u64, Infallible>;

/// Nothing expires: the store alone decides.
fn herdcache(capacity: usize, store: LocalStore) -> Result<Herdcache, Box<dyn Error>> {
    let ttl = Ttl::fresh_for(Duration::from_secs(86_400));
    Ok(Cache::builder("policy", ttl, &Gate::new(1)).capacity(capacity as u64).store(store).build()?)
}

impl Store for Herdcache {
    fn get(&self, key: u64) -> bool {
        self.peek(&key).is_some()
    }

    fn put(&self, key: u64) {
        self.insert(key, key);
    }
}

impl Store for moka::sync::Cache<u64, Arc<u64>, RandomState> {
    fn get(&self, key: u64) -> bool {
        self.get(&key).is_some()
    }

    fn put(&self, key: u64) {
        self.insert(key, Arc::new(key));
    }
}

impl Store for quick_cache::sync::Cache<u64, Arc<u64>> {
    fn get(&self, key: u64) -> bool {
        self.get(&key).is_some()
    }

    fn put(&self, key: u64) {
        self.insert(key, Arc::new(key));
    }
}
