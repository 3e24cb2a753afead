//! What a shop can be told at its start.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::trouble::Trouble;

/// Connections that are left to queries which do not pass the cache.
const SPARE_CONNECTIONS: usize = 2;

/// Whether the cache protects the database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protection {
    /// All measures on.
    #[default]
    On,
    /// Bare cache-aside: the cache only observes.
    Off,
}

/// Whether processes share what they load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sharing {
    /// Each process loads for itself.
    #[default]
    None,
    /// Through a shared tier with a lease, which lives in this process: for looking at it, not for sharing.
    InMemory,
}

/// Settings of one shop.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where to listen; port 0 takes a free one.
    pub addr: SocketAddr,
    /// The database file.
    pub db: PathBuf,
    /// Products of a new database file.
    pub products: u32,
    /// Connections of the pool, at least 1.
    pub connections: u32,
    /// Concurrent loads at most; `None` leaves two connections to other queries.
    pub permits: Option<usize>,
    /// Loads that may wait for a permit; `None` takes the cache's default.
    pub queue: Option<usize>,
    /// How long an ordinary product is fresh.
    pub fresh: Duration,
    /// How long a bundle is fresh.
    pub hot_fresh: Duration,
    /// How long after that a value may be answered while it is being refreshed.
    pub stale_for: Duration,
    /// Limit of one load.
    pub origin_timeout: Duration,
    /// Longest wait for a connection.
    pub acquire_timeout: Duration,
    /// Whether the cache protects the database.
    pub protection: Protection,
    /// Most products in the cache.
    pub capacity: u64,
    /// Whether there is a shared tier.
    pub sharing: Sharing,
    /// What goes wrong on purpose.
    pub trouble: Trouble,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            addr: SocketAddr::from(([127, 0, 0, 1], 8080)),
            db: std::env::temp_dir().join("shop.db"),
            products: 50_000,
            connections: 10,
            permits: None,
            queue: None,
            fresh: Duration::from_secs(60),
            hot_fresh: Duration::from_secs(1),
            stale_for: Duration::ZERO,
            origin_timeout: Duration::from_secs(5),
            acquire_timeout: Duration::from_secs(1),
            protection: Protection::On,
            capacity: 100_000,
            sharing: Sharing::None,
            trouble: Trouble::default(),
        }
    }
}

impl Settings {
    /// Concurrent loads at most.
    ///
    /// By default two fewer than connections, so that loads alone can never
    /// empty the pool that orders need too.
    pub fn permits(&self) -> usize {
        let connections = usize::try_from(self.connections).unwrap_or(usize::MAX);
        self.permits.unwrap_or(connections.saturating_sub(SPARE_CONNECTIONS).max(1))
    }
}
