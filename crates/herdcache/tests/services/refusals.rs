//! A7: what a client of an axum service reads when there is no value.

use std::sync::Arc;

use axum::response::IntoResponse;
use herdcache::{Failure, Gate, GetError, LoadContext, RejectReason, Ttl};

use crate::support::{
    ABSENT, DbError, FAILS, LATENCY, PANICS, Products, Reply, SECRET, SLOW, ask, builder, load, ms, products, read,
    turns,
};

/// A5, P3: the reply is a problem document of this status, with nothing of the origin in head or body.
#[track_caller]
fn assert_problem(reply: &Reply, status: u16) {
    assert_eq!((reply.status, reply.header("content-type")), (status, Some("application/problem+json")), "{reply:?}");
    let problem: serde_json::Value = serde_json::from_str(&reply.body).unwrap();
    assert_eq!(problem["status"], status);
    let title = axum::http::StatusCode::from_u16(status).unwrap().canonical_reason();
    assert_eq!(problem["title"].as_str(), title);
    assert!(problem["detail"].as_str().is_some_and(|detail| !detail.is_empty()), "{problem}");
    let text = format!("{}{:?}", reply.body, reply.headers);
    assert!(!text.contains(SECRET), "{text}");
}

/// A7, A5, P3: an origin's error is 502; while its key cools, 503 that says when to come back.
#[tokio::test(start_paused = true)]
async fn a7_a_failed_load_is_502_and_then_503_while_it_cools() {
    let products = builder(&Gate::new(8)).cooling(ms(2_000), ms(2_000)).build_over(load).unwrap();
    let failed = ask(&products, FAILS).await;
    assert_problem(&failed, 502);
    assert_eq!(failed.header("retry-after"), None);
    let cooling = ask(&products, FAILS).await;
    assert_problem(&cooling, 503);
    // Rounded up to whole seconds: not a moment too early, less than a second too late.
    let Some(GetError::Cooling { retry_in, .. }) = cooling.error else { panic!("{cooling:?}") };
    assert!((ms(2_000)..=ms(3_000)).contains(&retry_in), "{retry_in:?}");
    let seconds: u64 = cooling.header("retry-after").unwrap().parse().unwrap();
    assert!(ms(seconds * 1_000) >= retry_in && ms((seconds - 1) * 1_000) < retry_in, "{seconds} s for {retry_in:?}");
    // A client that does as it is told is not told the same again.
    tokio::time::advance(ms(seconds * 1_000)).await;
    assert_problem(&ask(&products, FAILS).await, 502);
}

/// A7: cooling is 503 also when what is shared is a timeout or a panic.
#[tokio::test(start_paused = true)]
async fn a7_cooling_is_503_whatever_the_failure_was() {
    let products = builder(&Gate::new(8)).origin_timeout(ms(100)).cooling(ms(100), ms(100)).build_over(load).unwrap();
    for (key, first) in [(SLOW, 504), (PANICS, 500)] {
        assert_problem(&ask(&products, key).await, first);
        let cooling = ask(&products, key).await;
        assert_problem(&cooling, 503);
        assert_eq!(cooling.header("retry-after"), Some("1"), "never 0");
    }
}

/// A7: load shedding is 503 with `Retry-After`, and over with its cause.
#[tokio::test(start_paused = true)]
async fn a7_a_rejected_load_is_503_with_retry_after() {
    let products = builder(&Gate::builder(1).queue(0).build().unwrap()).build_over(load).unwrap();
    let busy = tokio::spawn({
        let products = products.clone();
        async move { ask(&products, SLOW).await }
    });
    turns().await;
    let refused = ask(&products, 1).await;
    assert_problem(&refused, 503);
    let Some(GetError::Rejected { reason: RejectReason::QueueFull, retry_in }) = refused.error else {
        panic!("{refused:?}")
    };
    let seconds: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!(ms(seconds * 1_000) >= retry_in && seconds >= 1, "{seconds} s for {retry_in:?}");
    assert!(!refused.body.contains("queue"), "the reason is for the operator: {}", refused.body);
    assert_eq!(busy.await.unwrap().status, 200);
    assert_eq!(ask(&products, 1).await.status, 200);
}

/// A7, A6: a handler that writes past the cache under the gate's limit is refused in the same way.
#[tokio::test(start_paused = true)]
async fn a7_a_refused_permit_is_503_with_retry_after() {
    let gate = Gate::builder(1).queue(0).build().unwrap();
    let write = || async {
        let _permit = gate.acquire().await?;
        Ok::<_, GetError<DbError>>("written")
    };
    assert_eq!(write().await.into_response().status(), 200);
    let _held = gate.acquire().await.unwrap();
    let refused = write().await.into_response();
    assert_eq!((refused.status().as_u16(), refused.headers()["retry-after"].to_str().unwrap()), (503, "1"));
    let error = refused.extensions().get::<GetError<DbError>>();
    assert!(matches!(error, Some(GetError::Rejected { reason: RejectReason::QueueFull, .. })), "{error:?}");
}

/// A7: a cache that was shut down is 503 without a time: this process does not come back.
#[tokio::test(start_paused = true)]
async fn a7_closed_is_503_without_retry_after() {
    let products = products();
    assert_eq!(ask(&products, 1).await.status, 200);
    products.shutdown(ms(10)).await;
    let closed = ask(&products, 2).await;
    assert_problem(&closed, 503);
    assert_eq!(closed.header("retry-after"), None);
    assert_eq!(ask(&products, 1).await.status, 200, "what is stored is still answered");
}

/// Whether the error is the one meant.
type Check = fn(&GetError<DbError>) -> bool;

/// A7, A5: each limit of time is 504: the caller's own, the origin call's, the flight's.
#[tokio::test(start_paused = true)]
async fn a7_timeouts_are_504() {
    let gate = Gate::new(8);
    let waiting = products().with_wait_timeout(ms(50));
    let hard = builder(&gate).origin_timeout(ms(50)).build_over(load).unwrap();
    let deadline = builder(&gate).origin_timeout(ms(80)).flight_deadline(ms(80)).build_over(load).unwrap();
    let kinds: [(Products, Check); 3] = [
        (waiting.clone(), |error| matches!(error, GetError::WaitTimeout { .. })),
        (hard, |error| matches!(error, GetError::Failed(Failure::OriginTimeout { .. }))),
        (deadline, |error| matches!(error, GetError::Failed(Failure::Deadline { .. }))),
    ];
    for (products, is_kind) in kinds {
        let late = ask(&products, SLOW).await;
        assert_problem(&late, 504);
        assert_eq!(late.header("retry-after"), None);
        assert!(late.error.as_ref().is_some_and(is_kind), "{late:?}");
    }
    tokio::time::sleep(LATENCY).await;
    assert_eq!(ask(&waiting, SLOW).await.status, 200, "the load went on");
}

/// A7, P3: a panic, a re-entrant load and a broken rule are this service's own mistakes.
#[tokio::test(start_paused = true)]
async fn a7_defects_are_500() {
    let panicked = ask(&products(), PANICS).await;
    assert_problem(&panicked, 500);
    assert!(matches!(&panicked.error, Some(GetError::Failed(Failure::Panicked { message })) if **message == *SECRET));
    let others = [GetError::<DbError>::Reentrant, GetError::Failed(Failure::Contract { what: SECRET })];
    for error in others {
        assert_problem(&read(error.into_response()).await, 500);
    }
}

/// A7: absent is no error; the handler makes 404 of it.
#[tokio::test(start_paused = true)]
async fn a7_absent_is_left_to_the_handler() {
    let products = products();
    for _ in 0..2 {
        let reply = ask(&products, ABSENT).await;
        assert_eq!((reply.status, reply.body.as_str()), (404, ""));
    }
    assert_eq!(products.snapshot().origin_calls, 1);
}

/// A7: `Age` counts whole seconds from the origin's answer, also when a load failed and an older value stands in.
#[tokio::test(start_paused = true)]
async fn a7_age_is_told_in_whole_seconds() {
    let ttl = Ttl::fresh_for(ms(10_000)).stale_if_error_for(ms(60_000));
    let failing = |cx: LoadContext<u64, String>| async move {
        if cx.cause().is_some_and(|cause| cause == herdcache::herdfeed::MissCause::Cold) {
            Ok("once".to_owned())
        } else {
            Err(DbError)
        }
    };
    let products: Products =
        herdcache::Cache::builder("aging", ttl, &Gate::new(8)).jitter(0.0).build_over(failing).unwrap();
    for (wait, age) in [(0, "0"), (2_999, "2"), (1, "3"), (12_000, "15")] {
        tokio::time::advance(ms(wait)).await;
        let reply = ask(&products, 7).await;
        assert_eq!((reply.status, reply.header("age"), reply.body.as_str()), (200, Some(age), "\"once\""));
    }
}

/// A7: a middleware that logs finds the error, shared and whole, beside the response that tells nothing of it.
#[tokio::test(start_paused = true)]
async fn a7_p3_the_error_travels_in_the_extensions_only() {
    let origin = Arc::new(DbError);
    let response = GetError::Failed(Failure::Origin(Arc::clone(&origin))).into_response();
    let reply = read(response).await;
    assert_problem(&reply, 502);
    let error = reply.error.expect("it lies in the extensions");
    assert!(Arc::ptr_eq(error.origin().unwrap(), &origin));
    assert!(error.to_string().contains(SECRET), "the operator may read it");
}
