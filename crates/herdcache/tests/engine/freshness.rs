//! F1, F3, F5, L4: which value is answered at which age, through the engine and to the nanosecond.

use std::sync::Arc;
use std::time::Duration;

use herdcache::herdfeed::StaleReason;
use herdcache::{Answer, Loaded, Outcome, Ttl};
use tokio::time::{Instant, advance};

use crate::support::{Calls, DbError, Rows, ask, assert_quiet, ms, outcome, rows, turns, value};

const NS: Duration = Duration::from_nanos(1);
/// The last moment before `bound`.
const fn before(bound: Duration) -> Duration {
    bound.saturating_sub(NS)
}

const DOWN: Result<u64, DbError> = Err(DbError("down"));
/// Fresh below 100 ms, stale below 300 ms, reserve below 600 ms.
const TTL: Ttl = Ttl::fresh_for(ms(100)).stale_for(ms(200)).stale_if_error_for(ms(500));

fn state(cache: &Rows) -> Option<Outcome> {
    cache.peek(&7).as_ref().map(Answer::outcome)
}

/// F1, F3: each state begins exactly at its bound: fresh < soft ≤ stale < hard ≤ reserve < last ≤ expired.
#[tokio::test(start_paused = true)]
async fn f1_states_change_exactly_at_their_bounds() {
    // (age, what a look says, what a failing read says)
    let table = [
        (ms(0), Some(Outcome::Hit), Outcome::Hit),
        (before(ms(100)), Some(Outcome::Hit), Outcome::Hit),
        (ms(100), Some(Outcome::Stale), Outcome::Stale),
        (before(ms(300)), Some(Outcome::Stale), Outcome::Stale),
        (ms(300), None, Outcome::Reserve),
        (before(ms(600)), None, Outcome::Reserve),
        (ms(600), None, Outcome::Failed),
    ];
    for (age, look, read) in table {
        let cache = rows("bounds", TTL).build().unwrap();
        cache.insert(7, 1);
        advance(age).await;
        assert_eq!(state(&cache), look, "at {age:?}");
        let got = cache.get_with(&7, |_| async { DOWN }).await;
        assert_eq!(outcome(&got), Some(read), "at {age:?}");
        if let Ok(Some(answer)) = got {
            assert_eq!(Answer::age(&answer), age);
            assert_eq!(Answer::is_stale(&answer), age >= ms(100));
        }
    }
}

/// F1: age starts when the origin's answer arrives, not when its load began, and no later read restarts it.
#[tokio::test(start_paused = true)]
async fn f1_age_starts_when_the_answer_arrives() {
    let cache = rows("age", Ttl::fresh_for(ms(1_000))).build().unwrap();
    let calls = Arc::new(Calls::default());
    let began = Instant::now();
    let (leader, waiter) =
        tokio::join!(cache.get_with(&7, calls.load(ms(400), Ok(1))), cache.get_with(&7, calls.load(ms(400), Ok(2))));
    for got in [leader, waiter] {
        assert_eq!(Answer::age(&got.unwrap().unwrap()), ms(0));
    }
    for wait in [300, 300, 399] {
        advance(ms(wait)).await;
        let hit = cache.get_with(&7, calls.load(ms(400), Ok(3))).await.unwrap().unwrap();
        assert_eq!(Answer::outcome(&hit), Outcome::Hit);
        assert_eq!(Answer::age(&hit) + ms(400), began.elapsed());
    }
    advance(ms(1)).await;
    assert!(cache.peek(&7).is_none());
}

/// F1: from a millisecond to ten years, without overflow.
#[tokio::test(start_paused = true)]
async fn f1_the_shortest_and_the_longest_ttl_hold() {
    for ttl in [ms(1), Duration::from_secs(10 * 365 * 24 * 3_600)] {
        let cache = rows("extreme", Ttl::fresh_for(ttl).stale_for(ttl)).build().unwrap();
        cache.insert(7, 1);
        advance(before(ttl)).await;
        assert_eq!(state(&cache), Some(Outcome::Hit), "{ttl:?}");
        advance(NS).await;
        assert_eq!(state(&cache), Some(Outcome::Stale), "{ttl:?}");
        advance(ttl).await;
        assert_eq!(state(&cache), None, "{ttl:?}");
    }
}

/// L4: a load that fails after the last bound has passed is an error: the bound is judged at the answer.
#[tokio::test(start_paused = true)]
async fn l4_the_last_bound_is_judged_when_the_value_is_answered() {
    for (load, expected) in [(ms(249), Outcome::Reserve), (ms(250), Outcome::Failed)] {
        let cache = rows("late", TTL).build().unwrap();
        let calls = Arc::new(Calls::default());
        cache.insert(7, 1);
        tokio::time::sleep(ms(350)).await;
        let got = cache.get_with(&7, calls.load(load, DOWN)).await;
        assert_eq!(outcome(&got), Some(expected), "a load of {load:?}");
        assert_quiet(&cache.snapshot());
    }
}

/// L4: without `stale_if_error_for` the hard bound is the last: past it an error is an error.
#[tokio::test(start_paused = true)]
async fn l4_the_last_bound_is_the_hard_one_by_default() {
    let cache = rows("hard", Ttl::fresh_for(ms(100)).stale_for(ms(200))).cooling(ms(10), ms(10)).build().unwrap();
    let calls = Arc::new(Calls::default());
    cache.insert(7, 1);
    tokio::time::sleep(ms(300)).await;
    for _ in 0..2 {
        assert_eq!(outcome(&cache.get_with(&7, calls.load(ms(5), DOWN)).await), Some(Outcome::Failed));
        tokio::time::sleep(ms(15)).await;
    }
    assert_eq!(cache.snapshot().stale_serves.total(), 0);
}

/// F1, F3: what the account tells of stale answers is how far past freshness they were, not their age.
#[tokio::test(start_paused = true)]
async fn f3_stale_answers_are_told_by_their_time_past_freshness() {
    let cache = rows("past", TTL).build().unwrap();
    cache.insert(7, 1);
    advance(ms(130)).await;
    assert_eq!(outcome(&cache.get_with(&7, |_| async { Ok(2) }).await), Some(Outcome::Stale));
    let told = cache.snapshot().stale_age;
    assert_eq!((told.count, told.sum_us), (1, 30_000));
}

fn soft(name: &str) -> Rows {
    rows(name, TTL).soft_timeout(ms(50)).build().unwrap()
}

/// F5: a caller with a reserve waits the soft timeout, gets the reserve, and the load fills the cache behind it.
#[tokio::test(start_paused = true)]
async fn f5_a_reserve_is_answered_at_the_soft_timeout() {
    let cache = soft("soft");
    let calls = Arc::new(Calls::default());
    cache.insert(7, 1);
    tokio::time::sleep(ms(350)).await;
    let began = Instant::now();
    let waiter = ask(&cache, 7, calls.load(ms(120), Ok(3)));
    let got = cache.get_with(&7, calls.load(ms(120), Ok(2))).await;
    assert_eq!((outcome(&got), value(got), began.elapsed()), (Some(Outcome::Reserve), 1, ms(50)));
    assert_eq!(outcome(&waiter.await.unwrap()), Some(Outcome::Reserve));
    let snapshot = cache.snapshot();
    assert_eq!((snapshot.flights_active, snapshot.flights_unwatched), (1, 1), "the flight goes on");
    assert_eq!(snapshot.stale_serves[StaleReason::SoftTimeout], 2);
    tokio::time::sleep(ms(71)).await;
    let got = cache.get_with(&7, calls.load(ms(120), Ok(4))).await;
    assert_eq!((outcome(&got), value(got)), (Some(Outcome::Hit), 2));
    assert_eq!(calls.started(), 1);
    assert_quiet(&cache.snapshot());
}

/// F5: a load that is faster than the soft timeout is what its caller gets; so is a slow one when nothing older exists.
#[tokio::test(start_paused = true)]
async fn f5_without_need_or_without_an_older_value_the_load_is_awaited() {
    let cache = soft("soft-fast");
    let calls = Arc::new(Calls::default());
    cache.insert(7, 1);
    tokio::time::sleep(ms(350)).await;
    let fast = cache.get_with(&7, calls.load(ms(49), Ok(2))).await;
    assert_eq!((outcome(&fast), value(fast)), (Some(Outcome::Loaded), 2));
    let began = Instant::now();
    let cold = cache.get_with(&8, calls.load(ms(200), Ok(3))).await;
    assert_eq!((outcome(&cold), began.elapsed()), (Some(Outcome::Loaded), ms(200)));
    assert_eq!(cache.snapshot().stale_serves.total(), 0);
}

/// F5, L4: a reserve whose last bound passes within the soft timeout is not answered any more.
#[tokio::test(start_paused = true)]
async fn f5_a_reserve_that_runs_out_meanwhile_is_not_answered() {
    let cache = soft("soft-late");
    let calls = Arc::new(Calls::default());
    cache.insert(7, 1);
    tokio::time::sleep(ms(560)).await;
    let began = Instant::now();
    let got = cache.get_with(&7, calls.load(ms(120), Ok(2))).await;
    assert_eq!((outcome(&got), value(got), began.elapsed()), (Some(Outcome::Loaded), 2, ms(120)));
    assert_quiet(&cache.snapshot());
}

/// F5, S4: whichever of a caller's two limits comes first acts.
#[tokio::test(start_paused = true)]
async fn f5_the_nearer_of_two_limits_acts() {
    for (wait, expected) in [(ms(40), Outcome::TimedOut), (ms(60), Outcome::Reserve)] {
        let cache = soft("soft-wait");
        let calls = Arc::new(Calls::default());
        cache.insert(7, 1);
        tokio::time::sleep(ms(350)).await;
        let got = cache.with_wait_timeout(wait).get_with(&7, calls.load(ms(200), Ok(2))).await;
        assert_eq!(outcome(&got), Some(expected));
        tokio::time::sleep(ms(200)).await;
        turns().await;
        assert_quiet(&cache.snapshot());
    }
}

/// F3: a value of its own TTL zero is stale at once, answered while it may be, and never beyond its bound.
#[tokio::test(start_paused = true)]
async fn f3_a_value_without_freshness_lives_on_its_stale_time_only() {
    let cache = rows("no-fresh", TTL).build().unwrap();
    cache.get_with(&7, |_| async { Ok(Loaded::value(1).fresh_for(ms(0))) }).await.unwrap();
    advance(ms(1)).await;
    assert_eq!(state(&cache), Some(Outcome::Stale));
    advance(ms(200)).await;
    assert_eq!(state(&cache), None);
}
