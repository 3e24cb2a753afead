//! S5: loaders that ask the cache themselves.

use std::sync::Arc;

use herdcache::herdfeed::{Measure, RefreshResult};
use herdcache::{Cache, Failure, Gate, GetError, Loaded, Switch, Ttl};
use tokio::time::Instant;

use crate::support::{Calls, DbError, Rows, ask, assert_quiet, ms, outcome, rows, turns, value};

/// S5, case 07 (a): a loader that asks for its own key is told so at once.
#[tokio::test(start_paused = true)]
async fn s5_a_loader_of_its_own_key_is_reentrant() {
    let cache = rows("own", Ttl::fresh_for(ms(60_000))).build().unwrap();
    let inner = cache.clone();
    let began = Instant::now();
    let got = cache
        .get_with(&1, |_| async move {
            tokio::time::sleep(ms(10)).await;
            let got = inner.get_with(&1, |_| async { Ok(1) }).await;
            assert!(matches!(got, Err(GetError::Reentrant)), "{got:?}");
            Ok(2)
        })
        .await;
    assert_eq!(value(got), 2);
    assert!(began.elapsed() <= ms(100));
    assert_quiet(&cache.snapshot());
}

/// A key whose hash says nothing.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
struct Same(u64);

impl std::hash::Hash for Same {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        0_u8.hash(state);
    }
}

/// S5, L8: keys are told apart by their `Eq`: one that merely hashes alike is not the loader's own.
#[tokio::test(start_paused = true)]
async fn s5_another_key_of_the_same_hash_is_not_reentrant() {
    let cache =
        Cache::<Same, u64, DbError>::builder("same", Ttl::fresh_for(ms(60_000)), &Gate::new(1)).build().unwrap();
    let inner = cache.clone();
    let load = |_| async move {
        tokio::time::sleep(ms(10)).await;
        let own = inner.get_with(&Same(1), |_| async { Ok(1) }).await;
        assert!(matches!(own, Err(GetError::Reentrant)), "{own:?}");
        Ok(value(inner.get_with(&Same(2), |_| async { Ok(2) }).await) + 1)
    };
    assert_eq!(value(cache.get_with(&Same(1), load).await), 3);
    assert_quiet(&cache.snapshot());
}

/// S5, case 07 (b): a cycle through a key of another cache is seen too.
#[tokio::test(start_paused = true)]
async fn s5_a_cycle_through_another_cache_is_reentrant() {
    let gate = Gate::new(4);
    let build = |name| Cache::<u64, u64, DbError>::builder(name, Ttl::fresh_for(ms(60_000)), &gate).build().unwrap();
    let (first, second) = (build("cycle-a"), build("cycle-b"));
    let (inner, outer) = (second.clone(), first.clone());
    let began = Instant::now();
    let got = first
        .get_with(&1, |_| async move {
            let nested = inner.get_with(&2, |_| async move {
                tokio::time::sleep(ms(10)).await;
                let got = outer.get_with(&1, |_| async { Ok(1) }).await;
                assert!(matches!(got, Err(GetError::Reentrant)), "{got:?}");
                Ok(2)
            });
            Ok(value(nested.await) + 1)
        })
        .await;
    assert_eq!(value(got), 3);
    assert!(began.elapsed() <= ms(100));
    assert_eq!(first.snapshot().outcomes[herdcache::Outcome::Failed], 1);
    assert_quiet(&first.snapshot());
    assert_quiet(&second.snapshot());
}

/// S5, case 07 (c): with one permit, a nested load runs under its parent's.
#[tokio::test(start_paused = true)]
async fn s5_a_nested_load_runs_under_its_parents_permit() {
    let gate = Gate::builder(1).queue(0).build().unwrap();
    let cache = Cache::<u64, u64, DbError>::builder("nested", Ttl::fresh_for(ms(60_000)), &gate).build().unwrap();
    let calls = Arc::new(Calls::default());
    let (inner, nested) = (cache.clone(), Arc::clone(&calls));
    let began = Instant::now();
    let got = cache
        .get_with(&1, |_| async move {
            tokio::time::sleep(ms(20)).await;
            Ok(value(inner.get_with(&2, nested.load(ms(20), Ok(5))).await) + 1)
        })
        .await;
    assert_eq!(value(got), 6);
    assert!(began.elapsed() <= ms(40), "{:?}", began.elapsed());
    let snapshot = gate.snapshot();
    assert_eq!((snapshot.usage_peak, snapshot.used()), (1, 0));
    assert_quiet(&cache.snapshot());
}

/// S5: a cycle over two callers cannot be seen; it ends at the limit, with a typed error and no leak.
#[tokio::test(start_paused = true)]
async fn s5_a_cycle_over_two_callers_ends_at_the_limit() {
    let cache =
        rows("cross", Ttl::fresh_for(ms(60_000))).origin_timeout(ms(1_000)).flight_deadline(ms(1_000)).build().unwrap();
    let caller = |cache: &Rows, own: u64, other: u64| {
        let (cache, inner) = (cache.clone(), cache.clone());
        tokio::spawn(async move {
            let load = |_| async move {
                tokio::time::sleep(ms(10)).await;
                inner
                    .get_with(&other, |_| async { Ok(0) })
                    .await
                    .map(|found| found.map(|value| *value))
                    .map_err(|_| DbError("nested"))
            };
            cache.get_with(&own, load).await
        })
    };
    let began = Instant::now();
    let (one, two) = (caller(&cache, 1, 2), caller(&cache, 2, 1));
    for got in [one.await.unwrap(), two.await.unwrap()] {
        assert!(matches!(got, Err(GetError::Failed(Failure::Deadline { limit })) if limit == ms(1_000)), "{got:?}");
    }
    assert!(began.elapsed() <= ms(1_100), "{:?}", began.elapsed());
    tokio::time::sleep(ms(1)).await;
    assert_quiet(&cache.snapshot());
}

/// S5, R1: a refresh that a loader sets off is no part of that load: it may wait for the loader's own key.
#[tokio::test(start_paused = true)]
async fn s5_a_refresh_set_off_by_a_load_is_not_nested_in_it() {
    let cache = rows("apart", Ttl::fresh_for(ms(60_000))).build().unwrap();
    cache.insert(2, Loaded::value(20).fresh_for(ms(10)).stale_for(ms(60_000)));
    tokio::time::sleep(ms(20)).await;
    let (inner, again) = (cache.clone(), cache.clone());
    let got = cache
        .get_with(&1, |_| async move {
            let refresh = |_| async move {
                let one = again.get_with(&1, |_| async { Ok(0) }).await;
                one.map(|found| *found.unwrap() + 20).map_err(|_| DbError("refresh"))
            };
            let two = inner.get_with(&2, refresh).await;
            assert_eq!(outcome(&two), Some(herdcache::Outcome::Stale));
            tokio::time::sleep(ms(50)).await;
            Ok(1)
        })
        .await;
    assert_eq!(value(got), 1);
    tokio::time::sleep(ms(1)).await;
    let snapshot = cache.snapshot();
    assert_eq!((snapshot.refreshes[RefreshResult::Stored], snapshot.refreshes[RefreshResult::Failed]), (1, 0));
    assert_eq!(cache.peek(&2).as_deref(), Some(&21));
    assert_quiet(&snapshot);
}

/// S5: that single-flight is off does not make a loader of its own key run for ever.
#[tokio::test(start_paused = true)]
async fn s5_a_loader_of_its_own_key_is_reentrant_without_single_flight() {
    fn ask(cache: Rows, calls: Arc<Calls>) -> crate::support::Load {
        Box::pin(async move {
            let (inner, nested) = (cache.clone(), Arc::clone(&calls));
            let load = move |_| {
                let call = calls.call();
                async move {
                    tokio::time::sleep(ms(1)).await;
                    drop(call);
                    ask(inner, nested).await
                }
            };
            cache.get_with(&1, load).await.map(|found| *found.unwrap()).map_err(|_| DbError("nested"))
        })
    }
    let cache = rows("bare-own", Ttl::fresh_for(ms(60_000))).max_flights(50).build().unwrap();
    cache.set_measure(Measure::SingleFlight, Switch::Off);
    let calls = Arc::new(Calls::default());
    let got = ask(cache.clone(), Arc::clone(&calls)).await;
    assert_eq!(got, Err(DbError("nested")));
    assert_eq!(calls.started(), 1);
    tokio::time::sleep(ms(1)).await;
    assert_quiet(&cache.snapshot());
}

/// S5, L3: with one permit, loads that a loader wants at once run under it one after another; none is refused.
#[tokio::test(start_paused = true)]
async fn s5_a_permit_is_lent_to_one_load_after_another() {
    let gate = Gate::builder(1).queue(8).build().unwrap();
    let cache: Rows = Cache::builder("lent-in-turn", Ttl::fresh_for(ms(60_000)), &gate).build().unwrap();
    let calls = Arc::new(Calls::default());
    let began = tokio::time::Instant::now();
    let load = {
        let (cache, calls) = (cache.clone(), Arc::clone(&calls));
        move |_| async move {
            let inner = |key| {
                let (cache, calls) = (cache.clone(), Arc::clone(&calls));
                async move { cache.get_with(&key, calls.load(ms(100), Ok(key))).await.map_err(|_| DbError("inner")) }
            };
            let (one, two, three, four) = tokio::join!(inner(1), inner(2), inner(3), inner(4));
            Ok([one?, two?, three?, four?].into_iter().flatten().map(|answer| *answer).sum::<u64>())
        }
    };
    assert_eq!(value(cache.get_with(&0, load).await), 10);
    // One after another; each waits for its turn no longer than the queue timeout (500 ms).
    assert_eq!(began.elapsed(), ms(400));
    assert_eq!((calls.started(), calls.peak()), (4, 1));
    assert_eq!(gate.snapshot().used(), 0);
    assert_quiet(&cache.snapshot());
}

/// S5: a loader that joins a flight which waits for the very permit it holds lends it, instead of both waiting in vain.
#[tokio::test(start_paused = true)]
async fn s5_a_queued_flight_runs_under_the_permit_of_a_loader_that_joins_it() {
    let gate = Gate::builder(1).queue(8).build().unwrap();
    let cache: Rows = Cache::builder("patron", Ttl::fresh_for(ms(60_000)), &gate).build().unwrap();
    let calls = Arc::new(Calls::default());
    let outer = tokio::spawn({
        let (cache, calls) = (cache.clone(), Arc::clone(&calls));
        async move {
            let inner = cache.clone();
            let load = move |_| async move {
                tokio::time::sleep(ms(50)).await;
                let got = inner.get_with(&2, calls.load(ms(10), Ok(99))).await;
                got.map_err(|_| DbError("inner")).map(|answer| answer.map_or(0, |answer| *answer + 1))
            };
            cache.get_with(&1, load).await
        }
    });
    tokio::time::sleep(ms(10)).await;
    let queued = ask(&cache, 2, calls.load(ms(10), Ok(2)));
    let began = tokio::time::Instant::now();
    assert_eq!((value(outer.await.unwrap()), value(queued.await.unwrap())), (3, 2));
    assert_eq!(began.elapsed(), ms(50));
    assert_eq!(calls.started(), 1);
    assert_quiet(&cache.snapshot());
}

/// S5, L3: a permit is of one gate: it lets neither a nested load through another, nor one that its loader joins.
#[tokio::test(start_paused = true)]
async fn s5_a_permit_is_not_lent_at_another_gate() {
    let (near, far) = (Gate::new(8), Gate::builder(1).queue(8).queue_timeout(ms(10_000)).build().unwrap());
    let cache = |name: &str, gate: &Gate| Cache::builder(name, Ttl::fresh_for(ms(60_000)), gate).build().unwrap();
    let (outer, inner): (Rows, Rows) = (cache("near", &near), cache("far", &far));
    let calls = Arc::new(Calls::default());
    // Two loads of their own, and one that another caller has opened and that waits for a permit.
    let mut asked = vec![ask(&inner, 0, calls.load(ms(100), Ok(0))), ask(&inner, 2, calls.load(ms(100), Ok(2)))];
    turns().await;
    asked.extend([1, 2, 3].map(|key| {
        let (outer, inner, calls) = (outer.clone(), inner.clone(), Arc::clone(&calls));
        tokio::spawn(async move {
            let load = move |_| async move {
                let got = inner.get_with(&key, calls.load(ms(100), Ok(key))).await;
                got.map_err(|_| DbError("inner")).map(|answer| answer.map_or(0, |answer| *answer))
            };
            outer.get_with(&key, load).await
        })
    }));
    for (asked, expected) in asked.into_iter().zip([0, 2, 1, 2, 3]) {
        assert_eq!(value(asked.await.unwrap()), expected);
    }
    assert_eq!((calls.started(), calls.peak()), (4, 1));
    assert_eq!((far.snapshot().usage_peak, far.snapshot().used()), (1, 0));
    assert_quiet(&inner.snapshot());
    assert_quiet(&outer.snapshot());
}

/// S5, L2: a loader that joins a flight which is held back lends it its permit too, when it has come to need one.
#[tokio::test(start_paused = true)]
async fn s5_a_held_flight_runs_under_the_permit_of_a_loader_that_joined_it() {
    let gate = Gate::builder(3).queue(8).queue_timeout(ms(10_000)).build().unwrap();
    let cache: Rows = Cache::builder("held-patron", Ttl::fresh_for(ms(60_000)), &gate).build().unwrap();
    let calls = Arc::new(Calls::default());
    let mut superseded = Vec::new();
    for latency in [500, 4_000] {
        superseded.push(ask(&cache, 7, calls.load(ms(latency), Ok(latency))));
        turns().await;
        cache.invalidate(&7);
    }
    let held = ask(&cache, 7, calls.load(ms(10), Ok(7)));
    turns().await;
    let joins = tokio::spawn({
        let (cache, inner) = (cache.clone(), cache.clone());
        async move {
            let load = move |_| async move {
                let got = inner.get_with(&7, |_| async { Ok(99) }).await;
                got.map_err(|_| DbError("inner")).map(|answer| answer.map_or(0, |answer| *answer + 1))
            };
            cache.get_with(&8, load).await
        }
    });
    turns().await;
    // The next permit that comes back is this one's, for long.
    let other = ask(&cache, 9, calls.load(ms(4_000), Ok(9)));
    turns().await;
    assert_eq!((calls.started(), gate.snapshot().used(), gate.snapshot().pending), (2, 3, 1));
    let began = Instant::now();
    assert_eq!((value(joins.await.unwrap()), value(held.await.unwrap())), (8, 7));
    assert_eq!(began.elapsed(), ms(510));
    assert_eq!(value(other.await.unwrap()), 9);
    for caller in superseded {
        assert!(caller.await.unwrap().is_ok());
    }
    assert_eq!((calls.started(), calls.peak(), gate.snapshot().usage_peak), (4, 3, 3));
    assert_quiet(&cache.snapshot());
}
