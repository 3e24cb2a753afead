//! W1, L5: what an invalidation or a write means for loads in progress.

use std::cell::RefCell;
use std::sync::Arc;

use herdcache::herdfeed::{DiscardReason, FlightEnd};
use herdcache::{Cache, Gate, Outcome, Ttl};

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
