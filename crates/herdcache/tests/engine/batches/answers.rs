//! What each key of a batch is answered, and how it stands in the account.

use herdcache::herdfeed::{
    DiscardReason, FlightEnd, FlightRole, FlightTrigger, OriginResult, RefreshResult, StaleReason,
};
use herdcache::{Failure, Gate, GetError, Loaded, Outcome, Ttl};

use super::{all, ask_many, book, books, outcomes, over, settings, timed, values};
use crate::support::{DbError, assert_quiet, ms, turns, users};

/// B1, L1: each key is one request with its own end, in the order of the keys; what is missing is one call.
#[tokio::test(start_paused = true)]
async fn b1_each_key_is_answered_as_get_would() {
    let ttl = Ttl::fresh_for(ms(50)).stale_for(ms(60_000));
    let (books, seen) = over::<8>(herdcache::Cache::builder("each", ttl, &Gate::new(64)).jitter(0.0), all);
    books.insert(1, "old".to_owned());
    tokio::time::advance(ms(55)).await;
    books.insert(2, "new".to_owned());
    books.insert(3, Loaded::absent());
    // 1 is stale, 2 fresh, 3 absent; 5 is named twice.
    let (got, took) = timed(books.get_many(&[4, 1, 5, 2, 5, 3, 6])).await;
    assert_eq!(values(&got), ["book 4", "old", "book 5", "new", "book 5", "-", "book 6"]);
    let [loaded, coalesced] = [Some(Outcome::Loaded), Some(Outcome::Coalesced)];
    assert_eq!(outcomes(&got), [loaded, Some(Outcome::Stale), loaded, Some(Outcome::Hit), coalesced, None, loaded]);
    assert_eq!(took, ms(10));
    turns().await;
    // The refresh of the stale key is a load of its own.
    assert_eq!(seen.asked(), [vec![1], vec![4, 5, 6]]);
    let snapshot = books.snapshot();
    assert_quiet(&snapshot);
    assert_eq!((snapshot.begun, snapshot.origin_calls), (7, 2));
    let told = [Outcome::Loaded, Outcome::Coalesced, Outcome::Stale, Outcome::Hit, Outcome::Negative];
    assert_eq!(told.map(|outcome| snapshot.outcomes[outcome]), [3, 1, 1, 1, 1]);
    assert_eq!(snapshot.flight_starts[FlightTrigger::Batch], 3);
    assert_eq!(snapshot.flight_starts[FlightTrigger::Stale], 1);
    assert_eq!(snapshot.flights[FlightEnd::Loaded], 4);
    assert_eq!((snapshot.participants[FlightRole::Leader], snapshot.participants[FlightRole::Waiter]), (3, 1));
    assert_eq!(snapshot.misses.total(), 4);
    assert_eq!(snapshot.stale_serves[StaleReason::Revalidating], 1);
    assert_eq!(snapshot.refreshes[RefreshResult::Stored], 1);
    assert_eq!(snapshot.origin_results[OriginResult::Value], 2);
}

/// B1, L3: the missing keys are loaded in chunks, each under one permit and counted as one call.
#[tokio::test(start_paused = true)]
async fn b1_chunks_share_a_permit_each() {
    let keys: Vec<u64> = (0..10).collect();
    for (permits, took, peak) in [(64, ms(10), 3), (2, ms(20), 2), (1, ms(30), 1)] {
        let gate = Gate::new(permits);
        let (books, seen) = over::<4>(settings("chunks", &gate), all);
        let (got, waited) = timed(books.get_many(&keys)).await;
        assert!(outcomes(&got).iter().all(|outcome| *outcome == Some(Outcome::Loaded)), "{got:?}");
        assert_eq!((waited, seen.calls.peak()), (took, peak));
        assert_eq!(seen.asked(), [vec![0, 1, 2, 3], vec![4, 5, 6, 7], vec![8, 9]]);
        let snapshot = books.snapshot();
        assert_quiet(&snapshot);
        assert_eq!((snapshot.origin_calls, snapshot.flights[FlightEnd::Loaded]), (3, 10));
        assert_eq!((gate.snapshot().usage_peak, gate.snapshot().granted.total()), (peak, 3));
        assert_eq!(gate.snapshot().used(), 0);
    }
}

/// B1: an origin without a batch call loads each key by itself, all at once.
#[tokio::test(start_paused = true)]
async fn b1_without_a_batch_call_each_key_is_a_load() {
    let (users, calls) = users(Ttl::fresh_for(ms(60_000)), ms(10));
    let (got, took) = timed(users.get_many(&[3, 1, 2])).await;
    assert_eq!(values(&got), ["user 3", "user 1", "user 2"]);
    assert_eq!((took, calls.started(), calls.peak()), (ms(10), 3, 3));
    let snapshot = users.snapshot();
    assert_quiet(&snapshot);
    assert_eq!((snapshot.flight_starts[FlightTrigger::Batch], snapshot.origin_calls), (3, 3));
}

/// B1: a key that the reply leaves out has failed and cools; what nobody asked for, or comes twice, is left over and told.
#[tokio::test(start_paused = true)]
async fn b1_the_reply_is_taken_key_by_key() {
    let (books, seen) = books("reply", |_| {
        Ok(vec![(3, Loaded::absent()), (77, book(77)), (1, book(1)), (1, Loaded::value("second".to_owned()))])
    });
    let got = books.get_many(&[1, 2, 3]).await;
    assert_eq!(values(&got), ["book 1", "-", "-"]);
    assert!(
        matches!(&got[1], Err(GetError::Failed(Failure::Contract { what })) if what.contains("left this key out")),
        "{got:?}"
    );
    assert!(matches!(&got[2], Ok(None)), "{got:?}");
    assert!(books.peek(&77).is_none());
    let again = books.get_many(&[1, 2, 3]).await;
    assert!(matches!(&again[1], Err(GetError::Cooling { last: Failure::Contract { .. }, .. })), "{again:?}");
    assert_eq!(outcomes(&again), [Some(Outcome::Hit), Some(Outcome::Cooling), None]);
    assert_eq!(seen.calls.started(), 1);
    let snapshot = books.snapshot();
    assert_quiet(&snapshot);
    assert_eq!(snapshot.origin_results[OriginResult::Value], 1);
    assert_eq!((snapshot.discards[DiscardReason::NotAsked], snapshot.discards.total()), (2, 2));
    assert_eq!([FlightEnd::Loaded, FlightEnd::Absent, FlightEnd::Failed].map(|end| snapshot.flights[end]), [1, 1, 1]);
}

/// B1: nothing to ask for is answered at once, and a ready reply needs no runtime.
#[test]
fn b1_what_is_ready_is_answered_at_the_first_poll() {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    struct Ready;
    impl herdcache::Origin<u64, String> for Ready {
        type Error = DbError;
        const MAX_BATCH: usize = 100;
        async fn load(&self, cx: herdcache::LoadContext<u64, String>) -> Result<Loaded<String>, DbError> {
            Ok(book(*cx.key()))
        }
        // As the trait gives it: `load_many` loads one key after the other, in one call.
    }
    fn now<F: Future>(future: F) -> F::Output {
        match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(done) => done,
            Poll::Pending => panic!("it waits"),
        }
    }
    let books = settings("ready", &Gate::new(1)).build_over(Ready).unwrap();
    assert!(now(books.get_many(&[])).is_empty());
    assert_eq!(values(&now(books.get_many(&[2, 1]))), ["book 2", "book 1"]);
    assert_eq!(values(&now(books.with_wait_timeout(ms(1)).get_many(&[2, 1]))), ["book 2", "book 1"]);
    assert_eq!(books.snapshot().origin_calls, 1);
    assert_quiet(&books.snapshot());
}

/// B1, L1: dropping a batch ends what has no answer yet as cancelled; the loads go on.
#[tokio::test(start_paused = true)]
async fn b1_a_dropped_batch_is_cancelled_and_its_loads_go_on() {
    let (books, seen) = books("dropped", all);
    books.insert(9, "here".to_owned());
    let batch = ask_many(&books, [1, 9, 2]);
    turns().await;
    assert_eq!(books.snapshot().active, 2);
    batch.abort();
    assert!(batch.await.is_err());
    let snapshot = books.snapshot();
    assert_eq!((snapshot.outcomes[Outcome::Cancelled], snapshot.outcomes[Outcome::Hit], snapshot.active), (2, 1, 0));
    assert_eq!((snapshot.flights_active, snapshot.waiting), (2, 0));
    tokio::time::sleep(ms(11)).await;
    assert_eq!(outcomes(&books.get_many(&[1, 2]).await), [Some(Outcome::Hit); 2]);
    assert_eq!(seen.calls.started(), 1);
    assert_quiet(&books.snapshot());
}
