//! T1, F2, G2: refreshes and warm-ups on their way by the tier.

use std::sync::Arc;
use std::time::Duration;

use herdcache::herdfeed::{FlightEnd, FlightTrigger, PermitClass, RefreshResult, SharedOperation, SharedRead};
use herdcache::{Cache, Gate, LoadContext, LocalStore, MemoryTier, Outcome, Ttl};
use tokio::time::sleep;

use super::{calls, get, leased, process, shared};
use crate::support::{DbError, ask, assert_quiet, ms, outcome, turns, value};

const STALE: Ttl = Ttl::fresh_for(ms(10_000)).stale_for(ms(60_000));

/// F2: the process whose value expires first loads it anew; the others find its value in the tier and load nothing.
#[tokio::test(start_paused = true)]
async fn f2_one_process_refreshes_for_all() {
    fastrand::seed(5);
    let tier = MemoryTier::new();
    let fleet: Vec<_> = (0..6).map(|_| leased("jittered", STALE, &tier).jitter(0.3).build().unwrap()).collect();
    let calls = calls();
    for cache in &fleet {
        get(cache, 7, &calls, (ms(10), 1)).await;
        turns().await;
    }
    assert_eq!(calls.started(), 1);
    // Everybody reads all the time, until all copies have expired once.
    for _ in 0..110 {
        for cache in &fleet {
            let cache = cache.clone();
            let calls = Arc::clone(&calls);
            tokio::spawn(async move { get(&cache, 7, &calls, (ms(10), 2)).await });
        }
        sleep(ms(100)).await;
    }
    turns().await;
    assert_eq!(calls.started(), 2, "one refresh for the fleet");
    let hits: u64 = fleet.iter().map(|cache| cache.snapshot().flights[FlightEnd::SharedHit]).sum();
    assert!(hits >= 10, "five first copies and five refreshed ones: {hits}");
    for cache in &fleet {
        assert_eq!(get(cache, 7, &calls, (ms(10), 3)).await, 2);
        assert_quiet(&cache.snapshot());
    }
}

/// G2: a refresh asks for its permit only when it comes to a load: with none free, the tier's value is taken, and a load
/// is skipped and counted; a caller who joined it is not refused.
#[tokio::test(start_paused = true)]
async fn g2_a_refresh_needs_its_permit_only_to_load() {
    let tier = MemoryTier::new();
    let gate = Gate::builder(8).refresh_permits(1).build().unwrap();
    let builder = Cache::<u64, u64, DbError>::builder("busy", STALE, &gate).jitter(0.0);
    let cache = builder.shared(tier.clone()).build().unwrap();
    let other = process("busy", STALE, &tier).build().unwrap();
    let calls = calls();
    for key in [1, 2, 3] {
        get(&cache, key, &calls, (ms(0), 10)).await;
    }
    turns().await;
    sleep(ms(11_000)).await;
    assert_eq!(get(&other, 1, &calls, (ms(0), 11)).await, 10);
    turns().await;
    assert_eq!(calls.started(), 4, "the other process has refreshed key 1");
    // The one refresh permit is out.
    assert_eq!(get(&cache, 3, &calls, (ms(5_000), 30)).await, 10);
    turns().await;
    assert_eq!(gate.snapshot().in_use[PermitClass::Refresh], 1);
    assert_eq!((get(&cache, 1, &calls, (ms(0), 99)).await, get(&cache, 2, &calls, (ms(0), 99)).await), (10, 10));
    turns().await;
    assert_eq!(get(&cache, 1, &calls, (ms(0), 99)).await, 11, "copied without a permit");
    let snapshot = cache.snapshot();
    assert_eq!(snapshot.refreshes[RefreshResult::SkippedNoPermit], 1);
    assert_eq!((calls.started(), snapshot.rejections.total()), (5, 0));
    // It does not ask the tier again with every read.
    let reads = tier.operations(SharedOperation::Read);
    for _ in 0..20 {
        get(&cache, 2, &calls, (ms(0), 99)).await;
        turns().await;
    }
    assert_eq!(tier.operations(SharedOperation::Read), reads);
    sleep(ms(6_000)).await;
    assert_eq!(get(&cache, 2, &calls, (ms(0), 22)).await, 10);
    turns().await;
    assert_eq!(get(&cache, 2, &calls, (ms(0), 99)).await, 22);
    assert_quiet(&cache.snapshot());
}

/// G2: a caller who joins a refresh that finds no permit waits for a foreground one.
#[tokio::test(start_paused = true)]
async fn g2_who_joins_a_refresh_is_not_refused_with_it() {
    let tier = MemoryTier::new();
    let ttl = Ttl::fresh_for(ms(1_000)).stale_for(ms(1_000));
    let gate = Gate::builder(8).refresh_permits(1).build().unwrap();
    let builder = Cache::<u64, u64, DbError>::builder("joined", ttl, &gate).jitter(0.0);
    let cache = builder.shared(tier.clone()).build().unwrap();
    let calls = calls();
    get(&cache, 1, &calls, (ms(0), 1)).await;
    get(&cache, 2, &calls, (ms(0), 1)).await;
    turns().await;
    sleep(ms(1_990)).await;
    assert_eq!(get(&cache, 1, &calls, (ms(4_000), 2)).await, 1);
    turns().await;
    tier.inject_on(SharedOperation::Read, herdcache::Fault::Slow(ms(30)));
    assert_eq!(get(&cache, 2, &calls, (ms(10), 2)).await, 1);
    sleep(ms(20)).await;
    // Beyond its bound by now, it joins the refresh, which is still asking the tier.
    assert_eq!(get(&cache, 2, &calls, (ms(10), 3)).await, 2);
    assert_eq!(cache.snapshot().outcomes[Outcome::Coalesced], 1);
    assert_eq!(cache.snapshot().refreshes[RefreshResult::SkippedNoPermit], 0);
}

/// U1: a warm-up takes what the tier has, without a call to the origin.
#[tokio::test(start_paused = true)]
async fn u1_a_warm_up_takes_what_the_tier_has() {
    let tier = MemoryTier::new();
    let calls = calls();
    let build = || {
        let counted = Arc::clone(&calls);
        process("warm", STALE, &tier)
            .build_over(move |cx: LoadContext<u64, u64>| {
                let calls = Arc::clone(&counted);
                async move {
                    let _call = calls.call();
                    sleep(ms(20)).await;
                    Ok::<_, DbError>(*cx.key())
                }
            })
            .unwrap()
    };
    let one = build();
    for key in 0..100 {
        value(one.get(&key).await);
    }
    turns().await;
    let other = build();
    let progress = other.warm_up(0..120).await;
    assert_eq!((progress.loaded, calls.started()), (120, 120), "twenty of its own");
    let snapshot = other.snapshot();
    assert_eq!((snapshot.flights[FlightEnd::SharedHit], snapshot.flights[FlightEnd::Loaded]), (100, 20));
    assert_eq!(snapshot.flight_starts[FlightTrigger::Warmup], 120);
    assert_eq!(shared(&other).reads[SharedRead::Hit], 100);
    assert_eq!(outcome(&other.get(&50).await), Some(Outcome::Hit));
    assert_quiet(&snapshot);
}

/// F4: refresh-ahead goes the same way, and at most one runs.
#[tokio::test(start_paused = true)]
async fn f4_early_refreshes_go_by_the_tier() {
    fastrand::seed(9);
    let tier = MemoryTier::new();
    let ttl = Ttl::fresh_for(ms(10_000));
    let cache = leased("early", ttl, &tier).early_refresh(1.0).build().unwrap();
    let calls = calls();
    get(&cache, 7, &calls, (ms(50), 1)).await;
    let mut slow = 0;
    for _ in 0..40_000 {
        let began = tokio::time::Instant::now();
        get(&cache, 7, &calls, (ms(50), 1)).await;
        slow += u64::from(began.elapsed() > Duration::ZERO);
        sleep(ms(1)).await;
    }
    let snapshot = cache.snapshot();
    assert_eq!(slow, 0, "nobody waits");
    assert!((4..=5).contains(&snapshot.flight_starts[FlightTrigger::Early]), "{:?}", snapshot.flight_starts);
    assert_eq!(calls.started(), 1 + snapshot.flight_starts[FlightTrigger::Early]);
}

/// S5: a caller within a load may join a flight that is still asking the tier; its permit is lent when that comes to load.
#[tokio::test(start_paused = true)]
async fn s5_a_flight_that_asks_the_tier_may_be_lent_a_permit() {
    let tier = MemoryTier::new();
    let gate = Gate::builder(1).queue(8).queue_timeout(ms(5_000)).build().unwrap();
    let builder = Cache::<u64, u64, DbError>::builder("lent", STALE, &gate).jitter(0.0);
    let cache = builder.shared(tier.clone()).build().unwrap();
    let calls = calls();
    let inner = cache.clone();
    let counted = Arc::clone(&calls);
    let outer = {
        let cache = cache.clone();
        tokio::spawn(async move {
            let load = |_| async move {
                sleep(ms(10)).await;
                Ok(value(inner.get_with(&2, counted.load(ms(10), Ok(5))).await) + 1)
            };
            value(cache.get_with(&1, load).await)
        })
    };
    sleep(ms(5)).await;
    tier.inject_on(SharedOperation::Read, herdcache::Fault::Slow(ms(20)));
    let other = ask(&cache, 2, calls.load(ms(10), Ok(5)));
    let began = tokio::time::Instant::now();
    assert_eq!((outer.await.unwrap(), value(other.await.unwrap())), (6, 5));
    assert!(began.elapsed() <= ms(100), "{:?}", began.elapsed());
    assert_quiet(&cache.snapshot());
}

/// T1: a store that is full need not take what the tier has; a stale value there is loaded anew all the same, or its
/// readers would be answered with it until its end.
#[cfg(feature = "lab")]
#[tokio::test(start_paused = true)]
async fn t1_a_stale_value_that_finds_no_room_is_refreshed() {
    let tier = MemoryTier::new();
    let one = process("no-room", STALE, &tier).build().unwrap();
    // A store that turns new keys away: the others always take them.
    let full = process("no-room", STALE, &tier).store(LocalStore::Moka).steady().capacity(10).build().unwrap();
    let calls = calls();
    get(&one, 99, &calls, (ms(10), 1)).await;
    turns().await;
    sleep(ms(15_000)).await;
    // Ten keys that everybody asks for: none of them makes room for a key that nobody has asked for yet.
    for _ in 0..20 {
        for key in 0..10 {
            get(&full, key, &calls, (ms(1), 5)).await;
        }
    }
    let before = calls.started();
    let got = full.get_with(&99, calls.load(ms(10), Ok(2))).await;
    assert_eq!((outcome(&got), value(got)), (Some(Outcome::Stale), 1));
    assert!(full.peek(&99).is_none(), "the test wants a store that did not take it");
    sleep(ms(20)).await;
    assert_eq!((calls.started(), full.snapshot().refreshes[RefreshResult::Stored]), (before + 1, 1));
    assert_eq!(get(&full, 99, &calls, (ms(10), 3)).await, 2, "from the tier, which has the new value");
    assert_eq!(calls.started(), before + 1);
    assert_quiet(&full.snapshot());
}
