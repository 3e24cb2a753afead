//! Counters are the engine's to the unit, and the sums between them hold.

use std::collections::BTreeMap;

use herdcache::herdfeed::words::{ClosedSet, SharedOperation};
use serde_json::Value;

use super::play::Stage;
use super::support::{Collected, Provider, alone};

/// Metric, and the field of the cache's snapshot that it must equal: a number, or one for each label.
const OF_CACHE: &[(&str, &str)] = &[
    ("herdcache.request.active", "active"),
    ("herdcache.misses", "misses"),
    ("herdcache.removals", "removals"),
    ("herdcache.entry.count", "entries"),
    ("herdcache.entry.weight.limit", "capacity"),
    ("herdcache.stale.serves", "stale_serves"),
    ("herdcache.flight.starts", "flight_starts"),
    ("herdcache.flights", "flights"),
    ("herdcache.flight.participants", "participants"),
    ("herdcache.flight.active", "flights_active"),
    ("herdcache.flight.waiting", "waiting"),
    ("herdcache.flight.unwatched", "flights_unwatched"),
    ("herdcache.refreshes", "refreshes"),
    ("herdcache.discards", "discards"),
    ("herdcache.origin.calls", "origin_calls"),
    ("herdcache.origin.active", "origin_active"),
    ("herdcache.origin.abandoned", "origin_abandoned"),
    ("herdcache.protection.level", "protection"),
    ("herdcache.shared.reads", "shared.reads"),
    ("herdcache.shared.writes", "shared.writes"),
    ("herdcache.circuit.state", "shared.circuit"),
    ("herdcache.circuit.transitions", "shared.transitions"),
    ("herdcache.lease.acquisitions", "lease.acquisitions"),
    ("herdcache.lease.losses", "lease.losses"),
    ("herdcache.lease.polls", "lease.polls"),
    ("herdcache.lease.renewals", "lease.renewals"),
];

/// The same of a gate.
const OF_GATE: &[(&str, &str)] = &[
    ("herdcache.permit.usage", "in_use"),
    ("herdcache.permit.limit", "limit"),
    ("herdcache.permit.pending", "pending"),
    ("herdcache.permit.usage.peak", "usage_peak"),
    ("herdcache.permit.pending.peak", "pending_peak"),
    ("herdcache.origin.capacity", "origin_capacity"),
    ("herdcache.circuit.state", "circuit"),
];

/// What a field of a snapshot says, by label; the empty one for a plain number.
fn told(snapshot: &Value, path: &str, labels: &BTreeMap<String, f64>) -> BTreeMap<String, f64> {
    let field = path.split('.').fold(snapshot, |at, name| &at[name]);
    match field {
        Value::Object(counts) => counts.iter().map(|(label, count)| (label.clone(), count.as_f64().unwrap())).collect(),
        // A word among its set: 1 where it stands.
        Value::String(word) => labels.keys().map(|label| (label.clone(), f64::from(u8::from(label == word)))).collect(),
        number => BTreeMap::from([(String::new(), number.as_f64().unwrap_or_else(|| panic!("{path}: {number}")))]),
    }
}

fn total(series: &BTreeMap<String, f64>) -> f64 {
    series.values().sum()
}

fn one(series: &BTreeMap<String, f64>, label: &str) -> f64 {
    series.get(label).copied().unwrap_or_else(|| panic!("no {label} in {series:?}"))
}

fn equal_to_the_snapshots(seen: &Collected, stage: &Stage) {
    let name = stage.cache.name().to_owned();
    let cache = serde_json::to_value(stage.cache.snapshot()).unwrap();
    for (metric, path) in OF_CACHE {
        let series = seen.of_cache(metric, &name);
        assert_eq!(series, told(&cache, path, &series), "{metric}");
    }
    let gate = serde_json::to_value(stage.gate.snapshot()).unwrap();
    for (metric, path) in OF_GATE {
        let series = seen.of_gate(metric, stage.gate.name());
        assert_eq!(series, told(&gate, path, &series), "{metric}");
    }
    // What has more than one attribute, or is put together.
    let snapshot = stage.cache.snapshot();
    let shared = snapshot.shared.as_ref().unwrap();
    let requests = seen.of_cache("herdcache.requests", &name);
    for (outcome, count) in snapshot.outcomes.iter() {
        let of = |tier| requests.get(&format!("{outcome},{tier}")).copied();
        assert_eq!(of("local").unwrap() + of("shared").unwrap_or(0.0), count as f64, "{outcome}");
        assert_eq!(of("shared").unwrap_or(0.0), shared.outcomes[outcome] as f64, "{outcome}");
    }
    let rejections = seen.of_cache("herdcache.rejections", &name);
    for (reason, count) in snapshot.rejections.iter() {
        let of = |class| rejections.get(&format!("{class},{reason}")).copied();
        assert_eq!(of("foreground").unwrap() + of("refresh").unwrap_or(0.0), count as f64, "{reason}");
    }
    let errors = seen.of_cache("herdcache.connection.errors", &name);
    for operation in SharedOperation::all() {
        let of = |fault| one(&errors, &format!("{fault},{operation}"));
        let counts = [shared.timeouts[*operation], shared.connection_errors[*operation], shared.refusals[*operation]];
        assert_eq!(["timeout", "connection_error", "refused"].map(of), counts.map(|count| count as f64), "{operation}");
    }
    let results = seen.of_cache("herdcache.origin.results", &name);
    let classes = [("unreachable", 1.0), ("never", 0.0), ("_OTHER", 1.0)];
    for (class, least) in classes {
        let count = one(&results, &format!("{class},error"));
        assert!(count >= least && (least > 0.0 || count == 0.0), "{class}: {count}");
    }
    assert_eq!(total(&results), snapshot.origin_results.total() as f64);
}

/// L1: what ended is what began, for requests, flights, calls, permits and refusals alike.
fn sums_hold(seen: &Collected, stage: &Stage) {
    let name = stage.cache.name();
    let of = |metric: &str| seen.of_cache(metric, name);
    let requests = of("herdcache.requests");
    let outcome = |wanted: &str| {
        let of = requests.iter().filter(|(labels, _)| labels.split(',').next() == Some(wanted));
        of.map(|(_, count)| *count).sum::<f64>()
    };
    assert_eq!(total(&requests) + total(&of("herdcache.request.active")), stage.cache.snapshot().begun as f64);
    assert_eq!(
        total(&of("herdcache.flight.starts")),
        total(&of("herdcache.flights")) + total(&of("herdcache.flight.active"))
    );
    assert_eq!(
        total(&of("herdcache.origin.calls")),
        total(&of("herdcache.origin.results")) + total(&of("herdcache.origin.active"))
    );
    // Each miss leads or joins a flight, or finds its key cooling or no room.
    let rejected = of("herdcache.rejections")
        .iter()
        .filter(|(labels, _)| labels.starts_with("foreground"))
        .map(|(_, count)| *count)
        .sum::<f64>();
    let covered = one(&of("herdcache.stale.serves"), "rejected");
    assert_eq!(rejected, outcome("rejected") + covered, "a refusal is an outcome, or covered by an older value");
    assert!(rejected > 0.0);
    // A histogram has as many samples as its counter.
    let samples = |metric: &str| seen.samples(metric, &format!("herdcache.name={name}"));
    let counted = |metric: &str| -> BTreeMap<String, u64> {
        let series = of(metric).into_iter().filter(|(_, count)| *count > 0.0);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole and small")]
        series.map(|(label, count)| (label, count as u64)).collect()
    };
    assert_eq!(samples("herdcache.flight.duration"), counted("herdcache.flights"));
    assert_eq!(samples("herdcache.stale.age"), counted("herdcache.stale.serves"));
    assert_eq!(samples("herdcache.stale.bound.ratio"), counted("herdcache.stale.serves"));
    let calls: u64 = samples("herdcache.origin.call.duration").values().sum();
    assert_eq!(calls as f64, total(&of("herdcache.origin.results")));
    let snapshot = stage.cache.snapshot();
    assert_eq!(samples("herdcache.flight.wait.duration").values().sum::<u64>(), snapshot.wait.count);
    let operations: u64 = snapshot.shared.unwrap().operations.iter().map(|operation| operation.times.count).sum();
    assert_eq!(samples("herdcache.shared.operation.duration").values().sum::<u64>(), operations);
    let permits = seen.samples("herdcache.permit.wait.duration", &format!("herdcache.gate.name={}", stage.gate.name()));
    let results = seen.of_gate("herdcache.permit.results", stage.gate.name());
    let results: BTreeMap<_, _> = results.into_iter().filter(|(_, count)| *count > 0.0).collect();
    assert_eq!(permits.into_iter().map(|(labels, count)| (labels, count as f64)).collect::<BTreeMap<_, _>>(), results);
}

/// L1: after quiescence every counter is the engine's to the unit, and the sums hold within one collection.
#[tokio::test(start_paused = true)]
async fn l1_counters_are_the_engines_to_the_unit() {
    let _turn = alone().await;
    let provider = Provider::new();
    let _observing = herdcache_otel::observe(&provider.meter()).unwrap();
    let stage = Stage::new("laws");
    stage.play().await;
    let seen = provider.collect();
    equal_to_the_snapshots(&seen, &stage);
    sums_hold(&seen, &stage);
}
