//! S7: loaders that block their thread. Real time, with bounds of at least three times what is expected.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};

use herdcache::herdfeed::{DiscardReason, FlightEnd, OriginResult};
use herdcache::{Answer, Cache, Failure, Gate, GetError, LoadContext, Loaded, Origin, Outcome, Ttl};
use tokio::runtime::{Builder, Runtime};

use crate::support::{Calls, DbError, Rows, assert_quiet, ms, value};

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap()
}

fn cache(name: &str, gate: &Gate) -> Rows {
    Cache::builder(name, Ttl::fresh_for(ms(60_000)), gate)
        .origin_timeout(ms(200))
        .flight_deadline(ms(200))
        .cooling(ms(10), ms(10))
        .build()
        .unwrap()
}

/// Where the loader blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Blocks {
    /// At its first poll, in its caller.
    InPlace,
    /// Later, in the task it was spawned into.
    Spawned,
}

/// Waits until `done`, 5 s at most.
async fn until(done: impl Fn() -> bool) {
    let limit = Instant::now() + Duration::from_secs(5);
    while !done() && Instant::now() < limit {
        tokio::time::sleep(ms(2)).await;
    }
    assert!(done());
}

/// A load that blocks for 2 s under a deadline of 200 ms.
async fn blocked_load_frees_its_key(blocks: Blocks) {
    let gate = Gate::new(2);
    let cache = cache("blocks", &gate);
    let calls = Arc::new(Calls::default());
    let began = Instant::now();
    let leader = tokio::spawn({
        let (cache, calls) = (cache.clone(), Arc::clone(&calls));
        async move {
            let load = |_| async move {
                let _call = calls.call();
                if blocks == Blocks::Spawned {
                    tokio::task::yield_now().await;
                }
                std::thread::sleep(ms(2_000));
                Ok(1)
            };
            cache.get_with(&7, load).await
        }
    });
    until(|| calls.started() == 1).await;
    let waiter = cache.get_with(&7, calls.load(ms(1), Ok(2))).await;
    let freed = began.elapsed();
    assert!(matches!(&waiter, Err(GetError::Failed(Failure::Deadline { limit })) if *limit == ms(200)), "{waiter:?}");
    assert!(freed >= ms(190) && freed < ms(1_900), "{blocks:?}: freed after {freed:?}");
    let snapshot = cache.snapshot();
    assert_eq!((snapshot.origin_abandoned, snapshot.origin_active), (1, 1));
    assert_eq!(gate.snapshot().used(), 1);
    // The key is free: the next load runs beside the blocked one, once the key has cooled.
    tokio::time::sleep(ms(16)).await;
    assert_eq!(value(cache.get_with(&7, calls.load(ms(1), Ok(3))).await), 3);
    assert!(began.elapsed() < ms(1_900), "{:?}", began.elapsed());
    assert_eq!(cache.snapshot().origin_abandoned, 1);
    assert_eq!(gate.snapshot().used(), 1);
    assert!(leader.await.unwrap().is_err());
    until(|| cache.snapshot().origin_abandoned == 0).await;
    let snapshot = cache.snapshot();
    // The late value was seen and not stored.
    assert_eq!(cache.peek(&7).as_deref(), Some(&3));
    assert_eq!(snapshot.discards[DiscardReason::TooOld], 1);
    assert_eq!(snapshot.origin_results[OriginResult::Timeout], 1);
    assert_quiet(&snapshot);
    assert_eq!(gate.snapshot().used(), 0);
}

/// S7: a loader that blocks its caller's thread.
#[test]
fn s7_a_load_that_blocks_in_place_frees_its_key_and_keeps_its_permit() {
    runtime().block_on(blocked_load_frees_its_key(Blocks::InPlace));
}

/// S7: a loader that blocks the thread it was spawned on.
#[test]
fn s7_a_load_that_blocks_its_task_frees_its_key_and_keeps_its_permit() {
    runtime().block_on(blocked_load_frees_its_key(Blocks::Spawned));
}

/// S7: nobody but the blocked leader asked; a caller who comes after the deadline is not kept waiting.
#[test]
fn s7_a_caller_after_the_deadline_of_a_blocked_load_does_not_wait_for_it() {
    runtime().block_on(async {
        let cache = cache("late", &Gate::new(2));
        let calls = Arc::new(Calls::default());
        let leader = tokio::spawn({
            let (cache, calls) = (cache.clone(), Arc::clone(&calls));
            async move {
                let load = |_| async move {
                    let _call = calls.call();
                    std::thread::sleep(ms(800));
                    Ok(1)
                };
                cache.get_with(&7, load).await
            }
        });
        until(|| calls.started() == 1).await;
        tokio::time::sleep(ms(250)).await;
        let began = Instant::now();
        let _ = cache.get_with(&7, calls.load(ms(1), Ok(2))).await;
        tokio::time::sleep(ms(16)).await;
        assert_eq!(value(cache.get_with(&7, calls.load(ms(1), Ok(3))).await), 3);
        assert!(began.elapsed() < ms(500), "{:?}", began.elapsed());
        let _ = leader.await;
    });
}

/// S7, case 05: a load that never ends frees its key and its permit at the deadline, for all who wait.
#[tokio::test(start_paused = true)]
async fn s7_a_load_that_never_ends_is_over_at_the_deadline() {
    let gate = Gate::new(4);
    let cache = Cache::<u64, u64, DbError>::builder("case-05", Ttl::fresh_for(ms(60_000)), &gate)
        .origin_timeout(ms(1_000))
        .flight_deadline(ms(1_000))
        .build()
        .unwrap();
    let began = tokio::time::Instant::now();
    let callers: Vec<_> = (0..20)
        .map(|_| {
            let cache = cache.with_wait_timeout(ms(5_000));
            tokio::spawn(async move { cache.get_with(&7, |_| std::future::pending::<Result<u64, _>>()).await })
        })
        .collect();
    for caller in callers {
        let got = caller.await.unwrap();
        assert!(matches!(got, Err(GetError::Failed(Failure::Deadline { .. }))), "{got:?}");
    }
    assert!(began.elapsed() >= ms(1_000) && began.elapsed() <= ms(1_100));
    crate::support::turns().await;
    assert_eq!(gate.snapshot().used(), 0);
    let account = cache.snapshot();
    assert_eq!((account.outcomes[Outcome::Failed], account.flights[FlightEnd::Deadline]), (20, 1));
    assert_quiet(&account);
    tokio::time::sleep(ms(151)).await;
    assert_eq!(value(cache.get_with(&7, |_| async { Ok(1) }).await), 1);
}

/// S7, case 05: blocking work that cannot be stopped keeps its permit and is counted until it ends.
#[tokio::test(start_paused = true)]
async fn s7_blocking_work_keeps_its_permit_until_it_ends() {
    let gate = Gate::new(4);
    let cache = cache("case-05-blocking", &gate);
    let (release, wait) = std::sync::mpsc::channel::<()>();
    let caller = tokio::spawn({
        let cache = cache.clone();
        async move {
            let load = |cx: herdcache::LoadContext<u64, u64>| async move {
                let done = cx.run_blocking(move || wait.recv().is_ok()).await;
                done.map(|_| 1).map_err(|_| DbError("blocking"))
            };
            cache.get_with(&7, load).await
        }
    });
    for _ in 0..22 {
        tokio::time::advance(ms(10)).await;
        crate::support::turns().await;
    }
    assert!(matches!(caller.await.unwrap(), Err(GetError::Failed(Failure::Deadline { .. }))));
    let snapshot = cache.snapshot();
    assert_eq!((snapshot.origin_abandoned, gate.snapshot().used()), (1, 1));
    tokio::time::advance(ms(16)).await;
    assert_eq!(value(cache.get_with(&7, |_| async { Ok(2) }).await), 2);
    assert_eq!((cache.snapshot().origin_abandoned, gate.snapshot().used()), (1, 1));
    drop(release);
    until(|| cache.snapshot().origin_abandoned == 0).await;
    assert_eq!(gate.snapshot().used(), 0);
    assert_eq!(cache.peek(&7).as_deref(), Some(&2));
    assert_quiet(&cache.snapshot());
}

/// A key that does something else when it is shown, once.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Showy(u64);

static WHEN_SHOWN: parking_lot::Mutex<Option<Box<dyn FnOnce() + Send>>> = parking_lot::Mutex::new(None);

impl serde::Serialize for Showy {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Some(act) = WHEN_SHOWN.lock().take() {
            act();
        }
        serializer.serialize_u64(self.0)
    }
}

/// S7: who joined after the flight opened and before its call began is freed at the limit, too, though the call then
/// blocks its thread at its first poll: alone, or as one of a batch.
#[test]
fn s7_who_joins_before_the_call_begins_is_freed() {
    for keys in [vec![], vec![Showy(7)], vec![Showy(7), Showy(8)]] {
        let runtime = runtime();
        let builder = Cache::<Showy, u64, DbError>::builder("s7-early", Ttl::fresh_for(ms(60_000)), &Gate::new(2));
        let (answered, answer) = std::sync::mpsc::channel::<bool>();
        let freed = Arc::new(AtomicBool::new(false));
        let load = Blocking { answer: parking_lot::Mutex::new(answer), freed: Arc::clone(&freed) };
        let cache = builder.origin_timeout(ms(100)).flight_deadline(ms(100)).build_over(load).unwrap();
        let (waiting, handle) = (cache.clone(), runtime.handle().clone());
        let join_at_once = move || {
            let (joined, has_joined) = std::sync::mpsc::channel();
            std::thread::spawn(move || {
                let mut read = Box::pin(waiting.get(&Showy(7)));
                let read = std::future::poll_fn(|cx| {
                    let polled = read.as_mut().poll(cx);
                    let _ = joined.send(());
                    polled
                });
                let got = handle.block_on(read);
                let _ = answered.send(matches!(got, Err(GetError::Failed(Failure::Deadline { .. }))));
            });
            has_joined.recv().unwrap();
        };
        *WHEN_SHOWN.lock() = Some(Box::new(join_at_once));
        let got = runtime.block_on(async {
            if keys.is_empty() { vec![cache.get(&Showy(7)).await] } else { cache.get_many(&keys).await }
        });
        assert!(matches!(&got[0], Err(GetError::Failed(Failure::Deadline { .. }))), "{} keys: {got:?}", keys.len());
        assert!(freed.load(SeqCst), "{} keys: nobody was freed while the call blocked", keys.len());
        assert_eq!(cache.snapshot().origin_results[OriginResult::Timeout], 1);
    }
}

/// An origin that blocks until it is told that somebody was freed meanwhile, 5 s at most.
struct Blocking {
    answer: parking_lot::Mutex<std::sync::mpsc::Receiver<bool>>,
    freed: Arc<AtomicBool>,
}

impl Blocking {
    fn block(&self) {
        let freed = self.answer.lock().recv_timeout(Duration::from_secs(5)) == Ok(true);
        self.freed.store(freed, SeqCst);
    }
}

impl Origin<Showy, u64> for Blocking {
    type Error = DbError;
    const MAX_BATCH: usize = 2;

    async fn load(&self, cx: LoadContext<Showy, u64>) -> Result<Loaded<u64>, DbError> {
        self.block();
        Ok(Loaded::value(cx.key().0))
    }

    async fn load_many(&self, keys: Vec<LoadContext<Showy, u64>>) -> Result<Vec<(Showy, Loaded<u64>)>, DbError> {
        self.block();
        Ok(keys.iter().map(|cx| (cx.key().clone(), Loaded::value(cx.key().0))).collect())
    }
}

/// A key whose clone does something first, as slow as it likes.
struct Slow {
    id: u64,
    first: Option<Arc<dyn Fn() + Send + Sync>>,
}

impl Clone for Slow {
    fn clone(&self) -> Self {
        self.first.iter().for_each(|first| first());
        Self { id: self.id, first: None }
    }
}

impl PartialEq for Slow {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for Slow {}

impl std::hash::Hash for Slow {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

impl serde::Serialize for Slow {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.id.serialize(serializer)
    }
}

/// S3, L4: the second look judges by its own time: a value that came and went while the key was cloned is no hit.
#[tokio::test]
async fn s3_the_second_look_is_as_of_now() {
    let cache = Cache::<Slow, u64, DbError>::builder("s3-slow", Ttl::fresh_for(ms(10)), &Gate::new(2)).build().unwrap();
    let other = cache.clone();
    let first = move || {
        other.insert(Slow { id: 7, first: None }, 1);
        std::thread::sleep(ms(30));
    };
    let key = Slow { id: 7, first: Some(Arc::new(first)) };
    let got = cache.get_with(&key, |_| async { Ok(2) }).await.unwrap().unwrap();
    assert_eq!((*got, Answer::outcome(&got)), (2, Outcome::Loaded));
    assert_quiet(&cache.snapshot());
}
