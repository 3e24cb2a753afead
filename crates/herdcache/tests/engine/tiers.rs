//! Several processes over one shared tier: caches of one name over clones of one [`MemoryTier`].

mod batches;
mod changes;
mod faults;
mod hostile;
mod lease;
mod reading;
mod refreshing;
mod settings;
mod writing;

use std::sync::Arc;
use std::time::Duration;

use herdcache::herdfeed::{LeaseSnapshot, SharedSnapshot};
use herdcache::{Builder, MemoryTier, Ttl};

use crate::support::{Calls, DbError, Rows, rows};

/// A cache as one process has it, over the tier that others use too.
fn process(name: &str, ttl: Ttl, tier: &MemoryTier) -> Builder<u64, u64, DbError> {
    rows(name, ttl).shared(tier.clone())
}

/// The same with a lease.
fn leased(name: &str, ttl: Ttl, tier: &MemoryTier) -> Builder<u64, u64, DbError> {
    process(name, ttl, tier).lease(tier.clone())
}

fn shared(cache: &Rows) -> SharedSnapshot {
    cache.snapshot().shared.unwrap()
}

fn lease(cache: &Rows) -> LeaseSnapshot {
    cache.snapshot().lease.unwrap()
}

/// Nothing goes on but so many invalidations that have not reached the tier.
fn assert_quiet_but_queued(cache: &Rows, queued: u64) {
    let mut snapshot = cache.snapshot();
    let found = snapshot.shared.as_mut().map(|shared| std::mem::take(&mut shared.queued));
    assert_eq!(found, Some(queued));
    crate::support::assert_quiet(&snapshot);
}

/// A read whose load, if it comes to one, takes this long and gives this.
async fn get(cache: &Rows, key: u64, calls: &Arc<Calls>, load: (Duration, u64)) -> u64 {
    crate::support::value(cache.get_with(&key, calls.load(load.0, Ok(load.1))).await)
}

fn calls() -> Arc<Calls> {
    Arc::new(Calls::default())
}
