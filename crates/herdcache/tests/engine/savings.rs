//! O1: what a cache that only observes says it lacks, against a protected one under the very same requests.

use std::sync::Arc;
use std::time::Duration;

use herdcache::herdfeed::{CacheSnapshot, FlightEnd, Measure, PermitResult, Saved};
use herdcache::{Builder, Cache, Gate, Outcome, Switch, Ttl};
use tokio::time::{Instant, advance, sleep_until};

use crate::support::{Calls, DbError, Rows, ask, assert_quiet, ms, outcome, rows, turns};

const DOWN: Result<u64, DbError> = Err(DbError("down"));

/// When each request comes, and for which key.
type Requests = Vec<(Duration, u64)>;

/// `count` requests of 40 keys within `within`, the first keys asked for most.
fn requests(seed: u64, count: u64, within: Duration) -> Requests {
    let mut random = fastrand::Rng::with_seed(seed);
    let span = u64::try_from(within.as_micros()).unwrap();
    let one = |_| (Duration::from_micros(random.u64(0..span)), random.u64(0..40) * random.u64(0..40) / 40);
    (0..count).map(one).collect()
}

/// What a run came to.
struct Run {
    calls: u64,
    snapshot: CacheSnapshot,
}

/// Sends the requests to a cache whose origin takes 80 ms and fails between two moments.
async fn run(cache: &Rows, requests: &Requests, outage: std::ops::Range<Duration>) -> Run {
    fastrand::seed(9);
    let (calls, began) = (Arc::new(Calls::default()), Instant::now());
    let callers: Vec<_> = requests
        .iter()
        .map(|(at, key)| {
            let (cache, calls, at, key) = (cache.clone(), Arc::clone(&calls), began + *at, *key);
            let outage = outage.clone();
            tokio::spawn(async move {
                sleep_until(at).await;
                let result = if outage.contains(&at.duration_since(began)) { Err(DbError("down")) } else { Ok(key) };
                cache.get_with(&key, calls.load(ms(80), result)).await
            })
        })
        .collect();
    for caller in callers {
        let _ = caller.await.unwrap();
    }
    cache.shutdown(ms(10_000)).await;
    let snapshot = cache.snapshot();
    assert_quiet(&snapshot);
    Run { calls: calls.started(), snapshot }
}

/// The same requests, observed and protected.
async fn both(
    build: impl Fn(&str) -> Builder<u64, u64, DbError>,
    requests: &Requests,
    outage: std::ops::Range<Duration>,
) -> (Run, Run) {
    let observed = run(&build("o1-observed").observe_only().build().unwrap(), requests, outage.clone()).await;
    let protected = run(&build("o1-protected").build().unwrap(), requests, outage).await;
    assert_eq!(protected.snapshot.saved, Saved::default(), "O1: nothing is lacking with full protection");
    assert_eq!(observed.calls, observed.snapshot.origin_calls);
    (observed, protected)
}

/// `told` lies within `percent` of `real`.
fn close(what: &str, told: u64, real: u64, percent: u64) {
    assert!(told.abs_diff(real) * 100 <= real * percent, "{what}: told {told}, really {real}");
}

const NEVER: std::ops::Range<Duration> = ms(0)..ms(0);

/// O1: the loads that coalescing would have spared are those that it spares, within 2 %: without it the last load of a herd
/// is stored last, and its value lives a little longer. Within 10 % where jitter, which makes one load in twenty more, is on.
#[tokio::test(start_paused = true)]
async fn o1_predicted_loads_are_those_that_single_flight_spares() {
    let requests = requests(1, 30_000, ms(60_000));
    let build = |name: &str| Cache::builder(name, Ttl::fresh_for(ms(2_000)), &Gate::new(1_000));
    let (observed, protected) = both(build, &requests, NEVER).await;
    let (saved, really) = (observed.snapshot.saved, observed.calls - protected.calls);
    assert!(really > 1_000, "{really}");
    close("loads", saved.coalesced + saved.cooled, really, 10);
    assert_eq!((saved.cooled, saved.stale, saved.reserve, saved.over_limit), (0, 0, 0, 0));
    // And with the jitter of the protected run left out.
    let (observed, protected) = both(|name| build(name).jitter(0.0), &requests, NEVER).await;
    close("loads without jitter", observed.snapshot.saved.coalesced, observed.calls - protected.calls, 2);
}

/// O1: with stale values and an outage of 10 s: loads spared by sharing and by cooling within 5 %, stale answers within 5 %,
/// and what stood in for failed loads within 10 %.
#[tokio::test(start_paused = true)]
async fn o1_predicted_stale_answers_and_cooling_are_those_of_an_outage() {
    let requests = requests(2, 60_000, ms(60_000));
    let ttl = Ttl::fresh_for(ms(2_000)).stale_for(ms(1_000)).stale_if_error_for(ms(60_000));
    // Short cooling: after the outage it makes protected readers wait for the next probe.
    let build = |name: &str| {
        let gate = Gate::builder(1_000).refresh_permits(1_000).without_fail_fast().build().unwrap();
        Cache::builder(name, ttl, &gate).jitter(0.0).cooling(ms(100), ms(400))
    };
    let (observed, protected) = both(build, &requests, ms(20_000)..ms(30_000)).await;
    let (saved, really) = (observed.snapshot.saved, observed.calls - protected.calls);
    assert!(saved.coalesced > 1_000 && saved.cooled > 1_000, "{saved:?}");
    close("loads", saved.coalesced + saved.cooled, really, 5);
    let outcomes = &protected.snapshot.outcomes;
    close("stale", saved.stale, outcomes[Outcome::Stale], 5);
    close("reserve", saved.reserve, outcomes[Outcome::Reserve], 10);
}

/// O1: loads of different keys beyond the gate's limit are those that wait or are refused when they come at once; a
/// stampede on one key is no matter of permits.
#[tokio::test(start_paused = true)]
async fn o1_loads_beyond_the_limit_would_have_waited_or_been_refused() {
    let gate = || Gate::builder(10).queue(20).build().unwrap();
    let burst: Requests = (0..100).map(|key| (ms(1), key)).collect();
    let build = |gate: &Gate| Cache::builder("o1-burst", Ttl::fresh_for(ms(60_000)), gate).jitter(0.0);
    let observed = run(&build(&gate()).observe_only().build().unwrap(), &burst, NEVER).await;
    let real = gate();
    let protected = run(&build(&real).build().unwrap(), &burst, NEVER).await;
    let results = real.snapshot().results;
    let waited = real.snapshot().wait.count;
    assert_eq!((waited, results[PermitResult::QueueFull]), (20, 70));
    assert_eq!(observed.snapshot.saved.over_limit, 90);
    assert_eq!(protected.snapshot.flights[FlightEnd::Rejected], 70);

    let stampede: Requests = (0..100).map(|_| (ms(1), 7)).collect();
    let observed = run(&build(&gate()).observe_only().build().unwrap(), &stampede, NEVER).await;
    assert_eq!((observed.snapshot.saved.coalesced, observed.snapshot.saved.over_limit), (99, 0));
}

async fn write_all(cache: &Rows, keys: u64) {
    for key in 0..keys {
        cache.insert(key, key).await;
    }
}

/// The most of `keys` that expire within one second, as a protected cache has them.
async fn real_peak(cache: &Rows, keys: u64) -> u64 {
    let mut fresh: Vec<u64> = (0..keys).collect();
    let mut peak = 0;
    while !fresh.is_empty() {
        advance(ms(1_000)).await;
        let before = fresh.len();
        fresh.retain(|key| cache.peek(key).is_some());
        peak = peak.max((before - fresh.len()) as u64);
    }
    peak
}

/// O1, F2: keys written together expire together; what jitter would make of the peak is what it makes of it, within 15 %.
#[tokio::test(start_paused = true)]
async fn o1_the_peak_of_expiries_is_told_with_and_without_jitter() {
    let (keys, ttl) = (6_000, Ttl::fresh_for(ms(300_000)));
    let build = |name: &str| rows(name, ttl).jitter(0.10);
    fastrand::seed(4);
    let observed = build("o1-together").observe_only().build().unwrap();
    write_all(&observed, keys).await;
    tokio::time::sleep(ms(300_000)).await;
    for key in 0..keys {
        // Twice: a value expires once.
        for _ in 0..2 {
            let failed = observed.get_with(&key, |_| async { DOWN }).await;
            assert_eq!(outcome(&failed), Some(Outcome::Failed));
        }
    }
    let saved = observed.snapshot().saved;
    assert_eq!(saved.expiries_peak, keys);
    let protected = build("o1-apart").build().unwrap();
    write_all(&protected, keys).await;
    let real = real_peak(&protected, keys).await;
    close("peak", saved.jittered_peak, real, 15);
    assert!(real < 300, "{real}");
    tokio::time::sleep(ms(120_000)).await;
    let saved = observed.snapshot().saved;
    assert_eq!((saved.expiries_peak, saved.jittered_peak), (0, 0), "peaks are of the last minute");
}

/// O1: each single measure that is off is told alone; what is on is not counted as lacking.
#[tokio::test(start_paused = true)]
async fn o1_single_measures_tell_what_they_lack() {
    let ttl = Ttl::fresh_for(ms(100)).stale_for(ms(100)).stale_if_error_for(ms(1_000));
    let lacking = async |measure: Measure| -> Saved {
        let gate = Gate::builder(1).queue(0).build().unwrap();
        let cache: Rows = Cache::builder("o1-single", ttl, &gate).jitter(0.5).build().unwrap();
        let calls = Arc::new(Calls::default());
        cache.set_measure(measure, Switch::Off);
        cache.insert(7, 1);
        // Stale whatever jitter takes away.
        tokio::time::sleep(ms(110)).await;
        drop(cache.get_with(&7, calls.load(ms(1), Err(DbError("down")))).await);
        tokio::time::sleep(ms(400)).await;
        // Reserve; two callers at once, and another key.
        let callers = [
            ask(&cache, 7, calls.load(ms(10), Err(DbError("down")))),
            ask(&cache, 7, calls.load(ms(10), Err(DbError("down")))),
            ask(&cache, 8, calls.load(ms(10), Ok(8))),
        ];
        for caller in callers {
            drop(caller.await.unwrap());
        }
        turns().await;
        assert_quiet(&cache.snapshot());
        cache.snapshot().saved
    };
    let none = Saved::default();
    assert_eq!(lacking(Measure::Early).await, none);
    let stale = lacking(Measure::Stale).await;
    assert_eq!(stale, Saved { stale: 1, reserve: 2, ..none });
    assert_eq!(lacking(Measure::Permits).await, Saved { over_limit: 1, ..none });
    assert_eq!(lacking(Measure::Jitter).await, Saved { expiries_peak: 1, jittered_peak: 1, ..none });
    // Its second load is refused at the gate, so no load is spared; with a wider gate one would be.
    assert_eq!(lacking(Measure::SingleFlight).await, none);
}

/// O1, S5: a load within a load would have run under its permit: without permits it is none beyond the limit.
#[tokio::test(start_paused = true)]
async fn o1_nested_loads_are_not_beyond_the_limit() {
    let cache: Rows = Cache::builder("o1-nested", Ttl::fresh_for(ms(60_000)), &Gate::new(1)).build().unwrap();
    cache.set_measure(Measure::Permits, Switch::Off);
    let inner = cache.clone();
    let load = |_| async move {
        let nested = |_| async {
            tokio::time::sleep(ms(10)).await;
            Ok(2)
        };
        inner.get_with(&2, nested).await.map_err(|_| DbError("inner")).map(|answer| answer.map_or(0, |two| *two))
    };
    assert_eq!(outcome(&cache.get_with(&1, load).await), Some(Outcome::Loaded));
    let snapshot = cache.snapshot();
    assert_eq!((snapshot.origin_calls, snapshot.saved.over_limit), (2, 0));
    assert_quiet(&snapshot);
}
