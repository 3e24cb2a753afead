//! A7: a cache with its origin as a service of tower.

use std::task::{Context, Poll, Waker};

use herdcache::{Failure, Gate, GetError, Outcome};
use tower::timeout::Timeout;
use tower::{Service, ServiceExt};

use crate::support::{ABSENT, DbError, FAILS, LATENCY, SLOW, builder, load, ms, products, turns};

/// A7: value, absence and error come as from `get`.
#[tokio::test(start_paused = true)]
async fn a7_a_cache_is_a_service_of_its_keys() {
    let products = products();
    let answer = products.clone().oneshot(7).await.unwrap().unwrap();
    assert_eq!(*answer, "product 7");
    assert_eq!(herdcache::Answer::outcome(&answer), Outcome::Loaded);
    assert!(products.clone().oneshot(ABSENT).await.unwrap().is_none());
    let error = products.clone().oneshot(FAILS).await.unwrap_err();
    assert!(matches!(error, GetError::Failed(Failure::Origin(origin)) if *origin == DbError));
    let again = products.clone().oneshot(7).await.unwrap().unwrap();
    assert_eq!(herdcache::Answer::outcome(&again), Outcome::Hit);
}

/// A7: it is ready also when the gate is full: hits need no capacity, and the gate refuses by itself.
#[tokio::test(start_paused = true)]
async fn a7_readiness_does_not_wait_for_the_gate() {
    let mut products = builder(&Gate::builder(1).queue(0).build().unwrap()).build_over(load).unwrap();
    products.get(&1).await.unwrap();
    let busy = tokio::spawn(products.clone().oneshot(SLOW));
    turns().await;
    let ready = Service::<u64>::poll_ready(&mut products, &mut Context::from_waker(Waker::noop()));
    assert!(matches!(ready, Poll::Ready(Ok(()))));
    assert_eq!(*products.call(1).await.unwrap().unwrap(), "product 1");
    assert!(matches!(products.call(2).await, Err(GetError::Rejected { .. })));
    assert!(busy.await.unwrap().is_ok());
}

/// A7, L1: a call that nobody polls is no request; one that is dropped while it waits is cancelled, and its load goes on.
#[tokio::test(start_paused = true)]
async fn a7_calls_may_be_dropped_at_any_time() {
    let mut products = products();
    drop(products.call(SLOW));
    assert_eq!(products.snapshot().begun, 0);
    let dropped = tokio::spawn(products.call(SLOW));
    turns().await;
    dropped.abort();
    assert!(dropped.await.unwrap_err().is_cancelled());
    let snapshot = products.snapshot();
    assert_eq!((snapshot.begun, snapshot.outcomes[Outcome::Cancelled], snapshot.flights_active), (1, 1, 1));
    tokio::time::sleep(LATENCY + ms(1)).await;
    assert_eq!(*products.peek(&SLOW).unwrap(), "slow");
}

/// A7, S4: a timeout of tower above the cache gives up on the caller, not on the load.
#[tokio::test(start_paused = true)]
async fn a7_a_timeout_above_leaves_the_load_alone() {
    let products = products();
    let hasty = Timeout::new(products.clone(), ms(10));
    let error = hasty.clone().oneshot(SLOW).await.unwrap_err();
    assert!(error.is::<tower::timeout::error::Elapsed>(), "{error:?}");
    tokio::time::sleep(LATENCY).await;
    assert_eq!(*hasty.oneshot(SLOW).await.unwrap().unwrap(), "slow");
    assert_eq!(products.snapshot().origin_calls, 1);
    // What the cache itself says comes through as it is.
    let error = Timeout::new(products, ms(10)).oneshot(FAILS).await.unwrap_err();
    assert!(error.is::<GetError<DbError>>(), "{error:?}");
}
