//! What a histogram's samples are, and not only how many.

use std::collections::BTreeMap;
use std::future::Future as _;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};

use herdcache::{Cache, Gate, GetError, LoadContext, Measured, Recorder, Ttl, add_recorder};

use super::play::{Stage, ms};
use super::support::{Provider, alone};

/// Sums of one cache's samples, by the metric that they belong to.
#[derive(Default)]
struct Sums(Mutex<BTreeMap<&'static str, f64>>);

impl Recorder for Sums {
    fn record(&self, measured: &Measured<'_>) {
        let mut sums = self.0.lock().unwrap();
        let mut add = |metric, value| *sums.entry(metric).or_default() += value;
        match *measured {
            Measured::Request { cache: "samples", took, waited, .. } => {
                add("herdcache.request.duration", took.as_secs_f64());
                add("herdcache.flight.wait.duration", waited.unwrap_or_default().as_secs_f64());
            }
            Measured::Flight { cache: "samples", took, waiters, .. } => {
                add("herdcache.flight.duration", took.as_secs_f64());
                add("herdcache.flight.waiters", waiters as f64);
            }
            Measured::Call { cache: "samples", took, connection, .. } => {
                add("herdcache.origin.call.duration", took.as_secs_f64());
                add("herdcache.origin.connection.wait.duration", connection.unwrap_or_default().as_secs_f64());
            }
            Measured::Permit { gate: "samples-gate", waited, .. } => {
                add("herdcache.permit.wait.duration", waited.as_secs_f64());
            }
            Measured::Stale { cache: "samples", past, of_bound, .. } => {
                add("herdcache.stale.age", past.as_secs_f64());
                add("herdcache.stale.bound.ratio", of_bound);
            }
            Measured::Shared { cache: "samples", took, .. } => {
                add("herdcache.shared.operation.duration", took.as_secs_f64());
            }
            _ => {}
        }
    }
}

/// L1: each sample goes to the histogram that it belongs to, in its unit.
#[tokio::test(start_paused = true)]
async fn l1_histograms_hold_what_was_measured() {
    let _turn = alone().await;
    let provider = Provider::new();
    let _observing = herdcache_otel::observe(&provider.meter()).unwrap();
    let sums = Arc::new(Sums::default());
    add_recorder(&sums).unwrap();
    Stage::new("samples").play().await;
    let seen = provider.collect();
    let sums = sums.0.lock().unwrap();
    assert_eq!(sums.len(), seen.histograms.len(), "every histogram is compared");
    for (metric, sum) in sums.iter() {
        let owners = ["herdcache.name=samples", "herdcache.gate.name=samples-gate"];
        let own = seen.histograms[*metric].iter().filter(|(set, _)| set.split(',').any(|one| owners.contains(&one)));
        let told: f64 = own.map(|(_, buckets)| buckets.sum).sum();
        assert!(*sum > 0.0 && (told - sum).abs() < 1e-6 * sum, "{metric}: {told} instead of {sum}");
    }
}

/// L1: what is told as a wait is the wait, and not the request's whole time: this one's fallback takes time of its own.
#[tokio::test(start_paused = true)]
async fn l1_a_wait_ends_before_its_request() {
    let _turn = alone().await;
    let provider = Provider::new();
    let _observing = herdcache_otel::observe(&provider.meter()).unwrap();
    let degraded = |_: &u64, _: &GetError<&'static str>| {
        // The paused clock moves at the first poll.
        let _ = pin!(tokio::time::advance(ms(30))).poll(&mut Context::from_waker(Waker::noop()));
        Some(0)
    };
    let origin = |_: LoadContext<u64, u64>| async {
        tokio::time::sleep(ms(20)).await;
        Err::<u64, _>("down")
    };
    let builder = Cache::builder("waits", Ttl::fresh_for(ms(1_000)), &Gate::new(4)).fallback(degraded);
    builder.build_over(origin).unwrap().get(&1).await.unwrap();
    let seen = provider.collect();
    let sum = |metric: &str| {
        let (_, own) = seen.histograms[metric].iter().find(|(set, _)| set.contains("herdcache.name=waits")).unwrap();
        (own.sum * 1e3).round()
    };
    assert_eq!(sum("herdcache.flight.wait.duration"), 20.0);
    assert_eq!(sum("herdcache.request.duration"), 50.0);
}
