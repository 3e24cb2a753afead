//! A5: each way in which a caller gets no value is an error of its own.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use herdcache::herdfeed::FlightEnd;
use herdcache::{Cache, Failure, Gate, GetError, Got, LoadContext, Outcome, RejectReason, Ttl};

use crate::support::{Calls, DbError, Load, Rows, ask, assert_quiet, ms, rows, turns};

const TTL: Ttl = Ttl::fresh_for(ms(60_000));

type Error = GetError<DbError>;

/// Everything that an error tells besides its variant.
fn told(error: &Error) -> (String, Outcome, Option<Duration>, Option<&'static str>) {
    (error.to_string(), error.outcome(), error.retry_after(), error.origin().map(|origin| origin.0))
}

async fn error_of(cache: &Rows, load: impl FnOnce(LoadContext<u64, u64>) -> Load) -> Error {
    cache.get_with(&7, load).await.unwrap_err()
}

/// A5: the origin's error is shared, not copied, and comes again as `Cooling` with the time to come back.
#[tokio::test(start_paused = true)]
async fn a5_an_origin_error_is_shared_and_then_cools() {
    let cache = rows("failed", TTL).cooling(ms(100), ms(100)).build().unwrap();
    let calls = Arc::new(Calls::default());
    let failed = error_of(&cache, calls.load(ms(10), Err(DbError("no such table")))).await;
    assert!(matches!(failed, GetError::Failed(Failure::Origin(_))));
    let text = "the origin failed: no such table".to_owned();
    assert_eq!(told(&failed), (text, Outcome::Failed, None, Some("no such table")));
    let cooling = error_of(&cache, calls.load(ms(10), Ok(1))).await;
    let GetError::Cooling { retry_in, .. } = cooling else { panic!("{cooling:?}") };
    assert!((ms(100)..=ms(150)).contains(&retry_in), "{retry_in:?}");
    let text = format!("the origin failed: no such table (no new load for {retry_in:?})");
    assert_eq!(told(&cooling), (text, Outcome::Cooling, Some(retry_in), Some("no such table")));
    assert!(Arc::ptr_eq(failed.origin().unwrap(), cooling.origin().unwrap()));
    assert_eq!(calls.started(), 1);
}

/// A5: the two limits of a load are told apart, each with its configured value.
#[tokio::test(start_paused = true)]
async fn a5_hard_timeout_and_flight_deadline_are_told_apart() {
    let pending = |_| -> Load { Box::pin(std::future::pending()) };
    let cache = rows("timeout", TTL).origin_timeout(ms(50)).build().unwrap();
    let error = error_of(&cache, pending).await;
    assert!(matches!(error, GetError::Failed(Failure::OriginTimeout { limit }) if limit == ms(50)), "{error:?}");
    let text = "the origin took longer than origin_timeout (50ms)".to_owned();
    assert_eq!(told(&error), (text, Outcome::Failed, None, None));
    let cache = rows("deadline", TTL).origin_timeout(ms(80)).flight_deadline(ms(80)).build().unwrap();
    let error = error_of(&cache, pending).await;
    assert!(matches!(error, GetError::Failed(Failure::Deadline { limit }) if limit == ms(80)), "{error:?}");
    let text = "the load took longer than flight_deadline (80ms)".to_owned();
    assert_eq!(told(&error), (text, Outcome::Failed, None, None));
    assert_eq!(cache.snapshot().flights[FlightEnd::Deadline], 1);
}

/// A5: a panic is told with its message if that is text, `String` or `&str`.
#[tokio::test(start_paused = true)]
async fn a5_a_panic_is_told_with_its_message() {
    type Panic = fn() -> Result<u64, DbError>;
    let table: [(Panic, &str); 3] = [
        (|| panic!("plain"), "the loader panicked: plain"),
        (|| panic!("with {}", 7), "the loader panicked: with 7"),
        (|| std::panic::panic_any(7), "the loader panicked: (no message)"),
    ];
    for (panic, text) in table {
        let cache = rows("panicked", TTL).build().unwrap();
        let error = error_of(&cache, |_| Box::pin(async move { panic() })).await;
        assert!(matches!(error, GetError::Failed(Failure::Panicked { .. })), "{error:?}");
        assert_eq!(told(&error), (text.to_owned(), Outcome::Failed, None, None));
    }
}

/// A5: a refusal names its exact reason and when to come back.
#[tokio::test(start_paused = true)]
async fn a5_a_refusal_says_why_and_when_to_come_back() {
    let gate = Gate::builder(1).queue(0).build().unwrap();
    let cache = Cache::<u64, u64, DbError>::builder("refused", TTL, &gate).build().unwrap();
    let calls = Arc::new(Calls::default());
    let busy = ask(&cache, 1, calls.load(ms(100), Ok(1)));
    turns().await;
    let error = error_of(&cache, calls.load(ms(1), Ok(2))).await;
    let GetError::Rejected { reason: RejectReason::QueueFull, retry_in } = error else { panic!("{error:?}") };
    assert!((ms(100)..=ms(10_000)).contains(&retry_in), "{retry_in:?}");
    let text = format!("rejected: queue_full (retry in {retry_in:?})");
    assert_eq!(told(&error), (text, Outcome::Rejected, Some(retry_in), None));
    busy.await.unwrap().unwrap();
    // A refusal cools nothing: the next caller loads.
    assert!(cache.get_with(&7, calls.load(ms(1), Ok(2))).await.is_ok());
}

/// A5: the caller's own limit, told with its value; the load goes on.
#[tokio::test(start_paused = true)]
async fn a5_a_wait_timeout_is_the_callers_own() {
    let cache = rows("impatient", TTL).build().unwrap().with_wait_timeout(ms(30));
    let calls = Arc::new(Calls::default());
    let error = error_of(&cache, calls.load(ms(100), Ok(1))).await;
    assert!(matches!(error, GetError::WaitTimeout { limit } if limit == ms(30)), "{error:?}");
    let text = "not answered within this caller's wait timeout (30ms)".to_owned();
    assert_eq!(told(&error), (text, Outcome::TimedOut, None, None));
    tokio::time::sleep(ms(71)).await;
    assert_eq!(cache.peek(&7).as_deref(), Some(&1));
}

/// A5: re-entrance and the end of the cache.
#[tokio::test(start_paused = true)]
async fn a5_reentrant_and_closed_have_their_own_words() {
    let cache = rows("words", TTL).build().unwrap();
    let inner = cache.clone();
    let (tell, hear) = tokio::sync::oneshot::channel();
    let load = move |_| -> Load {
        Box::pin(async move {
            let error = inner.get_with(&7, |_| async { Ok(1) }).await.unwrap_err();
            tell.send(error).unwrap();
            Ok(1)
        })
    };
    assert!(cache.get_with(&7, load).await.is_ok());
    let error = hear.await.unwrap();
    assert!(matches!(error, GetError::Reentrant));
    let text = "a loader asked for the key that it loads".to_owned();
    assert_eq!(told(&error), (text, Outcome::Failed, None, None));
    cache.shutdown(Duration::ZERO).await;
    cache.invalidate(&7);
    let error = error_of(&cache, |_| Box::pin(async { Ok(1) })).await;
    assert!(matches!(error, GetError::Closed));
    assert_eq!(told(&error), ("the cache was shut down".to_owned(), Outcome::Closed, None, None));
    assert_quiet(&cache.snapshot());
}

/// A5: outside any runtime a load that is ready is answered, and one that waits is a breach of contract, not a panic.
#[test]
fn a5_without_a_runtime_a_waiting_load_is_a_contract_breach() {
    let cache = rows("nowhere", TTL).build().unwrap();
    let poll = |key: u64, load: fn(LoadContext<u64, u64>) -> Load| -> Poll<Got<u64, DbError>> {
        pin!(cache.get_with(&key, load)).poll(&mut Context::from_waker(Waker::noop()))
    };
    let Poll::Ready(Ok(Some(answer))) = poll(1, |_| Box::pin(async { Ok(5) })) else { panic!("ready at once") };
    assert_eq!(*answer, 5);
    let Poll::Ready(Err(error)) = poll(2, |_| Box::pin(std::future::pending())) else { panic!("refused at once") };
    assert!(matches!(error, GetError::Failed(Failure::Contract { .. })), "{error:?}");
    let text = "waiting for a load needs a tokio runtime with timers: build it with enable_time()".to_owned();
    assert_eq!(told(&error), (text, Outcome::Failed, None, None));
    assert_quiet(&cache.snapshot());
}

/// A5: errors are cheap to pass on: a clone shares the origin's error, and they work as `dyn Error`.
#[test]
fn a5_errors_clone_and_box() {
    let origin = Arc::new(std::io::Error::other("gone"));
    let error = GetError::Failed(Failure::Origin(Arc::clone(&origin)));
    assert!(Arc::ptr_eq(error.clone().origin().unwrap(), &origin));
    let boxed: Box<dyn std::error::Error + Send + Sync> = Box::new(error);
    assert_eq!(boxed.to_string(), "the origin failed: gone");
}
