//! O1: what is switched off does nothing, the account says so, and switching under load leaves nothing behind.

use std::sync::Arc;

use herdcache::herdfeed::{
    CacheSnapshot, ClosedSet, DiscardReason, FlightRole, FlightTrigger, Measure, ProtectionLevel,
};
use herdcache::{Cache, Gate, GetError, LoadContext, Outcome, Refreshing, RejectReason, Switch, Ttl};
use tokio::time::Instant;

use crate::support::{Calls, DbError, Rows, ask, assert_quiet, ms, outcome, rows, turns, value};

const TTL: Ttl = Ttl::fresh_for(ms(1_000)).stale_for(ms(60_000));

fn observed(name: &str) -> (Rows, Gate) {
    let gate = Gate::builder(1).queue(0).refresh_permits(0).build().unwrap();
    let cache = Cache::builder(name, TTL, &gate).jitter(0.5).early_refresh(10.0).observe_only().build().unwrap();
    (cache, gate)
}

fn callers(cache: &Rows, calls: &Arc<Calls>, count: u64) -> Vec<tokio::task::JoinHandle<herdcache::Got<u64, DbError>>> {
    (0..count).map(|n| ask(cache, 7, calls.load(ms(100), Ok(n)))).collect()
}

/// O1: `observe_only` runs bare cache-aside: N loads for N callers, no limit at the gate, each with its own value.
#[tokio::test(start_paused = true)]
async fn o1_observe_only_loads_once_for_each_caller() {
    let (cache, gate) = observed("o1-bare");
    let calls = Arc::new(Calls::default());
    for (n, caller) in callers(&cache, &calls, 50).into_iter().enumerate() {
        let got = caller.await.unwrap();
        assert_eq!((outcome(&got), value(got)), (Some(Outcome::Loaded), n as u64));
    }
    assert_eq!((calls.started(), calls.peak()), (50, 50));
    assert_eq!(outcome(&cache.get_with(&7, calls.load(ms(1), Ok(9))).await), Some(Outcome::Hit));
    let snapshot = cache.snapshot();
    assert_eq!((snapshot.protection, snapshot.off.as_slice()), (Some(ProtectionLevel::Observe), Measure::all()));
    assert_eq!((snapshot.participants[FlightRole::Leader], snapshot.participants[FlightRole::Waiter]), (50, 0));
    assert_eq!(gate.snapshot().usage_peak, 0, "nobody took a permit");
    assert_quiet(&snapshot);
}

/// O1: nor are failures shared, stale values answered, values refreshed ahead or TTLs shortened.
#[tokio::test(start_paused = true)]
async fn o1_observe_only_has_no_other_measure_either() {
    let (cache, _gate) = observed("o1-plain");
    let calls = Arc::new(Calls::default());
    for n in 1..=3 {
        let failed = cache.get_with(&7, calls.load(ms(10), Err(DbError("down")))).await;
        assert!(matches!(failed, Err(GetError::Failed(_))), "{failed:?}");
        assert_eq!(calls.started(), n);
    }
    assert_eq!(value(cache.get_with(&7, calls.load(ms(100), Ok(1))).await), 1);
    for _ in 0..999 {
        tokio::time::advance(ms(1)).await;
        assert_eq!(outcome(&cache.get_with(&7, calls.load(ms(100), Ok(2))).await), Some(Outcome::Hit));
    }
    tokio::time::advance(ms(1)).await;
    let began = Instant::now();
    let got = cache.get_with(&7, calls.load(ms(100), Ok(2))).await;
    assert_eq!((outcome(&got), value(got), began.elapsed()), (Some(Outcome::Loaded), 2, ms(100)));
    let snapshot = cache.snapshot();
    assert_eq!((calls.started(), snapshot.flight_starts[FlightTrigger::Miss]), (5, 5));
    assert_eq!((snapshot.stale_serves.total(), snapshot.rejections.total()), (0, 0));
    assert_quiet(&snapshot);
}

/// O1: without stale values a failed load is an error, though an older value is there.
#[tokio::test(start_paused = true)]
async fn o1_without_stale_values_an_error_is_an_error() {
    let cache = rows("o1-no-stale", TTL).build().unwrap();
    let calls = Arc::new(Calls::default());
    cache.insert(7, 1);
    tokio::time::sleep(ms(2_000)).await;
    cache.set_measure(Measure::Stale, Switch::Off);
    let failed = cache.get_with(&7, calls.load(ms(10), Err(DbError("down")))).await;
    assert_eq!(outcome(&failed), Some(Outcome::Failed));
    assert_eq!(cache.snapshot().off, [Measure::Stale]);
    cache.set_measure(Measure::Stale, Switch::On);
    assert_eq!(outcome(&cache.get_with(&7, calls.load(ms(10), Ok(2))).await), Some(Outcome::Stale));
    assert_eq!(cache.snapshot().protection, Some(ProtectionLevel::Process));
}

fn assert_healed(snapshot: &CacheSnapshot) {
    assert_quiet(snapshot);
    assert!(snapshot.off.is_empty());
}

/// O1, L2: single-flight switched on while a stampede runs: whoever comes now shares one more load, and all of it ends.
#[tokio::test(start_paused = true)]
async fn o1_switching_single_flight_on_under_load_heals() {
    let cache = rows("o1-on", TTL).build().unwrap();
    cache.set_measure(Measure::SingleFlight, Switch::Off);
    let calls = Arc::new(Calls::default());
    let wild = callers(&cache, &calls, 20);
    tokio::time::sleep(ms(50)).await;
    assert_eq!(calls.started(), 20);
    cache.set_measure(Measure::SingleFlight, Switch::On);
    let tame = callers(&cache, &calls, 20);
    tokio::time::sleep(ms(25)).await;
    assert_eq!(calls.started(), 21);
    for caller in wild {
        assert_eq!(outcome(&caller.await.unwrap()), Some(Outcome::Loaded));
    }
    let mut outcomes = Vec::new();
    for caller in tame {
        outcomes.push(outcome(&caller.await.unwrap()).unwrap());
    }
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == Outcome::Coalesced).count(), 19);
    assert_eq!(outcomes[0], Outcome::Loaded);
    assert_healed(&cache.snapshot());
}

/// O1: switched off while a flight runs, its callers stay together, and the next load for themselves.
#[tokio::test(start_paused = true)]
async fn o1_switching_single_flight_off_under_load_disturbs_nobody() {
    let cache = rows("o1-off", TTL).build().unwrap();
    let calls = Arc::new(Calls::default());
    let together = callers(&cache, &calls, 10);
    tokio::time::sleep(ms(50)).await;
    cache.set_measure(Measure::SingleFlight, Switch::Off);
    let alone = callers(&cache, &calls, 10);
    turns().await;
    assert_eq!(calls.started(), 11);
    for (n, caller) in together.into_iter().enumerate() {
        let expected = if n == 0 { Outcome::Loaded } else { Outcome::Coalesced };
        assert_eq!(outcome(&caller.await.unwrap()), Some(expected));
    }
    for caller in alone {
        assert_eq!(outcome(&caller.await.unwrap()), Some(Outcome::Loaded));
    }
    cache.set_measure(Measure::SingleFlight, Switch::On);
    assert_healed(&cache.snapshot());
}

/// O1, L5: an invalidation supersedes every load of a stampede: none of them is stored.
#[tokio::test(start_paused = true)]
async fn o1_an_invalidation_reaches_every_load_of_a_stampede() {
    let cache = rows("o1-doomed", TTL).build().unwrap();
    cache.set_measure(Measure::SingleFlight, Switch::Off);
    let calls = Arc::new(Calls::default());
    let wild = callers(&cache, &calls, 5);
    tokio::time::sleep(ms(50)).await;
    cache.invalidate(&7);
    cache.set_measure(Measure::SingleFlight, Switch::On);
    for caller in wild {
        assert_eq!(outcome(&caller.await.unwrap()), Some(Outcome::Loaded));
    }
    assert!(cache.peek(&7).is_none());
    assert_eq!(cache.snapshot().discards[DiscardReason::Invalidated], 5);
    assert_eq!(value(cache.get_with(&7, calls.load(ms(1), Ok(9))).await), 9);
    assert_healed(&cache.snapshot());
}

/// O1, L3: permits switched on again count from there: loads that ran without are let be, new ones are limited.
#[tokio::test(start_paused = true)]
async fn o1_permits_switched_off_and_on_limit_again() {
    let gate = Gate::builder(2).queue(0).build().unwrap();
    let cache = Cache::<u64, u64, DbError>::builder("o1-permits", TTL, &gate).jitter(0.0).build().unwrap();
    let calls = Arc::new(Calls::default());
    cache.set_measure(Measure::Permits, Switch::Off);
    let free: Vec<_> = (0..10).map(|key| ask(&cache, key, calls.load(ms(100), Ok(key)))).collect();
    turns().await;
    assert_eq!((calls.started(), gate.snapshot().used()), (10, 0));
    cache.set_measure(Measure::Permits, Switch::On);
    let limited: Vec<_> = (10..14).map(|key| ask(&cache, key, calls.load(ms(100), Ok(key)))).collect();
    turns().await;
    assert_eq!((calls.started(), gate.snapshot().used()), (12, 2));
    for caller in free {
        assert!(caller.await.unwrap().is_ok());
    }
    let mut refused = 0;
    for caller in limited {
        let full = matches!(caller.await.unwrap(), Err(GetError::Rejected { reason: RejectReason::QueueFull, .. }));
        refused += u64::from(full);
    }
    assert_eq!((refused, gate.snapshot().law_violations), (2, 0));
    assert_healed(&cache.snapshot());
}

/// L5: without single-flight it counts when a load began to read: a refresh that was asked for first, and runs in the
/// background, may begin second.
#[tokio::test(start_paused = true)]
async fn l5_without_single_flight_the_load_that_began_last_is_what_stays() {
    let cache = Cache::builder("l5-began", TTL, &Gate::new(8))
        .observe_only()
        .build_over(move |cx: LoadContext<u64, u64>| async move {
            tokio::time::sleep(ms(*cx.key())).await;
            Ok::<_, DbError>(2)
        })
        .unwrap();
    assert_eq!(cache.refresh(&10), Refreshing::Started);
    let reader = cache.get_with(&10, |_| async {
        tokio::time::sleep(ms(50)).await;
        Ok(1)
    });
    assert_eq!(value(reader.await), 1, "it began first, and took longer");
    assert_eq!(cache.peek(&10).as_deref(), Some(&2));
    assert_eq!(cache.snapshot().discards[DiscardReason::NewerWrite], 1);
    assert_quiet(&cache.snapshot());
}

/// L5, W1: a load that another one outran, and that an invalidation supersedes in turn, is told as invalidated.
#[tokio::test(start_paused = true)]
async fn l5_an_outrun_load_that_is_invalidated_is_told_as_invalidated() {
    let cache = Cache::<u64, u64, DbError>::builder("l5-outrun", TTL, &Gate::new(8)).observe_only().build().unwrap();
    let calls = Arc::new(Calls::default());
    let outrun = ask(&cache, 7, calls.load(ms(100), Ok(1)));
    turns().await;
    assert_eq!(value(cache.get_with(&7, calls.load(ms(10), Ok(2))).await), 2);
    cache.invalidate(&7);
    assert_eq!(value(outrun.await.unwrap()), 1);
    let discards = cache.snapshot().discards;
    assert_eq!((discards[DiscardReason::Invalidated], discards.total()), (1, 1));
    assert!(cache.peek(&7).is_none());
    assert_quiet(&cache.snapshot());
}
