//! W1, L5: what an invalidation or a write means for loads in progress.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use herdcache::herdfeed::{DiscardReason, FlightEnd};
use herdcache::{Cache, Gate, Loaded, Outcome, Ttl};

use crate::support::{Calls, DbError, ask, assert_quiet, ms, outcome, rows, value};

/// W1, L5, case 19: a load that an invalidation overtakes is answered to those who waited, and never stored.
#[tokio::test(start_paused = true)]
async fn w1_a_load_overtaken_by_an_invalidation_is_not_stored() {
    let cache = rows("case-19", Ttl::fresh_for(ms(60_000))).build().unwrap();
    let calls = Arc::new(Calls::default());
    let first = ask(&cache, 7, calls.load(ms(100), Ok(1)));
    tokio::time::sleep(ms(50)).await;
    cache.invalidate(&7);
    tokio::time::sleep(ms(10)).await;
    let second = ask(&cache, 7, calls.load(ms(100), Ok(2)));
    assert_eq!(value(first.await.unwrap()), 1);
    let second = second.await.unwrap();
    assert_eq!(outcome(&second), Some(Outcome::Loaded));
    assert_eq!(value(second), 2);
    tokio::time::sleep(ms(40)).await;
    let third = cache.get_with(&7, calls.load(ms(100), Ok(3))).await;
    assert_eq!(outcome(&third), Some(Outcome::Hit));
    assert_eq!(value(third), 2);
    let snapshot = cache.snapshot();
    assert_eq!((calls.started(), calls.peak()), (2, 2));
    assert_eq!(snapshot.discards[DiscardReason::Invalidated], 1);
    assert_eq!(snapshot.flights[FlightEnd::Discarded], 1);
    assert_quiet(&snapshot);
}

/// W1, L5, case 19: the same with a newer value written instead.
#[tokio::test(start_paused = true)]
async fn w1_a_load_overtaken_by_an_insert_is_not_stored() {
    let cache = rows("case-19-set", Ttl::fresh_for(ms(60_000))).build().unwrap();
    let calls = Arc::new(Calls::default());
    let first = ask(&cache, 7, calls.load(ms(100), Ok(1)));
    tokio::time::sleep(ms(50)).await;
    cache.insert(7, 2);
    let second = cache.get_with(&7, calls.load(ms(100), Ok(3))).await;
    assert_eq!(outcome(&second), Some(Outcome::Hit));
    assert_eq!(value(second), 2);
    assert_eq!(value(first.await.unwrap()), 1);
    assert_eq!(cache.peek(&7).as_deref(), Some(&2));
    let snapshot = cache.snapshot();
    assert_eq!(calls.started(), 1);
    assert_eq!(snapshot.discards[DiscardReason::NewerWrite], 1);
    assert_quiet(&snapshot);
}

/// W1: an absence that was being loaded does not hide a row that was written meanwhile.
#[tokio::test(start_paused = true)]
async fn w1_an_absence_never_overwrites_a_newer_write() {
    let cache = rows("absent", Ttl::fresh_for(ms(60_000))).build().unwrap();
    let reader = cache.clone();
    let load = |_| async {
        tokio::time::sleep(ms(100)).await;
        Ok(None)
    };
    let first = tokio::spawn(async move { reader.get_with(&7, load).await });
    tokio::time::sleep(ms(50)).await;
    cache.insert(7, 2);
    assert!(first.await.unwrap().unwrap().is_none());
    assert_eq!(cache.peek(&7).as_deref(), Some(&2));
}

thread_local! {
    /// What the next clone of a [`Hooked`] key does first.
    static HOOK: RefCell<Option<Box<dyn FnOnce()>>> = const { RefCell::new(None) };
}

/// A key whose clone can be used to get between a caller's look and its registration.
#[derive(Debug, PartialEq, Eq, Hash, serde::Serialize)]
struct Hooked(u64);

impl Clone for Hooked {
    fn clone(&self) -> Self {
        if let Some(hook) = HOOK.take() {
            hook();
        }
        Self(self.0)
    }
}

fn hooked(name: &str, ttl: Ttl) -> Cache<Hooked, u64, DbError> {
    Cache::builder(name, ttl, &Gate::new(8)).jitter(0.0).cooling(ms(10), ms(10)).build().unwrap()
}

/// W1, case 19: an invalidation between a caller's look and its registration: the load begins after it and is stored.
#[tokio::test(start_paused = true)]
async fn w1_an_invalidation_before_registration_lets_the_load_be_stored() {
    let cache = hooked("gap", Ttl::fresh_for(ms(1_000)));
    let inner = cache.clone();
    HOOK.set(Some(Box::new(move || _ = inner.invalidate(&Hooked(7)))));
    let got = cache.get_with(&Hooked(7), |_| async { Ok(2) }).await;
    assert_eq!(outcome(&got), Some(Outcome::Loaded));
    assert!(HOOK.take().is_none());
    assert_eq!(cache.peek(&Hooked(7)).as_deref(), Some(&2));
    assert_eq!(cache.snapshot().discards.total(), 0);
}

/// S3: a caller that saw a miss just before another flight landed does not load again.
#[tokio::test(start_paused = true)]
async fn s3_a_value_that_lands_before_registration_is_a_hit_without_a_flight() {
    let cache = hooked("recheck", Ttl::fresh_for(ms(1_000)));
    let inner = cache.clone();
    HOOK.set(Some(Box::new(move || _ = inner.insert(Hooked(7), 4))));
    let got = cache.get_with(&Hooked(7), |_| async { Ok(5) }).await;
    assert_eq!(outcome(&got), Some(Outcome::Hit));
    assert_eq!(got.unwrap().as_deref(), Some(&4));
    let snapshot = cache.snapshot();
    assert_eq!((snapshot.flight_starts.total(), snapshot.misses.total()), (0, 0));
    assert_quiet(&snapshot);
}

/// L5, W1: a reader that comes after an invalidation never gets the value that was invalidated, not even as a reserve.
#[tokio::test(start_paused = true)]
async fn l5_an_invalidated_value_is_no_reserve_for_later_readers() {
    let ttl = Ttl::fresh_for(ms(100)).stale_if_error_for(ms(60_000));
    let cache = hooked("reserve", ttl);
    cache.insert(Hooked(7), 1);
    tokio::time::sleep(ms(200)).await;
    let inner = cache.clone();
    HOOK.set(Some(Box::new(move || _ = inner.invalidate(&Hooked(7)))));
    let failing = || async {
        tokio::time::sleep(ms(50)).await;
        Err::<u64, _>(DbError("down"))
    };
    let leader = tokio::spawn({
        let cache = cache.clone();
        async move { cache.get_with(&Hooked(7), |_| failing()).await }
    });
    tokio::time::sleep(ms(10)).await;
    assert!(HOOK.take().is_none());
    // This reader began 10 ms after the invalidation.
    let late = cache.get_with(&Hooked(7), |_| failing()).await;
    assert_eq!(outcome(&late), Some(Outcome::Failed), "{late:?}");
    let _ = leader.await;
    assert_quiet(&cache.snapshot());
}

/// W1: a value's own `Drop` may call the cache, wherever the engine lets go of it.
#[tokio::test(start_paused = true)]
async fn w1_a_value_whose_drop_calls_the_cache_cannot_deadlock() {
    struct Chatty(Option<Cache<u64, Chatty, DbError>>);
    impl Drop for Chatty {
        fn drop(&mut self) {
            if let Some(cache) = self.0.take() {
                cache.peek(&1);
                cache.invalidate(&1);
                cache.insert(2, Chatty(None));
                let _ = cache.snapshot();
            }
        }
    }
    let cache = Cache::<u64, Chatty, DbError>::builder("chatty", Ttl::fresh_for(ms(100)), &Gate::new(8))
        .capacity(4)
        .build()
        .unwrap();
    for round in 0..200_u64 {
        let handle = cache.clone();
        let load = move |_| async move {
            tokio::time::sleep(ms(1)).await;
            Ok(Loaded::value(Chatty(Some(handle))).fresh_for(ms(1 + round % 3)))
        };
        cache.get_with(&(round % 7), load).await.unwrap();
        match round % 5 {
            0 => _ = cache.insert(1, Chatty(Some(cache.clone()))),
            1 => _ = cache.invalidate(&(round % 7)),
            2 => tokio::time::sleep(ms(5)).await,
            _ => {}
        }
    }
    assert_quiet(&cache.snapshot());
    (0..7).for_each(|key| _ = cache.invalidate(&key));
}

/// W1: so may a key's, though the store lets go of keys whenever it collects its garbage.
#[test]
fn w1_a_key_whose_drop_calls_the_cache_cannot_deadlock() {
    thread_local! {
        static TALKING: Cell<bool> = const { Cell::new(false) };
    }
    static CACHE: OnceLock<Cache<Chatty, u64, DbError>> = OnceLock::new();
    static CALLS: AtomicU64 = AtomicU64::new(0);
    #[derive(Clone, PartialEq, Eq, Hash, serde::Serialize)]
    struct Chatty(u64);
    impl Drop for Chatty {
        fn drop(&mut self) {
            // The keys that this very call makes and drops stay silent.
            if TALKING.replace(true) {
                return;
            }
            if let Some(cache) = CACHE.get() {
                cache.invalidate(&Chatty(self.0));
                CALLS.fetch_add(1, Relaxed);
            }
            TALKING.set(false);
        }
    }
    let built = Cache::builder("chatty-keys", Ttl::fresh_for(ms(60_000)), &Gate::new(8)).capacity(16).build().unwrap();
    let cache = CACHE.get_or_init(|| built);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || (0..20_000).for_each(|round| _ = cache.insert(Chatty(round * 4 + thread), round)));
        }
    });
    assert!(cache.snapshot().entries <= 16);
    assert!(CALLS.load(Relaxed) > 10_000, "{}", CALLS.load(Relaxed));
}
