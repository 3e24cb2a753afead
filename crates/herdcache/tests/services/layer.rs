//! A7: a layer that answers some of a service's requests through a cache.

use std::future::pending;
use std::sync::Arc;
use std::task::{Context, Poll};

use herdcache::tower::CacheLayer;
use herdcache::{Cache, Failure, Gate, GetError, Loaded, Outcome, Ttl};
use tokio::task::JoinSet;
use tower::{Layer, Service, ServiceBuilder, ServiceExt, service_fn};

use crate::support::{Count, DbError, ms, turns};

/// A request of the service below.
#[derive(Clone, Copy, Debug)]
enum Call {
    Read(u64),
    Write,
}

type Rows = Cache<u64, Arc<str>, DbError>;

fn key(call: &Call) -> Option<u64> {
    match call {
        Call::Read(id) => Some(*id),
        Call::Write => None,
    }
}

fn rows(ttl: Ttl) -> Rows {
    Cache::builder("rows", ttl, &Gate::new(8)).jitter(0.0).build().unwrap()
}

const TTL: Ttl = Ttl::fresh_for(ms(1_000));

/// A client that counts its calls, takes 10 ms and fails from the call `fails_from` on.
fn client(
    calls: &Count,
    fails_from: u64,
) -> impl Service<Call, Response = Arc<str>, Error = DbError, Future: Send> + Clone + Send + 'static {
    let calls = calls.clone();
    service_fn(move |call: Call| {
        let nth = calls.add();
        async move {
            tokio::time::sleep(ms(10)).await;
            if nth >= fails_from { Err(DbError) } else { Ok(format!("{call:?} by call {nth}").into()) }
        }
    })
}

/// A7: requests with a key share one call, also when they come together; those without all pass.
#[tokio::test(start_paused = true)]
async fn a7_requests_with_a_key_are_answered_through_the_cache() {
    let (rows, calls) = (rows(TTL), Count::default());
    let service = ServiceBuilder::new().layer(CacheLayer::new(rows.clone(), key)).service(client(&calls, u64::MAX));
    let mut herd = JoinSet::new();
    for _ in 0..100 {
        herd.spawn(service.clone().oneshot(Call::Read(7)));
    }
    while let Some(answer) = herd.join_next().await {
        assert_eq!(&*answer.unwrap().unwrap(), "Read(7) by call 1");
    }
    for nth in 2..4 {
        let passed = service.clone().oneshot(Call::Write).await.unwrap();
        assert_eq!(*passed, format!("Write by call {nth}"));
    }
    assert_eq!(&*service.clone().oneshot(Call::Read(8)).await.unwrap(), "Read(8) by call 4");
    let snapshot = rows.snapshot();
    assert_eq!((calls.get(), snapshot.origin_calls, snapshot.begun), (4, 2, 101), "writes are not in the account");
    rows.invalidate(&7);
    assert_eq!(&*service.oneshot(Call::Read(7)).await.unwrap(), "Read(7) by call 5");
}

/// A7, E1: an error of the service is a failed load: shared, then cooling; one that passed through is not shared.
#[tokio::test(start_paused = true)]
async fn a7_errors_below_a_layer_fail_the_load() {
    let (rows, calls) = (rows(TTL), Count::default());
    let service = CacheLayer::new(rows.clone(), key).layer(client(&calls, 1));
    let read = service.clone().oneshot(Call::Read(7)).await;
    assert!(matches!(read, Err(GetError::Failed(Failure::Origin(_)))));
    assert!(matches!(service.clone().oneshot(Call::Read(7)).await, Err(GetError::Cooling { .. })));
    for _ in 0..2 {
        let write = service.clone().oneshot(Call::Write).await;
        assert!(matches!(write, Err(GetError::Failed(Failure::Origin(origin))) if *origin == DbError));
    }
    assert_eq!((calls.get(), rows.snapshot().begun), (3, 2));
}

/// A7, F3: a stale response is answered at once and refreshed behind it, by the request that found it stale.
#[tokio::test(start_paused = true)]
async fn a7_stale_responses_are_refreshed_behind_the_answer() {
    let (rows, calls) = (rows(TTL.stale_for(ms(60_000))), Count::default());
    let service = CacheLayer::new(rows.clone(), key).layer(client(&calls, u64::MAX));
    service.clone().oneshot(Call::Read(7)).await.unwrap();
    tokio::time::advance(ms(1_500)).await;
    let began = tokio::time::Instant::now();
    assert_eq!(&*service.clone().oneshot(Call::Read(7)).await.unwrap(), "Read(7) by call 1");
    assert_eq!(began.elapsed(), ms(0));
    tokio::time::sleep(ms(20)).await;
    assert_eq!(&*service.oneshot(Call::Read(7)).await.unwrap(), "Read(7) by call 2");
    assert_eq!(rows.snapshot().outcomes[Outcome::Stale], 1);
}

/// A7, E3: what `store_if` does not approve of answers those who wait, together, and is not kept.
#[tokio::test(start_paused = true)]
async fn a7_responses_may_be_answered_and_not_kept() {
    let (rows, calls) = (rows(TTL), Count::default());
    let layer = CacheLayer::new(rows.clone(), key).store_if(|text| text.starts_with("Read(7)"));
    let service = layer.layer(client(&calls, u64::MAX));
    for (id, expected) in [(7, 1), (8, 3)] {
        for _ in 0..2 {
            let mut pair = JoinSet::new();
            pair.spawn(service.clone().oneshot(Call::Read(id)));
            pair.spawn(service.clone().oneshot(Call::Read(id)));
            while let Some(answer) = pair.join_next().await {
                assert!(answer.unwrap().is_ok());
            }
        }
        assert_eq!(calls.get(), expected, "key {id}");
        assert_eq!(rows.peek(&id).is_some(), id == 7);
    }
}

/// A service that never gets ready once it has answered one call.
#[derive(Clone, Debug)]
struct Once(Count);

impl Service<Call> for Once {
    type Response = Arc<str>;
    type Error = DbError;
    type Future = std::future::Ready<Result<Arc<str>, DbError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), DbError>> {
        if self.0.get() == 0 { Poll::Ready(Ok(())) } else { Poll::Pending }
    }

    fn call(&mut self, _: Call) -> Self::Future {
        self.0.add();
        std::future::ready(Ok("first".into()))
    }
}

/// A7: an answer from the cache does not wait until the service below is ready; what goes below does.
#[tokio::test(start_paused = true)]
async fn a7_hits_do_not_wait_for_readiness_below() {
    let mut service = CacheLayer::new(rows(TTL), key).layer(Once(Count::default()));
    for _ in 0..2 {
        let answer = service.ready().await.unwrap().call(Call::Read(7)).await;
        assert_eq!(&*answer.unwrap(), "first");
    }
    let passed = service.ready().await.unwrap().call(Call::Write);
    assert!(tokio::time::timeout(ms(1_000), passed).await.is_err());
}

/// A7: a request that is dropped disturbs nobody: with a key its load goes on, without one it ends with it.
#[tokio::test(start_paused = true)]
async fn a7_dropped_requests_disturb_nobody() {
    let (rows, calls, done) = (rows(TTL), Count::default(), Count::default());
    let (counted, finished) = (calls.clone(), done.clone());
    let slow = service_fn(move |_: Call| {
        counted.add();
        let finished = finished.clone();
        async move {
            tokio::time::sleep(ms(100)).await;
            finished.add();
            Ok::<Arc<str>, DbError>("slow".into())
        }
    });
    let service = CacheLayer::new(rows.clone(), key).layer(slow);
    let dropped = [Call::Read(7), Call::Write].map(|call| tokio::spawn(service.clone().oneshot(call)));
    turns().await;
    assert_eq!(calls.get(), 2);
    dropped.iter().for_each(tokio::task::JoinHandle::abort);
    tokio::time::sleep(ms(200)).await;
    assert_eq!((done.get(), &**rows.peek(&7).unwrap()), (1, "slow"));
    assert_eq!(rows.snapshot().outcomes[Outcome::Cancelled], 1);
}

/// A7: an absent value that another caller put into the layer's cache is a breach of contract, not a response.
#[tokio::test(start_paused = true)]
async fn a7_an_absent_value_has_no_response() {
    let rows = rows(TTL);
    let never = service_fn(|_: Call| pending::<Result<Arc<str>, DbError>>());
    let service = CacheLayer::new(rows.clone(), key).layer(never);
    rows.insert(7, Loaded::absent());
    let error = service.oneshot(Call::Read(7)).await.unwrap_err();
    assert!(matches!(&error, GetError::Failed(Failure::Contract { what }) if what.contains("absent")), "{error:?}");
    assert_eq!(error.kind().http_status(), 500);
}
