//! One cache, one gate, one reader.

use std::collections::BTreeMap;
use std::time::Duration;

use herdcache::herdfeed::words::{ClosedSet, Outcome};
use herdcache::{Cache, Gate, LoadContext, Ttl};
use opentelemetry_sdk::metrics::Temporality;

use super::support::{Collected, Provider, alone};

fn counts(pairs: &[(&str, f64)]) -> BTreeMap<String, f64> {
    pairs.iter().map(|(label, count)| ((*label).to_owned(), *count)).collect()
}

async fn some_traffic(name: &str) -> (herdcache::ReadThrough<u64, u64, String>, Gate) {
    let gate = Gate::builder(4).name(format!("{name}-gate")).build().unwrap();
    let origin = |cx: LoadContext<u64, u64>| async move {
        tokio::time::sleep(Duration::from_millis(20)).await;
        if *cx.key() == 13 { Err("no".to_owned()) } else { Ok(*cx.key()) }
    };
    let cache = Cache::builder(name, Ttl::fresh_for(Duration::from_secs(60)), &gate).build_over(origin).unwrap();
    let (a, b, c) = tokio::join!(cache.get(&7), cache.get(&7), cache.get(&13));
    a.unwrap();
    b.unwrap();
    c.unwrap_err();
    cache.get(&7).await.unwrap();
    (cache, gate)
}

/// Each request in exactly one outcome, each known value from 0 on, and histograms beside the counters.
#[tokio::test(start_paused = true)]
async fn a_collection_tells_the_account() {
    let _turn = alone().await;
    let provider = Provider::new();
    let _observing = herdcache_otel::observe(&provider.meter()).unwrap();
    let (cache, _gate) = some_traffic("basics").await;
    let seen = provider.collect();
    let outcomes = seen.of_cache("herdcache.requests", "basics");
    assert_eq!(outcomes.len(), Outcome::all().len(), "{outcomes:?}");
    let some: BTreeMap<_, _> = outcomes.into_iter().filter(|(_, count)| *count > 0.0).collect();
    assert_eq!(
        some,
        counts(&[("hit,local", 1.0), ("loaded,local", 1.0), ("coalesced,local", 1.0), ("failed,local", 1.0)])
    );
    assert_eq!(seen.of_cache("herdcache.flight.participants", "basics"), counts(&[("leader", 2.0), ("waiter", 1.0)]));
    assert_eq!(seen.of_gate("herdcache.permit.limit", "basics-gate"), counts(&[("", 4.0)]));
    let owner = "herdcache.name=basics";
    let samples = |metric| seen.samples(metric, owner);
    let waited = BTreeMap::from([("coalesced".to_owned(), 1), ("failed".to_owned(), 1), ("loaded".to_owned(), 1)]);
    assert_eq!(samples("herdcache.request.duration"), waited);
    assert_eq!(samples("herdcache.flight.wait.duration"), waited);
    assert_eq!(
        samples("herdcache.flight.duration"),
        BTreeMap::from([("failed".to_owned(), 1), ("loaded".to_owned(), 1)])
    );
    assert_eq!(samples("herdcache.flight.waiters"), BTreeMap::from([(String::new(), 2)]));
    let granted = seen.samples("herdcache.permit.wait.duration", "herdcache.gate.name=basics-gate");
    assert_eq!(granted, BTreeMap::from([("foreground,granted".to_owned(), 2)]));
    drop(cache);
}

/// A dropped handle says nothing more; the callbacks that outlive it do no harm.
#[tokio::test(start_paused = true)]
async fn a_dropped_handle_says_nothing() {
    let _turn = alone().await;
    let provider = Provider::new();
    let observing = herdcache_otel::observe(&provider.meter()).unwrap();
    let (cache, _gate) = some_traffic("dropped").await;
    assert!(!provider.collect().of_cache("herdcache.requests", "dropped").is_empty());
    drop(observing);
    cache.get(&8).await.unwrap();
    let after = provider.collect();
    assert_eq!(after.values, BTreeMap::new());
    let samples = after.samples("herdcache.flight.duration", "herdcache.name=dropped");
    assert_eq!(samples.values().sum::<u64>(), 2, "the SDK keeps what was recorded, and nothing is added");
}

/// What a dropped cache had counted stays, as its histograms do; what it was does not. Another of its name goes on.
#[tokio::test(start_paused = true)]
async fn a_dropped_cache_leaves_what_it_counted() {
    let _turn = alone().await;
    let (provider, differences) = (Provider::new(), Provider::of(Temporality::Delta));
    let _observing = [&provider, &differences].map(|provider| herdcache_otel::observe(&provider.meter()).unwrap());
    let calls = |seen: Collected| seen.of_cache("herdcache.origin.calls", "gone").get("").copied();
    let looks = || [&provider, &differences].map(|provider| calls(provider.collect()));
    let (cache, gate) = some_traffic("gone").await;
    assert_eq!(looks(), [Some(2.0), Some(2.0)]);
    // Built anew between two looks.
    drop((cache, gate));
    let (cache, gate) = some_traffic("gone").await;
    assert_eq!(looks(), [Some(4.0), Some(2.0)]);
    drop((cache, gate));
    assert_eq!(looks(), [Some(4.0), Some(0.0)]);
    let after = provider.collect();
    assert_eq!(after.of_cache("herdcache.entry.count", "gone"), BTreeMap::new());
    assert_eq!(after.of_gate("herdcache.permit.limit", "gone-gate"), BTreeMap::new());
    let (_cache, _gate) = some_traffic("gone").await;
    assert_eq!(looks(), [Some(6.0), Some(2.0)]);
    assert_eq!(provider.collect().values["herdcache.label.overflow"][""], 0.0);
}
