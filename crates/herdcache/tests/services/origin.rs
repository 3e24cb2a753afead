//! A7: a stack of services as the origin of a cache.

use std::future::{Ready, pending, ready};
use std::task::{Context, Poll};

use herdcache::tower::ServiceOrigin;
use herdcache::{BoxError, Failure, Gate, GetError, Outcome, ReadThrough, Ttl};
use tokio::task::JoinSet;
use tower::retry::{Policy, Retry};
use tower::util::BoxCloneSyncService;
use tower::{Service, ServiceBuilder, ServiceExt, service_fn};

use crate::support::{Count, DbError, builder, ms};

/// What the clones of one [`Strict`] have been through.
#[derive(Clone, Debug, Default)]
struct Seen {
    clones: Count,
    calls: Count,
}

/// How readiness goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Readiness {
    SecondPoll,
    Fails,
    Never,
}

/// A service that panics when it is called without being ready; a clone is not ready, whatever the original was.
#[derive(Debug)]
struct Strict {
    seen: Seen,
    readiness: Readiness,
    polls: u32,
}

impl Strict {
    fn new(readiness: Readiness) -> (Self, Seen) {
        let seen = Seen::default();
        (Self { seen: seen.clone(), readiness, polls: 0 }, seen)
    }
}

impl Clone for Strict {
    fn clone(&self) -> Self {
        self.seen.clones.add();
        Self { seen: self.seen.clone(), readiness: self.readiness, polls: 0 }
    }
}

impl Service<u64> for Strict {
    type Response = Option<String>;
    type Error = DbError;
    type Future = Ready<Result<Option<String>, DbError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), DbError>> {
        self.polls += 1;
        match (self.readiness, self.polls) {
            (Readiness::Fails, _) => Poll::Ready(Err(DbError)),
            (Readiness::Never, _) => Poll::Pending,
            (Readiness::SecondPoll, 1) => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            (Readiness::SecondPoll, _) => Poll::Ready(Ok(())),
        }
    }

    fn call(&mut self, key: u64) -> Self::Future {
        assert!(self.polls >= 2, "called without being ready");
        self.polls = 0;
        self.seen.calls.add();
        ready(Ok((key != 404).then(|| format!("row {key}"))))
    }
}

fn over(readiness: Readiness) -> (ReadThrough<u64, String, DbError>, Seen) {
    let (service, seen) = Strict::new(readiness);
    let cache = builder(&Gate::new(8)).origin_timeout(ms(100)).build_over(ServiceOrigin::new(service)).unwrap();
    (cache, seen)
}

/// A7: each load has a clone of its own, which is made ready before it is called; a herd is one call.
#[tokio::test(start_paused = true)]
async fn a7_a_service_is_cloned_made_ready_and_called_once_a_load() {
    let (rows, seen) = over(Readiness::SecondPoll);
    let mut herd = JoinSet::new();
    for n in 0..50 {
        let rows = rows.clone();
        herd.spawn(async move { rows.get(&(n % 2)).await.unwrap() });
    }
    while let Some(row) = herd.join_next().await {
        assert!(row.unwrap().unwrap().starts_with("row "));
    }
    assert_eq!((seen.clones.get(), seen.calls.get()), (2, 2), "two keys");
    for _ in 0..2 {
        assert!(rows.get(&404).await.unwrap().is_none(), "absent, and remembered");
    }
    assert_eq!(seen.calls.get(), 3);
}

/// A7, A5: a service that cannot get ready is an origin that failed, or one that took too long.
#[tokio::test(start_paused = true)]
async fn a7_readiness_is_part_of_the_call() {
    let (rows, seen) = over(Readiness::Fails);
    assert!(matches!(rows.get(&1).await, Err(GetError::Failed(Failure::Origin(origin))) if *origin == DbError));
    assert_eq!(seen.calls.get(), 0);
    let (rows, seen) = over(Readiness::Never);
    assert!(matches!(rows.get(&1).await, Err(GetError::Failed(Failure::OriginTimeout { .. }))));
    assert_eq!((seen.clones.get(), seen.calls.get()), (1, 0));
    assert_eq!(rows.snapshot().origin_active, 0, "the clone was given up");
}

/// Tries again until it succeeds.
#[derive(Clone, Debug)]
struct Stubborn;

impl<R> Policy<u64, R, DbError> for Stubborn {
    type Future = Ready<()>;

    fn retry(&mut self, _: &mut u64, result: &mut Result<R, DbError>) -> Option<Ready<()>> {
        result.is_err().then(|| ready(()))
    }

    fn clone_request(&mut self, key: &u64) -> Option<u64> {
        Some(*key)
    }
}

/// A7, L3: retries inside the stack are one call of the origin under one permit; only its last word counts.
#[tokio::test(start_paused = true)]
async fn a7_retries_inside_the_stack_are_one_call() {
    let tries = Count::default();
    let counted = tries.clone();
    let client = service_fn(move |key: u64| {
        let works = counted.add() == 3;
        async move { if works { Ok(format!("row {key}")) } else { Err(DbError) } }
    });
    let rows = builder(&Gate::new(1)).build_over(ServiceOrigin::new(Retry::new(Stubborn, client))).unwrap();
    assert_eq!(**rows.get(&7).await.unwrap().unwrap(), *"row 7");
    let snapshot = rows.snapshot();
    assert_eq!((tries.get(), snapshot.origin_calls, snapshot.outcomes[Outcome::Loaded]), (3, 1, 1));
}

/// A7: a stack whose type has been forgotten works, with its boxed errors; its own timeout is an origin error.
#[tokio::test(start_paused = true)]
async fn a7_boxed_stacks_are_origins() {
    let client = service_fn(|path: String| async move {
        if path == "/9" {
            pending::<()>().await;
        }
        Ok::<_, DbError>(path)
    });
    let stack = ServiceBuilder::new()
        .layer(BoxCloneSyncService::layer())
        .timeout(ms(50))
        .map_request(|id: u64| format!("/{id}"))
        .service(client);
    let stack: BoxCloneSyncService<u64, String, BoxError> = stack;
    let cache = herdcache::Cache::<u64, String>::builder("boxed", Ttl::fresh_for(ms(1_000)), &Gate::new(8))
        .build_over(ServiceOrigin::new(stack))
        .unwrap();
    assert_eq!(*cache.clone().oneshot(7).await.unwrap().unwrap(), "/7");
    let error = cache.get(&9).await.unwrap_err();
    assert!(error.origin().is_some_and(|origin| origin.is::<tower::timeout::error::Elapsed>()), "{error:?}");
    assert_eq!(error.kind(), herdcache::ErrorKind::OriginFailed);
}
