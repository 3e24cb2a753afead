//! The stores whose policies are compared, each with a pointer as its value, as herdcache has.

use std::error::Error;
use std::sync::Arc;

use foldhash::fast::RandomState;
use moka::policy::EvictionPolicy;

pub(crate) const NAMES: [&str; 3] = ["moka TinyLFU", "moka LRU", "quick_cache"];

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
    fn get(&self, key: u64) -> Option<Arc<u64>>;
    fn put(&self, key: u64);

    fn read(&self, key: u64) -> Read {
        self.read_with(key, 0)
    }

    /// A read whose load, if there is one, `joined` others join after a look of their own.
    fn read_with(&self, key: u64, joined: usize) -> Read {
        if self.get(key).is_some() {
            return Read::Hit;
        }
        (0..joined).for_each(|_| drop(self.get(key)));
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
    Ok(match name {
        "moka TinyLFU" => Box::new(moka(EvictionPolicy::tiny_lfu())),
        "moka LRU" => Box::new(moka(EvictionPolicy::lru())),
        "quick_cache" => Box::new(quick_cache::sync::Cache::new(capacity)),
        _ => return Err(format!("no store is called {name}").into()),
    })
}

impl Store for moka::sync::Cache<u64, Arc<u64>, RandomState> {
    fn get(&self, key: u64) -> Option<Arc<u64>> {
        self.get(&key)
    }

    fn put(&self, key: u64) {
        self.insert(key, Arc::new(key));
    }
}

impl Store for quick_cache::sync::Cache<u64, Arc<u64>> {
    fn get(&self, key: u64) -> Option<Arc<u64>> {
        self.get(&key)
    }

    fn put(&self, key: u64) {
        self.insert(key, Arc::new(key));
    }
}
