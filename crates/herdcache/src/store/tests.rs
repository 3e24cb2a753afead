//! What the engine relies on, checked on both stores.

use std::hash::BuildHasher as _;

use herdfeed::{MissCause, RemovalCause};

use super::moka::MokaStore;
use super::quick::QuickStore;
use super::*;
use crate::config::Settings;
use crate::entry::{Entry, Stamps, Word};
use crate::freshness::Bounds;
use crate::ttl::Ttl;

const TTL: Ttl = Ttl::fresh_for(std::time::Duration::from_millis(100));

struct Rig<S> {
    store: S,
    account: Arc<Account>,
    leavings: Arc<Leavings<u64>>,
    hasher: crate::sync::RandomState,
}

fn rig<S: Store<u64, u64>>(capacity: u64) -> Rig<S> {
    let account = Arc::new(Account::new("c", &[]));
    let in_force = Arc::new(InForce::new(&Settings::new(TTL)));
    let leavings = Arc::new(Leavings::new(Arc::clone(&account), in_force));
    let hasher = crate::sync::hasher(false);
    Rig { store: S::new(capacity, hasher.clone(), Arc::clone(&leavings)), account, leavings, hasher }
}

fn value(value: u64, age_ms: u64) -> Stored<u64> {
    let born = clock::exact() - age_ms * 1_000_000;
    let stamps = Stamps::new(born, 0, Bounds::new(born, &TTL, 0.0, 0.0), Word::Cache, None);
    Stored::Value(Arc::new(Entry { value: Arc::new(value), stamps }))
}

/// L1: every entry leaves once, under the cause that is true of it.
fn causes<S: Store<u64, u64>>() {
    let rig = rig::<S>(100);
    rig.store.put(1, value(1, 0));
    rig.store.put(1, value(2, 0));
    rig.store.put(2, value(1, 500));
    rig.store.put(2, value(2, 0));
    rig.store.remove(&1);
    rig.store.remove(&77);
    rig.store.settle();
    let removals = rig.account.removals.read();
    assert_eq!(removals[RemovalCause::Replaced], 1);
    assert_eq!(removals[RemovalCause::Expired], 1, "an expired entry that is overwritten has expired");
    assert_eq!(removals[RemovalCause::Invalidated], 1);
    let cause = |key: u64| rig.leavings.ghosts.cause(rig.hasher.hash_one(key));
    assert_eq!((cause(1), cause(2)), (MissCause::Invalidated, MissCause::Cold));
    assert_eq!(rig.store.len(), 1);
}

/// L7, L1: the capacity holds after maintenance, and what went in is there or has left once.
fn capacity<S: Store<u64, u64>>() {
    let rig = rig::<S>(100);
    (0..1_000).for_each(|key| rig.store.put(key, value(key, 0)));
    rig.store.settle();
    assert!(rig.store.len() <= 100, "{}", rig.store.len());
    let removals = rig.account.removals.read();
    assert_eq!(rig.store.len() + removals.total(), 1_000);
    assert_eq!(removals[RemovalCause::Evicted], removals.total());
}

#[test]
fn l1_moka_tells_each_leaving_once() {
    causes::<MokaStore<u64, u64>>();
    capacity::<MokaStore<u64, u64>>();
}

#[test]
fn l1_quick_cache_tells_each_leaving_once() {
    causes::<QuickStore<u64, u64>>();
    capacity::<QuickStore<u64, u64>>();
}
