//! G5: an origin that is down for every key, with its numbers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use herdcache::herdfeed::{CircuitState, OriginResult, PermitResult, RefreshResult, StaleReason};
use herdcache::{Cache, Gate, GetError, Got, LoadContext, Outcome, ReadThrough, Refreshing, RejectReason, Ttl};
use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::support::{Calls, DbError, Load, Rows, ask, assert_quiet, ms, outcome, turns, value};

/// An origin that can die: then each call fails after `fails_after`, if ever.
#[derive(Clone)]
struct Origin {
    calls: Arc<Calls>,
    dead: Arc<AtomicBool>,
    fails_after: Duration,
}

impl Origin {
    fn dead(fails_after: Duration) -> Self {
        Self { calls: Arc::default(), dead: Arc::new(AtomicBool::new(true)), fails_after }
    }

    fn load(&self) -> impl FnOnce(LoadContext<u64, u64>) -> Load + Send + 'static {
        let this = self.clone();
        move |cx| {
            let key = *cx.key();
            Box::pin(async move {
                let _call = this.calls.call();
                if this.dead.load(SeqCst) {
                    sleep(this.fails_after).await;
                    return Err(DbError("down"));
                }
                sleep(ms(20)).await;
                Ok(key)
            })
        }
    }
}

/// How requests for as many keys of a dead origin fare, 10,000 a second.
struct Outage {
    gate: Gate,
    cache: Rows,
    origin: Origin,
    /// Outcomes and how long they took.
    ends: Vec<(Option<Outcome>, Duration)>,
}

async fn outage(name: &str, fails_after: Duration, gate: Gate, ticks: u64) -> Outage {
    let cache: Rows =
        Cache::builder(name, Ttl::fresh_for(ms(60_000)), &gate).jitter(0.0).origin_timeout(ms(500)).build().unwrap();
    let origin = Origin::dead(fails_after);
    let ends = Arc::new(Mutex::new(Vec::new()));
    let mut callers = Vec::new();
    for tick in 0..ticks {
        for key in tick * 100..(tick + 1) * 100 {
            let (cache, load, ends) = (cache.clone(), origin.load(), Arc::clone(&ends));
            callers.push(tokio::spawn(async move {
                let began = Instant::now();
                let got = cache.get_with(&key, load).await;
                ends.lock().push((outcome(&got), began.elapsed()));
            }));
        }
        sleep(ms(10)).await;
    }
    for caller in callers {
        caller.await.unwrap();
    }
    let ends = std::mem::take(&mut *ends.lock());
    Outage { gate, cache, origin, ends }
}

/// After healing, the time until the gate lets loads through again.
async fn heal(outage: &Outage) -> Duration {
    outage.origin.dead.store(false, SeqCst);
    let healed = Instant::now();
    for key in 200_000.. {
        if outage.cache.get_with(&key, outage.origin.load()).await.is_ok() {
            break;
        }
        sleep(ms(10)).await;
    }
    let took = healed.elapsed();
    assert_eq!(outage.gate.snapshot().circuit, Some(CircuitState::Closed));
    took
}

/// G5: 100,000 keys of an origin that gives errors cost 38 calls, not 100,000; caches on another gate notice nothing;
/// a healed origin is found within one probe interval.
#[tokio::test(start_paused = true)]
async fn g5_a_dead_origin_costs_few_calls() {
    let other = Gate::new(4);
    let healthy = Cache::builder("g5-healthy", Ttl::fresh_for(ms(50)), &other).jitter(0.0).build().unwrap();
    let beside = tokio::spawn(async move {
        let calls = Arc::new(Calls::default());
        for _ in 0..100 {
            assert_eq!(value(healthy.get_with(&7, calls.load(ms(20), Ok(1))).await), 1);
            sleep(ms(80)).await;
        }
        calls.started()
    });
    let outage = outage("g5-errors", ms(50), Gate::builder(10).build().unwrap(), 1_000).await;
    assert_eq!(beside.await.unwrap(), 100);
    let calls = outage.origin.calls.started();
    let slow = outage.ends.iter().filter(|(_, took)| *took > ms(1)).count();
    println!("{calls} calls, {slow} of {} callers waited", outage.ends.len());
    // 20 to see it, 9 that had got a permit meanwhile, a probe each second.
    assert_eq!(calls, 20 + 9 + 9);
    // Those who called, and the 40 of the queue before it was sent away.
    assert_eq!(slow, 38 + 31);
    let gate = outage.gate.snapshot();
    assert_eq!((gate.circuit, gate.used(), gate.pending), (Some(CircuitState::Open), 0, 0));
    let account = outage.cache.snapshot();
    assert_eq!(account.outcomes[Outcome::Failed] + account.outcomes[Outcome::Rejected], 100_000);
    assert_eq!(account.rejections[RejectReason::OriginDown], gate.results[PermitResult::OriginDown]);
    assert!(account.rejections[RejectReason::OriginDown] > 98_000, "{:?}", account.rejections);
    let took = heal(&outage).await;
    assert!(took <= ms(1_020), "{took:?}");
    assert_quiet(&outage.cache.snapshot());
}

/// G5: the same of one that hangs; no more callers wait for the timeout than it takes to see it.
#[tokio::test(start_paused = true)]
async fn g5_a_hanging_origin_costs_few_calls() {
    let gate = Gate::builder(10).build().unwrap();
    let outage = outage("g5-hangs", ms(3_600_000), gate, 1_000).await;
    let calls = outage.origin.calls.started();
    let slow = outage.ends.iter().filter(|(_, took)| *took > ms(1)).count();
    println!("{calls} calls, {slow} of {} callers waited", outage.ends.len());
    // Twice ten that took 500 ms, then a probe each second; 40 in the queue, twice, and who waited behind probes.
    assert_eq!((calls, slow), (28, 108));
    assert_eq!(outage.cache.snapshot().origin_results[OriginResult::Timeout], calls);
    let took = heal(&outage).await;
    assert!(took <= ms(1_020), "{took:?}");
    assert_quiet(&outage.cache.snapshot());
}

/// G5: with few permits and a long timeout few loads ever end; the gate gives the origin up all the same, at the first
/// timeouts, with one permit at the second.
#[tokio::test(start_paused = true)]
async fn g5_few_permits_suffice_to_see_an_origin_that_hangs() {
    for (permits, calls, after) in [(1, 2, 10_000), (2, 2, 5_000), (4, 4, 5_000), (8, 8, 5_000)] {
        let gate = Gate::builder(permits).build().unwrap();
        let cache: Rows = Cache::builder("g5-few", Ttl::fresh_for(ms(1_000)), &gate).build().unwrap();
        let (origin, began) = (Origin::dead(ms(3_600_000)), Instant::now());
        for tick in 0.. {
            (0..10).for_each(|key| drop(ask(&cache, tick * 10 + key, origin.load())));
            sleep(ms(50)).await;
            if gate.snapshot().circuit == Some(CircuitState::Open) {
                break;
            }
        }
        let took = began.elapsed();
        assert!(took >= ms(after) && took <= ms(after + 100), "{permits} permits: {took:?}");
        assert_eq!(origin.calls.started(), calls, "{permits} permits");
    }
}

/// G5: a refresh that finds its key under way has not been the probe: the next load is.
#[tokio::test(start_paused = true)]
async fn g5_a_refresh_that_was_not_needed_wastes_no_probe() {
    let gate = Gate::builder(8).build().unwrap();
    let builder = Cache::<u64, u64, DbError>::builder("g5-needless", Ttl::fresh_for(ms(60_000)), &gate);
    let load = |cx: LoadContext<u64, u64>| async move {
        if *cx.key() == 7 {
            sleep(ms(60_000)).await;
        }
        if *cx.key() < 100 { Err(DbError("down")) } else { Ok(*cx.key()) }
    };
    let cache = builder.origin_timeout(ms(60_000)).flight_deadline(ms(60_000)).build_over(load).unwrap();
    let hangs = ask_through(&cache, 7);
    turns().await;
    for key in 10..30 {
        assert!(cache.get(&key).await.is_err());
    }
    assert_eq!(gate.snapshot().circuit, Some(CircuitState::Open));
    sleep(ms(1_000)).await;
    assert_eq!(cache.refresh(&7), Refreshing::UnderWay);
    assert_eq!(cache.get(&100).await.unwrap().as_deref(), Some(&100));
    assert_eq!(gate.snapshot().circuit, Some(CircuitState::Closed));
    hangs.abort();
}

/// A caller in a task of its own.
fn ask_through(cache: &ReadThrough<u64, u64, DbError>, key: u64) -> JoinHandle<Got<u64, DbError>> {
    let cache = cache.clone();
    tokio::spawn(async move { cache.get(&key).await })
}

/// G5: without it the same origin gets all the calls that its permits allow.
#[tokio::test(start_paused = true)]
async fn g5_without_fail_fast_every_key_pays() {
    let gate = Gate::builder(10).without_fail_fast().build().unwrap();
    let outage = outage("g5-off", ms(50), gate, 100).await;
    assert!(outage.origin.calls.started() > 190, "{}", outage.origin.calls.started());
    assert_eq!(outage.cache.snapshot().rejections[RejectReason::OriginDown], 0);
}

/// G5: stale and reserve values are answered meanwhile, and a refused read says when the next probe goes.
#[tokio::test(start_paused = true)]
async fn g5_older_values_are_answered_meanwhile() {
    let gate = Gate::builder(10).build().unwrap();
    let ttl = Ttl::fresh_for(ms(1_000)).stale_for(ms(1_000)).stale_if_error_for(ms(60_000));
    let cache: Rows = Cache::builder("g5-older", ttl, &gate).jitter(0.0).build().unwrap();
    let calls = Arc::new(Calls::default());
    for key in 1..=2 {
        assert_eq!(value(cache.get_with(&key, calls.load(ms(10), Ok(key))).await), key);
    }
    sleep(ms(1_500)).await;
    for key in 100..150 {
        let _ = cache.get_with(&key, calls.load(ms(1), Err(DbError("down")))).await;
    }
    assert_eq!(gate.snapshot().circuit, Some(CircuitState::Open));
    let started = calls.started();
    let stale = cache.get_with(&1, calls.load(ms(10), Ok(9))).await;
    assert_eq!((outcome(&stale), value(stale)), (Some(Outcome::Stale), 1));
    let refused = cache.get_with(&3, calls.load(ms(10), Ok(3))).await;
    let Err(GetError::Rejected { reason: RejectReason::OriginDown, retry_in }) = refused else { panic!("{refused:?}") };
    assert!(retry_in > ms(900) && retry_in <= ms(1_000), "{retry_in:?}");
    assert_eq!(calls.started(), started);
    let account = cache.snapshot();
    assert_eq!(
        (account.stale_serves[StaleReason::Rejected], account.refreshes[RefreshResult::SkippedNoPermit]),
        (1, 1)
    );
    // Past the hard bound; a probe is due by then, and fails.
    sleep(ms(1_000)).await;
    let probe = cache.get_with(&2, calls.load(ms(10), Err(DbError("down")))).await;
    assert_eq!((outcome(&probe), value(probe)), (Some(Outcome::Reserve), 2));
    let reserve = cache.get_with(&1, calls.load(ms(10), Ok(9))).await;
    assert_eq!((outcome(&reserve), value(reserve)), (Some(Outcome::Reserve), 1));
    let account = cache.snapshot();
    assert_eq!((account.stale_serves[StaleReason::Error], account.stale_serves[StaleReason::Rejected]), (1, 2));
    assert_eq!(calls.started(), started + 1);
    assert_quiet(&account);
}

/// G5, O1: a cache that only observes is not refused, and tells the gate nothing.
#[tokio::test(start_paused = true)]
async fn g5_does_nothing_to_a_cache_that_only_observes() {
    let gate = Gate::builder(10).build().unwrap();
    let cache: Rows = Cache::builder("g5-observed", Ttl::fresh_for(ms(1_000)), &gate).observe_only().build().unwrap();
    let calls = Arc::new(Calls::default());
    for key in 0..50 {
        assert!(cache.get_with(&key, calls.load(ms(1), Err(DbError("down")))).await.is_err());
    }
    assert_eq!((gate.snapshot().circuit, calls.started()), (Some(CircuitState::Closed), 50));
}

/// G5: callers that leave are no failures of the origin.
#[tokio::test(start_paused = true)]
async fn g5_cancelled_and_closed_loads_are_no_failures() {
    let gate = Gate::new(64);
    let cache: Rows = Cache::builder("g5-left", Ttl::fresh_for(ms(1_000)), &gate).build().unwrap();
    let calls = Arc::new(Calls::default());
    let callers: Vec<_> = (0..50).map(|key| ask(&cache, key, calls.load(ms(3_600_000), Ok(1)))).collect();
    turns().await;
    assert_eq!(calls.started(), 50);
    cache.shutdown(ms(0)).await;
    for caller in callers {
        assert!(matches!(caller.await.unwrap(), Err(GetError::Closed)));
    }
    assert_eq!((gate.snapshot().circuit, gate.snapshot().used()), (Some(CircuitState::Closed), 0));
}
