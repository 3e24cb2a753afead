//! A4: what a loader is told, and what it may say.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use herdcache::herdfeed::{DiscardReason, FlightTrigger, MissCause, Outcome, RemovalCause};
use herdcache::{Answer, Cache, Gate, LoadContext, Loaded, Ttl};

use crate::support::{DbError, Rows, assert_quiet, ms, outcome, rows, turns, value};

type Told = Arc<Mutex<Vec<(FlightTrigger, Option<MissCause>)>>>;

/// Reads `key`; a load writes down why it was started.
async fn read(cache: &Rows, key: u64, told: &Told) -> Option<Outcome> {
    let told = Arc::clone(told);
    let load = |cx: LoadContext<u64, u64>| async move {
        told.lock().unwrap().push((cx.trigger(), cx.cause()));
        Ok(*cx.key())
    };
    let got = cache.get_with(&key, load).await;
    turns().await;
    outcome(&got)
}

/// A4: a loader learns what started its load, and why the value was missing.
#[tokio::test(start_paused = true)]
async fn a4_a_loader_is_told_trigger_and_cause() {
    let ttl = Ttl::fresh_for(ms(100)).stale_for(ms(100)).stale_if_error_for(ms(10_000));
    let cache = rows("triggers", ttl).build().unwrap();
    let told = Told::default();
    assert_eq!(read(&cache, 7, &told).await, Some(Outcome::Loaded));
    tokio::time::sleep(ms(150)).await;
    assert_eq!(read(&cache, 7, &told).await, Some(Outcome::Stale));
    // In reserve, and then beyond: both have expired.
    for wait in [250, 20_000] {
        tokio::time::sleep(ms(wait)).await;
        assert_eq!(read(&cache, 7, &told).await, Some(Outcome::Loaded));
    }
    cache.invalidate(&7);
    assert_eq!(read(&cache, 7, &told).await, Some(Outcome::Loaded));
    let expected = [
        (FlightTrigger::Miss, Some(MissCause::Cold)),
        (FlightTrigger::Stale, None),
        (FlightTrigger::Miss, Some(MissCause::Expired)),
        (FlightTrigger::Miss, Some(MissCause::Expired)),
        (FlightTrigger::Miss, Some(MissCause::Invalidated)),
    ];
    assert_eq!(*told.lock().unwrap(), expected);
    let misses = cache.snapshot().misses;
    assert_eq!((misses[MissCause::Cold], misses[MissCause::Expired], misses[MissCause::Invalidated]), (1, 2, 1));
}

/// A4: the time left is that of the origin call, and runs down.
#[tokio::test(start_paused = true)]
async fn a4_remaining_time_counts_down_to_the_hard_timeout() {
    let cache =
        rows("remaining", Ttl::fresh_for(ms(1_000))).origin_timeout(ms(200)).flight_deadline(ms(300)).build().unwrap();
    let load = |cx: LoadContext<u64, u64>| async move {
        let before = cx.remaining();
        tokio::time::sleep(ms(50)).await;
        Ok(u64::try_from(before.as_millis() * 1_000 + cx.remaining().as_millis()).unwrap())
    };
    assert_eq!(value(cache.get_with(&7, load).await), 200_150);
}

/// A4: a load that queued gets what is left of the flight's deadline, if that is less than the hard timeout.
#[tokio::test(start_paused = true)]
async fn a4_remaining_time_is_cut_to_the_flights_deadline() {
    let gate = Gate::builder(1).build().unwrap();
    let cache = Cache::<u64, u64, DbError>::builder("queued", Ttl::fresh_for(ms(1_000)), &gate)
        .origin_timeout(ms(260))
        .flight_deadline(ms(300))
        .build()
        .unwrap();
    let first = tokio::spawn({
        let cache = cache.clone();
        async move {
            cache
                .get_with(&1, |_| async {
                    tokio::time::sleep(ms(250)).await;
                    Ok(1)
                })
                .await
        }
    });
    turns().await;
    let left = cache.get_with(&2, |cx| async move { Ok(u64::try_from(cx.remaining().as_millis()).unwrap()) }).await;
    assert_eq!(value(left), 50);
    assert_eq!(value(first.await.unwrap()), 1);
    assert_quiet(&cache.snapshot());
}

/// A4: once the call's time is over, nothing remains; never a negative or a huge time.
#[tokio::test(start_paused = true)]
async fn a4_nothing_remains_after_the_hard_timeout() {
    let cache = rows("over", Ttl::fresh_for(ms(1_000))).origin_timeout(ms(100)).build().unwrap();
    let kept: Arc<Mutex<Option<LoadContext<u64, u64>>>> = Arc::default();
    let keep = Arc::clone(&kept);
    let load = |cx| async move {
        *keep.lock().unwrap() = Some(cx);
        std::future::pending::<Result<u64, _>>().await
    };
    assert_eq!(outcome(&cache.get_with(&7, load).await), Some(Outcome::Failed));
    tokio::time::sleep(ms(5)).await;
    assert_eq!(kept.lock().unwrap().as_ref().unwrap().remaining(), Duration::ZERO);
}

/// A4: a value may have TTLs of its own; the bounds follow them.
#[tokio::test(start_paused = true)]
async fn a4_a_value_may_bring_its_own_ttls() {
    let cache = rows("per-value", Ttl::fresh_for(ms(1_000)).stale_for(ms(1_000))).build().unwrap();
    let load = |_| async { Ok(Loaded::value(1).fresh_for(ms(10)).stale_for(ms(20))) };
    cache.get_with(&7, load).await.unwrap();
    cache.get_with(&8, |_| async { Ok(2) }).await.unwrap();
    let state = |key| cache.peek(&key).as_ref().map(Answer::outcome);
    for (wait, own) in [(9, Some(Outcome::Hit)), (1, Some(Outcome::Stale)), (19, Some(Outcome::Stale)), (1, None)] {
        tokio::time::advance(ms(wait)).await;
        assert_eq!(state(7), own, "after {wait} ms more");
        assert_eq!(state(8), Some(Outcome::Hit));
    }
}

/// A4: absent is remembered for `negative_ttl`, or for as long as the loader says.
#[tokio::test(start_paused = true)]
async fn a4_absence_has_its_own_ttl() {
    let cache = rows("absence", Ttl::fresh_for(ms(1_000))).negative_ttl(ms(50)).build().unwrap();
    let calls = Arc::new(AtomicU64::new(0));
    let absent = |key: u64, own: Option<Duration>| {
        let (cache, calls) = (cache.clone(), Arc::clone(&calls));
        async move {
            let load = |_| async move {
                calls.fetch_add(1, SeqCst);
                Ok(own.map_or_else(Loaded::absent, |own| Loaded::absent().fresh_for(own)))
            };
            assert!(cache.get_with(&key, load).await.unwrap().is_none());
        }
    };
    // (key, own TTL, wait before, loads after)
    let script = [
        (1, None, 0, 1),
        (1, None, 49, 1),
        (1, None, 1, 2),
        (2, Some(ms(200)), 0, 3),
        (2, None, 199, 3),
        (2, None, 1, 4),
    ];
    for (key, own, wait, loads) in script {
        tokio::time::advance(ms(wait)).await;
        absent(key, own).await;
        assert_eq!(calls.load(SeqCst), loads, "key {key} after {wait} ms");
    }
    assert_eq!(cache.snapshot().outcomes[Outcome::Negative], 2);
}

/// A4: a refresh that finds the row gone replaces the stale value by that knowledge.
#[tokio::test(start_paused = true)]
async fn a4_a_refresh_that_finds_nothing_replaces_the_value() {
    let cache = rows("gone", Ttl::fresh_for(ms(100)).stale_for(ms(10_000))).negative_ttl(ms(50)).build().unwrap();
    cache.insert(7, 1);
    tokio::time::advance(ms(100)).await;
    let got = cache.get_with(&7, |_| async { Ok(None) }).await;
    assert_eq!(outcome(&got), Some(Outcome::Stale));
    turns().await;
    assert!(cache.get_with(&7, |_| async { Ok(Some(2)) }).await.unwrap().is_none());
    assert_eq!(cache.snapshot().outcomes[Outcome::Negative], 1);
    // And no later failure brings the old value back.
    tokio::time::advance(ms(50)).await;
    let failed = cache.get_with(&7, |_| async { Err::<u64, _>(DbError("down")) }).await;
    assert_eq!(outcome(&failed), Some(Outcome::Failed));
}

/// A4: `do_not_store` answers the callers, keeps nothing, and leaves nothing older either.
#[tokio::test(start_paused = true)]
async fn a4_do_not_store_keeps_nothing() {
    let cache = rows("secret", Ttl::fresh_for(ms(1_000))).build().unwrap();
    for n in 1..=2 {
        let got = cache.get_with(&7, |_| async move { Ok(Loaded::value(n).do_not_store()) }).await;
        assert_eq!(outcome(&got), Some(Outcome::Loaded));
        assert_eq!(value(got), n);
        assert!(cache.peek(&7).is_none());
    }
    let snapshot = cache.snapshot();
    assert_eq!((snapshot.discards[DiscardReason::DoNotStore], snapshot.entries), (2, 0));
    assert_quiet(&snapshot);
}

/// A4, K3: a value that the loader holds as an `Arc` is that very allocation for every caller.
#[tokio::test(start_paused = true)]
async fn a4_an_arc_is_shared_as_it_is() {
    let cache = rows("arc", Ttl::fresh_for(ms(1_000))).build().unwrap();
    let shared = Arc::new(5_u64);
    let given = Arc::clone(&shared);
    let loaded = cache.get_with(&7, |_| async move { Ok(given) }).await.unwrap().unwrap();
    let hit = cache.get_with(&7, |_| async { Ok(6) }).await.unwrap().unwrap();
    assert_eq!(Answer::outcome(&hit), Outcome::Hit);
    for answer in [loaded, hit] {
        assert!(Arc::ptr_eq(&Answer::into_value(answer), &shared));
    }
}

/// A4: waits for a connection that loaders report are in the account, failed ones too.
#[tokio::test(start_paused = true)]
async fn a4_connection_waits_are_counted() {
    let cache = rows("pool", Ttl::fresh_for(ms(1_000))).build().unwrap();
    for (key, wait, result) in [(1, 20, Ok(1)), (2, 300, Err(DbError("no connection")))] {
        let load = |cx: LoadContext<u64, u64>| async move {
            tokio::time::sleep(ms(wait)).await;
            cx.connection_wait(ms(wait));
            result
        };
        assert_eq!(cache.get_with(&key, load).await.is_ok(), result.is_ok());
    }
    let waits = cache.snapshot().connection_wait;
    assert_eq!((waits.count, waits.sum_us), (2, 320_000));
}

/// A4: the loader's closure runs in its caller, at most once, and only for a caller that opens a flight.
#[tokio::test(start_paused = true)]
async fn a4_only_a_leaders_closure_is_called() {
    let cache = rows("closure", Ttl::fresh_for(ms(1_000))).build().unwrap();
    // Borrowed, not moved: the closure need not outlive its caller.
    let made = AtomicU64::new(0);
    let read = || {
        cache.get_with(&7, |_| {
            made.fetch_add(1, SeqCst);
            async {
                tokio::time::sleep(ms(10)).await;
                Ok(1)
            }
        })
    };
    let together = tokio::join!(read(), read(), read());
    let outcomes = [&together.0, &together.1, &together.2].map(outcome);
    assert_eq!(outcomes, [Some(Outcome::Loaded), Some(Outcome::Coalesced), Some(Outcome::Coalesced)]);
    assert_eq!(outcome(&read().await), Some(Outcome::Hit));
    assert_eq!(made.load(SeqCst), 1);
}

/// A4: `run_blocking` runs on another thread, gives the work's result, and tells a panic as an error.
#[tokio::test]
async fn a4_blocking_work_gives_its_result_or_an_error() {
    let cache = rows("blocks", Ttl::fresh_for(ms(60_000))).build().unwrap();
    let here = std::thread::current().id();
    let load = move |cx: LoadContext<u64, u64>| async move {
        let there = cx.run_blocking(|| std::thread::current().id()).await.map_err(|_| DbError("blocking"))?;
        Ok(u64::from(there != here))
    };
    assert_eq!(value(cache.get_with(&1, load).await), 1);
    let load = |cx: LoadContext<u64, u64>| async move {
        let work: Result<u64, _> = cx.run_blocking(|| panic!("in the driver")).await;
        let error = work.unwrap_err();
        assert_eq!(error.to_string(), "blocking work panicked");
        Err::<u64, _>(DbError("told"))
    };
    assert_eq!(cache.get_with(&2, load).await.unwrap_err().origin().map(|error| error.0), Some("told"));
    let snapshot = cache.snapshot();
    assert_eq!(snapshot.removals[RemovalCause::Evicted], 0);
    assert_quiet(&snapshot);
}
