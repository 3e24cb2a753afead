//! S1: what becomes of a load when the last caller that waited for it has left.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use herdcache::herdfeed::{FlightEnd, OriginResult};
use herdcache::{Builder, Cache, Gate, Got, Outcome, Ttl, WhenUnwatched};

use crate::support::{Calls, DbError, Load, Rows, ask, assert_quiet, ms, outcome, rows, turns, value};

const TTL: Ttl = Ttl::fresh_for(ms(1_000)).stale_for(ms(10_000));

fn abandoning(name: &str) -> Builder<u64, u64, DbError> {
    rows(name, TTL).when_unwatched(WhenUnwatched::Abandon)
}

fn one_permit(name: &str) -> (Rows, Gate) {
    let gate = Gate::builder(1).build().unwrap();
    let cache = Cache::builder(name, TTL, &gate).jitter(0.0).when_unwatched(WhenUnwatched::Abandon).build().unwrap();
    (cache, gate)
}

/// S1: by default the load finishes and fills the cache; abandoned, it is dropped, its permit comes back, nothing cools.
#[tokio::test(start_paused = true)]
async fn s1_the_last_waiter_decides_what_was_chosen() {
    let gate = Gate::new(4);
    for what in [WhenUnwatched::Finish, WhenUnwatched::Abandon] {
        let cache: Rows = Cache::builder("s1-last", TTL, &gate).when_unwatched(what).build().unwrap();
        let calls = Arc::new(Calls::default());
        let callers = [ask(&cache, 7, calls.load(ms(100), Ok(1))), ask(&cache, 7, calls.load(ms(100), Ok(2)))];
        tokio::time::sleep(ms(50)).await;
        callers[0].abort();
        turns().await;
        assert_eq!((cache.snapshot().flights_active, gate.snapshot().used()), (1, 1), "one waits still");
        callers[1].abort();
        turns().await;
        let running = u64::from(what == WhenUnwatched::Finish);
        assert_eq!([cache.snapshot().flights_active, gate.snapshot().used()], [running; 2], "{what:?}");
        tokio::time::sleep(ms(100)).await;
        let got = cache.get_with(&7, calls.load(ms(100), Ok(3))).await;
        let (expected, loads) =
            if what == WhenUnwatched::Finish { ((Some(Outcome::Hit), 1), 1) } else { ((Some(Outcome::Loaded), 3), 2) };
        assert_eq!(((outcome(&got), value(got)), calls.started()), (expected, loads), "{what:?}");
        let snapshot = cache.snapshot();
        assert_eq!(snapshot.flights[FlightEnd::Abandoned], 1 - running);
        assert_eq!(snapshot.origin_results[OriginResult::Abandoned], 1 - running);
        assert_eq!(snapshot.origin_results[OriginResult::Error], 0, "nobody's failure");
        assert_eq!(snapshot.outcomes[Outcome::Cancelled], 2);
        assert_quiet(&snapshot);
    }
}

/// S1, S4: callers who give up by their own limit leave too.
#[tokio::test(start_paused = true)]
async fn s1_callers_that_time_out_leave_as_well() {
    let cache = abandoning("s1-limit").build().unwrap();
    let calls = Arc::new(Calls::default());
    let hasty = cache.with_wait_timeout(ms(20));
    let (first, second) =
        tokio::join!(hasty.get_with(&7, calls.load(ms(100), Ok(1))), hasty.get_with(&7, calls.load(ms(100), Ok(2))));
    assert_eq!([outcome(&first), outcome(&second)], [Some(Outcome::TimedOut); 2]);
    turns().await;
    let snapshot = cache.snapshot();
    assert_eq!((snapshot.flights[FlightEnd::Abandoned], calls.started()), (1, 1));
    assert_quiet(&snapshot);
}

/// S1: a load in the gate's queue, or held back by older loads, is abandoned before it begins.
#[tokio::test(start_paused = true)]
async fn s1_a_queued_load_leaves_the_queue() {
    let (cache, gate) = one_permit("s1-queued");
    let calls = Arc::new(Calls::default());
    let busy = ask(&cache, 1, calls.load(ms(100), Ok(1)));
    turns().await;
    let queued = ask(&cache, 2, calls.load(ms(100), Ok(2)));
    turns().await;
    assert_eq!(gate.snapshot().pending, 1);
    queued.abort();
    turns().await;
    assert_eq!((gate.snapshot().pending, cache.snapshot().flights_active), (0, 1));
    assert_eq!(value(busy.await.unwrap()), 1);
    let snapshot = cache.snapshot();
    assert_eq!((calls.started(), snapshot.flights[FlightEnd::Abandoned], snapshot.origin_calls), (1, 1, 1));
    assert_quiet(&snapshot);
}

/// S1, S7: blocking work cannot be stopped: the key is free at once, the permit when the work has ended.
#[tokio::test]
async fn s1_blocking_work_keeps_its_permit() {
    let (cache, gate) = one_permit("s1-blocking");
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let load = move |cx: herdcache::LoadContext<u64, u64>| -> Load {
        Box::pin(async move {
            cx.run_blocking(move || wait.recv().is_ok()).await.unwrap();
            Ok(1)
        })
    };
    let caller = ask(&cache, 7, load);
    turns().await;
    caller.abort();
    turns().await;
    let snapshot = cache.snapshot();
    assert_eq!((snapshot.flights[FlightEnd::Abandoned], snapshot.origin_abandoned), (1, 1));
    assert_eq!(gate.snapshot().used(), 1);
    go.send(()).unwrap();
    let limit = std::time::Instant::now() + Duration::from_secs(5);
    while gate.snapshot().used() > 0 && std::time::Instant::now() < limit {
        tokio::time::sleep(ms(2)).await;
    }
    assert_eq!(value(cache.get_with(&7, |_| async { Ok(2) }).await), 2);
    assert_quiet(&cache.snapshot());
}

/// S1, R1: a refresh has nobody who waits; a caller that joins it and leaves does not end it.
#[tokio::test(start_paused = true)]
async fn s1_a_refresh_is_never_abandoned() {
    let cache = abandoning("s1-refresh").build().unwrap();
    let calls = Arc::new(Calls::default());
    cache.insert(7, 1);
    tokio::time::sleep(ms(10_900)).await;
    assert_eq!(outcome(&cache.get_with(&7, calls.load(ms(200), Ok(2))).await), Some(Outcome::Stale));
    tokio::time::sleep(ms(150)).await;
    let joined = ask(&cache, 7, calls.load(ms(200), Ok(3)));
    turns().await;
    assert_eq!(cache.snapshot().waiting, 1);
    joined.abort();
    tokio::time::sleep(ms(60)).await;
    assert_eq!((cache.peek(&7).as_deref(), calls.started()), (Some(&2), 1));
    assert_quiet(&cache.snapshot());
}

/// S1, F5: a caller that was answered an older value meanwhile leaves its load to go on, whoever else gives up.
#[tokio::test(start_paused = true)]
async fn s1_a_soft_timeout_lets_the_load_go_on() {
    let ttl = Ttl::fresh_for(ms(1_000)).stale_if_error_for(ms(10_000));
    let cache = rows("s1-soft", ttl).when_unwatched(WhenUnwatched::Abandon).soft_timeout(ms(50)).build().unwrap();
    let calls = Arc::new(Calls::default());
    cache.insert(7, 1);
    tokio::time::sleep(ms(2_000)).await;
    let other = ask(&cache.with_wait_timeout(ms(20)), 7, calls.load(ms(200), Ok(2)));
    assert_eq!(outcome(&cache.get_with(&7, calls.load(ms(200), Ok(3))).await), Some(Outcome::Reserve));
    assert_eq!(outcome(&other.await.unwrap()), Some(Outcome::TimedOut));
    tokio::time::sleep(ms(200)).await;
    assert_eq!((cache.peek(&7).is_some(), calls.started()), (true, 1));
    assert_quiet(&cache.snapshot());
}

/// S1, L2: without single-flight each load is its caller's own.
#[tokio::test(start_paused = true)]
async fn s1_loads_without_single_flight_are_abandoned_one_by_one() {
    let cache = abandoning("s1-bare").observe_only().build().unwrap();
    let calls = Arc::new(Calls::default());
    let callers: Vec<_> = (0..3).map(|n| ask(&cache, 7, calls.load(ms(100), Ok(n)))).collect();
    turns().await;
    callers[0].abort();
    callers[2].abort();
    turns().await;
    assert_eq!(cache.snapshot().flights_active, 1);
    tokio::time::sleep(ms(101)).await;
    assert_eq!(cache.peek(&7).as_deref(), Some(&1));
    assert_eq!(cache.snapshot().flights[FlightEnd::Abandoned], 2);
    assert_quiet(&cache.snapshot());
}

type Asking = Pin<Box<dyn Future<Output = Got<u64, DbError>> + Send>>;

fn asking(cache: &Rows, calls: &Arc<Calls>, gives: u64) -> Asking {
    let (cache, load) = (cache.clone(), calls.load(ms(100), Ok(gives)));
    Box::pin(async move { cache.get_with(&7, load).await })
}

/// A waker whose end brings the next caller: it is dropped after its caller has left the flight, before anything follows.
struct Brings {
    next: Mutex<Asking>,
    to: Arc<Mutex<Option<Asking>>>,
}

impl Wake for Brings {
    fn wake(self: Arc<Self>) {}
}

impl Drop for Brings {
    fn drop(&mut self) {
        let mut next = std::mem::replace(self.next.get_mut().unwrap(), Box::pin(std::future::pending()));
        assert!(next.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        *self.to.lock().unwrap() = Some(next);
    }
}

/// S1: a caller that comes when the last one has just left, and the load is not given up yet, keeps it.
#[tokio::test(start_paused = true)]
async fn s1_a_caller_at_the_very_moment_keeps_the_load() {
    let cache = abandoning("s1-moment").build().unwrap();
    let (calls, came) = (Arc::new(Calls::default()), Arc::default());
    let next = Mutex::new(asking(&cache, &calls, 2));
    let waker = Waker::from(Arc::new(Brings { next, to: Arc::clone(&came) }));
    let mut first = asking(&cache, &calls, 1);
    assert!(first.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    drop(waker);
    assert!(came.lock().unwrap().is_none());
    drop(first);
    let second = came.lock().unwrap().take().expect("it came as the first one left");
    let got = second.await;
    assert_eq!((outcome(&got), value(got), calls.started()), (Some(Outcome::Coalesced), 1, 1));
    assert_eq!(cache.snapshot().flights[FlightEnd::Abandoned], 0);
    assert_quiet(&cache.snapshot());
}

/// S1, L1, L6: a caller that comes as the last one leaves keeps the load alive or starts anew: on real threads, nobody hangs.
#[test]
fn s1_whoever_comes_as_the_last_one_leaves_is_answered() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap();
    let gate = Gate::new(64);
    let cache: Rows =
        Cache::builder("s1-race", Ttl::fresh_for(ms(1)), &gate).when_unwatched(WhenUnwatched::Abandon).build().unwrap();
    let calls = Arc::new(Calls::default());
    let rounds = 400;
    runtime.block_on(async {
        for round in 0..rounds {
            let leaver = ask(&cache, 7, calls.load(ms(3), Ok(round)));
            let comer = ask(&cache, 7, calls.load(ms(3), Ok(round)));
            // Somewhere around the moment at which both are under way.
            for _ in 0..round % 7 {
                tokio::task::yield_now().await;
            }
            leaver.abort();
            let got = tokio::time::timeout(Duration::from_secs(20), comer).await.expect("a waiter hangs").unwrap();
            assert!(got.is_ok(), "{got:?}");
            cache.invalidate(&7);
        }
        cache.shutdown(Duration::from_secs(5)).await;
    });
    drop(runtime);
    let snapshot = cache.snapshot();
    assert_quiet(&snapshot);
    assert_eq!((gate.snapshot().used(), snapshot.outcomes[Outcome::Failed]), (0, 0));
    // Whoever joined a flight was answered by it: nobody had to look for a second one.
    assert_eq!(snapshot.participants.total(), snapshot.misses.total());
}

/// Permits that were out when a load was dropped.
struct Seen(Gate, Arc<Mutex<Vec<u64>>>);

impl Drop for Seen {
    fn drop(&mut self) {
        self.1.lock().unwrap().push(self.0.snapshot().used());
    }
}

/// L3, S1: a load that was polled once in its caller and given up before its task first ran: it goes before its permit.
#[tokio::test(start_paused = true)]
async fn l3_a_load_that_is_given_up_goes_before_its_permit() {
    let (cache, gate) = one_permit("l3-order");
    let seen = Arc::default();
    for key in [1, 2] {
        let held = Seen(gate.clone(), Arc::clone(&seen));
        let load = move |_| async move {
            let _held = held;
            std::future::pending::<Result<u64, DbError>>().await
        };
        let mut read = Box::pin(cache.get_with(&key, load));
        assert!(read.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        // The first task has not run when its caller leaves, the second has.
        if key == 2 {
            turns().await;
        }
        drop(read);
        turns().await;
    }
    assert_eq!(*seen.lock().unwrap(), [1, 1]);
    assert_eq!(gate.snapshot().used(), 0);
    assert_quiet(&cache.snapshot());
}
