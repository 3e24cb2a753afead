//! L1, L6: callers that are aborted anywhere, on real threads.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

use herdcache::herdfeed::{FlightTrigger, OriginResult, Tally};
use herdcache::{Cache, Gate, LoadContext, Loaded, Origin, Outcome, ReadThrough, Ttl, WhenUnwatched};
use tokio::task::{JoinHandle, yield_now};

use crate::support::{Calls, DbError, assert_quiet, ms, outcome};
use crate::threads;

const CALLS: u64 = 10_000;
/// So many at once; every second one of them is aborted.
const WAVE: u64 = 500;
/// Few enough that callers meet, and enough that they wait at the gate.
const KEYS: u64 = 64;
const PERMITS: usize = 8;

type Items = ReadThrough<u64, u64, DbError>;

/// An origin that takes up to a millisecond, in one of several ways, and fails for every ninth key.
struct Shelf(Arc<Calls>);

impl Shelf {
    async fn bring(key: u64, cx: &LoadContext<u64, u64>) -> Result<Loaded<u64>, DbError> {
        match fastrand::u8(0..8) {
            0 => {}
            1 => tokio::time::sleep(ms(1)).await,
            2 => cx.run_blocking(|| std::thread::sleep(Duration::from_micros(200))).await.unwrap(),
            turns => {
                for _ in 0..turns * 8 {
                    yield_now().await;
                }
            }
        }
        if key % 9 == 0 { Err(DbError("down")) } else { Ok((key * 10).into()) }
    }
}

impl Origin<u64, u64> for Shelf {
    type Error = DbError;
    const MAX_BATCH: usize = 4;

    async fn load(&self, cx: LoadContext<u64, u64>) -> Result<Loaded<u64>, DbError> {
        let _call = self.0.call();
        Self::bring(*cx.key(), &cx).await
    }

    async fn load_many(&self, contexts: Vec<LoadContext<u64, u64>>) -> Result<Vec<(u64, Loaded<u64>)>, DbError> {
        let _call = self.0.call();
        let mut reply = Vec::new();
        for cx in &contexts {
            reply.push((*cx.key(), Self::bring(*cx.key(), cx).await?));
        }
        Ok(reply)
    }
}

/// Values that are fresh, stale and in reserve for two milliseconds each: every way to be answered is met.
fn items(what: WhenUnwatched) -> (Items, Arc<Calls>) {
    let gate = Gate::builder(PERMITS).queue(64).queue_timeout(ms(5)).build().unwrap();
    let ttl = Ttl::fresh_for(ms(2)).stale_for(ms(2)).stale_if_error_for(ms(4));
    let builder = Cache::builder("aborts", ttl, &gate).when_unwatched(what).cooling(ms(10), ms(10));
    let calls = Arc::new(Calls::default());
    (builder.build_over(Shelf(Arc::clone(&calls))).unwrap(), calls)
}

/// Calls in waves, every second of them aborted after up to a millisecond; gives what the others gave.
async fn storm<T, F>(call: impl Fn(u64) -> F) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let mut given = Vec::new();
    for wave in 0..CALLS / WAVE {
        let asked: Vec<JoinHandle<T>> = (wave * WAVE..(wave + 1) * WAVE).map(|nth| tokio::spawn(call(nth))).collect();
        for asked in asked.iter().step_by(2) {
            let (abort, turns) = (asked.abort_handle(), fastrand::u32(0..60));
            tokio::spawn(async move {
                for _ in 0..turns {
                    yield_now().await;
                }
                abort.abort();
            });
        }
        for asked in asked {
            match asked.await {
                Ok(told) => given.push(told),
                Err(end) => assert!(end.is_cancelled(), "a caller died: {end}"),
            }
        }
    }
    given
}

/// Waits until what was left running has ended.
async fn settles(items: &Items) {
    let until = Instant::now() + Duration::from_secs(30);
    let busy = || {
        let (cache, gate) = (items.snapshot(), items.gate().snapshot());
        cache.flights_active + cache.origin_active + cache.origin_abandoned + cache.warmup.running + gate.used() > 0
    };
    while busy() {
        assert!(Instant::now() < until, "L6: {:#?}\n{:#?}", items.snapshot(), items.gate().snapshot());
        tokio::time::sleep(ms(1)).await;
    }
}

/// L6: every gauge is 0, every permit can be taken, and the table is empty.
async fn is_as_good_as_new(items: &Items, calls: &Calls) {
    settles(items).await;
    let snapshot = items.snapshot();
    assert_quiet(&snapshot);
    assert_eq!(snapshot.flights_unwatched, 0);
    assert_eq!([items.gate().snapshot().used(), items.gate().snapshot().pending, calls.running()], [0; 3]);
    assert_eq!(snapshot.warmup.width, 0);
    // A call that was given up between its count and its first poll never reached the origin, and is told as abandoned.
    let unmade = snapshot.origin_calls - calls.started();
    let abandoned = snapshot.origin_results[OriginResult::Abandoned];
    assert!(unmade <= abandoned, "{unmade} calls were counted and not made, {abandoned} were abandoned");
    assert!(calls.peak() <= PERMITS as u64, "L3: {} at once", calls.peak());
    let mut permits = Vec::new();
    for _ in 0..PERMITS {
        permits.push(items.gate().acquire().await.expect("L3: every permit is back"));
    }
    drop(permits);
    let began = Instant::now();
    items.shutdown(Duration::from_secs(60)).await;
    assert!(began.elapsed() < Duration::from_secs(30), "L6: a row is left in the table");
}

/// L1: reads, each of which is told under the very word that its caller saw, or as cancelled.
fn reads(what: WhenUnwatched) -> Tally<Outcome> {
    let runtime = threads(4);
    let (items, calls) = items(what);
    let begun = Arc::new(AtomicU64::new(0));
    let given = runtime.block_on(storm(|_| {
        let (items, begun) = (items.clone(), Arc::clone(&begun));
        async move {
            // In one poll with the first of the read itself: whoever is counted here is counted there.
            begun.fetch_add(1, SeqCst);
            outcome(&items.get(&fastrand::u64(0..KEYS)).await).expect("no key is absent")
        }
    }));
    runtime.block_on(is_as_good_as_new(&items, &calls));
    let mut told = Tally::<Outcome>::new();
    for outcome in &given {
        told[*outcome] += 1;
    }
    let begun = begun.load(SeqCst);
    told[Outcome::Cancelled] = begun - given.len() as u64;
    let snapshot = items.snapshot();
    assert_eq!((snapshot.begun, &snapshot.outcomes), (begun, &told), "{what:?}");
    assert!(told[Outcome::Cancelled] > 0, "no caller was aborted while it waited");
    told
}

/// L1, L6: 10,000 reads, half of them aborted: the ledger is exact to the unit, and nothing is left.
#[test]
fn l1_l6_ten_thousand_reads_half_of_them_aborted() {
    for what in [WhenUnwatched::Finish, WhenUnwatched::Abandon] {
        let told = reads(what);
        println!("{what:?}: of {} reads that began, {} were cancelled", told.total(), told[Outcome::Cancelled]);
    }
}

/// One call of any kind; gives how many requests of the account it begins.
async fn any(items: Items, nth: u64, begun: Arc<AtomicU64>) {
    let key = fastrand::u64(0..KEYS);
    match nth % 16 {
        // A batch begins all of its requests at its first poll.
        0..8 => {
            let keys = [key, (key + 1) % KEYS, (key + 7) % KEYS, key];
            begun.fetch_add(keys.len() as u64, SeqCst);
            drop(items.get_many(&keys).await);
        }
        8..12 => {
            begun.fetch_add(1, SeqCst);
            drop(items.with_wait_timeout(ms(1)).get(&key).await);
        }
        12 => {
            items.invalidate(&key).await;
            let _ = items.refresh(&key);
        }
        13 => _ = items.warm_up([key, key + KEYS]).await,
        _ => {
            let Ok(permit) = items.gate().acquire().await else { return };
            yield_now().await;
            permit.answered();
        }
    }
}

/// L1, L3, L6, B1, U1: the same for batches, impatient callers, refreshes, warm-ups and permits of their own.
#[test]
fn l1_l6_ten_thousand_calls_of_every_kind_half_of_them_aborted() {
    for what in [WhenUnwatched::Finish, WhenUnwatched::Abandon] {
        let runtime = threads(4);
        let (items, calls) = items(what);
        let begun = Arc::new(AtomicU64::new(0));
        runtime.block_on(storm(|nth| any(items.clone(), nth, Arc::clone(&begun))));
        runtime.block_on(is_as_good_as_new(&items, &calls));
        let snapshot = items.snapshot();
        assert_eq!(snapshot.begun, begun.load(SeqCst), "{what:?}");
        let warm = &snapshot.warmup;
        assert_eq!(warm.loaded + warm.skipped + warm.failed + warm.cancelled, warm.total, "{what:?}: {warm:?}");
        let triggers = [FlightTrigger::Miss, FlightTrigger::Batch, FlightTrigger::Forced, FlightTrigger::Warmup];
        assert!(triggers.iter().all(|trigger| snapshot.flight_starts[*trigger] > 0), "{:?}", snapshot.flight_starts);
    }
}
