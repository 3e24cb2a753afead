//! L2: how many loads of one key may run beside each other.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::mpsc;

use herdcache::{Gate, Ttl};
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
            let load = |cx: herdcache::LoadContext<u64, u64>| async move {
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
}
