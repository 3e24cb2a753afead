//! O2: on the clock of production, read without feature `test-util`, where hits see a time up to one kernel tick old.
//!
//! Bounds are asserted by moments taken around each read, so that a machine that stands still proves nothing wrong.
#![cfg(not(feature = "test-util"))]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails there")]

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use herdcache::{Answer, Cache, Failure, Gate, GetError, LoadContext, Outcome, Ttl};

type Rows = Cache<u64, u64, &'static str>;

/// One tick is 4 ms as documented, 10 ms on a kernel of 100 Hz: three documented ticks cover both.
const SLACK: Duration = Duration::from_millis(12);
const FRESH: Duration = Duration::from_millis(60);

fn rows(name: &str, ttl: Ttl) -> Rows {
    Cache::builder(name, ttl, &Gate::new(8)).jitter(0.0).build().unwrap()
}

/// When the value under the key was last being loaded.
#[derive(Clone, Copy)]
struct Load {
    began: Instant,
    before_end: Instant,
}

/// O2, L4, F1: no hit comes later than a tick past its bound, and no load earlier than the bound.
#[tokio::test]
async fn o2_bounds_hold_within_a_tick_on_the_coarse_clock() {
    let cache = rows("o2-bounds", Ttl::fresh_for(FRESH));
    let last: Arc<Mutex<Option<Load>>> = Arc::default();
    let (mut after_load, mut loads, mut hits) = (Instant::now(), 0, 0_u64);
    while loads < 12 {
        let before = Instant::now();
        let previous = *last.lock().unwrap();
        let told = Arc::clone(&last);
        let load = |_: LoadContext<u64, u64>| async move {
            let began = Instant::now();
            *told.lock().unwrap() = Some(Load { began, before_end: Instant::now() });
            Ok(1)
        };
        let got = cache.get_with(&7, load).await.unwrap().unwrap();
        let after = Instant::now();
        if Answer::outcome(&got) == Outcome::Hit {
            hits += 1;
            // The value was born before its own load was answered.
            assert!(before - after_load < FRESH + SLACK, "a hit {:?} after the load", before - after_load);
            assert!(Answer::age(&got) <= after - previous.unwrap().before_end + SLACK);
        } else {
            loads += 1;
            let now = last.lock().unwrap().unwrap();
            if let Some(previous) = previous {
                assert!(now.began - previous.before_end >= FRESH, "a load {:?} early", now.began - previous.before_end);
            }
            after_load = after;
        }
    }
    assert!(hits > 100, "{hits} hits in {loads} times 60 ms");
    assert_eq!(cache.snapshot().law_violations, 0);
}

/// O2: both clocks lie on one line: a value that has just arrived is not older than its whole life.
#[tokio::test]
async fn o2_a_value_is_never_born_in_the_future() {
    let cache = rows("o2-line", Ttl::fresh_for(Duration::from_secs(60)));
    for key in 0..2_000 {
        let began = Instant::now();
        cache.get_with(&key, |_| async move { Ok(key) }).await.unwrap();
        let hit = cache.get_with(&key, |_| async { Ok(0) }).await.unwrap().unwrap();
        assert_eq!(Answer::outcome(&hit), Outcome::Hit);
        assert!(Answer::age(&hit) <= began.elapsed(), "{:?}", Answer::age(&hit));
    }
}

/// O2, S7: limits of loads are measured on the exact clock: never early.
#[tokio::test]
async fn o2_timeouts_are_never_early() {
    let limit = Duration::from_millis(50);
    let cache = Cache::<u64, u64, &'static str>::builder("o2-limits", Ttl::fresh_for(FRESH), &Gate::new(8))
        .origin_timeout(limit)
        .build()
        .unwrap();
    let began = Instant::now();
    let got = cache.get_with(&7, |_| std::future::pending::<Result<u64, _>>()).await;
    assert!(matches!(got, Err(GetError::Failed(Failure::OriginTimeout { .. }))), "{got:?}");
    assert!(began.elapsed() >= limit);
    let began = Instant::now();
    let got = cache.with_wait_timeout(limit).get_with(&8, |_| std::future::pending::<Result<u64, _>>()).await;
    assert!(matches!(got, Err(GetError::WaitTimeout { .. } | GetError::Failed(_))), "{got:?}");
    assert!(began.elapsed() >= limit);
}

/// O2, L1, L2, L5: the ledger balances on four threads that read, write and forget for half a second.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn o2_the_laws_hold_on_real_threads() {
    let ttl = Ttl::fresh_for(Duration::from_millis(5)).stale_for(Duration::from_millis(5));
    let cache = rows("o2-laws", ttl);
    let until = Instant::now() + Duration::from_millis(500);
    let worker = |seed: u64| {
        let cache = cache.clone();
        async move {
            let mut own = 0_u64;
            while Instant::now() < until {
                let key = fastrand::u64(0..8);
                match fastrand::u64(0..40) {
                    0 => _ = cache.invalidate(&key),
                    1 => _ = cache.insert(key, seed),
                    _ => {
                        own += 1;
                        let load = move |_| async move {
                            tokio::time::sleep(Duration::from_micros(key * 300)).await;
                            if key == 7 { Err("down") } else { Ok(key) }
                        };
                        let _ = cache.get_with(&key, load).await;
                    }
                }
            }
            own
        }
    };
    let workers: Vec<_> = (0..8).map(|seed| tokio::spawn(worker(seed))).collect();
    let mut begun = 0;
    for worker in workers {
        begun += worker.await.unwrap();
    }
    cache.shutdown(Duration::from_secs(10)).await;
    let snapshot = cache.snapshot();
    assert_eq!((snapshot.begun, snapshot.outcomes.total(), snapshot.active), (begun, begun, 0));
    assert_eq!(snapshot.flight_starts.total(), snapshot.flights.total());
    assert_eq!([snapshot.waiting, snapshot.flights_active, snapshot.origin_active, snapshot.law_violations], [0; 4]);
    assert!(
        snapshot.outcomes[Outcome::Hit] > 0 && snapshot.outcomes[Outcome::Coalesced] > 0,
        "{:?}",
        snapshot.outcomes
    );
}

/// O2, F1: a value may be older at its source than the machine has been up.
#[tokio::test]
async fn o2_age_at_the_source_reaches_beyond_the_start_of_the_machine() {
    let day = Duration::from_secs(24 * 3_600);
    let cache = rows("o2-old", Ttl::fresh_for(365 * day));
    let age = |days: u32| async move { Ok(herdcache::Loaded::value(1).source_age(days * day)) };
    let answer = cache.get_with(&1, |_| age(300)).await.unwrap().unwrap();
    assert!(Answer::age(&answer) >= 300 * day, "{:?}", Answer::age(&answer));
    assert!(cache.peek(&1).is_some());
    cache.get_with(&2, |_| age(400)).await.unwrap();
    assert!(cache.peek(&2).is_none(), "too old to be stored");
}
