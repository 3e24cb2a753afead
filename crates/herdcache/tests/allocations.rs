//! A3, K3: what a hit and a waiter allocate. A process of its own, whose allocator counts.
//!
//! Counts are of the calling thread only, so that tests beside each other do not disturb them.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails there")]

use std::convert::Infallible;
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use allocation_counter::measure;
use herdcache::{Answer, Cache, Gate, Got, LoadContext, Outcome, ReadThrough, Ttl};

const TTL: Ttl = Ttl::fresh_for(Duration::from_secs(3_600));

type Names = ReadThrough<String, String, Infallible>;

fn names(name: &str) -> Names {
    Cache::builder(name, TTL, &Gate::new(8))
        .build_over(|cx: LoadContext<String, String>| async move { Ok::<_, Infallible>(cx.key().repeat(10)) })
        .unwrap()
}

/// Polls once; no runtime, no waker that could allocate.
fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

fn now<V: Send + Sync + 'static, E>(future: impl Future<Output = Got<V, E>>) -> Got<V, E> {
    match poll(pin!(future)) {
        Poll::Ready(got) => got,
        Poll::Pending => panic!("a hit waits for nothing"),
    }
}

/// Hits between two of the store's own maintenance runs, which 64 reads start.
const ROUND: u64 = 48;

/// Rounds of hits; gives how many of 500 rounds allocated anything at all.
///
/// The store's own maintenance allocates (moka hands its garbage on in blocks), and some reads run it. A snapshot
/// runs it first, outside of the count. The clock starts it too, each 300 ms, so that a few rounds may meet it.
fn rounds_that_allocate(settle: impl Fn(), hit: impl Fn()) -> u64 {
    let round = || {
        settle();
        measure(|| (0..ROUND).for_each(|_| hit())).count_total
    };
    // The first rounds enter the keys among the hot ones.
    (0..50).for_each(|_| _ = round());
    (0..500).map(|_| u64::from(round() > 0)).sum()
}

/// What a clock that interferes may do: on a machine that is busy beyond measure, every hundredth round.
const BY_THE_CLOCK: u64 = 5;

/// The outcome and the age of a hit on `key`, as an application would read them.
fn hit(names: &Names, key: &str) -> bool {
    let answer = now(names.get(key)).ok().flatten().unwrap();
    Answer::outcome(&answer) == Outcome::Hit && answer.len() == 50 && Answer::age(&answer) < Duration::from_secs(60)
}

/// A3: a hit allocates nothing, whether by the bound origin, a per-call loader, a look or a borrowed form of the key.
#[test]
fn a3_a_hit_allocates_nothing() {
    let names = names("a3-hit");
    now(names.get("alice")).unwrap();
    let settle = || _ = names.snapshot();
    let by_origin = rounds_that_allocate(settle, || assert!(hit(&names, "alice")));
    assert!(by_origin <= BY_THE_CLOCK, "{by_origin} of 500 rounds by the bound origin");
    let by_caller = rounds_that_allocate(settle, || {
        let load = |_: LoadContext<String, String>| async { Ok(String::new()) };
        let answer = now(names.get_with("alice", load)).unwrap().unwrap();
        assert_eq!(answer.clone().len(), 50);
    });
    assert!(by_caller <= BY_THE_CLOCK, "{by_caller} of 500 rounds by a loader per call");
    let by_look = rounds_that_allocate(settle, || assert!(names.peek("alice").is_some()));
    assert!(by_look <= BY_THE_CLOCK, "{by_look} of 500 rounds by a look");
    assert_eq!(names.snapshot().origin_calls, 1);
}

/// B1: a batch of hits allocates its two lists, of one place for each key, and nothing more.
#[test]
fn b1_a_batch_of_hits_allocates_its_answers() {
    let names = names("b1-hits");
    let keys: Vec<String> = (0..40).map(|key| format!("user {key}")).collect();
    for key in &keys {
        now(names.get(key)).unwrap();
    }
    let read = || {
        let Poll::Ready(got) = poll(pin!(names.get_many(&keys))) else { panic!("hits wait for nothing") };
        assert!(got.iter().flatten().flatten().count() == 40);
    };
    let round = || {
        _ = names.snapshot();
        measure(read)
    };
    (0..50).for_each(|_| _ = round());
    let rounds: Vec<_> = (0..200).map(|_| round()).collect();
    // The third is the store's, which so many different keys make hand its garbage on; what it does by the clock is more.
    let more = rounds.iter().filter(|round| round.count_total > 3 || round.bytes_total > 40 * 160).count();
    assert!(more <= 10, "{more} of 200 batches: {:?}", rounds[0]);
    assert_eq!(rounds.iter().map(|round| round.count_total).min(), Some(2));
}

/// B1: a batch of misses allocates in proportion to its keys.
#[test]
fn b1_a_batch_of_misses_allocates_in_proportion() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let _entered = runtime.enter();
    let per_key = |keys: u64| {
        let cache = Cache::builder("b1-misses", TTL, &Gate::new(8)).build_over(Rows).unwrap();
        let keys: Vec<u64> = (0..keys).collect();
        let mut batch = pin!(cache.get_many(&keys));
        let counted = measure(|| assert!(poll(batch.as_mut()).is_pending()));
        counted.count_total / keys.len() as u64
    };
    let (some, many) = (per_key(50), per_key(1_000));
    assert!(some <= 12 && many <= some, "{some} and {many} allocations for each key");
}

/// An origin whose batch calls never answer.
struct Rows;

impl herdcache::Origin<u64, u64> for Rows {
    type Error = Infallible;
    const MAX_BATCH: usize = 1_000;

    async fn load(&self, cx: LoadContext<u64, u64>) -> Result<herdcache::Loaded<u64>, Infallible> {
        Ok((*cx.key()).into())
    }

    async fn load_many(&self, _: Vec<LoadContext<u64, u64>>) -> Result<Vec<(u64, herdcache::Loaded<u64>)>, Infallible> {
        std::future::pending().await
    }
}

/// A3: a hit on an absence allocates nothing either, nor does one that rolls the dice of refresh-ahead.
#[test]
fn a3_negative_and_early_hits_allocate_nothing() {
    let cache = Cache::<u64, u64, Infallible>::builder("a3-negative", TTL, &Gate::new(8))
        .negative_ttl(Duration::from_secs(3_600))
        .early_refresh(1.0)
        .build()
        .unwrap();
    let read =
        |key: u64, value: Option<u64>| now(cache.get_with(&key, |_| async move { Ok(value) })).unwrap().is_some();
    assert!(!read(1, None) && read(2, Some(2)));
    for (key, value) in [(1, None), (2, Some(2))] {
        let counted = rounds_that_allocate(|| _ = cache.snapshot(), || assert_eq!(read(key, value), value.is_some()));
        assert!(counted <= BY_THE_CLOCK, "{counted} of 500 rounds of key {key}");
    }
    assert_eq!(cache.snapshot().origin_calls, 2);
}

/// K3: 10,000 waiters of one flight cost the growth of one list and nothing each; so do their answers.
#[test]
fn k3_a_waiter_allocates_nothing_of_its_own() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let _entered = runtime.enter();
    let cache = Cache::<u64, [u8; 4_096], Infallible>::builder("k3-waiters", TTL, &Gate::new(8)).build().unwrap();
    let (open, opened) = tokio::sync::oneshot::channel::<()>();
    let load = |_: LoadContext<u64, [u8; 4_096]>| async move {
        let _ = opened.await;
        Ok([7; 4_096])
    };
    let mut leader = Box::pin(cache.get_with(&7, load));
    assert!(poll(leader.as_mut()).is_pending());
    let never = |_| async { Ok([0; 4_096]) };
    let mut waiters: Vec<_> = (0..10_000).map(|_| Box::pin(cache.get_with(&7, never))).collect();
    let counted = measure(|| waiters.iter_mut().for_each(|waiter| assert!(poll(waiter.as_mut()).is_pending())));
    // A list that doubles from 1 to 16,384 places grows some 13 times; telling of the herd costs a few texts.
    assert!(counted.count_total < 200, "{} allocations of 10,000 waiters", counted.count_total);
    open.send(()).unwrap();
    let value = runtime.block_on(leader).unwrap().unwrap();
    let mut answers = Vec::with_capacity(10_000);
    let counted = measure(|| {
        for waiter in &mut waiters {
            let Poll::Ready(Ok(Some(answer))) = poll(waiter.as_mut()) else { panic!("it has landed") };
            answers.push(answer);
        }
    });
    assert_eq!((counted.count_total, counted.bytes_total), (0, 0));
    assert!(answers.iter().all(|answer| std::ptr::eq(&raw const **answer, &raw const *value)));
}
