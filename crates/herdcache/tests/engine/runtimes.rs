//! S8: one cache, several runtimes, each with an end of its own. Real time, since each runtime has its own clock.

use std::future::Future;
use std::sync::{Arc, LazyLock, mpsc};
use std::task::{Context, Waker};
use std::time::Instant;

use herdcache::herdfeed::{FlightEnd, OriginResult};
use herdcache::{Failure, GetError, Outcome, Ttl};
use tokio::runtime::{Builder, Runtime};

use crate::support::{Calls, Rows, assert_quiet, ms, outcome, rows, value};

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

static SHARED: LazyLock<Rows> = LazyLock::new(|| rows("static", Ttl::fresh_for(ms(60_000))).build().unwrap());

async fn use_shared(key: u64) {
    let calls = Arc::new(Calls::default());
    // A load that is cut off by the end of the test's runtime, and one that is not.
    let cut = tokio::spawn(SHARED.get_with(&99, calls.load(ms(60_000), Ok(1))));
    tokio::task::yield_now().await;
    let got = SHARED.get_with(&key, calls.load(ms(1), Ok(key))).await;
    assert_eq!(value(got), key);
    drop(cut);
}

/// S8: this test and the next share a static cache and pass in either order.
#[tokio::test]
async fn s8_a_static_cache_serves_one_test() {
    use_shared(1).await;
}

/// S8: see the test before.
#[tokio::test]
async fn s8_a_static_cache_serves_another_test() {
    use_shared(2).await;
}

/// S8: both orders, one runtime after the other.
#[test]
fn s8_a_cache_outlives_the_runtimes_that_use_it() {
    let cache = rows("outlives", Ttl::fresh_for(ms(60_000))).build().unwrap();
    for key in [1, 2, 2, 1] {
        let calls = Arc::new(Calls::default());
        let runtime = runtime();
        runtime.block_on(async {
            let _cut = crate::support::ask(&cache, 99, calls.load(ms(60_000), Ok(1)));
            tokio::task::yield_now().await;
            let got = cache.get_with(&key, calls.load(ms(1), Ok(key))).await;
            assert_eq!(value(got), key);
        });
    }
    assert_quiet(&cache.snapshot());
    let snapshot = cache.snapshot();
    assert_eq!(snapshot.flights[FlightEnd::Abandoned], 4);
    // E2: what was cut off is no failure of the origin.
    let told = &snapshot.origin_results;
    assert_eq!((told[OriginResult::Abandoned], told[OriginResult::Value], told.total()), (4, 2, 6));
}

/// S8: when the runtime of a flight's leader ends, the waiters on another one take over, once.
#[test]
fn s8_waiters_take_over_once_when_the_leaders_runtime_ends() {
    let cache = rows("take-over", Ttl::fresh_for(ms(60_000))).build().unwrap();
    let calls = Arc::new(Calls::default());
    let (end, ends) = mpsc::channel::<()>();
    let (flies, flying) = mpsc::channel();
    let leader = std::thread::spawn({
        let (cache, calls) = (cache.clone(), Arc::clone(&calls));
        move || {
            let runtime = runtime();
            let caller = crate::support::ask_on(&runtime, &cache, 7, calls.load(ms(3_600_000), Ok(1)));
            runtime.block_on(async { tokio::time::sleep(ms(10)).await });
            flies.send(()).unwrap();
            ends.recv().unwrap();
            drop(caller);
        }
    });
    flying.recv().unwrap();
    runtime().block_on(async {
        let waiters: Vec<_> = (0..10).map(|_| crate::support::ask(&cache, 7, calls.load(ms(20), Ok(2)))).collect();
        while cache.snapshot().waiting < 11 {
            tokio::time::sleep(ms(1)).await;
        }
        end.send(()).unwrap();
        let mut loaded = 0;
        for waiter in waiters {
            let got = waiter.await.unwrap();
            loaded += u64::from(outcome(&got) == Some(Outcome::Loaded));
            assert_eq!(value(got), 2);
        }
        assert_eq!(loaded, 1);
    });
    leader.join().unwrap();
    assert_eq!(calls.started(), 2);
    let snapshot = cache.snapshot();
    assert_eq!(snapshot.flights[FlightEnd::Abandoned], 1);
    let told = [Outcome::Loaded, Outcome::Coalesced, Outcome::Cancelled].map(|outcome| snapshot.outcomes[outcome]);
    assert_eq!(told, [1, 9, 1]);
    assert_quiet(&snapshot);
}

/// S7, S8: a runtime that lives and that nobody drives any more does not keep its flights' keys for ever.
#[test]
fn s7_a_runtime_that_nobody_drives_frees_its_keys_at_the_deadline() {
    let cache =
        rows("undriven", Ttl::fresh_for(ms(60_000))).origin_timeout(ms(100)).flight_deadline(ms(100)).build().unwrap();
    let calls = Arc::new(Calls::default());
    let idle = runtime();
    let cut = idle.block_on(async {
        let load = calls.load(ms(3_600_000), Ok(1));
        tokio::time::timeout(ms(20), cache.get_with(&7, load)).await
    });
    assert!(cut.is_err());
    let began = Instant::now();
    let got = runtime().block_on(async {
        let load = calls.load(ms(1), Ok(2));
        tokio::time::timeout(ms(3_000), cache.get_with(&7, load)).await
    });
    assert!(got.is_ok(), "still waiting after {:?}", began.elapsed());
    drop(idle);
}

/// S8: on a runtime without timers nothing hangs and nothing panics: a load that would wait fails and says what is missing.
#[test]
fn s8_a_runtime_without_timers_is_told_so() {
    let cache = rows("timeless", Ttl::fresh_for(ms(60_000))).build().unwrap();
    let timeless = Builder::new_current_thread().build().unwrap();
    let needs = |got: herdcache::Got<u64, crate::support::DbError>| match got {
        Err(GetError::Failed(Failure::Contract { what })) => assert!(what.contains("enable_time()"), "{what}"),
        other => panic!("{other:?}"),
    };
    timeless.block_on(async {
        assert_eq!(value(cache.get_with(&1, |_| async { Ok(1) }).await), 1);
        needs(cache.get_with(&2, |_| std::future::pending::<Result<u64, _>>()).await);
    });
    // It joins a flight on a runtime that has them: its own limit cannot be kept, the flight's can.
    let runtime = runtime();
    let _within = runtime.enter();
    let mut leader = Box::pin(cache.get_with(&3, |_| async {
        tokio::task::yield_now().await;
        Ok(3)
    }));
    assert!(leader.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    timeless.block_on(async { needs(cache.with_wait_timeout(ms(1)).get_with(&3, |_| async { Ok(0) }).await) });
    assert_eq!(value(runtime.block_on(leader)), 3);
    assert_quiet(&cache.snapshot());
}
