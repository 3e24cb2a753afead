//! Names are bounded, and no key is among the attributes.

use std::collections::BTreeSet;

use herdcache::{Cache, Gate, LoadContext, Ttl};
use herdcache_otel::{CACHE, GATE, Observer, metrics};

use super::play::{Stage, ms};
use super::support::{Collected, Provider, alone};

/// How many keys each of the 20 caches gets: 100,000 in all; `.ci/run` gives each as many.
fn keys() -> u64 {
    std::env::var("HERDCACHE_OTEL_KEYS").map_or(5_000, |text| text.parse().unwrap())
}

/// Every attribute of a collection, as `key=value`.
fn attributes(seen: &Collected) -> BTreeSet<&str> {
    let values = seen.values.values().flat_map(|series| series.keys());
    let histograms = seen.histograms.values().flat_map(|series| series.keys());
    values.chain(histograms).flat_map(|attributes| attributes.split(',')).filter(|one| !one.is_empty()).collect()
}

/// No attribute contains a key, whatever happened to it, and the values are those of the table.
#[tokio::test(start_paused = true)]
async fn k2_no_attribute_holds_a_key() {
    const CACHES: usize = 20;
    let _turn = alone().await;
    let provider = Provider::new();
    let _observing = herdcache_otel::observe(&provider.meter()).unwrap();
    let gate = Gate::builder(64).name("keys-gate").build().unwrap();
    let origin = |cx: LoadContext<String, u64>| async move {
        if cx.key().ends_with("13") { Err("secret-error-text") } else { Ok(1) }
    };
    let build = |number: usize| {
        let ttl = Ttl::fresh_for(ms(60_000)).stale_for(ms(60_000));
        let builder = Cache::builder(format!("keys-{number}"), ttl, &gate).capacity(keys());
        builder.build_over(origin).unwrap()
    };
    let caches: Vec<_> = (0..CACHES).map(build).collect();
    for (place, cache) in caches.iter().enumerate() {
        for number in 0..keys() {
            let key = format!("secret-key-{place}-{number}");
            // Most are written, some are loaded, asked for again and again, or fail.
            if number % 10 == 0 || key.ends_with("13") {
                _ = cache.get(&key).await;
            } else {
                _ = cache.insert(key, 2).await;
            }
        }
        for _ in 0..200 {
            _ = cache.get("secret-key-hot").await;
        }
    }
    let seen = provider.collect();
    let attributes = attributes(&seen);
    let told: Vec<_> = attributes.iter().filter(|one| one.contains("secret")).collect();
    assert!(told.is_empty(), "{told:?}");
    let mut known: BTreeSet<String> = (0..CACHES).map(|number| format!("{CACHE}=keys-{number}")).collect();
    known.insert(format!("{GATE}=keys-gate"));
    for attribute in metrics().iter().flat_map(|metric| metric.attributes) {
        known.extend(attribute.values().iter().map(|value| format!("{}={value}", attribute.key)));
    }
    let unknown: Vec<_> = attributes.iter().filter(|one| !known.contains(**one)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    let series: usize = seen.values.values().map(std::collections::BTreeMap::len).sum();
    eprintln!(
        "{CACHES} caches of {} keys, one gate: {series} series, {} of histograms",
        keys(),
        seen.histograms.values().map(std::collections::BTreeMap::len).sum::<usize>()
    );
    let hot = seen.of_cache("herdcache.hot_key.share", "keys-0");
    assert_eq!(hot.len(), 5, "the share is told, by rank");
    assert!(hot["1"] > 0.0, "{hot:?}");
}

/// L7: names beyond the limit share one, with exact sums that do not fall when a cache is dropped, and are counted.
#[tokio::test(start_paused = true)]
async fn l7_names_beyond_the_limit_are_folded() {
    let _turn = alone().await;
    let provider = Provider::new();
    let names: Vec<String> = (0..7).map(|number| format!("folded-{number}")).collect();
    let gates: Vec<String> = names.iter().map(|name| format!("{name}-gate")).collect();
    let observer = Observer::new().names(2).only_caches(names.clone()).only_gates(gates);
    let _observing = observer.observe(&provider.meter()).unwrap();
    let mut stages: Vec<Stage> = names.iter().map(|name| Stage::new(name)).collect();
    for stage in &stages {
        stage.ask(&["a:1", "a:2", "broken:1"]).await;
    }
    let calls = |seen: &Collected, name: &str| seen.of_cache("herdcache.origin.calls", name).values().sum::<f64>();
    let seen = provider.collect();
    assert_eq!([calls(&seen, "folded-0"), calls(&seen, "folded-1"), calls(&seen, "folded-2")], [3.0, 3.0, 0.0]);
    assert_eq!(calls(&seen, "~other"), 15.0);
    assert_eq!(seen.of_gate("herdcache.permit.limit", "~other").values().sum::<f64>(), 15.0);
    assert_eq!(seen.values["herdcache.label.overflow"][""], 10.0, "five caches and five gates");
    let flights = seen.samples("herdcache.flight.duration", "herdcache.name=~other");
    assert_eq!(flights.values().sum::<u64>(), 15);
    let results = seen.of_cache("herdcache.origin.results", "~other");
    assert_eq!((results["value"], results["unreachable,error"]), (10.0, 5.0), "{results:?}");
    // A folded one goes: its past stays in the sum, its present does not.
    stages.pop();
    let seen = provider.collect();
    assert_eq!(calls(&seen, "~other"), 15.0);
    assert_eq!(seen.of_gate("herdcache.permit.limit", "~other").values().sum::<f64>(), 12.0);
    assert_eq!(seen.values["herdcache.label.overflow"][""], 10.0);
}
