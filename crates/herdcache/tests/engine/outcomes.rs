//! L1: the documented table of outcomes by role and flight end, run row by row.

use std::time::Duration;

use herdcache::herdfeed::{ClosedSet, FlightEnd, Outcome};
use herdcache::{Answer, Cache, Gate, Got, Loaded, Ttl};

use crate::support::{DbError, ms};

const TABLE: &str = include_str!("../../../../docs/reference/outcomes.md");

/// The words of one documented row: leader, waiter, and leader with a reserve value.
fn documented(end: FlightEnd) -> [Option<Outcome>; 3] {
    let row = TABLE.lines().find(|line| line.starts_with(&format!("| {end} |"))).expect("the end has a row");
    let mut cells = row.split('|').skip(2).map(str::trim);
    std::array::from_fn(|_| cells.next().and_then(Outcome::from_label))
}

fn outcome(got: &Got<u64, DbError>) -> Outcome {
    match got {
        Ok(Some(answer)) => Answer::outcome(answer),
        // An absent answer names no outcome: the account does.
        Ok(None) => Outcome::Negative,
        Err(error) => error.outcome(),
    }
}

/// What a load does to bring its flight to an end.
async fn load(end: FlightEnd) -> Result<Loaded<u64>, DbError> {
    tokio::time::sleep(ms(10)).await;
    match end {
        FlightEnd::Loaded => Ok(Loaded::value(1)),
        FlightEnd::Absent => Ok(Loaded::absent()),
        FlightEnd::NotModified => Ok(Loaded::not_modified()),
        FlightEnd::Discarded => Ok(Loaded::value(1).do_not_store()),
        FlightEnd::Failed => Err(DbError("down")),
        FlightEnd::Panicked => panic!("as the row wants"),
        _ => std::future::pending().await,
    }
}

fn cache(gate: &Gate) -> Cache<u64, u64, DbError> {
    let ttl = Ttl::fresh_for(ms(1_000)).stale_if_error_for(ms(60_000));
    let builder = Cache::builder("outcomes", ttl, gate).jitter(0.0).origin_timeout(ms(50)).flight_deadline(ms(50));
    builder.build().unwrap()
}

/// Runs a leader and a waiter through a flight that ends so; gives their outcomes.
async fn run(end: FlightEnd, before: Option<u64>) -> (Outcome, Outcome) {
    let gate = Gate::builder(1).queue(0).build().unwrap();
    let cache = cache(&gate);
    if let Some(value) = before {
        cache.insert(1, value).await;
        tokio::time::sleep(ms(1_001)).await;
    }
    // A gate of one permit that another key holds refuses the next load.
    let busy = (end == FlightEnd::Rejected).then(|| {
        let cache = cache.clone();
        tokio::spawn(async move { cache.get_with(&9, |_| std::future::pending::<Result<u64, _>>()).await.is_ok() })
    });
    tokio::task::yield_now().await;
    let callers: Vec<_> = (0..2)
        .map(|_| {
            let cache = cache.clone();
            tokio::spawn(async move { outcome(&cache.get_with(&1, |_| load(end)).await) })
        })
        .collect();
    tokio::time::sleep(ms(1)).await;
    if end == FlightEnd::Closed {
        cache.shutdown(Duration::ZERO).await;
    }
    let mut outcomes = Vec::new();
    for caller in callers {
        outcomes.push(caller.await.unwrap());
    }
    if let Some(busy) = busy {
        busy.abort();
    }
    assert!(cache.snapshot().flights[end] > 0, "no flight ended as {end}");
    (outcomes[0], outcomes[1])
}

#[tokio::test(start_paused = true)]
async fn l1_outcomes_by_role_and_end_are_as_documented() {
    let ends = [
        FlightEnd::Loaded,
        FlightEnd::Discarded,
        FlightEnd::Failed,
        FlightEnd::Deadline,
        FlightEnd::Panicked,
        FlightEnd::Closed,
    ];
    for end in ends {
        let [leader, waiter, reserve] = documented(end);
        assert_eq!(run(end, None).await, (leader.unwrap(), waiter.unwrap()), "{end}");
        if let Some(reserve) = reserve {
            assert_eq!(run(end, Some(7)).await, (reserve, reserve), "{end} with a reserve value");
        }
    }
    // Nothing is confirmed without a value that is there.
    let [leader, waiter, _] = documented(FlightEnd::NotModified);
    assert_eq!(run(FlightEnd::NotModified, Some(7)).await, (leader.unwrap(), waiter.unwrap()));
    // A refused flight has landed before anybody can join it: both callers lead one.
    let [leader, _, reserve] = documented(FlightEnd::Rejected);
    assert_eq!(run(FlightEnd::Rejected, None).await.0, leader.unwrap());
    assert_eq!(run(FlightEnd::Rejected, Some(7)).await.0, reserve.unwrap());
}

/// L1: an absent answer is told in the account, since it has no answer to ask.
#[tokio::test(start_paused = true)]
async fn l1_absences_are_loaded_coalesced_and_then_negative() {
    let cache = cache(&Gate::new(4));
    let callers: Vec<_> = (0..2)
        .map(|_| {
            let cache = cache.clone();
            tokio::spawn(async move { cache.get_with(&1, |_| load(FlightEnd::Absent)).await.unwrap().is_none() })
        })
        .collect();
    for caller in callers {
        assert!(caller.await.unwrap());
    }
    assert!(cache.get_with(&1, |_| load(FlightEnd::Absent)).await.unwrap().is_none());
    let outcomes = cache.snapshot().outcomes;
    let [leader, waiter, _] = documented(FlightEnd::Absent);
    assert_eq!([outcomes[leader.unwrap()], outcomes[waiter.unwrap()], outcomes[Outcome::Negative]], [1, 1, 1]);
}
