//! A6, W2, A1: looking, writing, forgetting and watching, beside reads.

use std::sync::Arc;
use std::time::Duration;

use herdcache::herdfeed::{Fact, Measure, MissCause, ProtectionLevel, RemovalCause};
use herdcache::{Answer, Cache, Gate, Loaded, Outcome, Reach, Switch, Ttl, process_snapshot};

use crate::support::{Calls, DbError, ask, assert_quiet, ms, outcome, rows, turns, value};

const TTL: Ttl = Ttl::fresh_for(ms(1_000)).stale_for(ms(1_000)).stale_if_error_for(ms(60_000));

/// A6: a look gives what is fresh or stale, loads nothing, waits for nothing and counts nothing.
#[tokio::test(start_paused = true)]
async fn a6_peek_looks_and_leaves_no_trace() {
    let cache = rows("peek", TTL).build().unwrap();
    let calls = Arc::new(Calls::default());
    cache.insert(1, 10);
    cache.insert(2, Loaded::absent());
    let loading = ask(&cache, 3, calls.load(ms(20_000), Ok(3)));
    turns().await;
    let before = cache.snapshot();
    let look = |key| cache.peek(&key).map(|answer| (Answer::outcome(&answer), *answer));
    // Absent, being loaded, never seen: nothing to look at.
    assert_eq!([look(1), look(2), look(3), look(4)], [Some((Outcome::Hit, 10)), None, None, None]);
    assert_eq!(cache.snapshot(), before);
    tokio::time::advance(ms(1_500)).await;
    assert_eq!(look(1), Some((Outcome::Stale, 10)));
    tokio::time::advance(ms(1_000)).await;
    assert_eq!(look(1), None, "a reserve is for failures");
    let after = cache.snapshot();
    assert_eq!((after.begun, after.misses.total(), after.stale_serves.total()), (1, 1, 0));
    assert_eq!(calls.started(), 1);
    loading.abort();
}

/// A6: an insert holds at the call, whether or not it is awaited, and reaches this process.
#[tokio::test(start_paused = true)]
async fn a6_an_insert_holds_at_the_call() {
    let cache = rows("insert", TTL).build().unwrap();
    let spread = cache.insert(1, 10);
    assert_eq!(cache.peek(&1).as_deref(), Some(&10));
    assert_eq!(spread.await, Reach::Process);
    let shared = Arc::new(11_u64);
    cache.insert(1, Arc::clone(&shared));
    assert!(Arc::ptr_eq(&Answer::into_value(cache.peek(&1).unwrap()), &shared));
    // An absence can be written too, and a value that is not to be kept leaves nothing behind.
    cache.insert(1, None);
    let got = cache.get_with(&1, |_| async { Ok(12) }).await.unwrap();
    assert!(got.is_none());
    assert_eq!(cache.snapshot().outcomes[Outcome::Negative], 1);
    cache.insert(2, 20);
    cache.insert(2, Loaded::value(21).do_not_store());
    assert!(cache.peek(&2).is_none());
    // Two overwritten, one taken out, two still there... of five writes that were stored.
    let snapshot = cache.snapshot();
    assert_eq!((snapshot.removals[RemovalCause::Replaced], snapshot.removals.total(), snapshot.entries), (2, 3, 1));
    assert_eq!(snapshot.origin_calls, 0);
}

/// A6: an invalidation holds at the call; the next miss says why; what was not there is counted all the same.
#[tokio::test(start_paused = true)]
async fn a6_an_invalidation_holds_at_the_call() {
    let cache = rows("invalidate", TTL).build().unwrap();
    cache.insert(1, 10);
    let spread = cache.invalidate(&1);
    assert!(cache.peek(&1).is_none());
    assert_eq!(spread.await, Reach::Process);
    cache.invalidate(&9);
    assert_eq!(value(cache.get_with(&1, |_| async { Ok(11) }).await), 11);
    let snapshot = cache.snapshot();
    assert_eq!((snapshot.invalidations, snapshot.removals[RemovalCause::Invalidated]), (2, 1));
    assert_eq!((snapshot.misses[MissCause::Invalidated], snapshot.misses.total()), (1, 1));
}

/// W2: invalidating one key of 1,000 touches one key: the others are hits and cost no load.
#[tokio::test(start_paused = true)]
async fn w2_invalidating_one_key_touches_one_key() {
    let cache = rows("w2", Ttl::fresh_for(ms(60_000))).build().unwrap();
    let calls = Arc::new(Calls::default());
    (0..1_000).for_each(|key| _ = cache.insert(key, key));
    cache.invalidate(&500);
    let snapshot = cache.snapshot();
    assert_eq!((snapshot.entries, snapshot.removals[RemovalCause::Invalidated]), (999, 1));
    for key in 0..1_000 {
        let expected = if key == 500 { Outcome::Loaded } else { Outcome::Hit };
        assert_eq!(outcome(&cache.get_with(&key, calls.load(ms(1), Ok(key))).await), Some(expected), "key {key}");
    }
    assert_eq!(calls.started(), 1);
    assert_quiet(&cache.snapshot());
}

/// A6: a snapshot says who the cache is, and the process's holds every cache and gate once.
#[tokio::test(start_paused = true)]
async fn a6_snapshots_name_cache_gate_and_bounds() {
    let gate = Gate::builder(3).name("a6-db").queue(5).origin_capacity(40).build().unwrap();
    let cache = Cache::<u64, u64, DbError>::builder("a6-cache", TTL, &gate).capacity(77).build().unwrap();
    let snapshot = cache.snapshot();
    assert_eq!((snapshot.name.as_str(), snapshot.gate.as_str(), snapshot.capacity), ("a6-cache", "a6-db", 77));
    assert_eq!((snapshot.protection, snapshot.off.len()), (Some(ProtectionLevel::Process), 0));
    assert_eq!((cache.name(), cache.gate().name()), ("a6-cache", "a6-db"));
    let account = gate.snapshot();
    assert_eq!((account.limit, account.queue, account.origin_capacity), (3, 5, Some(40)));
    let process = process_snapshot();
    assert_eq!(process.caches.iter().filter(|cache| cache.name == "a6-cache").count(), 1);
    assert_eq!(process.gates.iter().filter(|gate| gate.name == "a6-db").count(), 1);
    assert!(process_snapshot().seq > process.seq);
    drop((cache, gate));
    let process = process_snapshot();
    assert!(process.caches.iter().all(|cache| cache.name != "a6-cache"), "a cache that is gone is not listed");
}

/// A6: a reader of events gets its own cache's, from its beginning, each once.
#[tokio::test(start_paused = true)]
async fn a6_events_come_once_and_from_the_readers_beginning() {
    let (cache, other) = (rows("a6-events", TTL).build().unwrap(), rows("a6-other", TTL).build().unwrap());
    cache.set_measure(Measure::Jitter, Switch::Off);
    let mut events = cache.events();
    other.set_measure(Measure::Jitter, Switch::Off);
    cache.set_measure(Measure::Stale, Switch::Off);
    let told: Vec<Fact> = events.take().iter().map(|event| event.fact.clone()).collect();
    assert_eq!(told, [Fact::Tuned { what: "stale off".to_owned() }]);
    assert!(events.take().is_empty());
    cache.set_measure(Measure::Stale, Switch::On);
    assert_eq!(events.take().len(), 1);
}

/// A1: a second live cache of one name is renamed and says so; a name is free again once its cache is gone.
#[tokio::test(start_paused = true)]
async fn a1_a_name_that_is_taken_gets_a_number() {
    let build = || rows("a1-twice", TTL).build().unwrap();
    let first = build();
    let second = build();
    let third = build();
    assert_eq!([first.name(), second.name(), third.name()], ["a1-twice", "a1-twice~2", "a1-twice~3"]);
    assert_eq!(second.snapshot().name, "a1-twice~2");
    // Nothing is shared: not entries, not accounts.
    first.insert(1, 10);
    assert!(second.peek(&1).is_none());
    let mut events = second.events();
    drop(second);
    let again = build();
    assert_eq!(again.name(), "a1-twice~2");
    let told: Vec<Fact> = events.take().iter().map(|event| event.fact.clone()).collect();
    assert_eq!(told, [Fact::DuplicateName { name: "a1-twice".to_owned() }]);
    // Clones are handles of one cache, whatever holds them.
    let handle = first.with_wait_timeout(Duration::from_secs(1)).clone();
    drop(first);
    assert_eq!((handle.name(), build().name()), ("a1-twice", "a1-twice~4"));
    drop((handle, third, again));
    assert_eq!(build().name(), "a1-twice");
}

/// A1, G4: gates of one name are told apart too.
#[test]
fn a1_gates_of_one_name_are_numbered() {
    let gate = || Gate::builder(1).name("a1-gate").build().unwrap();
    let (first, second) = (gate(), gate());
    assert_eq!([first.name(), second.name()], ["a1-gate", "a1-gate~2"]);
}

/// Q4: ten thousand waiters are ten thousand tasks, each as large as this future and rounded up to 128 bytes with tokio's
/// own part. One pointer more, and each of them takes 435 bytes instead of 307: with whatever feature.
#[test]
fn q4_a_waiting_callers_future_has_120_bytes() {
    let cache = Cache::<u64, u64, DbError>::builder("size", TTL, &Gate::new(8)).build().unwrap();
    let value = &7;
    assert_eq!(size_of_val(&cache.get_with(&7, |_| async { Ok(*value) })), 120);
    let through = Cache::<u64, u64, DbError>::builder("size", TTL, &Gate::new(8)).build_over(|_| async { Ok(7) });
    assert_eq!(size_of_val(&through.unwrap().get(&7)), 120);
}
