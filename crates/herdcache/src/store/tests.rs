//! What the engine relies on, checked on every store.

use std::hash::BuildHasher as _;

use herdfeed::{MissCause, RemovalCause};

use super::*;
use crate::config::Settings;
use crate::entry::{Entry, Stamps, Word};
use crate::freshness::Bounds;
use crate::ttl::Ttl;

const TTL: Ttl = Ttl::fresh_for(std::time::Duration::from_millis(100));

struct Rig {
    store: StoreOf<u64, u64>,
    account: Arc<Account>,
    leavings: Arc<Leavings<u64>>,
    hasher: crate::sync::RandomState,
}

/// A store of each kind, of so many entries.
fn rigs(capacity: u64) -> impl Iterator<Item = (LocalStore, Rig)> {
    LocalStore::ALL.iter().map(move |store| (*store, rig(*store, capacity)))
}

fn rig(store: LocalStore, capacity: u64) -> Rig {
    let account = Arc::new(Account::new("c", &[]));
    let in_force = Arc::new(InForce::new(&Settings::new(TTL)));
    let leavings = Arc::new(Leavings::new(Arc::clone(&account), in_force));
    let hasher = crate::sync::hasher(false);
    let plan = Plan { store, capacity, steady: false };
    Rig { store: Store::<u64, u64>::new(plan, hasher.clone(), Arc::clone(&leavings)), account, leavings, hasher }
}

/// A value that is fresh for 100 ms and is `age_ms` old.
fn value(value: u64, age_ms: u64) -> Stored<u64> {
    aged(value, clock::exact() - age_ms * 1_000_000, &TTL)
}

/// A value that stays fresh however slow the test is.
fn lasting(value: u64) -> Stored<u64> {
    aged(value, clock::exact(), &Ttl::fresh_for(std::time::Duration::from_secs(3_600)))
}

fn aged(value: u64, born: clock::Moment, ttl: &Ttl) -> Stored<u64> {
    let stamps = Stamps::new(born, 0, Bounds::new(born, ttl, 0.0, 0.0), Word::Cache, None);
    Stored::Value(Arc::new(Entry { value: Arc::new(value), stamps }))
}

/// L1: every entry leaves once, under the cause that is true of it.
#[test]
fn l1_each_leaving_is_told_once_under_its_cause() {
    for (kind, rig) in rigs(100) {
        rig.store.put(1, lasting(1));
        rig.store.put(1, lasting(2));
        rig.store.put(2, value(1, 500));
        rig.store.put(2, lasting(2));
        rig.store.remove(&1);
        rig.store.remove(&77);
        rig.store.settle();
        let removals = rig.account.removals.read();
        let causes = [RemovalCause::Replaced, RemovalCause::Expired, RemovalCause::Invalidated, RemovalCause::Evicted];
        // An expired entry that is overwritten has expired.
        assert_eq!(causes.map(|cause| removals[cause]), [1, 1, 1, 0], "{kind}");
        let cause = |key: u64| rig.leavings.ghosts.cause(rig.hasher.hash_one(key));
        assert_eq!((cause(1), cause(2)), (MissCause::Invalidated, MissCause::Cold), "{kind}");
        assert_eq!(rig.store.len(), 1, "{kind}");
    }
}

/// L7, L1: the capacity holds after maintenance, and what went in is there or has left once.
#[test]
fn l7_the_capacity_holds_and_what_makes_room_is_told_once() {
    // Rounded down to whole shards, and less where chance fills one before the others.
    for (capacity, least) in [(1, 1), (3, 3), (100, 100), (511, 511), (5_003, 4_950)] {
        for (kind, rig) in rigs(capacity) {
            (0..10 * capacity).for_each(|key| rig.store.put(key, lasting(key)));
            rig.store.settle();
            let (held, removals) = (rig.store.len(), rig.account.removals.read());
            assert!((least..=capacity).contains(&held), "{kind}: {held} of {capacity}");
            assert_eq!(held + removals.total(), 10 * capacity, "{kind}");
            assert_eq!(removals[RemovalCause::Evicted], removals.total(), "{kind}");
        }
    }
}

/// L7: where entries are evicted with each write, there is not one too many at any moment.
#[cfg(feature = "quick-cache")]
#[test]
fn l7_the_fast_store_is_never_above_its_capacity() {
    let rig = rig(LocalStore::Quick, 1_500);
    for key in 0..20_000_u64 {
        rig.store.put(key % 3_000 * (key % 7), lasting(key));
        assert!(rig.store.len() <= 1_500, "{} after {key}", rig.store.len());
    }
}

/// W2, L1: whoever forgets everything is given each key once, and each entry leaves once, whoever lets go of it.
#[test]
fn w2_all_that_is_there_can_be_forgotten() {
    for (kind, rig) in rigs(1_000) {
        (0..300).for_each(|key| rig.store.put(key, lasting(key)));
        let mut keys = Vec::new();
        rig.store.forget_each(&mut |key| keys.extend(key.key().copied()));
        for key in &keys {
            rig.store.remove(key);
        }
        rig.store.settle();
        keys.sort_unstable();
        assert!(keys.iter().copied().eq(0..300), "{kind}: {keys:?}");
        let removals = rig.account.removals.read();
        assert_eq!((removals[RemovalCause::Invalidated], removals.total(), rig.store.len()), (300, 300, 0), "{kind}");
    }
}

/// The lab expires what it is shown; showing changes nothing.
#[cfg(feature = "lab")]
#[test]
fn every_entry_is_shown() {
    for (kind, rig) in rigs(1_000) {
        (0..300).for_each(|key| rig.store.put(key, lasting(key)));
        rig.store.settle();
        let mut shown = 0;
        rig.store.each(&mut |stored: &Stored<u64>| shown += u64::from(matches!(stored, Stored::Value(_))));
        assert_eq!((shown, rig.store.len(), rig.account.removals.total()), (300, 300, 0), "{kind}");
    }
}
