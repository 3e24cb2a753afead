//! Every live cache and gate of the process, for the feed.
//!
//! Holds weak handles only: nothing is kept alive by being listed.

use std::collections::HashSet;
use std::sync::{Arc, Weak};

use herdfeed::{CacheConfig, CacheSnapshot, Fact, GateConfig, GateSnapshot, Severity, Snapshot};

use crate::clock;
use crate::events;
use crate::sync::plain::Mutex;
use crate::sync::plain::atomic::{AtomicU64, Ordering::Relaxed};
use crate::trace;

/// What the feed asks of a cache.
pub(crate) trait Observed: Send + Sync {
    fn snapshot(&self) -> CacheSnapshot;
    fn totals(&self) -> CacheSnapshot;
    fn config(&self) -> CacheConfig;
}

/// What the feed asks of a gate.
pub(crate) trait ObservedGate: Send + Sync {
    fn snapshot(&self) -> GateSnapshot;
    fn config(&self) -> GateConfig;
}

struct Registry {
    caches: Vec<(String, Weak<dyn Observed>)>,
    gates: Vec<(String, Weak<dyn ObservedGate>)>,
}

static REGISTRY: Mutex<Registry> = Mutex::new(Registry { caches: Vec::new(), gates: Vec::new() });
static SNAPSHOTS: AtomicU64 = AtomicU64::new(0);

/// The number of what is being built.
pub(crate) fn number() -> u64 {
    static BUILT: AtomicU64 = AtomicU64::new(1);
    BUILT.fetch_add(1, Relaxed)
}

/// Builds a cache and lists it under its name, or as `name~2` if that is taken.
///
/// `build` runs under the registry's lock and holds nothing of the application,
/// so that two caches built at once cannot get the same name.
pub(crate) fn add_cache<C: Observed + 'static>(name: &str, build: impl FnOnce(String) -> Arc<C>) -> Arc<C> {
    let mut registry = REGISTRY.lock();
    registry.caches.retain(|(_, cache)| cache.strong_count() > 0);
    let free = free_name(name, registry.caches.iter().map(|(taken, _)| taken));
    let cache = build(free.clone());
    let listed: Arc<dyn Observed> = Arc::<C>::clone(&cache);
    registry.caches.push((free.clone(), Arc::downgrade(&listed)));
    drop(registry);
    if free != name {
        let fact = Fact::DuplicateName { name: name.to_owned() };
        events::tell(&free, Severity::Warn, clock::exact(), fact);
        trace::say();
    }
    cache
}

/// Builds a gate and lists it under its name, or as `name~2` if that is taken.
pub(crate) fn add_gate<G: ObservedGate + 'static>(name: &str, build: impl FnOnce(String) -> Arc<G>) -> Arc<G> {
    let mut registry = REGISTRY.lock();
    registry.gates.retain(|(_, gate)| gate.strong_count() > 0);
    let free = free_name(name, registry.gates.iter().map(|(taken, _)| taken));
    let gate = build(free.clone());
    let listed: Arc<dyn ObservedGate> = Arc::<G>::clone(&gate);
    registry.gates.push((free, Arc::downgrade(&listed)));
    gate
}

fn free_name<'a>(name: &str, taken: impl Iterator<Item = &'a String>) -> String {
    // Collected once: a service that builds a cache per request has thousands of one name.
    let taken: HashSet<&str> = taken.map(String::as_str).collect();
    let mut free = name.to_owned();
    let mut number = 1_u32;
    while taken.contains(free.as_str()) {
        number += 1;
        free = format!("{name}~{number}");
    }
    free
}

/// Live caches. The list is copied out, so that nothing is asked under its lock.
fn caches() -> Vec<Arc<dyn Observed>> {
    REGISTRY.lock().caches.iter().filter_map(|(_, cache)| cache.upgrade()).collect()
}

fn gates() -> Vec<Arc<dyn ObservedGate>> {
    REGISTRY.lock().gates.iter().filter_map(|(_, gate)| gate.upgrade()).collect()
}

/// The account of every live cache and gate of this process.
#[doc = include_str!("../docs/examples/process.md")]
pub fn process_snapshot() -> Snapshot {
    snapshot_of(|cache| cache.snapshot())
}

/// The same without anything of a key, for readers that only count: no flights, no conditions, and of the five hottest
/// keys nothing but their requests and share. Costs less, since no key is looked up or shown.
///
/// Every total and gauge is exact, as in [`process_snapshot`].
pub fn process_totals() -> Snapshot {
    snapshot_of(|cache| cache.totals())
}

fn snapshot_of(account: impl Fn(&dyn Observed) -> CacheSnapshot) -> Snapshot {
    let caches = caches().iter().map(|cache| account(&**cache)).collect();
    let gates = gates().iter().map(|gate| gate.snapshot()).collect();
    Snapshot {
        seq: SNAPSHOTS.fetch_add(1, Relaxed) + 1,
        mono_us: clock::exact() / 1_000,
        unix_us: clock::unix_us(),
        caches,
        gates,
        next_event: events::ring().next(),
        events_dropped: events::ring().dropped(),
    }
}

/// Effective settings of every live cache and gate of this process.
pub fn process_config() -> (Vec<CacheConfig>, Vec<GateConfig>) {
    let caches = caches().iter().map(|cache| cache.config()).collect();
    let gates = gates().iter().map(|gate| gate.config()).collect();
    (caches, gates)
}
