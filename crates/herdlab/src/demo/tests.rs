//! The demonstration for a few seconds each, on the real clock: it is a load on
//! real threads. Nothing here asserts speed; the bounds are counts.

use super::*;
use herdfeed::Outcome;

/// Runs to its end by itself.
fn finished(off: &[Measure], length: Duration) -> Run {
    let config = DemoConfig { off: off.to_vec(), length: Some(length), ..DemoConfig::default() };
    let demo = Demo::start(config).unwrap();
    while !demo.is_over() {
        std::thread::sleep(Duration::from_millis(20));
    }
    demo.finish()
}

fn failed(run: &Run) -> Vec<String> {
    let failed = run.checks.iter().filter(|check| !check.pass);
    failed.map(|check| format!("{}: {} not {}", check.name, check.measured, check.expected)).collect()
}

/// L1, L2, L3, L6, L7: protected, an expiry costs one load and nobody fails.
#[test]
fn l1_l2_l3_l6_l7_with_protection_an_expiry_costs_one_load() {
    let run = finished(&[], Duration::from_secs(5));
    assert_eq!(failed(&run), Vec::<String>::new());
    assert_eq!(run.setup.policy, "all");
    assert!(run.figures.expiries.unwrap() >= 2, "{:?}", run.figures.expiries);
    assert_eq!(run.figures.origin_calls_per_expiry, Some(1.0));
    assert_eq!(run.figures.outcomes.total(), run.figures.requests);
    assert_eq!(run.figures.success_ratio, Some(1.0));
    assert!(run.figures.outcomes[Outcome::Stale] > 0 && run.figures.outcomes[Outcome::Coalesced] > 0);
}

/// L1, L6: unprotected, an expiry costs hundreds, and still every request is accounted for.
#[test]
fn l1_l6_without_protection_an_expiry_costs_hundreds() {
    let off = [Measure::SingleFlight, Measure::Stale, Measure::Early, Measure::Permits];
    let run = finished(&off, Duration::from_secs(5));
    assert_eq!(failed(&run), Vec::<String>::new());
    assert_eq!(run.setup.policy, "jitter");
    assert!(run.figures.origin_calls_per_expiry.unwrap() > 100.0, "{:?}", run.figures.origin_calls_per_expiry);
    assert!(run.figures.key_peak_calls > 100, "{}", run.figures.key_peak_calls);
    assert_eq!(run.figures.outcomes.total(), run.figures.requests);
}

/// Names that a reader of a run may count on, and the names within the structured ones.
const NAMES: &[(&str, &[&str])] = &[
    (
        "",
        &[
            "scenario",
            "policy",
            "seed",
            "started_at",
            "virtual_time",
            "processes",
            "keys",
            "distribution",
            "value_bytes",
            "data_bytes",
            "capacity",
            "rate_per_s",
            "users",
            "think_ms",
            "ttl_ms",
            "config",
            "origin",
            "duration_ms",
            "wall_ms",
            "requests",
            "outcomes",
            "expiries",
            "origin_calls",
            "origin_calls_per_expiry",
            "origin_peak_running",
            "pool_wait_ms",
            "shared_reads",
            "amplification",
            "exposure",
            "waiters_peak",
            "success_ratio",
            "latency_ms",
            "wait_timeouts",
            "stale",
            "queue_peak",
            "rejections",
            "failures",
            "phases",
            "checks",
            "pass",
        ],
    ),
    ("/ttl_ms", &["fresh", "stale", "stale_if_error"]),
    ("/config", &["permits", "queue", "timeouts", "jitter", "beta", "lease_ms"]),
    ("/origin", &["model", "latency_ms", "capacity", "state"]),
    ("/latency_ms", &["p50", "p95", "p99", "max"]),
    ("/stale", &["ratio", "age_ms_p99", "age_ms_max"]),
    ("/checks/0", &["name", "expected", "measured", "pass"]),
];

#[test]
fn every_name_of_a_run_is_present_even_when_it_has_no_figure() {
    let run = finished(&[], Duration::from_millis(300));
    let document = serde_json::to_value(crate::run::Document::new(vec![run])).unwrap();
    assert_eq!(document["version"], crate::run::VERSION);
    assert!(document["machine"]["cores"].as_u64().unwrap() >= 1);
    for (place, names) in NAMES {
        let part = document["runs"][0].pointer(place).unwrap();
        for name in *names {
            assert!(part.get(name).is_some(), "{place}/{name} is missing");
        }
    }
    // What this kind of run has no source for is null, not 0.
    assert!(document["runs"][0]["shared_reads"].is_null());
    assert!(document["runs"][0]["config"]["lease_ms"].is_null());
}
