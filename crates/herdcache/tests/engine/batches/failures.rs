//! A batch call that fails, hangs or panics: each of its keys is told, and nothing is left behind.

use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use herdcache::herdfeed::{DiscardReason, FlightEnd, OriginResult};
use herdcache::{Failure, Gate, GetError, LoadContext, Loaded, Origin, Outcome};

use super::{Reply, Shelf, all, ask_many, book, books, outcomes, over, settings, timed, values};
use crate::support::{Calls, DbError, assert_quiet, ms, turns};

/// B1, E1: the call's error is every key's, as one, and each key cools by itself.
#[tokio::test(start_paused = true)]
async fn e1_a_failed_batch_is_one_error_of_all_its_keys() {
    let (books, seen) = books("failed", |_| Err(DbError("down")));
    let joined = ask_many(&books, [5, 2]);
    let got = books.get_many(&[1, 2, 3]).await;
    let errors: Vec<_> = got.iter().filter_map(|got| got.as_ref().err()?.origin()).collect();
    assert_eq!(errors.len(), 3);
    assert!(errors.iter().all(|error| Arc::ptr_eq(error, errors[0]) && ***error == DbError("down")));
    assert_eq!(outcomes(&joined.await.unwrap()), [Some(Outcome::Failed); 2]);
    // E1: no call in cooling; a write ends it for its key alone.
    books.insert(1, "written".to_owned());
    let again = books.get_many(&[1, 2, 3]).await;
    let cooling = Some(Outcome::Cooling);
    assert_eq!(outcomes(&again), [Some(Outcome::Hit), cooling, cooling]);
    assert_eq!(outcomes(&[books.get(&3).await]), [cooling]);
    assert_eq!(seen.asked(), [vec![1, 2, 3], vec![5]]);
    let snapshot = books.snapshot();
    assert_quiet(&snapshot);
    assert_eq!((snapshot.origin_results[OriginResult::Error], snapshot.flights[FlightEnd::Failed]), (2, 4));
}

/// B1, S2: a panic in the call is told to every key.
#[tokio::test(start_paused = true)]
async fn s2_a_batch_that_panics_is_told_to_all_its_keys() {
    let (books, _) = books("panics", |_| std::panic::resume_unwind(Box::new("burst")));
    let got = books.get_many(&[1, 2]).await;
    for got in &got {
        assert!(
            matches!(got, Err(GetError::Failed(Failure::Panicked { message })) if &**message == "burst"),
            "{got:?}"
        );
    }
    let snapshot = books.snapshot();
    assert_quiet(&snapshot);
    assert_eq!((snapshot.origin_results[OriginResult::Panicked], snapshot.flights[FlightEnd::Panicked]), (1, 2));
}

/// An origin whose batch calls never end.
struct Hung;

impl Origin<u64, String> for Hung {
    type Error = DbError;
    const MAX_BATCH: usize = 10;

    async fn load(&self, cx: LoadContext<u64, String>) -> Result<Loaded<String>, DbError> {
        Ok(book(*cx.key()))
    }

    async fn load_many(&self, _: Vec<LoadContext<u64, String>>) -> Reply {
        std::future::pending().await
    }
}

/// B1, S7: a hung call frees all its keys at the limit, and gives its permit back when it is dropped.
#[tokio::test(start_paused = true)]
async fn s7_a_hung_batch_frees_its_keys_at_the_limit() {
    let gate = Gate::new(1);
    for (origin, deadline) in [(ms(100), ms(300)), (ms(300), ms(300))] {
        let builder = settings("hung", &gate).origin_timeout(origin).flight_deadline(deadline);
        let books = builder.build_over(Hung).unwrap();
        let (got, took) = timed(books.get_many(&[1, 2, 3])).await;
        assert!((origin..=origin + ms(2)).contains(&took), "{took:?}");
        for got in &got {
            let Err(GetError::Failed(failure)) = got else { panic!("{got:?}") };
            match failure {
                Failure::OriginTimeout { limit } => assert_eq!((*limit, origin), (origin, ms(100))),
                Failure::Deadline { limit } => assert_eq!((*limit, origin), (deadline, ms(300))),
                other => panic!("{other:?}"),
            }
        }
        turns().await;
        assert_quiet(&books.snapshot());
        assert_eq!(books.snapshot().origin_results[OriginResult::Timeout], 1);
        assert_eq!(gate.snapshot().used(), 0);
        // The keys are free once they have cooled: a single load is not the batch's.
        tokio::time::sleep(ms(160)).await;
        assert_eq!(values(&[books.get(&2).await]), ["book 2"]);
    }
}

/// An origin whose batch calls block their thread for 400 ms.
struct Blocks(Arc<Calls>);

impl Origin<u64, String> for Blocks {
    type Error = DbError;
    const MAX_BATCH: usize = 10;

    async fn load(&self, cx: LoadContext<u64, String>) -> Result<Loaded<String>, DbError> {
        Ok(book(*cx.key()))
    }

    async fn load_many(&self, keys: Vec<LoadContext<u64, String>>) -> Reply {
        let _call = self.0.call();
        tokio::task::yield_now().await;
        std::thread::sleep(ms(400));
        Ok(keys.iter().map(|cx| (*cx.key(), book(*cx.key()))).collect())
    }
}

/// B1, S7, L3: a call that blocks its thread frees its keys in time; its one permit is out until it has really ended.
/// Real time, with bounds of at least three times what is expected.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn s7_a_batch_that_blocks_keeps_its_permit_and_frees_its_keys() {
    let (gate, calls) = (Gate::new(2), Arc::new(Calls::default()));
    let builder = settings("blocks", &gate).origin_timeout(ms(100)).flight_deadline(ms(100)).cooling(ms(10), ms(10));
    let books = builder.build_over(Blocks(Arc::clone(&calls))).unwrap();
    let began = Instant::now();
    let got = books.get_many(&[1, 2, 3]).await;
    let freed = began.elapsed();
    assert_eq!(outcomes(&got), [Some(Outcome::Failed); 3]);
    assert!(freed >= ms(90) && freed < ms(390), "{freed:?}");
    let snapshot = books.snapshot();
    assert_eq!((snapshot.origin_abandoned, snapshot.origin_active, snapshot.flights_active), (1, 1, 0));
    assert_eq!(gate.snapshot().used(), 1);
    while gate.snapshot().used() > 0 && began.elapsed() < Duration::from_secs(5) {
        tokio::time::sleep(ms(2)).await;
    }
    let snapshot = books.snapshot();
    assert_quiet(&snapshot);
    assert_eq!(snapshot.discards[DiscardReason::TooOld], 3);
    assert_eq!((snapshot.origin_results[OriginResult::Timeout], snapshot.origin_calls), (1, 1));
    assert!(books.peek(&1).is_none());
}

/// B1, L5: what was invalidated or written while the call ran is not stored; the other keys are.
#[tokio::test(start_paused = true)]
async fn l5_only_the_changed_keys_of_a_batch_are_discarded() {
    let (books, seen) = books("changed", all);
    let batch = ask_many(&books, [1, 2, 3]);
    tokio::time::sleep(ms(5)).await;
    books.invalidate(&1);
    books.insert(2, "newer".to_owned());
    // A reader after the change loads anew beside the doomed load.
    let anew = tokio::spawn({
        let books = books.clone();
        async move { books.get(&1).await }
    });
    assert_eq!(values(&batch.await.unwrap()), ["book 1", "book 2", "book 3"]);
    assert!(books.peek(&1).is_none());
    assert_eq!(books.peek(&2).as_deref().map(String::as_str), Some("newer"));
    assert_eq!(books.peek(&3).as_deref().map(String::as_str), Some("book 3"));
    assert_eq!(outcomes(&[anew.await.unwrap()]), [Some(Outcome::Loaded)]);
    assert_eq!(seen.asked(), [vec![1], vec![1, 2, 3]]);
    let snapshot = books.snapshot();
    assert_quiet(&snapshot);
    assert_eq!(snapshot.discards[DiscardReason::Invalidated], 1);
    assert_eq!(snapshot.discards[DiscardReason::NewerWrite], 1);
    assert_eq!(snapshot.flights[FlightEnd::Discarded], 2);
}

/// B1, L5: the value that comes after its key's limit is never stored, whatever became of the others.
#[tokio::test(start_paused = true)]
async fn l5_a_late_reply_is_stored_for_nobody() {
    let builder = settings("late", &Gate::new(8)).origin_timeout(ms(5)).cooling(ms(60_000), ms(60_000));
    let (books, _) = over::<4>(builder, all);
    let got = books.get_many(&[1, 2]).await;
    assert_eq!(outcomes(&got), [Some(Outcome::Failed); 2]);
    tokio::time::sleep(ms(20)).await;
    assert!(books.peek(&1).is_none() && books.peek(&2).is_none());
    assert_quiet(&books.snapshot());
}

/// B1, X1: a shutdown ends a batch, and a closed cache answers what it has.
#[tokio::test(start_paused = true)]
async fn x1_a_shutdown_closes_a_batch() {
    let (books, seen) = books("closes", all);
    books.insert(9, "here".to_owned());
    let batch = ask_many(&books, [1, 9, 2]);
    turns().await;
    books.shutdown(ms(2)).await;
    let (closed, hit) = (Some(Outcome::Closed), Some(Outcome::Hit));
    assert_eq!(outcomes(&batch.await.unwrap()), [closed, hit, closed]);
    assert_eq!(outcomes(&books.get_many(&[1, 9, 3]).await), [closed, hit, closed]);
    turns().await;
    assert_eq!(seen.calls.started(), 1);
    assert_quiet(&books.snapshot());
    // The call's future is dropped with its last flight.
    assert_eq!(seen.calls.running(), 0);
    assert_eq!(Shelf::<4>::MAX_BATCH, 4);
}

/// An origin whose batch call ends at its first poll, long after it began.
struct Late;

impl Origin<u64, String> for Late {
    type Error = DbError;
    const MAX_BATCH: usize = 10;

    async fn load(&self, cx: LoadContext<u64, String>) -> Result<Loaded<String>, DbError> {
        Ok(book(*cx.key()))
    }

    async fn load_many(&self, keys: Vec<LoadContext<u64, String>>) -> Reply {
        // As if it had blocked its thread: time has passed when it is polled once.
        let mut passes = Box::pin(tokio::time::advance(ms(400)));
        poll_fn(|cx| {
            let _ = passes.as_mut().poll(cx);
            Poll::Ready(())
        })
        .await;
        Ok(keys.iter().map(|cx| (*cx.key(), book(*cx.key()))).collect())
    }
}

/// B1, S7: a call that ends past its limit before anybody could watch is late: told as such, and stored for nobody.
#[tokio::test(start_paused = true)]
async fn s7_a_batch_that_ends_late_at_its_first_poll_is_late() {
    let books =
        settings("late", &Gate::new(1)).origin_timeout(ms(100)).flight_deadline(ms(300)).build_over(Late).unwrap();
    assert_eq!(outcomes(&books.get_many(&[1, 2]).await), [Some(Outcome::Failed); 2]);
    let snapshot = books.snapshot();
    assert_eq!((snapshot.origin_calls, snapshot.origin_results[OriginResult::Timeout]), (1, 1));
    assert_eq!(snapshot.discards[DiscardReason::TooOld], 2);
    assert!(books.peek(&1).is_none());
    assert_quiet(&snapshot);
}
