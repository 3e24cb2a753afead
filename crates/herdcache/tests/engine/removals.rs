//! Why entries leave, and what the next miss says of it.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use herdcache::herdfeed::{MissCause, RemovalCause};
use herdcache::{Cache, Gate, Loaded, LocalStore, Ttl};

use crate::support::{Calls, DbError, Rows, assert_quiet, ms, rows, value};

fn small(name: &str, capacity: u64, ttl: Ttl) -> Rows {
    Cache::builder(name, ttl, &Gate::new(64)).jitter(0.0).capacity(capacity).build().unwrap()
}

async fn load(cache: &Rows, calls: &Arc<Calls>, key: u64) {
    assert_eq!(value(cache.get_with(&key, calls.load(ms(0), Ok(key))).await), key);
}

/// L7: the store holds no more than its capacity, and each entry beyond left once, to make room.
#[tokio::test(start_paused = true)]
async fn l7_capacity_bounds_the_store_and_every_eviction_is_counted() {
    let cache = small("evicts", 100, Ttl::fresh_for(ms(60_000)));
    let calls = Arc::new(Calls::default());
    for key in 0..1_000 {
        load(&cache, &calls, key).await;
    }
    let snapshot = cache.snapshot();
    assert!((1..=100).contains(&snapshot.entries), "{}", snapshot.entries);
    assert_eq!(snapshot.removals[RemovalCause::Evicted], 1_000 - snapshot.entries);
    assert_eq!(snapshot.removals.total(), 1_000 - snapshot.entries);
    // Every key that is gone is missed because of that.
    let gone: Vec<u64> = (0..1_000).filter(|key| cache.peek(key).is_none()).collect();
    assert_eq!(gone.len() as u64, 1_000 - snapshot.entries);
    load(&cache, &calls, gone[0]).await;
    let misses = cache.snapshot().misses;
    assert_eq!((misses[MissCause::Cold], misses[MissCause::Evicted], misses.total()), (1_000, 1, 1_001));
    assert_quiet(&cache.snapshot());
}

/// An entry that has run out when it makes room, or is overwritten, has expired, whoever removed it.
#[tokio::test(start_paused = true)]
async fn entries_past_their_bound_leave_as_expired() {
    let cache = small("expires", 100, Ttl::fresh_for(ms(100)));
    let calls = Arc::new(Calls::default());
    for key in 0..100 {
        load(&cache, &calls, key).await;
    }
    assert_eq!(cache.snapshot().entries, 100);
    tokio::time::advance(ms(100)).await;
    // Overwritten by loads of the same keys.
    for key in 0..50 {
        load(&cache, &calls, key).await;
    }
    let snapshot = cache.snapshot();
    assert_eq!((snapshot.removals[RemovalCause::Expired], snapshot.removals.total()), (50, 50));
    assert_eq!(snapshot.misses[MissCause::Expired], 50);
    // Made room for by others.
    tokio::time::advance(ms(100)).await;
    for key in 1_000..1_500 {
        load(&cache, &calls, key).await;
    }
    let snapshot = cache.snapshot();
    let [expired, evicted] = [RemovalCause::Expired, RemovalCause::Evicted].map(|cause| snapshot.removals[cause]);
    assert!(expired > 50 && expired <= 150, "{expired}");
    // Each entry left once: what was stored is there or was counted.
    assert_eq!(expired + evicted + snapshot.entries, 650);
}

/// Each way out has its cause, and the causes add up to what was written.
#[tokio::test(start_paused = true)]
async fn every_way_out_has_its_cause() {
    let ttl = Ttl::fresh_for(ms(100)).stale_for(ms(100)).stale_if_error_for(ms(1_000));
    let cache = small("ways", 1_000, ttl);
    let calls = Arc::new(Calls::default());
    (0..4).for_each(|key| _ = cache.insert(key, key));
    cache.insert(0, 10);
    tokio::time::advance(ms(150)).await;
    // Stale is not past its bound; reserve and beyond are.
    cache.insert(1, 11);
    tokio::time::advance(ms(100)).await;
    load(&cache, &calls, 2).await;
    // Invalidated, though its time had run out: the application asked for it.
    cache.invalidate(&3);
    // An absence leaves under the same words as a value.
    cache.insert(5, Loaded::absent());
    cache.insert(5, 5);
    let snapshot = cache.snapshot();
    let counted = [RemovalCause::Replaced, RemovalCause::Expired, RemovalCause::Invalidated, RemovalCause::Evicted]
        .map(|cause| snapshot.removals[cause]);
    assert_eq!(counted, [3, 1, 1, 0]);
    assert_eq!(snapshot.removals.total() + snapshot.entries, 9);
    load(&cache, &calls, 3).await;
    load(&cache, &calls, 4).await;
    let misses = cache.snapshot().misses;
    let causes =
        [MissCause::Expired, MissCause::Invalidated, MissCause::Cold, MissCause::Evicted].map(|cause| misses[cause]);
    assert_eq!(causes, [1, 1, 1, 0]);
}

/// Expiring by hand (feature `lab`) is expiry in every account.
#[tokio::test(start_paused = true)]
async fn expiring_by_hand_counts_as_expiry() {
    let cache = rows("by-hand", Ttl::fresh_for(ms(60_000)).stale_for(ms(60_000))).build().unwrap();
    let calls = Arc::new(Calls::default());
    (0..3).for_each(|key| _ = cache.insert(key, key));
    cache.expire(&0);
    assert_eq!([0, 1, 2].map(|key| cache.peek(&key).is_some()), [false, true, true]);
    cache.expire_all();
    assert_eq!([0, 1, 2].map(|key| cache.peek(&key).is_some()), [false, false, false]);
    let failed = cache.get_with(&1, calls.load(ms(0), Err(DbError("down")))).await;
    assert!(failed.is_err(), "nothing is left in reserve: {failed:?}");
    load(&cache, &calls, 0).await;
    let snapshot = cache.snapshot();
    assert_eq!((snapshot.misses[MissCause::Expired], snapshot.removals[RemovalCause::Expired]), (2, 1));
}

/// A key that is hashed by its tenant only, as it may be.
#[derive(Clone, PartialEq, Eq, serde::Serialize)]
struct Page {
    tenant: u64,
    number: u64,
}

impl Hash for Page {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.tenant.hash(hasher);
    }
}

/// L1: what makes room for another key is evicted, what makes room for its own is replaced, also where the hash is the same.
#[tokio::test(start_paused = true)]
async fn l1_keys_of_one_hash_leave_under_their_own_causes() {
    for store in LocalStore::ALL {
        let ttl = Ttl::fresh_for(ms(60_000));
        let builder = Cache::<Page, u64, DbError>::builder("one-hash", ttl, &Gate::new(8)).capacity(100);
        let cache = builder.store(*store).build().unwrap();
        (0..1_000).for_each(|number| _ = cache.insert(Page { tenant: 1, number }, number));
        let snapshot = cache.snapshot();
        let causes = |removals: &herdcache::herdfeed::Tally<RemovalCause>| {
            [RemovalCause::Evicted, RemovalCause::Replaced].map(|cause| removals[cause])
        };
        assert_eq!((snapshot.entries, causes(&snapshot.removals)), (100, [900, 0]), "{store}");
        let kept = (0..1_000).find(|number| cache.peek(&Page { tenant: 1, number: *number }).is_some()).unwrap();
        cache.insert(Page { tenant: 1, number: kept }, 7);
        assert_eq!(causes(&cache.snapshot().removals), [900, 1], "{store}");
        assert_quiet(&cache.snapshot());
    }
}
