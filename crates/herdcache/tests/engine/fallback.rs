//! A6, S2: a degraded value when nothing else can be answered.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use herdcache::{Answer, Builder, Cache, Gate, GetError, Outcome, Ttl};

use crate::support::{Calls, DbError, Rows, ask, assert_quiet, ms, outcome, rows, turns, value};

const DOWN: Result<u64, DbError> = Err(DbError("down"));
const TTL: Ttl = Ttl::fresh_for(ms(100)).stale_if_error_for(ms(200));

fn degraded(name: &str) -> Builder<u64, u64, DbError> {
    rows(name, TTL).cooling(ms(50), ms(50)).fallback(|key, _| Some(key + 1_000))
}

/// A6: failed, cooling, rejected, timed out and closed reads get the degraded value, age 0, which is never stored.
#[tokio::test(start_paused = true)]
async fn a6_the_fallback_answers_when_nothing_else_can() {
    let cache = degraded("a6-fallback").build().unwrap();
    let calls = Arc::new(Calls::default());
    let degraded = |got: herdcache::Got<u64, DbError>| {
        let answer = got.unwrap().unwrap();
        assert_eq!((*answer, Answer::outcome(&answer), Answer::age(&answer)), (1_007, Outcome::Fallback, ms(0)));
        assert!(!Answer::is_stale(&answer));
    };
    // The load fails, for its leader and for a waiter.
    let (leader, waiter) =
        tokio::join!(cache.get_with(&7, calls.load(ms(10), DOWN)), cache.get_with(&7, calls.load(ms(10), DOWN)));
    degraded(leader);
    degraded(waiter);
    // The key cools.
    degraded(cache.get_with(&7, calls.load(ms(10), DOWN)).await);
    assert!(cache.peek(&7).is_none(), "never stored");
    assert_eq!(calls.started(), 1);
    // The caller's own limit passes; the load goes on.
    tokio::time::sleep(ms(100)).await;
    degraded(cache.with_wait_timeout(ms(5)).get_with(&7, calls.load(ms(10), Ok(1))).await);
    tokio::time::sleep(ms(10)).await;
    assert_eq!(cache.peek(&7).as_deref(), Some(&1));
    // A value that may stand in for the failed load goes first.
    tokio::time::sleep(ms(100)).await;
    assert_eq!(outcome(&cache.get_with(&7, calls.load(ms(10), DOWN)).await), Some(Outcome::Reserve));
    tokio::time::sleep(ms(200)).await;
    cache.shutdown(ms(0)).await;
    degraded(cache.get_with(&7, calls.load(ms(10), Ok(2))).await);
    let snapshot = cache.snapshot();
    assert_eq!((snapshot.outcomes[Outcome::Fallback], snapshot.outcomes[Outcome::Failed]), (5, 0));
    assert_quiet(&snapshot);
}

/// A6: it is told key and error, and may decline; the gate's refusal is one of the errors.
#[tokio::test(start_paused = true)]
async fn a6_the_fallback_chooses_by_key_and_error() {
    let gate = Gate::builder(1).queue(0).build().unwrap();
    let cache: Rows = Cache::builder("a6-chooses", TTL, &gate)
        .fallback(|key, error| (*key == 8 && matches!(error, GetError::Rejected { .. })).then_some(1))
        .build()
        .unwrap();
    let calls = Arc::new(Calls::default());
    let busy = ask(&cache, 1, calls.load(ms(100), Ok(1)));
    turns().await;
    assert_eq!(outcome(&cache.get_with(&7, calls.load(ms(1), Ok(1))).await), Some(Outcome::Rejected));
    assert_eq!(outcome(&cache.get_with(&8, calls.load(ms(1), Ok(1))).await), Some(Outcome::Fallback));
    assert_eq!(value(busy.await.unwrap()), 1);
    assert_eq!(outcome(&cache.get_with(&8, calls.load(ms(1), DOWN)).await), Some(Outcome::Failed));
    assert_quiet(&cache.snapshot());
}

/// S2: a fallback that panics leaves the original error, and the cache as it was.
#[tokio::test(start_paused = true)]
async fn s2_a_panic_in_the_fallback_leaves_the_error() {
    let cache = rows("s2-fallback", TTL).fallback(|_, _| panic!("no such shelf")).build().unwrap();
    let calls = Arc::new(Calls::default());
    let got = cache.get_with(&7, calls.load(ms(10), DOWN)).await;
    assert_eq!(*got.unwrap_err().origin().unwrap().as_ref(), DbError("down"));
    let cold = cache.get_with(&7, calls.load(ms(10), Ok(1))).await;
    assert!(matches!(cold, Err(GetError::Cooling { .. })), "{cold:?}");
    tokio::time::sleep(ms(200)).await;
    assert_eq!(value(cache.get_with(&7, calls.load(ms(10), Ok(1))).await), 1);
    let outcomes = cache.snapshot().outcomes;
    assert_eq!([outcomes[Outcome::Failed], outcomes[Outcome::Cooling], outcomes[Outcome::Fallback]], [1, 1, 0]);
    assert_quiet(&cache.snapshot());
}

/// S5: a loader that asks for its own key is told so, not comforted.
#[tokio::test(start_paused = true)]
async fn s5_a_reentrant_read_gets_no_fallback() {
    let asked = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&asked);
    let count = move |_: &u64, _: &GetError<DbError>| {
        counted.fetch_add(1, SeqCst);
        Some(1)
    };
    let cache = rows("s5-fallback", TTL).fallback(count).build().unwrap();
    let inner = cache.clone();
    let load = |_| async move {
        let got = inner.get_with(&7, |_| async { Ok(2) }).await;
        assert!(matches!(got, Err(GetError::Reentrant)), "{got:?}");
        Ok(3)
    };
    assert_eq!(value(cache.get_with(&7, load).await), 3);
    assert_eq!(asked.load(SeqCst), 0);
}

/// S2: it runs under no lock of ours: it may read and write the cache, the key included.
#[tokio::test(start_paused = true)]
async fn s2_the_fallback_may_use_the_cache() {
    let slot: Arc<std::sync::OnceLock<Rows>> = Arc::default();
    let own = Arc::clone(&slot);
    let hook = move |key: &u64, _: &GetError<DbError>| {
        let cache = own.get()?;
        cache.insert(*key, 5);
        cache.snapshot();
        cache.peek(key).map(|answer| *answer)
    };
    let cache = rows("s2-own", TTL).fallback(hook).build().unwrap();
    slot.set(cache.clone()).map_err(drop).unwrap();
    let got = cache.get_with(&7, |_| async { DOWN }).await;
    assert_eq!((outcome(&got), value(got)), (Some(Outcome::Fallback), 5));
    assert_eq!(outcome(&cache.get_with(&7, |_| async { DOWN }).await), Some(Outcome::Hit));
}
