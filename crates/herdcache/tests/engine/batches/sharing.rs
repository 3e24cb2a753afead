//! Batches, singles and other batches share flights: no key is loaded twice, nobody waits for ever.

use std::sync::Arc;
use std::task::Poll;

use herdcache::herdfeed::{FlightEnd, FlightRole, FlightTrigger, Measure, Saved};
use herdcache::{Cache, Gate, GetError, LoadContext, Loaded, Origin, Outcome, ReadThrough, Switch, Ttl};
use parking_lot::Mutex;

use super::{Books, Reply, all, ask_many, book, books, outcomes, over, settings, timed, values};
use crate::support::{DbError, assert_quiet, ms, turns};

/// B1: batches with overlapping keys in any order never wait for each other in a circle, and load each key once.
#[tokio::test(start_paused = true)]
async fn b1_overlapping_batches_load_each_key_once() {
    let (books, seen) = books("overlap", all);
    let mut orders: Vec<Vec<u64>> = (0..20).map(|first| (0..8).map(|nth| (first + nth) % 8).collect()).collect();
    orders.extend(orders.clone().into_iter().map(|mut order| {
        order.reverse();
        order
    }));
    let batches: Vec<_> = orders.iter().map(|order| ask_many(&books, order.clone())).collect();
    let (answered, took) = timed(async {
        let mut answered = Vec::new();
        for batch in batches {
            answered.push(batch.await.unwrap());
        }
        answered
    })
    .await;
    assert_eq!(took, ms(10));
    for (order, got) in orders.iter().zip(&answered) {
        assert_eq!(values(got), order.iter().map(|key| format!("book {key}")).collect::<Vec<_>>());
    }
    let mut keys: Vec<u64> = seen.asked().concat();
    keys.sort_unstable();
    assert_eq!(keys, (0..8).collect::<Vec<_>>());
    let snapshot = books.snapshot();
    assert_quiet(&snapshot);
    assert_eq!(
        (snapshot.begun, snapshot.outcomes[Outcome::Loaded], snapshot.outcomes[Outcome::Coalesced]),
        (320, 8, 312)
    );
}

/// B1: two halves of a circle, each held by the other's keys, still end.
#[tokio::test(start_paused = true)]
async fn b1_crossed_batches_do_not_deadlock() {
    let gate = Gate::new(1);
    let (books, seen) = super::over::<2>(settings("crossed", &gate), all);
    let (one, two) = (ask_many(&books, [1, 2, 3, 4]), ask_many(&books, [4, 3, 5, 1]));
    assert_eq!(values(&one.await.unwrap()), ["book 1", "book 2", "book 3", "book 4"]);
    assert_eq!(values(&two.await.unwrap()), ["book 4", "book 3", "book 5", "book 1"]);
    assert_eq!(seen.asked(), [vec![1, 2], vec![4, 3], vec![5]]);
    assert_quiet(&books.snapshot());
}

/// B1: singles join the flights of a batch, and a batch those of singles.
#[tokio::test(start_paused = true)]
async fn b1_singles_and_batches_join_each_other() {
    let (books, seen) = books("join", all);
    let single = |key: u64| {
        let books = books.clone();
        tokio::spawn(async move { books.get(&key).await })
    };
    let early = single(1);
    turns().await;
    let batch = ask_many(&books, [1, 2]);
    turns().await;
    let late = single(2);
    let (loaded, coalesced) = (Some(Outcome::Loaded), Some(Outcome::Coalesced));
    assert_eq!(outcomes(&batch.await.unwrap()), [coalesced, loaded]);
    assert_eq!(outcomes(&[early.await.unwrap(), late.await.unwrap()]), [loaded, coalesced]);
    assert_eq!(seen.asked(), [vec![1], vec![2]]);
    let snapshot = books.snapshot();
    assert_quiet(&snapshot);
    assert_eq!((snapshot.participants[FlightRole::Leader], snapshot.participants[FlightRole::Waiter]), (2, 2));
}

/// B1: a key's landing does not wait for a batch that has other keys to wait for.
#[tokio::test(start_paused = true)]
async fn b1_a_landing_waits_for_no_other_chunk() {
    let gate = Gate::new(1);
    let (books, _) = super::over::<1>(settings("alone", &gate), all);
    let batch = ask_many(&books, [1, 2, 3]);
    turns().await;
    let (first, took) = timed(books.get(&1)).await;
    assert_eq!((outcomes(&[first]), took), (vec![Some(Outcome::Coalesced)], ms(10)));
    turns().await;
    // The account does not wait either: the batch's first request has ended, and its second one has begun.
    assert_eq!((books.snapshot().begun, books.snapshot().active), (3, 1));
    let (_, took) = timed(batch).await;
    assert_eq!(took, ms(20));
    assert_quiet(&books.snapshot());
}

/// B1, L2: a key whose older loads still run is held back alone; the rest of its batch goes on.
#[tokio::test(start_paused = true)]
async fn l2_a_held_key_holds_up_nobody_else() {
    let (books, seen) = books("held", all);
    let slow = |_: LoadContext<u64, String>| async move {
        tokio::time::sleep(ms(100)).await;
        Ok("slow".to_owned())
    };
    for _ in 0..2 {
        let books = books.clone();
        tokio::spawn(async move { books.get_with(&1, slow).await });
        turns().await;
    }
    // Two doomed loads of key 1 run from here on.
    books.invalidate(&1);
    let anew = books.clone();
    tokio::spawn(async move { anew.get_with(&1, slow).await });
    turns().await;
    books.invalidate(&1);
    let batch = ask_many(&books, [1, 2, 3]);
    tokio::time::sleep(ms(11)).await;
    assert_eq!(books.peek(&2).as_deref().map(String::as_str), Some("book 2"));
    assert_eq!(seen.asked(), [vec![2, 3]]);
    assert_eq!(values(&batch.await.unwrap()), ["book 1", "book 2", "book 3"]);
    assert_eq!(seen.asked(), [vec![1], vec![2, 3]]);
    assert_quiet(&books.snapshot());
}

/// O1: without single-flight every miss loads, also of one key in one batch; a call names each key once.
#[tokio::test(start_paused = true)]
async fn o1_a_batch_without_single_flight_loads_every_miss() {
    let (books, seen) = books("observed", all);
    books.set_measure(Measure::SingleFlight, Switch::Off);
    let got = books.get_many(&[1, 2, 1]).await;
    assert_eq!(outcomes(&got), [Some(Outcome::Loaded); 3]);
    assert_eq!(seen.asked(), [vec![1], vec![1, 2]]);
    assert_quiet(&books.snapshot());
}

/// O1: a batch call would have been spared if each of its keys had been loading already; beyond the limit it counts as one.
#[tokio::test(start_paused = true)]
async fn o1_a_batch_tells_what_protection_would_have_saved() {
    let (books, seen) = over::<4>(settings("observed-batches", &Gate::new(1)).observe_only(), all);
    let batches = [vec![1, 2], vec![2, 1], vec![2, 3], vec![3, 1, 2]].map(|keys| ask_many(&books, keys));
    for batch in batches {
        assert!(batch.await.unwrap().iter().all(Result::is_ok));
    }
    // The second and the fourth bring nothing that was not under way; the third runs beside the first, over one permit.
    let saved = Saved { coalesced: 2, over_limit: 1, ..Saved::default() };
    assert_eq!((seen.calls.started(), books.snapshot().saved), (4, saved));
    assert_quiet(&books.snapshot());
}

/// An origin whose batch loads ask the cache that they load for.
struct Nested {
    books: Arc<Mutex<Option<Books>>>,
    got: Arc<Mutex<Vec<Option<Outcome>>>>,
    ask: &'static [u64],
}

impl Origin<u64, String> for Nested {
    type Error = DbError;
    const MAX_BATCH: usize = 4;

    async fn load(&self, cx: LoadContext<u64, String>) -> Result<Loaded<String>, DbError> {
        Ok(book(*cx.key()))
    }

    async fn load_many(&self, contexts: Vec<LoadContext<u64, String>>) -> Reply {
        let keys: Vec<u64> = contexts.iter().map(|cx| *cx.key()).collect();
        if keys.contains(&1) {
            let books = self.books.lock().clone().unwrap();
            let got = books.get_many(self.ask).await;
            *self.got.lock() = outcomes(&got);
            let refused = got.iter().filter(|got| matches!(got, Err(GetError::Reentrant))).count();
            assert_eq!(got.iter().flatten().count() + refused, got.len());
        }
        all(&keys)
    }
}

/// B1, S5: a batch load that asks for one of its own keys is told; another key runs under its permit.
#[tokio::test(start_paused = true)]
async fn s5_a_batch_load_knows_all_its_keys() {
    let (outer, answered) = (Arc::new(Mutex::default()), Arc::new(Mutex::default()));
    let nested = Nested { books: Arc::clone(&outer), got: Arc::clone(&answered), ask: &[2, 7, 1, 8] };
    let gate = Gate::builder(1).queue(0).build().unwrap();
    let books: Books = settings("nested", &gate).build_over(nested).unwrap();
    *outer.lock() = Some(books.clone());
    assert_eq!(values(&books.get_many(&[1, 2]).await), ["book 1", "book 2"]);
    let (failed, loaded) = (Some(Outcome::Failed), Some(Outcome::Loaded));
    assert_eq!(*answered.lock(), [failed, loaded, failed, loaded]);
    let snapshot = books.snapshot();
    assert_quiet(&snapshot);
    assert_eq!((snapshot.origin_calls, gate.snapshot().usage_peak), (2, 1));
    *outer.lock() = None;
}

/// A key whose copying panics if it is odd.
#[derive(Debug, PartialEq, Eq, Hash, serde::Serialize)]
struct Odd(u64);

impl Clone for Odd {
    fn clone(&self) -> Self {
        assert!(self.0 % 2 == 0, "an odd key");
        Self(self.0)
    }
}

/// B1, S2: a key that panics while a batch looks its keys up leaves no flight behind that nobody flies.
#[tokio::test(start_paused = true)]
async fn s2_a_panic_within_a_batch_leaves_no_flight_behind() {
    let cache: ReadThrough<Odd, u64, DbError> = Cache::builder("odd", Ttl::fresh_for(ms(60_000)), &Gate::new(8))
        .build_over(|cx: LoadContext<Odd, u64>| async move { Ok(cx.key().0) })
        .unwrap();
    let keys = [Odd(2), Odd(4), Odd(3)];
    let mut batch = Box::pin(cache.get_many(&keys));
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let Poll::Pending = futures_poll(batch.as_mut()) else { return };
    }));
    assert!(panicked.is_err());
    drop(batch);
    let snapshot = cache.snapshot();
    assert_eq!((snapshot.flights[FlightEnd::Abandoned], snapshot.flight_starts[FlightTrigger::Batch]), (2, 2));
    assert_quiet(&snapshot);
    assert_eq!(*cache.get(&Odd(2)).await.unwrap().unwrap(), 2);
}

fn futures_poll<F: Future + ?Sized>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut std::task::Context::from_waker(std::task::Waker::noop()))
}

/// B1, S8: when the runtime of a batch ends, a batch on another one takes its flights over.
#[test]
fn s8_a_batch_takes_over_from_a_runtime_that_ended() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (first, second) = (runtime(), runtime());
    let (books, seen) = books("taken", all);
    let begin = |runtime: &tokio::runtime::Runtime, keys: [u64; 3]| {
        let batch = {
            let _entered = runtime.enter();
            ask_many(&books, keys)
        };
        runtime.block_on(turns());
        batch
    };
    let cut = begin(&first, [1, 2, 3]);
    let over = begin(&second, [3, 2, 1]);
    drop(first);
    assert_eq!(values(&second.block_on(over).unwrap()), ["book 3", "book 2", "book 1"]);
    drop(cut);
    // The second call is one again.
    assert_eq!(seen.asked(), [vec![1, 2, 3], vec![3, 2, 1]]);
    let snapshot = books.snapshot();
    assert_quiet(&snapshot);
    assert_eq!((snapshot.flights[FlightEnd::Abandoned], snapshot.flights[FlightEnd::Loaded]), (3, 3));
    assert_eq!((snapshot.outcomes[Outcome::Cancelled], snapshot.outcomes[Outcome::Loaded]), (3, 3));
}
