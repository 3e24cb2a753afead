//! O2: on the clock of production, read without feature `test-util`, where hits see a time up to one kernel tick old.
//!
//! Bounds are asserted by moments taken around each read, so that a machine that stands still proves nothing wrong.
#![cfg(not(feature = "test-util"))]
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails there")]

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use herdcache::herdfeed::Tally;
use herdcache::{Answer, Cache, Failure, Gate, GetError, LoadContext, Outcome, Ttl};

type Rows = Cache<u64, u64, &'static str>;

/// One tick is 4 ms as documented, 10 ms on a kernel of 100 Hz: three documented ticks cover both.
const SLACK: Duration = Duration::from_millis(12);
const FRESH: Duration = Duration::from_millis(60);
const PERMITS: usize = 4;

fn rows(name: &str, ttl: Ttl) -> Rows {
    Cache::builder(name, ttl, &Gate::new(PERMITS)).jitter(0.0).build().unwrap()
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

/// Keys of the real threads, each of which one of the eight workers changes.
const KEYS: usize = 8;
/// How long the values of the real threads may be answered: fresh, then stale.
const EACH: Duration = Duration::from_millis(5);

/// A source whose values say of which key and of which version they are.
#[derive(Default)]
struct Source {
    versions: [AtomicU64; KEYS],
    /// What whoever begins to read now must get, or something newer.
    floors: [AtomicU64; KEYS],
    loads: [AtomicU64; KEYS],
    running: AtomicU64,
    /// The most loads of one key, and of all, that ran at once. A loader that asserted would only fail its load.
    most: [AtomicU64; 2],
}

impl Source {
    /// A load of up to 2 ms; key 7 fails.
    async fn load(&self, key: usize) -> Result<u64, &'static str> {
        let now = [&self.loads[key], &self.running].map(|running| running.fetch_add(1, SeqCst) + 1);
        self.most.iter().zip(now).for_each(|(most, now)| _ = most.fetch_max(now, SeqCst));
        let value = (key as u64) << 32 | self.versions[key].load(SeqCst);
        tokio::time::sleep(Duration::from_micros(key as u64 * 300)).await;
        self.running.fetch_sub(1, SeqCst);
        self.loads[key].fetch_sub(1, SeqCst);
        if key == 7 { Err("down") } else { Ok(value) }
    }

    /// The key's one writer changes it, and then the cache.
    fn change(&self, key: usize, tell: impl FnOnce(u64)) {
        let version = self.versions[key].fetch_add(1, SeqCst) + 1;
        tell((key as u64) << 32 | version);
        self.floors[key].store(version, SeqCst);
    }
}

/// One read; gives how it was answered.
async fn read(cache: &Rows, source: &Arc<Source>, key: usize) -> Outcome {
    let floor = source.floors[key].load(SeqCst);
    let from = Arc::clone(source);
    let answer = match cache.get_with(&(key as u64), |_| async move { from.load(key).await }).await {
        Ok(answer) => answer.expect("no key is absent"),
        Err(error) => return error.outcome(),
    };
    let (of, version) = (*answer >> 32, *answer & 0xffff_ffff);
    assert_eq!(of, key as u64, "L8: the value of another key");
    assert!(version >= floor, "L5: version {version} of key {key}, after {floor} had replaced it");
    let outcome = Answer::outcome(&answer);
    // At the moment for which it was judged, whatever the clock: fresh for so long, then stale for as long.
    let bound = match outcome {
        Outcome::Hit => EACH,
        Outcome::Stale => EACH * 2,
        _ => Duration::MAX,
    };
    assert!(Answer::age(&answer) < bound, "L4: {outcome} at {:?}", Answer::age(&answer));
    outcome
}

/// Reads, and changes its own key now and then; gives how its reads were answered.
async fn work(cache: Rows, source: Arc<Source>, own: usize, until: Instant) -> Tally<Outcome> {
    let mut told = Tally::new();
    while Instant::now() < until {
        match fastrand::u64(0..40) {
            0 => source.change(own, |_| _ = cache.invalidate(&(own as u64))),
            1 => source.change(own, |value| _ = cache.insert(own as u64, value)),
            _ => told[read(&cache, &source, fastrand::usize(0..KEYS)).await] += 1,
        }
    }
    told
}

/// O2, L1, L2, L3, L4, L5, L6, L7, L8: eight workers read, write and forget on four threads for half a second, and know what they may be told.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn o2_the_laws_hold_on_real_threads() {
    let cache = rows("o2-laws", Ttl::fresh_for(EACH).stale_for(EACH));
    let (source, until) = (Arc::new(Source::default()), Instant::now() + Duration::from_millis(500));
    let work = |own| tokio::spawn(work(cache.clone(), Arc::clone(&source), own, until));
    let mut told = Tally::new();
    for worker in (0..KEYS).map(work).collect::<Vec<_>>() {
        told.add(&worker.await.unwrap());
    }
    cache.shutdown(Duration::from_secs(10)).await;
    let (snapshot, gate) = (cache.snapshot(), cache.gate().snapshot());
    assert_eq!((snapshot.begun, snapshot.active), (told.total(), 0));
    assert_eq!(snapshot.outcomes, told, "L1: each read under the word that its caller saw");
    assert_eq!(snapshot.flight_starts.total(), snapshot.flights.total());
    assert_eq!(snapshot.origin_calls, snapshot.origin_results.total());
    assert_eq!([snapshot.waiting, snapshot.flights_active, snapshot.origin_active, gate.used(), gate.pending], [0; 5]);
    assert_eq!([snapshot.law_violations, gate.law_violations, source.running.load(SeqCst)], [0; 3]);
    let [of_a_key, in_all] = [0, 1].map(|most: usize| source.most[most].load(SeqCst));
    assert!(of_a_key <= 2 && in_all <= PERMITS as u64, "L2, L3: {of_a_key} loads of one key, {in_all} in all");
    assert!(snapshot.entries <= KEYS as u64, "L7: {} entries", snapshot.entries);
    let met = [Outcome::Hit, Outcome::Stale, Outcome::Loaded, Outcome::Coalesced, Outcome::Failed, Outcome::Cooling];
    assert!(met.iter().all(|outcome| told[*outcome] > 0), "{told:?}");
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
