//! Conditions of many keys: avalanches, eviction surges and refusals start and end, each told once.

use herdcache::herdfeed::{Event, Fact, RejectReason, Severity};
use herdcache::{Cache, Gate, LoadContext, Ttl};

use crate::support::{Rows, answered, condition, crowd, ms, rows, told, turns};

async fn read(cache: &Rows, key: u64) {
    assert!(cache.get_with(&key, |_| async move { Ok(key) }).await.is_ok());
}

/// Lets `seconds` pass with a look each second, as a dashboard takes it.
async fn quiet(cache: &Rows, seconds: u64) {
    for _ in 0..seconds {
        tokio::time::sleep(ms(1_000)).await;
        let _ = cache.snapshot();
    }
}

fn kinds(events: &[Event]) -> Vec<&'static str> {
    let kind = |event: &Event| match event.fact {
        Fact::Avalanche { .. } => "avalanche",
        Fact::AvalancheEnded { .. } => "avalanche ended",
        Fact::EvictionSurge { .. } => "surge",
        Fact::EvictionSurgeEnded { .. } => "surge ended",
        Fact::Rejecting { .. } => "rejecting",
        Fact::RejectingEnded { .. } => "rejecting ended",
        _ => "other",
    };
    events.iter().map(kind).filter(|kind| *kind != "other").collect()
}

/// 400 keys written together expire together: an avalanche that single-flight cannot help against.
#[tokio::test(start_paused = true)]
async fn keys_that_expire_together_are_an_avalanche() {
    let cache = rows("avalanche", Ttl::fresh_for(ms(30_000))).build().unwrap();
    let mut events = cache.events();
    (0..400).for_each(|key| _ = cache.insert(key, key));
    quiet(&cache, 31).await;
    for key in 0..400 {
        read(&cache, key).await;
        if key % 4 == 3 {
            tokio::time::sleep(ms(2)).await;
        }
    }
    let snapshot = cache.snapshot();
    let now = condition(&snapshot, |fact| matches!(fact, Fact::Avalanche { .. })).expect("an avalanche");
    let Fact::Avalanche { keys, .. } = now.fact else { panic!() };
    assert!((128..=400).contains(&keys), "{keys}");
    assert_eq!(now.severity, Severity::Warn);
    quiet(&cache, 5).await;
    let all = told(&mut events, |_| true);
    assert_eq!(kinds(&all), ["avalanche", "avalanche ended"]);
}

/// A working set larger than the capacity is a surge of evictions, not of expiries.
#[tokio::test(start_paused = true)]
async fn a_capacity_that_is_too_small_is_an_eviction_surge() {
    let cache = rows("surge", Ttl::fresh_for(ms(3_600_000))).capacity(100).build().unwrap();
    let mut events = cache.events();
    quiet(&cache, 2).await;
    for _ in 0..3 {
        for key in 0..1_000 {
            read(&cache, key).await;
        }
        quiet(&cache, 1).await;
    }
    let now = condition(&cache.snapshot(), |fact| matches!(fact, Fact::EvictionSurge { .. })).expect("a surge");
    let Fact::EvictionSurge { evictions, miss_share } = now.fact else { panic!() };
    assert!(evictions >= 2_000, "{evictions}");
    assert!(miss_share > 0.5, "{miss_share}");
    quiet(&cache, 25).await;
    let all = told(&mut events, |_| true);
    assert_eq!(kinds(&all), ["surge", "surge ended"]);
}

/// Refusals are critical, name the reason given most often, and are over after five seconds without one.
#[tokio::test(start_paused = true)]
async fn refusals_are_told_with_their_reason() {
    let gate = Gate::builder(1).name("surges-db").queue(0).build().unwrap();
    let cache = Cache::builder("refuses", Ttl::fresh_for(ms(60_000)), &gate).build().unwrap();
    let mut events = cache.events();
    let _ = cache.snapshot();
    let busy = crowd(&cache, 1, 1, ms(300));
    turns().await;
    for key in 100..130 {
        assert!(cache.get_with(&key, |_| async { Ok(1) }).await.is_err());
        tokio::time::sleep(ms(10)).await;
    }
    let now = condition(&cache.snapshot(), |fact| matches!(fact, Fact::Rejecting { .. })).expect("refusing");
    let Fact::Rejecting { per_s, reason } = now.fact else { panic!() };
    assert_eq!((per_s, reason, now.severity), (30, RejectReason::QueueFull, Severity::Critical));
    let saturated = gate.snapshot().conditions;
    assert!(matches!(saturated.as_slice(), [Event { fact: Fact::OriginSaturated { limit: 1, rejected: 30, .. }, .. }]));
    answered(busy).await;
    quiet(&cache, 7).await;
    let all = told(&mut events, |_| true);
    assert_eq!(kinds(&all), ["rejecting", "rejecting ended"]);
    assert!(gate.snapshot().conditions.is_empty());
}

/// `calls` loads of 100 ms each, all of which wait `waited` of it for a connection and end with `result`.
async fn loads(cache: &Rows, calls: u64, waited: u64, result: Result<u64, &'static str>) {
    for key in 0..calls {
        let load = |cx: LoadContext<u64, u64>| async move {
            cx.connection_wait(ms(waited));
            tokio::time::sleep(ms(100)).await;
            result
        };
        assert_eq!(cache.get_with(&(1_000 + key), load).await.is_ok(), result.is_ok());
    }
}

/// Loads that spend their time waiting for a connection are told apart from an origin that fails.
#[tokio::test(start_paused = true)]
async fn exhausted_connections_and_a_failing_origin_are_told_apart() {
    for (name, waited, result) in [("exhausted", 80, Ok(1)), ("failing", 0, Err("down"))] {
        let cache = rows(name, Ttl::fresh_for(ms(60_000))).build().unwrap();
        let _ = cache.snapshot();
        loads(&cache, 30, waited, result).await;
        let snapshot = cache.snapshot();
        let exhausted = condition(&snapshot, |fact| matches!(fact, Fact::ConnectionsExhausted { .. }));
        let failing = condition(&snapshot, |fact| matches!(fact, Fact::OriginFailing { .. }));
        assert_eq!((exhausted.is_some(), failing.is_some()), (result.is_ok(), result.is_err()), "{name}");
        if let Some(Event { fact: Fact::ConnectionsExhausted { wait_us, call_us }, .. }) = exhausted {
            assert_eq!((wait_us, call_us), (80_000, 100_000));
        }
        quiet(&cache, 12).await;
        assert!(cache.snapshot().conditions.iter().all(|event| matches!(event.fact, Fact::ColdStart { .. })), "{name}");
    }
}

/// A young cache that mostly misses is cold, until it is warm.
#[tokio::test(start_paused = true)]
async fn a_cold_start_ends_when_the_cache_is_warm() {
    let cache = rows("cold", Ttl::fresh_for(ms(600_000))).build().unwrap();
    let mut events = cache.events();
    for key in 0..120 {
        read(&cache, key).await;
        tokio::time::sleep(ms(10)).await;
    }
    assert!(condition(&cache.snapshot(), |fact| matches!(fact, Fact::ColdStart { .. })).is_some());
    for second in 0..15 {
        (0..20).for_each(|_| assert!(cache.peek(&second).is_some()));
        for key in 0..120 {
            read(&cache, key).await;
        }
        quiet(&cache, 1).await;
    }
    let cold = |fact: &Fact| matches!(fact, Fact::ColdStart { .. } | Fact::ColdStartEnded { .. });
    let told = told(&mut events, cold);
    assert!(matches!(
        told.as_slice(),
        [Event { fact: Fact::ColdStart { .. }, .. }, Event { fact: Fact::ColdStartEnded { .. }, .. }]
    ));
}
