//! Changes of a key at the worst moment: between two looks, twice in a row, from within the application's own code.

use std::cell::RefCell;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::task::{Context, Waker};

use herdcache::herdfeed::{DiscardReason, Fact, FlightEnd, MissCause, RemovalCause};
use herdcache::{Cache, Failure, Gate, GetError, LoadContext, Loaded, Origin, Outcome, ReadThrough, Refreshing, Ttl};
use tokio::time::Instant;

use crate::support::{Calls, DbError, Rows, ask, assert_quiet, ms, outcome, rows, turns, value};

const TTL: Ttl = Ttl::fresh_for(ms(60_000));

type Hook = Box<dyn FnOnce()>;

thread_local! {
    static HOOK: RefCell<Option<Hook>> = const { RefCell::new(None) };
}

/// A key whose next clone on this thread does something else first.
#[derive(PartialEq, Eq, Hash, serde::Serialize)]
struct Hooked(u64);

impl Clone for Hooked {
    fn clone(&self) -> Self {
        if let Some(hook) = HOOK.take() {
            hook();
        }
        Self(self.0)
    }
}

fn at_the_next_clone(hook: impl FnOnce() + 'static) {
    HOOK.set(Some(Box::new(hook)));
}

/// W1: a key's `Clone` may call the cache, also where absences have a room of their own.
#[tokio::test(start_paused = true)]
async fn w1_a_keys_clone_may_call_the_cache() {
    let cache = Cache::<Hooked, u64, DbError>::builder("clone-calls", TTL, &Gate::new(4)).build().unwrap();
    cache.insert(Hooked(1), Loaded::absent());
    for tags in [vec![], vec!["a"]] {
        let inner = cache.clone();
        at_the_next_clone(move || _ = inner.invalidate(&Hooked(2)));
        cache.insert(Hooked(2), Loaded::value(5).tags(tags));
        HOOK.take();
        assert_eq!(cache.peek(&Hooked(2)).map(|answer| *answer), Some(5));
    }
}

/// An origin whose batch calls are ready at once.
struct Ready(Arc<Calls>);

impl Origin<Hooked, u64> for Ready {
    type Error = DbError;
    const MAX_BATCH: usize = 8;

    async fn load(&self, cx: LoadContext<Hooked, u64>) -> Result<Loaded<u64>, DbError> {
        Ok(Loaded::value(cx.key().0))
    }

    async fn load_many(&self, keys: Vec<LoadContext<Hooked, u64>>) -> Result<Vec<(Hooked, Loaded<u64>)>, DbError> {
        let _call = self.0.call();
        Ok(keys.iter().map(|cx| (Hooked(cx.key().0), Loaded::value(cx.key().0))).collect())
    }
}

/// Shuts the cache down at the first clone of a key that finds a flight open.
fn close_when_flying(cache: ReadThrough<Hooked, u64, DbError>) {
    at_the_next_clone(move || {
        if cache.snapshot().flights_active == 0 {
            return close_when_flying(cache);
        }
        let closing = pin!(cache.shutdown(ms(0)));
        assert!(closing.poll(&mut Context::from_waker(Waker::noop())).is_ready());
    });
}

/// X1, B1: a shutdown while a batch looks its keys up closes them all, and nothing goes to the origin after it.
#[tokio::test(start_paused = true)]
async fn x1_a_shutdown_while_a_batch_looks_up_starts_no_call() {
    let calls = Arc::new(Calls::default());
    let builder = Cache::<Hooked, u64, DbError>::builder("closes-batch", TTL, &Gate::new(4));
    let cache = builder.build_over(Ready(Arc::clone(&calls))).unwrap();
    close_when_flying(cache.clone());
    let got = cache.get_many(&[Hooked(1), Hooked(2), Hooked(3)]).await;
    assert!(got.iter().all(|got| matches!(got, Err(GetError::Closed))), "{got:?}");
    assert_eq!(calls.started(), 0);
    let snapshot = cache.snapshot();
    assert_quiet(&snapshot);
    assert_eq!(snapshot.flights[FlightEnd::Closed], 1);
}

/// L5: with several invalidations of a tag during one load, who came after the first of them loads anew.
#[tokio::test(start_paused = true)]
async fn l5_two_invalidations_of_a_tag_during_one_load() {
    let cache = rows("two-tags", TTL).build().unwrap();
    let row = Arc::new(AtomicU64::new(1));
    let read = |latency| {
        let (cache, row) = (cache.clone(), Arc::clone(&row));
        tokio::spawn(async move {
            let load = |_| async move {
                let seen = row.load(SeqCst);
                tokio::time::sleep(ms(latency)).await;
                Ok(Loaded::value(seen).tags(["t"]))
            };
            cache.get_with(&1, load).await
        })
    };
    let leader = read(100);
    tokio::time::sleep(ms(10)).await;
    row.store(2, SeqCst);
    cache.invalidate_tag("t");
    let between = read(100);
    tokio::time::sleep(ms(10)).await;
    cache.invalidate_tag("t");
    let after = read(100);
    assert_eq!(value(leader.await.unwrap()), 1);
    assert_eq!((value(between.await.unwrap()), value(after.await.unwrap())), (2, 2));
    assert_eq!(cache.peek(&1).map(|answer| *answer), Some(2));
    assert_quiet(&cache.snapshot());
}

/// L5: a tag that is invalidated while a flight is held back does not concern its load, which begins later.
#[tokio::test(start_paused = true)]
async fn l5_a_held_flight_begins_after_the_invalidation() {
    let cache = rows("held-tag", TTL).build().unwrap();
    let read = |row: u64, latency| {
        let cache = cache.clone();
        tokio::spawn(async move {
            let load = move |_| async move {
                tokio::time::sleep(ms(latency)).await;
                Ok(Loaded::value(row).tags(["t"]))
            };
            cache.get_with(&1, load).await
        })
    };
    let mut callers = Vec::new();
    for row in 0..2 {
        callers.push(read(row, 100));
        turns().await;
        cache.invalidate(&1);
    }
    callers.push(read(2, 10));
    turns().await;
    cache.invalidate_tag("t");
    for (row, caller) in (0..).zip(callers) {
        assert_eq!(value(caller.await.unwrap()), row);
    }
    assert_eq!(cache.peek(&1).map(|answer| *answer), Some(2));
}

/// L5: a refresh is given what is there when it is registered, not what its reader saw.
#[tokio::test(start_paused = true)]
async fn l5_a_refresh_never_sees_an_invalidated_value() {
    let ttl = Ttl::fresh_for(ms(20)).stale_for(ms(60_000));
    let cache = Cache::<Hooked, u64, DbError>::builder("refresh-window", ttl, &Gate::new(4)).build().unwrap();
    cache.insert(Hooked(1), 1);
    tokio::time::sleep(ms(60)).await;
    let inner = cache.clone();
    at_the_next_clone(move || _ = inner.invalidate(&Hooked(1)));
    let load = |cx: LoadContext<Hooked, u64>| {
        assert!(cx.previous().is_none(), "the key was invalidated");
        async { Err::<u64, _>(DbError("down")) }
    };
    // Its own answer is from before the invalidation; what follows is not.
    assert_eq!(value(cache.get_with(&Hooked(1), load).await), 1);
    let got = cache.get_with(&Hooked(1), |_| async { Err::<u64, _>(DbError("down")) }).await;
    assert_eq!(outcome(&got), Some(Outcome::Failed), "{got:?}");
    assert_quiet(&cache.snapshot());
}

/// A6, L5: an insert that comes too late changes nothing at all.
#[tokio::test(start_paused = true)]
async fn l5_a_refused_insert_changes_nothing() {
    let ttl = Ttl::fresh_for(ms(1_000)).stale_for(ms(30_000));
    let cache = rows("late-insert", ttl).build().unwrap();
    let there = |cache: &Rows| cache.peek(&1).map(|answer| *answer);
    cache.insert(1, Loaded::value(5).version(5));
    // Older, and too old to be stored as well.
    cache.insert(1, Loaded::value(1).version(1).source_age(ms(120_000)));
    assert_eq!(there(&cache), Some(5));
    // A replayed log does not stop refreshes.
    tokio::time::sleep(ms(1_500)).await;
    let load = |_| async {
        tokio::time::sleep(ms(50)).await;
        Ok(Loaded::value(6).version(6))
    };
    assert_eq!(outcome(&cache.get_with(&1, load).await), Some(Outcome::Stale));
    turns().await;
    cache.insert(1, Loaded::value(1).version(1));
    tokio::time::sleep(ms(60)).await;
    assert_eq!(there(&cache), Some(6));
    assert_eq!(cache.snapshot().discards[DiscardReason::OlderVersion], 2);
    // There is nothing to confirm.
    cache.insert(1, Loaded::not_modified());
    assert_eq!(there(&cache), Some(6));
    // Newer, but not to be kept: what was there is over, and that is counted.
    cache.insert(1, Loaded::value(7).version(7).source_age(ms(120_000)));
    assert_eq!((there(&cache), cache.snapshot().discards[DiscardReason::TooOld]), (None, 1));
}

/// W2: marking an absent key stale makes nobody wait.
#[tokio::test(start_paused = true)]
async fn w2_marking_an_absent_key_blocks_nobody() {
    let cache = rows("mark-absent", TTL.stale_for(ms(60_000))).negative_ttl(ms(30_000)).build().unwrap();
    cache.insert(1, Loaded::absent());
    cache.mark_stale(&1);
    let began = Instant::now();
    let got = cache.get_with(&1, |_| async { Err::<u64, _>(DbError("down")) }).await;
    assert!(matches!(got, Ok(None)), "{got:?}");
    assert_eq!(began.elapsed(), ms(0));
}

/// R1: a key that is marked stale all the time is refreshed no sooner than the cooling base after each arrival.
#[tokio::test(start_paused = true)]
async fn r1_a_storm_of_marks_is_no_storm_of_loads() {
    let cache = rows("mark-storm", TTL.stale_for(ms(60_000))).cooling(ms(100), ms(1_000)).build().unwrap();
    let calls = Arc::new(Calls::default());
    cache.insert(1, 0);
    for _ in 0..2_000 {
        cache.mark_stale(&1);
        let got = cache.get_with(&1, calls.load(ms(5), Ok(1))).await;
        assert!(matches!(outcome(&got), Some(Outcome::Hit | Outcome::Stale)));
        tokio::time::sleep(ms(1)).await;
    }
    assert!((18..=21).contains(&calls.started()), "{}", calls.started());
}

/// S4: a caller's limit is of its whole wait, also if it has to wait for a second load.
#[tokio::test(start_paused = true)]
async fn s4_a_wait_timeout_does_not_start_over() {
    let cache = rows("one-limit", TTL).build().unwrap();
    let tagged = |latency| {
        move |_| async move {
            tokio::time::sleep(ms(latency)).await;
            Ok(Loaded::value(1).tags(["t"]))
        }
    };
    let leader = tokio::spawn({
        let cache = cache.clone();
        async move { cache.get_with(&1, tagged(300)).await }
    });
    turns().await;
    cache.invalidate_tag("t");
    let began = Instant::now();
    let got = cache.with_wait_timeout(ms(400)).get_with(&1, tagged(2_000)).await;
    assert!(matches!(got, Err(GetError::WaitTimeout { limit }) if limit == ms(400)), "{got:?}");
    assert_eq!(began.elapsed().as_millis(), 400);
    leader.await.unwrap().unwrap();
}

/// N1: a flood of absent keys is no surge of evictions, and leaves the causes of other misses alone.
#[tokio::test(start_paused = true)]
async fn n1_absences_do_not_drown_the_account() {
    let cache: Rows = Cache::builder("absent-flood", TTL, &Gate::new(4)).capacity(1_000).build().unwrap();
    (0..50).for_each(|key| _ = cache.insert(key, key));
    (0..50).for_each(|key| _ = cache.invalidate(&key));
    for round in 0..100_u64 {
        for key in 0..100 {
            cache.insert(1_000 + round * 100 + key, Loaded::absent());
        }
        tokio::time::sleep(ms(50)).await;
        let told = cache.snapshot().conditions;
        assert!(!told.iter().any(|event| matches!(event.fact, Fact::EvictionSurge { .. })), "{told:?}");
    }
    assert!(cache.snapshot().removals[RemovalCause::Evicted] > 5_000);
    for key in 0..50 {
        cache.get_with(&key, |_| async { Ok(1) }).await.unwrap();
    }
    assert_eq!(cache.snapshot().misses[MissCause::Invalidated], 50);
}

/// S5: loads within loads end with an error, not at the end of the stack.
#[tokio::test(start_paused = true)]
async fn s5_nesting_is_bounded() {
    fn next(cache: Rows, key: u64) -> crate::support::Load {
        Box::pin(async move {
            let inner = cache.clone();
            let got = cache.get_with(&(key + 1), move |_| next(inner, key + 1)).await;
            match got {
                Err(GetError::Failed(Failure::Contract { what })) => {
                    assert!(what.contains("64 deep"), "{what}");
                    Ok(key)
                }
                other => other.map(|answer| answer.map_or(0, |answer| *answer)).map_err(|_| DbError("nested")),
            }
        })
    }
    let cache = rows("nested", TTL).build().unwrap();
    let inner = cache.clone();
    // The innermost load that was let through tells how deep it was.
    assert_eq!(value(cache.get_with(&0, move |_| next(inner, 0)).await), 64);
    assert_quiet(&cache.snapshot());
}

/// X1: on a runtime without timers nothing can be waited for: what runs is ended at once.
#[test]
fn x1_shutdown_needs_no_timers() {
    let timeless = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let cache = rows("timeless-end", TTL).build().unwrap();
    timeless.block_on(cache.shutdown(ms(1_000)));
    assert!(matches!(timeless.block_on(cache.get_with(&1, |_| async { Ok(1) })), Err(GetError::Closed)));
}

/// A6: a refresh says what is so: outside a runtime it does not start, and a value that merely arrived stale cools nothing.
#[test]
fn a6_a_refresh_says_what_is_so() {
    let origin = |_: LoadContext<u64, u64>| async {
        tokio::task::yield_now().await;
        Ok::<_, DbError>(Loaded::value(1).source_age(ms(1_500)))
    };
    let ttl = Ttl::fresh_for(ms(1_000)).stale_for(ms(60_000));
    let cache: ReadThrough<u64, u64, DbError> =
        Cache::builder("refresh-says", ttl, &Gate::new(4)).cooling(ms(20_000), ms(20_000)).build_over(origin).unwrap();
    assert_eq!(cache.refresh(&1), Refreshing::NoRuntime);
    assert_eq!(cache.snapshot().flight_starts.total(), 0);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        cache.get(&1).await.unwrap();
        assert_eq!(cache.refresh(&1), Refreshing::Started);
    });
}

/// A4: a held flight's loader is given no previous value, so it cannot confirm one.
#[tokio::test(start_paused = true)]
async fn a4_a_held_flight_has_nothing_to_confirm() {
    let cache = rows("held-304", Ttl::fresh_for(ms(10)).stale_for(ms(60_000))).build().unwrap();
    let calls = Arc::new(Calls::default());
    for _ in 0..2 {
        drop(ask(&cache, 7, calls.load(ms(500), Ok(1))));
        turns().await;
        cache.invalidate(&7);
    }
    let load = |cx: LoadContext<u64, u64>| async move {
        assert!(cx.previous().is_none());
        Ok(Loaded::not_modified())
    };
    let got = cache.get_with(&7, load).await;
    assert!(matches!(got, Err(GetError::Failed(Failure::Contract { .. }))), "{got:?}");
}
