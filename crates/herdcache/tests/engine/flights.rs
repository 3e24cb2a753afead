//! One load for many callers, whoever goes away.

use std::sync::Arc;

use herdcache::herdfeed::{FlightEnd, FlightRole, Outcome};
use herdcache::{Answer, Failure, GetError, Ttl};

use crate::support::{assert_quiet, ms, users};

/// L2: 200 concurrent calls of a missing key: 1 load, 1 leader, 199 coalesced.
#[tokio::test(start_paused = true)]
async fn l2_two_hundred_callers_share_one_load() {
    let (users, calls) = users(Ttl::fresh_for(ms(60_000)), ms(20));
    let tasks: Vec<_> = (0..200)
        .map(|_| {
            let users = users.clone();
            tokio::spawn(async move { users.get(&7).await.unwrap().unwrap() })
        })
        .collect();
    let mut outcomes = Vec::new();
    let mut values = Vec::new();
    for task in tasks {
        let answer = task.await.unwrap();
        outcomes.push(Answer::outcome(&answer));
        values.push(Answer::into_value(answer));
    }
    assert_eq!(calls.started(), 1);
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == Outcome::Loaded).count(), 1);
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == Outcome::Coalesced).count(), 199);
    // K3: one value, shared.
    assert!(values.iter().all(|value| Arc::ptr_eq(value, &values[0])));
    let snapshot = users.snapshot();
    assert_eq!(snapshot.participants[FlightRole::Leader], 1);
    assert_eq!(snapshot.participants[FlightRole::Waiter], 199);
    assert_eq!((snapshot.outcomes[Outcome::Loaded], snapshot.outcomes[Outcome::Coalesced]), (1, 199));
    assert_eq!(snapshot.flights[FlightEnd::Loaded], 1);
    assert_quiet(&snapshot);
}

/// S1: the leader's caller is aborted; the other 199 are answered by that very load.
#[tokio::test(start_paused = true)]
async fn s1_an_aborted_leader_disturbs_nobody() {
    let (users, calls) = users(Ttl::fresh_for(ms(60_000)), ms(20));
    let leader = tokio::spawn({
        let users = users.clone();
        async move { users.get(&7).await.map(drop) }
    });
    tokio::task::yield_now().await;
    let waiters: Vec<_> = (0..199)
        .map(|_| {
            let users = users.clone();
            tokio::spawn(async move { Answer::outcome(&users.get(&7).await.unwrap().unwrap()) })
        })
        .collect();
    tokio::time::sleep(ms(10)).await;
    leader.abort();
    for waiter in waiters {
        assert_eq!(waiter.await.unwrap(), Outcome::Coalesced);
    }
    assert_eq!(calls.started(), 1);
    let snapshot = users.snapshot();
    assert_eq!((snapshot.outcomes[Outcome::Cancelled], snapshot.outcomes[Outcome::Coalesced]), (1, 199));
    assert_quiet(&snapshot);
}

fn no_such_table() -> Result<u64, std::convert::Infallible> {
    panic!("no such table")
}

/// S2: a panicking loader gives everyone a typed error; after cooling the next call loads.
#[tokio::test(start_paused = true)]
async fn s2_a_panic_is_an_error_for_all_and_the_next_call_loads() {
    let cache = herdcache::Cache::<u64, u64, std::convert::Infallible>::builder(
        "panics",
        Ttl::fresh_for(ms(1_000)),
        &herdcache::Gate::new(8),
    )
    .build()
    .unwrap();
    let tasks: Vec<_> = (0..200)
        .map(|_| {
            let cache = cache.clone();
            tokio::spawn(async move {
                cache
                    .get_with(&1, |_| async {
                        tokio::time::sleep(ms(5)).await;
                        no_such_table()
                    })
                    .await
            })
        })
        .collect();
    for task in tasks {
        let error = task.await.unwrap().unwrap_err();
        assert!(
            matches!(&error, GetError::Failed(Failure::Panicked { message }) if &**message == "no such table"),
            "{error:?}"
        );
    }
    tokio::time::sleep(ms(151)).await;
    let answer = cache.get_with(&1, |_| async { Ok(5) }).await.unwrap().unwrap();
    assert_eq!(*answer, 5);
    let snapshot = cache.snapshot();
    assert_eq!((snapshot.outcomes[Outcome::Failed], snapshot.outcomes[Outcome::Loaded]), (200, 1));
    assert_eq!((snapshot.flights[FlightEnd::Panicked], snapshot.flights[FlightEnd::Loaded]), (1, 1));
    assert_quiet(&snapshot);
}
