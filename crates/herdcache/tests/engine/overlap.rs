//! L2: how many loads of one key may run beside each other.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::mpsc;

use herdcache::{Answer, Gate, LoadContext, Loaded, Outcome, Refreshing, Ttl};
use tokio::time::Instant;

use crate::support::{Calls, DbError, ask, assert_quiet, ms, rows, turns, value};

/// L2: each invalidation supersedes the running load; a third waits until the first has ended.
#[tokio::test(start_paused = true)]
async fn l2_two_superseded_loads_hold_back_the_third() {
    let cache = rows("overlap", Ttl::fresh_for(ms(60_000))).build().unwrap();
    let calls = Arc::new(Calls::default());
    let mut callers = Vec::new();
    for n in 1..=2 {
        callers.push(ask(&cache, 7, calls.load(ms(1_000), Ok(n))));
        tokio::time::sleep(ms(100)).await;
        cache.invalidate(&7);
    }
    callers.push(ask(&cache, 7, calls.load(ms(1_000), Ok(3))));
    tokio::time::sleep(ms(100)).await;
    assert_eq!(calls.started(), 2);
    let began = Instant::now();
    for (caller, expected) in callers.into_iter().zip([1, 2, 3]) {
        assert_eq!(value(caller.await.unwrap()), expected);
    }
    // Held back until the first had ended, 700 ms from here.
    assert_eq!(began.elapsed(), ms(1_700));
    assert_eq!((calls.started(), calls.peak()), (3, 2));
    assert_eq!(cache.peek(&7).as_deref(), Some(&3));
    assert_quiet(&cache.snapshot());
}

/// L2, S2: a flight that is superseded while it is held back still answers its callers in time.
#[tokio::test(start_paused = true)]
async fn l2_a_held_flight_that_is_superseded_answers_before_its_deadline() {
    let cache = rows("held", Ttl::fresh_for(ms(60_000))).build().unwrap();
    let calls = Arc::new(Calls::default());
    let began = Instant::now();
    let mut callers = Vec::new();
    for n in 1..=4 {
        callers.push(ask(&cache, 7, calls.load(ms(1_000), Ok(n))));
        tokio::time::sleep(ms(100)).await;
        cache.invalidate(&7);
    }
    for caller in callers {
        let got = caller.await.unwrap();
        assert!(got.is_ok(), "{got:?} after {:?}", began.elapsed());
    }
    // Two at a time, four loads of a second each at most.
    assert!(began.elapsed() <= ms(3_500), "{:?}", began.elapsed());
    assert_eq!(calls.peak(), 2);
    assert_quiet(&cache.snapshot());
}

/// W2, L2: a load that is held back has not begun: what it brings is not from before its key was marked stale.
#[tokio::test(start_paused = true)]
async fn w2_what_a_held_load_brings_is_not_marked_stale() {
    let cache = rows("held-marked", Ttl::fresh_for(ms(60_000))).build().unwrap();
    let calls = Arc::new(Calls::default());
    let mut callers = Vec::new();
    for n in 1..=3 {
        callers.push(ask(&cache, 7, calls.load(ms(1_000), Ok(n))));
        tokio::time::sleep(ms(100)).await;
        if n < 3 {
            cache.invalidate(&7);
        }
    }
    assert_eq!(calls.started(), 2);
    cache.mark_stale(&7);
    for (caller, expected) in callers.into_iter().zip([1, 2, 3]) {
        assert_eq!(value(caller.await.unwrap()), expected);
    }
    assert_eq!(cache.peek(&7).map(|answer| (Answer::outcome(&answer), *answer)), Some((Outcome::Hit, 3)));
    assert_quiet(&cache.snapshot());
}

/// L2, R1, U1: beside two superseded loads neither a refresh nor a warm-up begins a third.
#[tokio::test(start_paused = true)]
async fn l2_refreshes_and_warm_ups_are_no_third_load() {
    let calls = Arc::new(Calls::default());
    let counted = Arc::clone(&calls);
    let cache = rows("third", Ttl::fresh_for(ms(60_000)))
        .build_over(move |_: LoadContext<u64, u64>| {
            let calls = Arc::clone(&counted);
            async move {
                let _call = calls.call();
                tokio::time::sleep(ms(1_000)).await;
                Ok::<_, DbError>(1)
            }
        })
        .unwrap();
    for _ in 0..2 {
        assert_eq!(cache.refresh(&7), Refreshing::Started);
        turns().await;
        cache.invalidate(&7);
    }
    assert_eq!(cache.refresh(&7), Refreshing::UnderWay);
    let warm = cache.warm_up([7]).await;
    assert_eq!((warm.loaded, warm.skipped), (0, 1));
    turns().await;
    assert_eq!((calls.started(), calls.peak()), (2, 2));
    tokio::time::sleep(ms(1_000)).await;
    turns().await;
    assert_eq!(cache.refresh(&7), Refreshing::Started);
    cache.shutdown(ms(5_000)).await;
    assert_eq!(calls.started(), 3);
    assert_quiet(&cache.snapshot());
}

/// L5, A4: a load that is held back may begin after a further change: it is given no value that it might confirm.
#[tokio::test(start_paused = true)]
async fn l5_a_held_load_is_given_nothing_to_confirm() {
    let ttl = Ttl::fresh_for(ms(10)).stale_if_error_for(ms(60_000));
    let cache = rows("held-previous", ttl).build().unwrap();
    let calls = Arc::new(Calls::default());
    let mut superseded = Vec::new();
    for n in 1..=2 {
        superseded.push(ask(&cache, 7, calls.load(ms(1_000), Ok(n))));
        turns().await;
        cache.insert(7, Loaded::value(10).validator("etag"));
        tokio::time::sleep(ms(20)).await;
    }
    let given = Arc::new(AtomicU64::new(0));
    let told = Arc::clone(&given);
    let load = move |cx: LoadContext<u64, u64>| async move {
        told.store(1 + u64::from(cx.previous().is_some() || cx.validator().is_some()), SeqCst);
        Ok(3)
    };
    assert_eq!(value(cache.get_with(&7, load).await), 3);
    assert_eq!(given.load(SeqCst), 1, "it was given the value from before");
    for caller in superseded {
        assert!(caller.await.unwrap().is_ok());
    }
    assert_quiet(&cache.snapshot());
}

/// L2, S7: loads that overran their deadline in blocking work count as loads of their key until they end.
#[tokio::test(start_paused = true)]
async fn l2_overrun_blocking_loads_of_a_key_are_two_at_most() {
    let gate = Gate::new(16);
    let cache = herdcache::Cache::<u64, u64, DbError>::builder("overrun", Ttl::fresh_for(ms(60_000)), &gate)
        .origin_timeout(ms(100))
        .flight_deadline(ms(200))
        .cooling(ms(10), ms(10))
        .build()
        .unwrap();
    let started = Arc::new(AtomicU64::new(0));
    let mut releases = Vec::new();
    for _ in 0..4 {
        let (release, wait) = mpsc::channel::<()>();
        releases.push(release);
        let (cache, started) = (cache.clone(), Arc::clone(&started));
        let caller = tokio::spawn(async move {
            let load = |cx: LoadContext<u64, u64>| async move {
                started.fetch_add(1, SeqCst);
                let done = cx.run_blocking(move || wait.recv().is_ok()).await;
                done.map(|_| 1).map_err(|_| DbError("blocking"))
            };
            cache.get_with(&7, load).await
        });
        // Blocking work holds back automatic time, so that time is moved by hand.
        for _ in 0..25 {
            tokio::time::advance(ms(10)).await;
            turns().await;
        }
        assert!(caller.await.unwrap().is_err());
    }
    let snapshot = cache.snapshot();
    let in_use = gate.snapshot().used();
    drop(releases);
    assert_eq!(started.load(SeqCst), 2);
    assert_eq!((snapshot.origin_active, snapshot.origin_abandoned, in_use), (2, 2, 2));
    // Once they have ended they count no more. Their threads are real.
    for _ in 0..20_000 {
        if cache.snapshot().origin_active == 0 {
            break;
        }
        std::thread::sleep(ms(1));
        turns().await;
    }
    tokio::time::advance(ms(100)).await;
    assert_eq!(value(cache.get_with(&7, |_| async { Ok(9) }).await), 9);
    assert_quiet(&cache.snapshot());
}
