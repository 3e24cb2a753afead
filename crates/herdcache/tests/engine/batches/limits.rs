//! The bounds that a batch meets: wait timeouts, flights, the gate's queue.

use herdcache::herdfeed::{FlightEnd, PermitResult, RejectReason};
use herdcache::{Gate, GetError, LoadContext, Loaded, Origin, Outcome};

use super::{Reply, all, ask_many, book, books, outcomes, over, settings, timed};
use crate::support::{DbError, assert_quiet, ms, turns};

/// B1, S4: the wait timeout counts once for the whole call; what is there by then is answered, and the loads go on.
#[tokio::test(start_paused = true)]
async fn s4_the_wait_timeout_is_that_of_the_call() {
    let gate = Gate::new(1);
    let (books, seen) = over::<2>(settings("patience", &gate), all);
    books.insert(9, "here".to_owned());
    // Chunks of 10 ms one after the other: the first two are there after 25 ms.
    let hurried = books.with_wait_timeout(ms(25));
    let (got, took) = timed(hurried.get_many(&[1, 2, 3, 4, 5, 9, 6])).await;
    let (loaded, out) = (Some(Outcome::Loaded), Some(Outcome::TimedOut));
    assert_eq!(outcomes(&got), [loaded, loaded, loaded, loaded, out, Some(Outcome::Hit), out]);
    assert!(matches!(got[4], Err(GetError::WaitTimeout { limit }) if limit == ms(25)));
    assert!((ms(25)..=ms(26)).contains(&took), "{took:?}");
    tokio::time::sleep(ms(6)).await;
    assert_eq!(outcomes(&hurried.get_many(&[5, 6]).await), [Some(Outcome::Hit); 2]);
    assert_eq!(seen.calls.started(), 3);
    let snapshot = books.snapshot();
    assert_quiet(&snapshot);
    assert_eq!((snapshot.outcomes[Outcome::TimedOut], snapshot.outcomes.total()), (2, 9));
}

/// B1, S4: a limit that nothing here can keep is told for each key, and the flights end.
#[test]
fn s4_a_limit_without_timers_is_told() {
    let (books, _) = books("timerless", all);
    let keys = [1, 2];
    let hurried = books.with_wait_timeout(ms(5));
    let mut batch = Box::pin(hurried.get_many(&keys));
    let polled = batch.as_mut().poll(&mut std::task::Context::from_waker(std::task::Waker::noop()));
    let std::task::Poll::Ready(got) = polled else { panic!("nothing can wait here") };
    assert_eq!(outcomes(&got), [Some(Outcome::Failed); 2]);
    drop(batch);
    assert_quiet(&books.snapshot());
}

/// B1, S6, L7: more keys than there may be flights are rejected one by one.
#[tokio::test(start_paused = true)]
async fn s6_keys_beyond_the_largest_number_of_flights_are_rejected() {
    let (books, seen) = over::<4>(settings("flights", &Gate::new(64)).max_flights(3), all);
    let got = books.get_many(&[1, 2, 3, 4, 2, 5]).await;
    let (loaded, rejected) = (Some(Outcome::Loaded), Some(Outcome::Rejected));
    assert_eq!(outcomes(&got), [loaded, loaded, loaded, rejected, Some(Outcome::Coalesced), rejected]);
    assert!(matches!(got[3], Err(GetError::Rejected { reason: RejectReason::FlightsFull, .. })));
    assert_eq!(seen.asked(), [vec![1, 2, 3]]);
    let snapshot = books.snapshot();
    assert_quiet(&snapshot);
    assert_eq!(snapshot.rejections[RejectReason::FlightsFull], 2);
    assert_eq!(outcomes(&books.get_many(&[4, 5]).await), [loaded; 2]);
}

/// An origin that hangs for the first key it ever loads.
struct Slow;

impl Origin<u64, String> for Slow {
    type Error = DbError;
    const MAX_BATCH: usize = 2;

    async fn load(&self, cx: LoadContext<u64, String>) -> Result<Loaded<String>, DbError> {
        tokio::time::sleep(ms(1_000)).await;
        Ok(book(*cx.key()))
    }

    async fn load_many(&self, contexts: Vec<LoadContext<u64, String>>) -> Reply {
        tokio::time::sleep(ms(10)).await;
        all(&contexts.iter().map(|cx| *cx.key()).collect::<Vec<_>>())
    }
}

/// B1, G1: a chunk takes one place in the queue; a chunk that is refused is refused for each of its keys.
#[tokio::test(start_paused = true)]
async fn g1_a_chunk_takes_one_place_in_the_queue() {
    let gate = Gate::builder(2).queue(1).queue_timeout(ms(100)).build().unwrap();
    let books = settings("queue", &gate).build_over(Slow).unwrap();
    let [held, other] = [0, 9].map(|key| {
        let books = books.clone();
        tokio::spawn(async move { books.get(&key).await })
    });
    turns().await;
    let (got, took) = timed(books.get_many(&[1, 2, 3, 4])).await;
    let reasons: Vec<_> = got
        .iter()
        .map(|got| match got {
            Err(GetError::Rejected { reason, .. }) => *reason,
            other => panic!("{other:?}"),
        })
        .collect();
    // The second chunk finds the queue full at once, the first waits out its time.
    let (timeout, full) = (RejectReason::QueueTimeout, RejectReason::QueueFull);
    assert_eq!(reasons, [timeout, timeout, full, full]);
    assert!((ms(100)..=ms(101)).contains(&took), "{took:?}");
    let snapshot = gate.snapshot();
    assert_eq!((snapshot.results[PermitResult::QueueTimeout], snapshot.results[PermitResult::QueueFull]), (1, 1));
    assert_eq!((snapshot.pending, snapshot.pending_peak), (0, 1));
    // Rejected is no failure: nothing cools, and a chunk that waits gets its turn.
    tokio::time::sleep(ms(850)).await;
    assert_eq!(outcomes(&books.get_many(&[1, 2]).await), [Some(Outcome::Loaded); 2]);
    assert_eq!(outcomes(&[held.await.unwrap(), other.await.unwrap()]), [Some(Outcome::Loaded); 2]);
    let snapshot = books.snapshot();
    assert_quiet(&snapshot);
    assert_eq!(snapshot.flights[FlightEnd::Rejected], 4);
}

/// B1, G1: a batch that is shut down in the queue leaves no place behind.
#[tokio::test(start_paused = true)]
async fn g1_a_queued_batch_that_is_closed_frees_its_place() {
    let gate = Gate::builder(1).queue(5).queue_timeout(ms(5_000)).build().unwrap();
    let other = settings("other", &gate).build_over(Slow).unwrap();
    let books = settings("waits", &gate).build_over(Slow).unwrap();
    let held = tokio::spawn(async move { other.get(&0).await.is_ok() });
    turns().await;
    let batch = ask_many(&books, [1, 2, 3]);
    turns().await;
    // One permit, so one call at a time.
    assert_eq!(gate.snapshot().pending, 1);
    books.shutdown(ms(5)).await;
    assert_eq!(outcomes(&batch.await.unwrap()), [Some(Outcome::Closed); 3]);
    turns().await;
    assert_eq!(gate.snapshot().pending, 0);
    assert!(held.await.unwrap());
    assert_eq!(gate.snapshot().used(), 0);
    assert_quiet(&books.snapshot());
}

/// B1, S6: a call takes its place in its group's share, so keys of two groups never share a call.
#[tokio::test(start_paused = true)]
async fn s6_a_call_has_keys_of_one_group() {
    let builder = settings("groups", &Gate::new(8)).group_share(0.5, |key: &u64| key % 2);
    let (books, seen) = over::<2>(builder, all);
    let got = books.get_many(&[1, 2, 3, 4, 5]).await;
    assert_eq!(outcomes(&got), [Some(Outcome::Loaded); 5]);
    assert_eq!(seen.asked(), [vec![1, 3], vec![2, 4], vec![5]]);
    assert_quiet(&books.snapshot());
}
