//! A batch of any size: no more calls at once than there are permits, nothing rejected for its own size.

use herdcache::herdfeed::{FlightEnd, RejectReason};
use herdcache::{Cache, Gate, GetError, LoadContext, Outcome, Ttl};

use super::{all, ask_many, outcomes, over, settings, timed};
use crate::support::{DbError, assert_quiet, ms, turns};

/// B1, G1: 10,000 keys through 8 permits, 100 to a call; a single read in the midst of it waits for one permit.
#[tokio::test(start_paused = true)]
async fn b1_a_batch_is_not_rejected_for_its_own_size() {
    let gate = Gate::new(8);
    let (books, seen) = over::<100>(settings("large", &gate), all);
    let batch = ask_many(&books, (0..10_000).collect::<Vec<u64>>());
    turns().await;
    let (single, took) = timed(books.get(&20_000)).await;
    assert_eq!((outcomes(&[single]), took), (vec![Some(Outcome::Loaded)], ms(20)));
    let (got, took) = timed(batch).await;
    assert_eq!(outcomes(&got.unwrap()), vec![Some(Outcome::Loaded); 10_000]);
    // 100 calls and the single one, 8 at a time, 10 ms each.
    assert_eq!((seen.calls.started(), took + ms(20)), (101, ms(130)));
    let (snapshot, gate) = (books.snapshot(), gate.snapshot());
    assert_quiet(&snapshot);
    assert_eq!((snapshot.rejections.total(), snapshot.outcomes.total()), (0, 10_001));
    // The single read's place, and at most one of the batch behind it.
    assert!(gate.pending_peak <= 2, "{}", gate.pending_peak);
}

/// B1, S5: within a loader the calls of a batch run one after the other, under the permit that there is.
#[tokio::test(start_paused = true)]
async fn s5_a_batch_within_a_loader_has_one_permit() {
    let gate = Gate::new(1);
    let (books, seen) = over::<10>(settings("inner", &gate), all);
    let shelves = Cache::<u64, usize, DbError>::builder("outer", Ttl::fresh_for(ms(60_000)), &gate).build().unwrap();
    let inner = books.clone();
    let loaded = shelves.get_with(&1, |_: LoadContext<u64, usize>| async move {
        let keys: Vec<u64> = (0..100).collect();
        Ok(inner.get_many(&keys).await.iter().filter(|got| got.is_ok()).count())
    });
    let (count, took) = timed(loaded).await;
    assert_eq!((*count.unwrap().unwrap(), took), (100, ms(100)));
    assert_eq!((seen.calls.started(), seen.calls.peak()), (10, 1));
    assert_quiet(&books.snapshot());
}

/// B1, S4: what was not looked up when the time is over is told like the rest, and never loaded.
#[tokio::test(start_paused = true)]
async fn s4_keys_that_were_not_looked_up_are_told_too() {
    let (books, seen) = over::<1>(settings("unasked", &Gate::new(2)), all);
    let hurried = books.with_wait_timeout(ms(15));
    let got = hurried.get_many(&(0..100).collect::<Vec<u64>>()).await;
    let loaded = got.iter().filter(|got| got.is_ok()).count();
    assert_eq!((loaded, seen.calls.started()), (2, 4));
    assert!(got[50..].iter().all(|got| matches!(got, Err(GetError::WaitTimeout { limit }) if *limit == ms(15))));
    tokio::time::sleep(ms(10)).await;
    let snapshot = books.snapshot();
    assert_quiet(&snapshot);
    assert_eq!(
        (snapshot.begun, snapshot.outcomes[Outcome::TimedOut], snapshot.flights[FlightEnd::Loaded]),
        (100, 98, 4)
    );
}

/// B1: never a hang. What cannot begin within a flight's deadline is refused as that.
#[tokio::test(start_paused = true)]
async fn b1_what_cannot_begin_in_time_is_refused() {
    let builder = settings("late", &Gate::new(1)).origin_timeout(ms(50)).flight_deadline(ms(95));
    let (books, seen) = over::<1>(builder, all);
    let (got, took) = timed(books.get_many(&(0..20).collect::<Vec<u64>>())).await;
    // Ten of them, 10 ms each, began within 95 ms.
    assert_eq!((seen.calls.started(), took), (10, ms(100)));
    assert!(got[..10].iter().all(Result::is_ok));
    let late = |got: &_| matches!(got, Err(GetError::Rejected { reason: RejectReason::Deadline, retry_in }) if *retry_in >= ms(100));
    assert!(got[10..].iter().all(late));
    let snapshot = books.snapshot();
    assert_quiet(&snapshot);
    assert_eq!((snapshot.begun, snapshot.rejections[RejectReason::Deadline]), (20, 10));
}

/// B1, S1: keys that a dropped batch had not looked up are no requests, and are never loaded.
#[tokio::test(start_paused = true)]
async fn s1_a_dropped_batch_loads_nothing_more() {
    let (books, seen) = over::<1>(settings("dropped", &Gate::new(2)), all);
    let batch = ask_many(&books, (0..100).collect::<Vec<u64>>());
    turns().await;
    batch.abort();
    tokio::time::sleep(ms(50)).await;
    let snapshot = books.snapshot();
    assert_quiet(&snapshot);
    assert_eq!(seen.calls.started(), 2);
    assert_eq!((snapshot.begun, snapshot.outcomes[Outcome::Cancelled]), (2, 2));
    assert_eq!(outcomes(&books.get_many(&[0, 1]).await), [Some(Outcome::Hit); 2]);
}
