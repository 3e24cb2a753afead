//! Which limit is told when several apply: the one that passes first, at its own moment.
//!
//! A row is one caller. Where two fall on one instant the row names both: which of the
//! two the runtime wakes first is its own affair, that it is one of them is ours.

use std::sync::Arc;
use std::time::Duration;

use herdcache::{Cache, Failure, Gate, GetError, Got, Outcome, RejectReason, Ttl};
use tokio::time::Instant;

use crate::support::{Calls, DbError, Rows, ask, assert_quiet, ms, outcome, turns};

/// Longer than anything here.
const EVER: u64 = 10_000;

/// What applies to one caller, in milliseconds from its request on.
#[derive(Clone, Copy)]
struct Row {
    /// How long the load takes.
    load: u64,
    /// When the gate's one permit comes back.
    busy: u64,
    queue: Option<u64>,
    origin: u64,
    flight: u64,
    wait: u64,
    /// The soft timeout, where an older value may be answered.
    soft: Option<u64>,
}

const HANGS: Row = Row { load: EVER, busy: 0, queue: None, origin: 20, flight: 30, wait: EVER, soft: None };
const NO_PERMIT: Row = Row { busy: EVER, ..HANGS };

/// How the caller fared, in one word.
fn word(got: &Got<u64, DbError>) -> &'static str {
    match got {
        Ok(_) if outcome(got) == Some(Outcome::Reserve) => "reserve",
        Ok(_) => "loaded",
        Err(GetError::WaitTimeout { .. }) => "wait",
        Err(GetError::Failed(Failure::OriginTimeout { .. })) => "origin",
        Err(GetError::Failed(Failure::Deadline { .. })) => "flight",
        Err(GetError::Rejected { reason: RejectReason::QueueTimeout, .. }) => "queue",
        Err(GetError::Rejected { reason: RejectReason::Deadline, .. }) => "flight in queue",
        Err(_) => "something else",
    }
}

fn built(row: Row, gate: &Gate) -> Rows {
    let ttl = Ttl::fresh_for(ms(1_000)).stale_if_error_for(ms(60_000));
    let builder = Cache::builder("order", ttl, gate).jitter(0.0);
    let builder = builder.origin_timeout(ms(row.origin)).flight_deadline(ms(row.flight));
    let builder = row.soft.into_iter().fold(builder, |builder, soft| builder.soft_timeout(ms(soft)));
    builder.build().unwrap()
}

/// One caller under a row: its word and its milliseconds.
async fn fare(row: Row) -> (&'static str, u64) {
    let gate = Gate::builder(1);
    let gate = row.queue.into_iter().fold(gate, |gate, limit| gate.queue_timeout(ms(limit))).build().unwrap();
    let (cache, calls) = (built(row, &gate), Arc::new(Calls::default()));
    if row.soft.is_some() {
        cache.insert(7, 1);
        tokio::time::sleep(ms(1_001)).await;
    }
    let beside = Cache::builder("beside", Ttl::fresh_for(ms(1)), &gate).origin_timeout(Duration::from_secs(60));
    let beside: Rows = beside.flight_deadline(Duration::from_secs(60)).build().unwrap();
    let busy = (row.busy > 0).then(|| ask(&beside, 1, calls.load(ms(row.busy), Ok(1))));
    turns().await;
    let began = Instant::now();
    let got = cache.with_wait_timeout(ms(row.wait)).get_with(&7, calls.load(ms(row.load), Ok(2))).await;
    let took = u64::try_from(began.elapsed().as_millis()).unwrap();
    if let Some(busy) = busy {
        busy.await.unwrap().unwrap();
    }
    tokio::time::sleep(ms(EVER)).await;
    assert_quiet(&cache.snapshot());
    assert_eq!(gate.snapshot().used(), 0);
    (word(&got), took)
}

/// S4, S7, G1, F5: each limit at its own moment, whatever the order of the others.
#[tokio::test(start_paused = true)]
async fn s4_s7_g1_f5_the_first_limit_that_passes_is_told() {
    let table = [
        (Row { wait: 10, ..HANGS }, ("wait", 10)),
        (Row { wait: 25, ..HANGS }, ("origin", 20)),
        (Row { wait: 40, origin: 30, ..HANGS }, ("flight", 30)),
        // What the queue took is missing from the call: the flight's deadline cuts its limit.
        (Row { busy: 5, ..HANGS }, ("origin", 25)),
        (Row { busy: 15, ..HANGS }, ("flight", 30)),
        (Row { queue: Some(10), ..NO_PERMIT }, ("queue", 10)),
        (NO_PERMIT, ("flight in queue", 30)),
        (Row { queue: Some(10), wait: 8, ..NO_PERMIT }, ("wait", 8)),
        (Row { queue: Some(10), wait: 12, ..NO_PERMIT }, ("queue", 10)),
        (Row { soft: Some(10), ..HANGS }, ("reserve", 10)),
        (Row { soft: Some(25), ..HANGS }, ("reserve", 20)),
        (Row { soft: Some(10), wait: 5, ..HANGS }, ("wait", 5)),
        (Row { soft: Some(10), wait: 15, ..HANGS }, ("reserve", 10)),
        (Row { soft: Some(10), queue: Some(20), ..NO_PERMIT }, ("reserve", 10)),
        (Row { soft: Some(15), queue: Some(10), ..NO_PERMIT }, ("reserve", 10)),
        (Row { load: 9, wait: 10, soft: Some(10), ..HANGS }, ("loaded", 9)),
        (Row { load: 19, ..HANGS }, ("loaded", 19)),
        (Row { load: 9, busy: 9, queue: Some(10), ..HANGS }, ("loaded", 18)),
        // A caller that may be answered an older value at the moment when it gives up is answered.
        (Row { soft: Some(10), wait: 10, ..HANGS }, ("reserve", 10)),
    ];
    for (nth, (row, expected)) in table.into_iter().enumerate() {
        assert_eq!(fare(row).await, expected, "row {nth}");
    }
}

/// S4, S7, G1, F5: a landing, or a permit, in the very instant in which a limit passes: one of the two, never both.
#[tokio::test(start_paused = true)]
async fn s4_s7_g1_f5_of_two_in_one_instant_one_is_told() {
    let table = [
        (Row { load: 10, wait: 10, ..HANGS }, ["loaded", "wait"], 10),
        (Row { load: 10, soft: Some(10), ..HANGS }, ["loaded", "reserve"], 10),
        (Row { load: 20, ..HANGS }, ["loaded", "origin"], 20),
        (Row { origin: 30, wait: 30, ..HANGS }, ["flight", "wait"], 30),
        (Row { queue: Some(10), wait: 10, ..NO_PERMIT }, ["queue", "wait"], 10),
    ];
    for (nth, (row, either, at)) in table.into_iter().enumerate() {
        let (word, took) = fare(row).await;
        assert!(either.contains(&word), "row {nth}: {word}");
        assert_eq!(took, at, "row {nth}");
    }
    // The permit comes as the queue's limit passes: refused then, or loaded ten later.
    let met = fare(Row { load: 10, busy: 10, queue: Some(10), ..HANGS }).await;
    assert!([("queue", 10), ("loaded", 20)].contains(&met), "{met:?}");
}
