//! A6: flights as a snapshot shows them, in progress and just landed.

use std::sync::Arc;

use herdcache::herdfeed::snapshot::{LIVE_FLIGHTS, Stage};
use herdcache::herdfeed::{FlightEnd, FlightTrigger, LiveFlight, MissCause};
use herdcache::{Cache, Gate, KeyView, Ttl};

use crate::support::{Calls, DbError, Rows, ask, assert_quiet, ms, rows, turns};

const TTL: Ttl = Ttl::fresh_for(ms(60_000)).stale_for(ms(60_000));

fn named(name: &str, gate: &Gate) -> Rows {
    Cache::<u64, u64, DbError>::builder(name, TTL, gate).jitter(0.0).show_keys(KeyView::Plain).build().unwrap()
}

/// What matters of a flight on a screen: key, stage, waiters, age in ms.
fn line(flight: &LiveFlight) -> (String, Stage, u64, u64) {
    (flight.key.clone(), flight.stage, flight.waiters, flight.age_us / 1_000)
}

/// A6: each stage of a flight is shown as what it is, those with most waiters first.
#[tokio::test(start_paused = true)]
async fn a6_flights_in_progress_are_shown_by_stage_and_waiters() {
    let gate = Gate::builder(2).queue_timeout(ms(10_000)).build().unwrap();
    let cache = named("live", &gate);
    let calls = Arc::new(Calls::default());
    let mut callers = vec![ask(&cache, 1, calls.load(ms(500), Ok(1)))];
    tokio::time::sleep(ms(50)).await;
    cache.invalidate(&1);
    callers.extend((0..3).map(|_| ask(&cache, 2, calls.load(ms(500), Ok(2)))));
    callers.extend((0..2).map(|_| ask(&cache, 3, calls.load(ms(500), Ok(3)))));
    let gone = ask(&cache, 4, calls.load(ms(500), Ok(4)));
    turns().await;
    gone.abort();
    tokio::time::sleep(ms(100)).await;
    let snapshot = cache.snapshot();
    let lines: Vec<_> = snapshot.live.iter().map(line).collect();
    let expected = [
        ("2".to_owned(), Stage::Origin, 3, 100),
        ("3".to_owned(), Stage::Queued, 2, 100),
        ("1".to_owned(), Stage::Doomed, 1, 150),
        ("4".to_owned(), Stage::Queued, 0, 100),
    ];
    assert_eq!(lines, expected);
    assert_eq!((snapshot.flights_active, snapshot.flights_unwatched, snapshot.waiting), (4, 1, 6));
    assert_eq!(snapshot.flight_oldest_us, 150_000);
    assert!(snapshot.live.iter().all(|flight| flight.trigger == FlightTrigger::Miss && flight.end.is_none()));
    assert_eq!(snapshot.live[2].cause, Some(MissCause::Cold));
    for caller in callers {
        assert!(caller.await.unwrap().is_ok());
    }
    tokio::time::sleep(ms(1_000)).await;
    let snapshot = cache.snapshot();
    assert!(snapshot.live.is_empty() && snapshot.flight_oldest_us == 0);
    assert_quiet(&snapshot);
}

/// A6: flights that were slow or waited for are kept for a reader, newest last, with how they ended.
#[tokio::test(start_paused = true)]
async fn a6_notable_flights_are_shown_after_they_landed() {
    let cache = named("landed", &Gate::new(64));
    let calls = Arc::new(Calls::default());
    // Quick and alone: not worth a line.
    cache.get_with(&1, calls.load(ms(5), Ok(1))).await.unwrap();
    let joined: Vec<_> = (0..5).map(|_| ask(&cache, 2, calls.load(ms(5), Ok(2)))).collect();
    for caller in joined {
        caller.await.unwrap().unwrap();
    }
    assert!(cache.get_with(&3, calls.load(ms(30), Err(DbError("down")))).await.is_err());
    cache.insert(4, 4);
    cache.expire(&4);
    let landed: Vec<_> = cache.snapshot().landed.iter().map(|flight| (line(flight), flight.end)).collect();
    let expected = [
        (("2".to_owned(), Stage::Landed, 5, 5), Some(FlightEnd::Loaded)),
        (("3".to_owned(), Stage::Landed, 1, 30), Some(FlightEnd::Failed)),
    ];
    assert_eq!(landed, expected);
}

/// L7: a snapshot lists a bounded number of flights, and counts all of them.
#[tokio::test(start_paused = true)]
async fn l7_a_snapshot_lists_the_most_awaited_flights_only() {
    let cache = rows("many", TTL).build().unwrap();
    let gate = cache.gate().clone();
    let calls = Arc::new(Calls::default());
    let mut callers: Vec<_> = (0..300).map(|key| ask(&cache, key, calls.load(ms(10), Ok(key)))).collect();
    callers.push(ask(&cache, 299, calls.load(ms(10), Ok(0))));
    turns().await;
    let snapshot = cache.snapshot();
    assert_eq!((snapshot.live.len(), snapshot.flights_active), (LIVE_FLIGHTS, 300));
    assert_eq!((snapshot.live[0].waiters, snapshot.live[1].waiters), (2, 1));
    assert_eq!((gate.snapshot().used(), gate.snapshot().pending), (64, 236));
    for caller in callers {
        assert!(caller.await.unwrap().is_ok());
    }
    assert!(cache.snapshot().landed.len() <= 64);
    assert_quiet(&cache.snapshot());
}
