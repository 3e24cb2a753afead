//! Several handles, meters and readers.

use std::collections::BTreeMap;

use herdcache_otel::Observer;
use opentelemetry_sdk::metrics::Temporality;

use super::play::Stage;
use super::support::{Collected, Provider, alone};

/// Two providers tell the same, and each sample once.
#[tokio::test(start_paused = true)]
async fn two_meters_tell_the_same() {
    let _turn = alone().await;
    let (one, other) = (Provider::new(), Provider::new());
    let first = herdcache_otel::observe(&one.meter()).unwrap();
    let _second = herdcache_otel::observe(&other.meter()).unwrap();
    let stage = Stage::new("meters");
    stage.ask(&["a:1", "a:1", "broken:1"]).await;
    let (seen, again) = (one.collect(), other.collect());
    assert_eq!(seen.of_cache("herdcache.requests", "meters"), again.of_cache("herdcache.requests", "meters"));
    let owner = "herdcache.name=meters";
    let samples = seen.samples("herdcache.flight.duration", owner);
    assert_eq!(samples, BTreeMap::from([("failed".to_owned(), 1), ("loaded".to_owned(), 1)]));
    assert_eq!(samples, again.samples("herdcache.flight.duration", owner));
    // Each handle ends by itself.
    drop(first);
    stage.ask(&["a:2"]).await;
    assert!(one.collect().values.is_empty());
    let samples = other.collect().samples("herdcache.flight.duration", owner);
    assert_eq!(samples, BTreeMap::from([("failed".to_owned(), 1), ("loaded".to_owned(), 2)]));
}

/// Only the named ones.
#[tokio::test(start_paused = true)]
async fn an_observation_can_be_of_some_caches_and_gates() {
    let _turn = alone().await;
    let provider = Provider::new();
    let observer = Observer::new().only_caches(["some"]).only_gates(["others-gate"]);
    let _observing = observer.observe(&provider.meter()).unwrap();
    let stages = ["some", "others"].map(Stage::new);
    for stage in &stages {
        stage.ask(&["a:1"]).await;
    }
    let seen = provider.collect();
    assert!(!seen.of_cache("herdcache.requests", "some").is_empty());
    assert!(seen.of_cache("herdcache.requests", "others").is_empty());
    assert!(seen.samples("herdcache.flight.duration", "herdcache.name=others").is_empty());
    assert!(!seen.of_gate("herdcache.permit.limit", "others-gate").is_empty());
    assert!(seen.of_gate("herdcache.permit.limit", "some-gate").is_empty());
    assert!(seen.samples("herdcache.permit.wait.duration", "herdcache.gate.name=some-gate").is_empty());
}

/// No recorder more than there may be: the application is told, and nothing is half observed.
#[tokio::test(start_paused = true)]
async fn a_handle_too_many_is_an_error() {
    let _turn = alone().await;
    let providers: Vec<Provider> = (0..=herdcache::RECORDERS).map(|_| Provider::new()).collect();
    let (last, others) = providers.split_last().unwrap();
    let handles: Vec<_> = others.iter().map(|provider| herdcache_otel::observe(&provider.meter()).unwrap()).collect();
    let refused = herdcache_otel::observe(&last.meter()).unwrap_err();
    assert_eq!(refused.to_string(), "there are 8 recorders already: drop one before adding another");
    let stage = Stage::new("many");
    stage.ask(&["a:1"]).await;
    assert!(last.collect().values.is_empty());
    drop(handles);
    let _again = herdcache_otel::observe(&last.meter()).unwrap();
    assert!(!last.collect().of_cache("herdcache.requests", "many").is_empty());
}

/// Readers on several threads, beside traffic: no collection is torn, and none has a series twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_collect_at_once() {
    let _turn = alone().await;
    let providers = [Provider::new(), Provider::new()];
    let _observing = providers.each_ref().map(|provider| herdcache_otel::observe(&provider.meter()).unwrap());
    let stage = Stage::new("at-once");
    let traffic = async {
        for number in 0..200 {
            stage.ask(&[&format!("a:{number}"), &format!("a:{number}")]).await;
        }
    };
    let readers = std::thread::scope(|scope| {
        let readers = providers.each_ref().map(|provider| {
            scope.spawn(|| {
                (0..50).map(|_| provider.collect()).map(|seen| seen.of_cache("herdcache.requests", "at-once")).collect()
            })
        });
        tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(traffic));
        readers.map(|reader| -> Vec<BTreeMap<String, f64>> { reader.join().unwrap() })
    });
    for seen in readers {
        let totals: Vec<f64> = seen.iter().map(|series| series.values().sum()).collect();
        assert!(totals.is_sorted(), "a counter fell: {totals:?}");
    }
    for provider in &providers {
        assert_eq!(provider.collect().of_cache("herdcache.requests", "at-once").values().sum::<f64>(), 400.0);
    }
}

/// L7: a service that builds caches for each job: 400 names come and go under two kinds of readers. Sums are exact, no
/// difference is lost or told twice, and what is kept of them is bounded.
#[tokio::test(start_paused = true)]
async fn l7_caches_that_come_and_go_leave_exact_sums() {
    const JOBS: usize = 200;
    let _turn = alone().await;
    let (sums, differences) = (Provider::new(), Provider::of(Temporality::Delta));
    let observe = |provider: &Provider| Observer::new().names(4).observe(&provider.meter()).unwrap();
    let _observing = [observe(&sums), observe(&differences)];
    let calls = |seen: &Collected| -> f64 {
        let all = seen.values["herdcache.origin.calls"].iter();
        all.filter(|(set, _)| set.contains("=job-") || set.contains("~other")).map(|(_, count)| count).sum()
    };
    let (mut added, mut last) = (0.0, 0.0);
    for job in 0..JOBS {
        let stage = Stage::new(&format!("job-{job}"));
        stage.ask(&["a:1", "a:2", "a:1"]).await;
        let now = calls(&sums.collect());
        assert_eq!(now - last, 2.0, "job {job}");
        last = now;
        // The other looks while the job's cache is there, and now and then after it as well.
        added += calls(&differences.collect());
        drop(stage);
        if job % 3 == 0 {
            added += calls(&differences.collect());
        }
    }
    let seen = sums.collect();
    assert_eq!(last, 2.0 * JOBS as f64);
    assert_eq!(added + calls(&differences.collect()), 2.0 * JOBS as f64);
    assert_eq!(seen.values["herdcache.origin.calls"].len(), 5, "four names and the shared one");
}

/// The provider goes before caches and handle: nothing panics, and the service goes on.
#[tokio::test(start_paused = true)]
async fn a_provider_may_go_first() {
    let _turn = alone().await;
    let provider = Provider::new();
    let observing = herdcache_otel::observe(&provider.meter()).unwrap();
    let stage = Stage::new("orphaned");
    stage.ask(&["a:1"]).await;
    provider.shutdown();
    stage.ask(&["a:2"]).await;
    drop(provider);
    stage.ask(&["a:3"]).await;
    drop(observing);
    stage.ask(&["a:4"]).await;
    assert_eq!(stage.cache.snapshot().origin_calls, 4);
    assert_eq!(herdcache::recorder_panics(), 0);
}
