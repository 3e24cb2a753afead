//! R1, F3: refreshes behind stale answers.

use std::sync::Arc;

use herdcache::herdfeed::{RefreshResult, StaleReason};
use herdcache::{Loaded, Outcome, RejectReason, Ttl};

use crate::support::{Calls, DbError, assert_quiet, ms, outcome, rows, turns, value};

const TTL: Ttl = Ttl::fresh_for(ms(1_000)).stale_for(ms(30_000));

/// F3, R1, case 14: one refresh per stale window, and no read after the first fill waits.
#[tokio::test(start_paused = true)]
async fn r1_ten_seconds_of_reads_cost_nine_loads_and_no_waiting() {
    let cache = rows("case-14", TTL).build().unwrap();
    let calls = Arc::new(Calls::default());
    let callers: Vec<_> = (0..10_000_u64)
        .map(|at| {
            let (cache, calls) = (cache.clone(), Arc::clone(&calls));
            tokio::spawn(async move {
                tokio::time::sleep(ms(at)).await;
                let began = tokio::time::Instant::now();
                let got = cache.get_with(&7, calls.load(ms(200), Ok(at))).await;
                (outcome(&got).unwrap(), began.elapsed())
            })
        })
        .collect();
    let (mut cold, mut fresh, mut stale) = (0, 0, 0);
    for caller in callers {
        let (outcome, waited) = caller.await.unwrap();
        match outcome {
            Outcome::Loaded | Outcome::Coalesced => cold += 1,
            Outcome::Hit => fresh += 1,
            Outcome::Stale => stale += 1,
            other => panic!("{other}"),
        }
        assert!(waited == ms(0) || cold <= 200, "{outcome} waited {waited:?}");
    }
    assert_eq!(calls.started(), 9);
    // Ties at the millisecond of an expiry may fall either way, once per cycle.
    assert!((199..=201).contains(&cold), "{cold}");
    assert!((8_190..=8_210).contains(&fresh), "{fresh}");
    assert!((1_590..=1_610).contains(&stale), "{stale}");
    let snapshot = cache.snapshot();
    assert_eq!(snapshot.refreshes[RefreshResult::Stored], 8);
    assert_eq!(snapshot.stale_serves[StaleReason::Revalidating], stale);
    assert_quiet(&snapshot);
}

/// R1: a value that is stale when it arrives is refreshed no sooner than the cooling base after landing.
#[tokio::test(start_paused = true)]
async fn r1_a_value_that_arrives_stale_is_not_refreshed_at_every_read() {
    let cache = rows("arrives-stale", TTL).cooling(ms(100), ms(100)).build().unwrap();
    let calls = Arc::new(Calls::default());
    for _ in 0..1_000 {
        let counted = Arc::clone(&calls);
        let load = |_| async move {
            let _call = counted.call();
            Ok(Loaded::value(1).fresh_for(ms(0)))
        };
        cache.get_with(&7, load).await.unwrap();
        tokio::time::sleep(ms(1)).await;
    }
    assert!((2..=11).contains(&calls.started()), "{} loads in a second", calls.started());
}

/// L7, S6: a refresh for which there is no place among the flights is counted, and the answer says so.
#[tokio::test(start_paused = true)]
async fn l7_a_refresh_beyond_the_most_flights_is_counted() {
    let cache = rows("full", TTL).max_flights(1).build().unwrap();
    let calls = Arc::new(Calls::default());
    cache.insert(1, 10);
    tokio::time::sleep(ms(2_000)).await;
    let other = crate::support::ask(&cache, 2, calls.load(ms(100), Ok(2)));
    turns().await;
    let got = cache.get_with(&1, calls.load(ms(100), Ok(11))).await;
    assert_eq!(outcome(&got), Some(Outcome::Stale));
    assert_eq!(calls.started(), 1);
    let snapshot = cache.snapshot();
    assert_eq!(snapshot.stale_serves[StaleReason::Revalidating], 0, "nothing revalidates");
    assert_eq!(snapshot.stale_serves[StaleReason::Rejected], 1);
    assert_eq!(snapshot.rejections[RejectReason::FlightsFull], 1);
    assert_eq!(value(other.await.unwrap()), 2);
    // The next read tries again.
    cache.get_with(&1, calls.load(ms(100), Ok(12))).await.unwrap();
    tokio::time::sleep(ms(101)).await;
    assert_eq!(cache.peek(&1).as_deref(), Some(&12));
    assert_quiet(&cache.snapshot());
}

/// G2, R1: a refresh that finds no permit of its share is skipped and counted, not parked; the next read tries again.
#[tokio::test(start_paused = true)]
async fn g2_a_refresh_without_a_permit_is_skipped() {
    let gate = herdcache::Gate::builder(4).refresh_permits(1).build().unwrap();
    let cache = herdcache::Cache::<u64, u64, DbError>::builder("share", TTL, &gate).jitter(0.0).build().unwrap();
    let calls = Arc::new(Calls::default());
    (1..=3).for_each(|key| _ = cache.insert(key, key));
    tokio::time::sleep(ms(2_000)).await;
    for key in 1..=3 {
        let got = cache.get_with(&key, calls.load(ms(100), Ok(key + 10))).await;
        assert_eq!(outcome(&got), Some(Outcome::Stale));
    }
    turns().await;
    assert_eq!(calls.started(), 1);
    let snapshot = cache.snapshot();
    assert_eq!(snapshot.refreshes[RefreshResult::SkippedNoPermit], 2);
    assert_eq!(snapshot.stale_serves[StaleReason::Rejected], 2);
    assert_eq!(gate.snapshot().skipped, 2);
    tokio::time::sleep(ms(101)).await;
    cache.get_with(&2, calls.load(ms(100), Ok(12))).await.unwrap();
    tokio::time::sleep(ms(101)).await;
    assert_eq!(cache.peek(&2).as_deref(), Some(&12));
    assert_quiet(&cache.snapshot());
}

/// E2: a failed refresh changes nothing of a good entry, and the next one waits for the cooling to end.
#[tokio::test(start_paused = true)]
async fn e2_a_failed_refresh_leaves_the_entry_as_it_was() {
    let cache = rows("fails", TTL).cooling(ms(100), ms(100)).build().unwrap();
    let calls = Arc::new(Calls::default());
    cache.insert(7, 1);
    tokio::time::sleep(ms(2_000)).await;
    for _ in 0..200 {
        let got = cache.get_with(&7, calls.load(ms(10), Err(DbError("down")))).await;
        assert_eq!(outcome(&got), Some(Outcome::Stale));
        tokio::time::sleep(ms(1)).await;
    }
    // One at once, the next after 10 ms of loading and 100 to 150 ms of cooling.
    assert_eq!(calls.started(), 2);
    let snapshot = cache.snapshot();
    assert_eq!(snapshot.refreshes[RefreshResult::Failed], 2);
    assert!(snapshot.refreshes[RefreshResult::SkippedCooling] > 100);
    assert!(snapshot.stale_serves[StaleReason::Cooling] > 100);
    // The hard bound of the old value has not moved: 31 s after its birth.
    tokio::time::sleep(ms(28_790)).await;
    assert_eq!(cache.peek(&7).as_deref(), Some(&1));
    tokio::time::sleep(ms(11)).await;
    assert!(cache.peek(&7).is_none());
    assert_quiet(&cache.snapshot());
}
