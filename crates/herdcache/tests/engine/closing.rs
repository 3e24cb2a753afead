//! X1: the end of a cache.

use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Waker};

use herdcache::herdfeed::{FlightEnd, PermitResult, StaleReason};
use herdcache::{Cache, Gate, GetError, LoadContext, Outcome, Ttl};
use tokio::time::Instant;

use crate::support::{Calls, DbError, ask, assert_quiet, ms, outcome, rows, turns, value};

/// X1: a shutdown waits for loads that end within its limit, and answers their callers.
#[tokio::test(start_paused = true)]
async fn x1_a_shutdown_waits_for_running_loads() {
    let cache = rows("waits", Ttl::fresh_for(ms(60_000))).build().unwrap();
    let calls = Arc::new(Calls::default());
    let caller = ask(&cache, 7, calls.load(ms(100), Ok(1)));
    turns().await;
    let began = Instant::now();
    cache.shutdown(ms(5_000)).await;
    assert_eq!(began.elapsed(), ms(100));
    assert_eq!(value(caller.await.unwrap()), 1);
    // What is stored is still answered; nothing else is.
    let stored = cache.get_with(&7, calls.load(ms(1), Ok(2))).await;
    assert_eq!(outcome(&stored), Some(Outcome::Hit));
    let missing = cache.get_with(&8, calls.load(ms(1), Ok(2))).await;
    assert!(matches!(missing, Err(GetError::Closed)), "{missing:?}");
    assert_eq!(calls.started(), 1);
    cache.shutdown(ms(5_000)).await;
    let snapshot = cache.snapshot();
    assert_eq!(snapshot.outcomes[Outcome::Closed], 1);
    assert_quiet(&snapshot);
}

/// X1: loads that hang, that queue and that are held back are ended at the limit; callers get `Closed`.
#[tokio::test(start_paused = true)]
async fn x1_hanging_and_queued_loads_are_closed_at_the_limit() {
    let gate = Gate::builder(1).queue(8).queue_timeout(ms(60_000)).build().unwrap();
    let cache = Cache::<u64, u64, DbError>::builder("hangs", Ttl::fresh_for(ms(60_000)), &gate)
        .origin_timeout(ms(50_000))
        .flight_deadline(ms(60_000))
        .build()
        .unwrap();
    let calls = Arc::new(Calls::default());
    let callers: Vec<_> = [1, 1, 2, 3].map(|key| ask(&cache, key, calls.load(ms(3_600_000), Ok(1)))).into();
    turns().await;
    assert_eq!((gate.snapshot().pending, calls.started()), (2, 1));
    let began = Instant::now();
    cache.shutdown(ms(200)).await;
    assert_eq!(began.elapsed(), ms(200));
    for caller in callers {
        let got = caller.await.unwrap();
        assert!(matches!(got, Err(GetError::Closed)), "{got:?}");
    }
    turns().await;
    let snapshot = cache.snapshot();
    assert_eq!(snapshot.flights[FlightEnd::Closed], 3);
    assert_eq!(snapshot.outcomes[Outcome::Closed], 4);
    assert_quiet(&snapshot);
    let gate = gate.snapshot();
    assert_eq!((gate.pending, gate.used()), (0, 0));
    // Two waits for a permit began; the account says how each of them ended.
    assert_eq!(gate.results[PermitResult::Closed], 2, "{:?}", gate.results);
    cache.shutdown(ms(200)).await;
}

/// X1: after the end a stale value is answered, and nobody claims that it is being refreshed.
#[tokio::test(start_paused = true)]
async fn x1_a_stale_value_of_a_closed_cache_is_not_revalidating() {
    let ttl = Ttl::fresh_for(ms(1_000)).stale_for(ms(60_000));
    let cache = rows("closed-stale", ttl).build().unwrap();
    cache.insert(7, 1);
    tokio::time::sleep(ms(2_000)).await;
    cache.shutdown(ms(0)).await;
    let got = cache.get_with(&7, |_| async { Ok(2) }).await;
    assert_eq!(outcome(&got), Some(Outcome::Stale));
    turns().await;
    let snapshot = cache.snapshot();
    assert_eq!(snapshot.flight_starts.total(), 0);
    assert_eq!(snapshot.stale_serves[StaleReason::Revalidating], 0);
    assert_eq!(snapshot.stale_serves.total(), 1);
}

/// X1: the same on a runtime with several threads, with a load that blocks its thread.
#[test]
fn x1_a_shutdown_returns_while_a_load_blocks_its_thread() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let cache = rows("blocks", Ttl::fresh_for(ms(60_000))).build().unwrap();
    let (entered, enters) = std::sync::mpsc::channel();
    let (release, wait) = std::sync::mpsc::channel::<()>();
    let caller = runtime.spawn({
        let cache = cache.clone();
        async move {
            let load = |_| async move {
                tokio::task::yield_now().await;
                entered.send(()).unwrap();
                let _ = wait.recv();
                Ok(1)
            };
            cache.get_with(&7, load).await
        }
    });
    enters.recv().unwrap();
    let began = std::time::Instant::now();
    runtime.block_on(cache.shutdown(ms(50)));
    assert!(began.elapsed() < ms(1_000), "{:?}", began.elapsed());
    let got = runtime.block_on(caller).unwrap();
    assert!(matches!(got, Err(GetError::Closed)), "{got:?}");
    assert_eq!(cache.snapshot().origin_abandoned, 1);
    drop(release);
    let deadline = std::time::Instant::now() + ms(5_000);
    while cache.snapshot().origin_active > 0 && std::time::Instant::now() < deadline {
        std::thread::yield_now();
    }
    assert_quiet(&cache.snapshot());
}

/// X1, S7: a load that overran its flight still runs: a shutdown waits for it too.
#[tokio::test(start_paused = true)]
async fn x1_a_shutdown_waits_for_a_load_that_has_overrun() {
    let builder = rows("overran", Ttl::fresh_for(ms(60_000))).origin_timeout(ms(100)).flight_deadline(ms(100));
    let cache = builder.build().unwrap();
    let (release, wait) = std::sync::mpsc::channel::<()>();
    let caller = tokio::spawn({
        let cache = cache.clone();
        async move {
            let load = |cx: LoadContext<u64, u64>| async move {
                let done = cx.run_blocking(move || wait.recv().is_ok()).await;
                done.map(|_| 1).map_err(|_| DbError("blocking"))
            };
            cache.get_with(&7, load).await
        }
    });
    // Blocking work holds back automatic time, so that time is moved by hand.
    for _ in 0..12 {
        turns().await;
        tokio::time::advance(ms(10)).await;
    }
    assert!(caller.await.unwrap().is_err());
    assert_eq!((cache.snapshot().flights_active, cache.snapshot().origin_abandoned), (0, 1));
    let mut shutdown = Box::pin(cache.shutdown(ms(60_000)));
    assert!(shutdown.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    drop(release);
    shutdown.await;
    assert_quiet(&cache.snapshot());
}
