//! The seam of recorders: each measurement is told once, and a recorder can hurt nobody.
//!
//! Recorders are the process's, so these tests have one to themselves, and run one after another.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails there")]

#[path = "engine/support.rs"]
#[expect(dead_code, reason = "these tests need a part of it")]
mod support;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use herdcache::herdfeed::{ClosedSet, FlightRole, SharedOperation};
use herdcache::{
    Cache, Fault, Gate, Measured, MemoryTier, Outcome, QUICK_SAMPLED, RECORDERS, Recorder, TierError, Ttl,
    add_recorder, recorder_panics,
};
use tokio::sync::{Mutex as Turn, MutexGuard};

use support::{Calls, DbError, ask, assert_quiet, ms, rows, turns, users};

async fn alone() -> MutexGuard<'static, ()> {
    static TURN: Turn<()> = Turn::const_new(());
    TURN.lock().await
}

/// Writes down everything of one cache and its gate, by kind and word.
#[derive(Default)]
struct Book {
    told: Mutex<BTreeMap<String, u64>>,
    nanos: Mutex<BTreeMap<&'static str, u128>>,
}

impl Recorder for Book {
    fn record(&self, measured: &Measured<'_>) {
        let (kind, word, took) = match *measured {
            Measured::Request { outcome, took, stands_for, .. } => ("request", format!("{outcome}/{stands_for}"), took),
            Measured::Flight { end, took, waiters, .. } => ("flight", format!("{end}/{waiters}"), took),
            Measured::Call { result, took, connection, .. } => {
                ("call", format!("{result}/{}", connection.map_or(0, |wait| wait.as_millis())), took)
            }
            Measured::Permit { class, result, waited, .. } => ("permit", format!("{class}/{result}"), waited),
            Measured::Stale { reason, past, of_bound, .. } => ("stale", format!("{reason}/{of_bound:.2}"), past),
            Measured::Shared { operation, took, .. } => ("shared", operation.to_string(), took),
            _ => panic!("a kind that this test does not know: {measured:?}"),
        };
        *self.told.lock().unwrap().entry(format!("{kind} {word}")).or_default() += 1;
        *self.nanos.lock().unwrap().entry(kind).or_default() += took.as_nanos();
        if let Measured::Request { waited: Some(waited), .. } = *measured {
            *self.nanos.lock().unwrap().entry("wait").or_default() += waited.as_nanos();
            *self.told.lock().unwrap().entry("wait".to_owned()).or_default() += 1;
        }
    }
}

impl Book {
    fn told(&self) -> Vec<(String, u64)> {
        self.told.lock().unwrap().iter().map(|(what, count)| (what.clone(), *count)).collect()
    }

    fn count(&self, kind: &str) -> u64 {
        let told = self.told.lock().unwrap();
        told.iter().filter(|(what, _)| what.split(' ').next() == Some(kind)).map(|(_, count)| count).sum()
    }

    fn micros(&self, kind: &str) -> u64 {
        u64::try_from(self.nanos.lock().unwrap().get(kind).copied().unwrap_or(0) / 1_000).unwrap()
    }
}

/// One call site for each fact: what a recorder is told has the counts and sums of the engine's own buckets.
#[tokio::test(start_paused = true)]
async fn each_measurement_is_told_once() {
    let _turn = alone().await;
    let book = Arc::new(Book::default());
    add_recorder(&book).unwrap();
    let ttl = Ttl::fresh_for(ms(1_000)).stale_for(ms(1_000)).stale_if_error_for(ms(3_000));
    let gate = Gate::builder(1).queue(1).queue_timeout(ms(50)).build().unwrap();
    let cache = Cache::builder("told", ttl, &gate).jitter(0.0).build().unwrap();
    let calls = Arc::new(Calls::default());
    // One flight with a leader and a waiter; one that waits for the permit and gets it; one that is refused.
    let first = [1, 1].map(|key| ask(&cache, key, calls.load(ms(20), Ok(key))));
    turns().await;
    let later = [2, 3].map(|key| ask(&cache, key, calls.load(ms(60), Ok(key))));
    for asked in first.into_iter().chain(later) {
        _ = asked.await.unwrap();
    }
    // Stale, refreshed behind it, which fails; then a reserve value.
    tokio::time::sleep(ms(1_500)).await;
    _ = ask(&cache, 1, calls.load(ms(10), Err(DbError("down")))).await.unwrap();
    tokio::time::sleep(ms(1_000)).await;
    _ = ask(&cache, 1, calls.load(ms(10), Err(DbError("down")))).await.unwrap();
    let snapshot = cache.snapshot();
    assert_quiet(&snapshot);
    assert_eq!(
        book.told(),
        [
            ("call error/0", 2),
            ("call value/0", 2),
            ("flight failed/0", 2),
            ("flight loaded/0", 1),
            ("flight loaded/1", 1),
            ("flight rejected/0", 1),
            ("permit foreground/granted", 3),
            ("permit foreground/queue_full", 1),
            ("permit refresh/granted", 1),
            ("request coalesced/1", 1),
            ("request loaded/1", 2),
            ("request rejected/1", 1),
            ("request reserve/1", 1),
            ("stale error/0.64", 1),
            ("stale revalidating/0.78", 1),
            ("wait", 5),
        ]
        .map(|(what, count)| (what.to_owned(), count))
    );
    let ours = [&snapshot.flight, &snapshot.origin_call, &snapshot.wait, &snapshot.stale_age];
    let kinds = ["flight", "call", "wait", "stale"];
    assert_eq!(kinds.map(|kind| book.count(kind)), ours.map(|histogram| histogram.count));
    assert_eq!(kinds.map(|kind| book.micros(kind)), ours.map(|histogram| histogram.sum_us));
    assert_eq!(snapshot.participants[FlightRole::Waiter], 1);
}

/// The same of the shared tier, and of what a loader says of its connection.
#[tokio::test(start_paused = true)]
async fn operations_and_connections_are_told() {
    let _turn = alone().await;
    let book = Arc::new(Book::default());
    add_recorder(&book).unwrap();
    let tier = MemoryTier::new();
    let builder = Cache::builder("told-shared", Ttl::fresh_for(ms(1_000)), &Gate::new(4));
    let cache = builder.shared(tier.clone()).lease(tier.clone()).build().unwrap();
    tier.inject_on(SharedOperation::Write, Fault::Fail(TierError::Connection));
    let load = |cx: herdcache::LoadContext<u64, u64>| async move {
        cx.connection_wait(ms(3));
        cx.connection_wait(ms(4));
        Ok::<_, DbError>(5)
    };
    cache.get_with(&1, load).await.unwrap();
    tokio::time::sleep(ms(100)).await;
    let shared = cache.snapshot().shared.unwrap();
    for operation in SharedOperation::all() {
        let ours = shared.operations.iter().find(|one| one.operation == *operation).unwrap().times.count;
        let told = book.told.lock().unwrap().get(&format!("shared {operation}")).copied().unwrap_or(0);
        assert_eq!(told, ours, "{operation}");
    }
    assert_eq!(book.told.lock().unwrap()["call value/7"], 1);
    assert!(book.count("shared") >= 3);
}

/// Hits are told one in 1,024, and stand for as many.
#[tokio::test(start_paused = true)]
async fn one_hit_in_1024_is_told() {
    let _turn = alone().await;
    let book = Arc::new(Book::default());
    add_recorder(&book).unwrap();
    let (cache, _) = users(Ttl::fresh_for(ms(60_000)), ms(1));
    cache.get(&7).await.unwrap();
    fastrand::seed(11);
    for _ in 0..200 * QUICK_SAMPLED {
        cache.get(&7).await.unwrap();
    }
    // 200 expected, σ about 14.
    let told = book.told.lock().unwrap()[&format!("request hit/{QUICK_SAMPLED}")];
    assert!((130..270).contains(&told), "{told}");
    assert_eq!(cache.snapshot().outcomes[Outcome::Hit], 200 * u64::from(QUICK_SAMPLED));
}

#[derive(Default)]
struct Bad(AtomicU64);

impl Recorder for Bad {
    fn record(&self, _: &Measured<'_>) {
        self.0.fetch_add(1, SeqCst);
        std::panic::panic_any(Rude);
    }
}

/// What a panic carries, and panics in its turn when it is dropped.
struct Rude;

impl Drop for Rude {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "what a panic carried panics");
    }
}

impl Drop for Bad {
    fn drop(&mut self) {
        panic!("and once more when it goes");
    }
}

/// S2: a recorder that panics hurts no flight and no other recorder, and its losses are counted.
#[tokio::test(start_paused = true)]
async fn s2_a_recorder_that_panics_hurts_nobody() {
    let _turn = alone().await;
    let (bad, book) = (Arc::new(Bad::default()), Arc::new(Book::default()));
    add_recorder(&bad).unwrap();
    add_recorder(&book).unwrap();
    let before = recorder_panics();
    let (cache, calls) = users(Ttl::fresh_for(ms(60_000)), ms(10));
    let asked = [cache.get(&7), cache.get(&7)].map(|get| async { get.await.map(|user| user.unwrap().to_string()) });
    let [one, other] = asked;
    let (one, other) = tokio::join!(one, other);
    assert_eq!([one.unwrap(), other.unwrap()], ["user 7", "user 7"]);
    assert_eq!(calls.started(), 1);
    assert_quiet(&cache.snapshot());
    // A permit, a flight, a call, two requests.
    assert_eq!((bad.0.load(SeqCst), recorder_panics() - before), (5, 5));
    assert_eq!([book.count("permit"), book.count("flight"), book.count("call"), book.count("request")], [1, 1, 1, 2]);
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(bad))).unwrap_err();
    cache.get(&8).await.unwrap();
    assert_eq!(recorder_panics() - before, 5);
}

/// L7: recorders are bounded, and one that is dropped makes room and is told nothing more.
#[tokio::test(start_paused = true)]
async fn l7_recorders_are_bounded_and_end_when_dropped() {
    let _turn = alone().await;
    let mut books: Vec<Arc<Book>> = (0..RECORDERS).map(|_| Arc::default()).collect();
    for book in &books {
        add_recorder(book).unwrap();
    }
    let late = Arc::new(Book::default());
    add_recorder(&late).unwrap_err();
    let cache = rows("bounded", Ttl::fresh_for(ms(60_000))).build().unwrap();
    cache.get_with(&1, |_| async { Ok(1) }).await.unwrap();
    assert_eq!(books.iter().map(|book| book.count("flight")).collect::<Vec<_>>(), [1; RECORDERS]);
    let last = Arc::downgrade(&books.pop().unwrap());
    assert_eq!(last.strong_count(), 0, "the engine keeps no recorder alive");
    add_recorder(&late).unwrap();
    cache.get_with(&2, |_| async { Ok(2) }).await.unwrap();
    assert_eq!((late.count("flight"), books[0].count("flight")), (1, 2));
}
