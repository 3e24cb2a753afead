//! E1, E3: failures are shared and then cool; nothing makes waiters run one after another.

use std::sync::Arc;
use std::time::Duration;

use herdcache::herdfeed::StaleReason;
use herdcache::{Failure, Gate, GetError, Loaded, Outcome, Ttl};
use tokio::time::Instant;

use crate::support::{Calls, DbError, Load, Rows, ask, assert_quiet, ms, outcome, rows, turns, value};

const HOUR: Ttl = Ttl::fresh_for(ms(3_600_000));
const DOWN: Result<u64, DbError> = Err(DbError("down"));

fn origin_error(got: herdcache::Got<u64, DbError>) -> Arc<DbError> {
    Arc::clone(got.unwrap_err().origin().unwrap())
}

/// How long the key still cools; `None` if its next read loads.
async fn cools_for(cache: &Rows, calls: &Arc<Calls>) -> Option<Duration> {
    match cache.get_with(&7, calls.load(ms(0), DOWN)).await {
        Err(GetError::Cooling { retry_in, .. }) => Some(retry_in),
        Err(GetError::Failed(_)) => None,
        other => panic!("{other:?}"),
    }
}

/// E1, case 11: one failed call is shared with 101 callers for 100 ms and not for the TTL of an hour.
#[tokio::test(start_paused = true)]
async fn e1_one_error_is_shared_for_its_window_only() {
    let cache = rows("case-11", HOUR).cooling(ms(100), ms(100)).build().unwrap();
    let calls = Arc::new(Calls::default());
    let counted = || {
        let calls = Arc::clone(&calls);
        move |_| -> Load {
            Box::pin(async move {
                let _call = calls.call();
                // Every caller has come by the next turn; no time has passed.
                turns().await;
                DOWN
            })
        }
    };
    let callers: Vec<_> = (0..100).map(|_| ask(&cache, 7, counted())).collect();
    let mut errors = Vec::new();
    for caller in callers {
        errors.push(origin_error(caller.await.unwrap()));
    }
    tokio::time::sleep(ms(50)).await;
    errors.push(origin_error(cache.get_with(&7, counted()).await));
    assert!(errors.iter().all(|error| Arc::ptr_eq(error, &errors[0])));
    assert_eq!(calls.started(), 1);
    tokio::time::sleep(ms(100)).await;
    assert_eq!(value(cache.get_with(&7, calls.load(ms(0), Ok(1))).await), 1);
    assert_eq!(calls.started(), 2);
    let outcomes = cache.snapshot().outcomes;
    assert_eq!([outcomes[Outcome::Failed], outcomes[Outcome::Cooling], outcomes[Outcome::Loaded]], [100, 1, 1]);
    assert_quiet(&cache.snapshot());
}

/// E1, case 11: an older value is answered instead of the error, and the error leaves it untouched.
#[tokio::test(start_paused = true)]
async fn e1_an_older_value_is_answered_instead_of_the_error() {
    let ttl = Ttl::fresh_for(ms(1_000)).stale_if_error_for(ms(60_000));
    let cache = rows("case-11-older", ttl).cooling(ms(100), ms(100)).build().unwrap();
    let calls = Arc::new(Calls::default());
    cache.insert(7, 1);
    tokio::time::sleep(ms(2_000)).await;
    for expected in [StaleReason::Error, StaleReason::Cooling] {
        let got = cache.get_with(&7, calls.load(ms(0), DOWN)).await;
        assert_eq!((outcome(&got), value(got)), (Some(Outcome::Reserve), 1));
        assert_eq!(cache.snapshot().stale_serves[expected], 1);
    }
    assert_eq!((calls.started(), cache.snapshot().entries), (1, 1));
    assert_quiet(&cache.snapshot());
}

/// E1: the window doubles with each failure in a row up to its cap; a success starts it anew.
#[tokio::test(start_paused = true)]
async fn e1_the_window_doubles_until_a_load_succeeds() {
    let cache = rows("doubles", HOUR).cooling(ms(100), ms(1_000)).build().unwrap();
    let calls = Arc::new(Calls::default());
    for (least, most) in [(100, 150), (200, 300), (400, 600), (666, 1_000), (666, 1_000), (666, 1_000)] {
        assert_eq!(cools_for(&cache, &calls).await, None, "the probe loads");
        let window = cools_for(&cache, &calls).await.unwrap();
        assert!((ms(least)..=ms(most)).contains(&window), "{window:?} for {least} to {most} ms");
        // Just before its end no load starts, whoever asks.
        let almost = window.saturating_sub(Duration::from_nanos(1));
        tokio::time::advance(almost).await;
        assert_eq!(cools_for(&cache, &calls).await, Some(Duration::from_nanos(1)));
        tokio::time::advance(Duration::from_nanos(1)).await;
    }
    assert_eq!(calls.started(), 6);
    assert_eq!(value(cache.get_with(&7, calls.load(ms(0), Ok(1))).await), 1);
    cache.invalidate(&7);
    assert_eq!(cools_for(&cache, &calls).await, None);
    let window = cools_for(&cache, &calls).await.unwrap();
    assert!((ms(100)..=ms(150)).contains(&window), "{window:?} after a success");
}

/// E1: when the window ends, one probe goes, however many callers come at that moment.
#[tokio::test(start_paused = true)]
async fn e1_one_probe_ends_the_window() {
    let cache = rows("probe", HOUR).cooling(ms(100), ms(100)).build().unwrap();
    let calls = Arc::new(Calls::default());
    assert_eq!(cools_for(&cache, &calls).await, None);
    tokio::time::sleep(ms(150)).await;
    let callers: Vec<_> = (0..100).map(|_| ask(&cache, 7, calls.load(ms(20), Ok(1)))).collect();
    for caller in callers {
        assert_eq!(value(caller.await.unwrap()), 1);
    }
    assert_eq!(calls.started(), 2);
}

/// E1: `insert` and `invalidate` end the window at once, and its doubling with it.
#[tokio::test(start_paused = true)]
async fn e1_insert_and_invalidate_end_the_window() {
    let cache = rows("ends", HOUR).cooling(ms(100), ms(10_000)).build().unwrap();
    let calls = Arc::new(Calls::default());
    for _ in 0..3 {
        assert_eq!(cools_for(&cache, &calls).await, None, "not cooling any more");
        let window = cools_for(&cache, &calls).await.unwrap();
        assert!((ms(100)..=ms(150)).contains(&window), "{window:?}: the row of failures has ended");
        cache.invalidate(&7);
    }
    assert_eq!(cools_for(&cache, &calls).await, None);
    cache.insert(7, 5);
    let got = cache.get_with(&7, calls.load(ms(0), DOWN)).await;
    assert_eq!((outcome(&got), value(got)), (Some(Outcome::Hit), 5));
    // A value that is not kept ends it as well.
    let cache = rows("ends-unkept", HOUR).cooling(ms(100), ms(10_000)).build().unwrap();
    assert_eq!(cools_for(&cache, &calls).await, None);
    tokio::time::sleep(ms(150)).await;
    cache.get_with(&7, |_| async { Ok(Loaded::value(1).do_not_store()) }).await.unwrap();
    assert_eq!(cools_for(&cache, &calls).await, None);
    let window = cools_for(&cache, &calls).await.unwrap();
    assert!(window <= ms(150), "{window:?} after a success");
}

/// E1: timeouts, deadlines, panics and breaches of contract cool like errors.
#[tokio::test(start_paused = true)]
async fn e1_every_failure_of_a_load_cools() {
    type Fail = fn() -> Load;
    let table: [(Fail, &str); 3] = [
        (|| Box::pin(async { DOWN }), "origin failed"),
        (|| Box::pin(std::future::pending()), "took longer"),
        (|| Box::pin(async { panic!("in the load") }), "panicked"),
    ];
    for (fail, text) in table {
        let cache = rows("cools", HOUR).origin_timeout(ms(50)).cooling(ms(100), ms(100)).build().unwrap();
        let failed = cache.get_with(&7, |_| fail()).await.unwrap_err();
        assert!(matches!(failed, GetError::Failed(_)) && failed.to_string().contains(text), "{failed}");
        let cooling = cache.get_with(&7, |_| async { Ok(1) }).await.unwrap_err();
        assert!(matches!(cooling, GetError::Cooling { .. }) && cooling.to_string().contains(text), "{cooling}");
        tokio::time::sleep(ms(150)).await;
        assert_eq!(value(cache.get_with(&7, |_| async { Ok(1) }).await), 1);
    }
}

/// E1: refusals, impatient and cancelled callers are no failures of the origin: nothing cools.
#[tokio::test(start_paused = true)]
async fn e1_what_is_no_failure_does_not_cool() {
    let gate = Gate::builder(1).queue(0).build().unwrap();
    let cache = herdcache::Cache::<u64, u64, DbError>::builder("no-failure", HOUR, &gate).build().unwrap();
    let calls = Arc::new(Calls::default());
    let busy = ask(&cache, 1, calls.load(ms(100), Ok(1)));
    turns().await;
    let refused = cache.get_with(&7, calls.load(ms(10), Ok(7))).await;
    assert_eq!(outcome(&refused), Some(Outcome::Rejected));
    busy.await.unwrap().unwrap();
    let impatient = cache.with_wait_timeout(ms(5)).get_with(&7, calls.load(ms(10), Ok(7))).await;
    assert_eq!(outcome(&impatient), Some(Outcome::TimedOut));
    let cancelled = ask(&cache, 7, calls.load(ms(10), Ok(8)));
    turns().await;
    cancelled.abort();
    let next = cache.get_with(&7, calls.load(ms(10), Ok(9))).await;
    assert_eq!((outcome(&next), value(next)), (Some(Outcome::Coalesced), 7));
    // A load that an invalidation has overtaken says nothing about the key as it is now.
    let overtaken = ask(&cache, 8, calls.load(ms(10), DOWN));
    turns().await;
    cache.invalidate(&8);
    assert_eq!(outcome(&overtaken.await.unwrap()), Some(Outcome::Failed));
    assert_eq!(value(cache.get_with(&8, calls.load(ms(10), Ok(3))).await), 3);
    assert_eq!(cache.snapshot().outcomes[Outcome::Cooling], 0);
    assert_quiet(&cache.snapshot());
}

/// E3: a load that is not stored, stored for no time, or failed is shared by all who waited: none runs after another.
#[tokio::test(start_paused = true)]
async fn e3_waiters_never_load_one_after_another() {
    type End = fn() -> Result<Loaded<u64>, DbError>;
    let ends: [End; 4] = [
        || Ok(Loaded::value(1).do_not_store()),
        || Ok(Loaded::value(1).fresh_for(Duration::ZERO)),
        || Ok(Loaded::absent().fresh_for(Duration::ZERO)),
        || Err(DbError("down")),
    ];
    for end in ends {
        let cache = rows("together", HOUR).cooling(ms(10), ms(10)).build().unwrap();
        let calls = Arc::new(Calls::default());
        for round in 1..=2 {
            let began = Instant::now();
            let callers: Vec<_> = (0..50)
                .map(|_| {
                    let (cache, calls) = (cache.clone(), Arc::clone(&calls));
                    tokio::spawn(async move {
                        let load = |_| async move {
                            let _call = calls.call();
                            tokio::time::sleep(ms(100)).await;
                            end()
                        };
                        cache.get_with(&7, load).await.map(drop)
                    })
                })
                .collect();
            for caller in callers {
                let got = caller.await.unwrap();
                assert_eq!(got.is_ok(), end().is_ok());
                assert!(!matches!(got, Err(GetError::Failed(Failure::Contract { .. }))));
            }
            assert_eq!((calls.started(), began.elapsed()), (round, ms(100)));
            tokio::time::sleep(ms(16)).await;
        }
        assert_quiet(&cache.snapshot());
    }
}
