//! What a histogram's samples are, and not only how many.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use herdcache::{Measured, Recorder, add_recorder};

use super::play::Stage;
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
