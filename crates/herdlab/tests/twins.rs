//! Checks of scenarios that no policy switches off are shown to fail too: each is run with what it is there to find.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails there")]

use std::time::Duration;

use herdcache::LocalStore;
use herdlab::play::play;
use herdlab::run::{Check, Run};
use herdlab::scenario::{Deed, KeyForm, PacingSpec, Scenario, StoreTrouble, Time, Trouble, builtin, builtins};

fn seconds(seconds: f64) -> Time {
    Time(Duration::from_secs_f64(seconds))
}

fn run(scenario: &Scenario, policy: &str) -> Run {
    play(scenario, &policy.parse().unwrap(), 1).unwrap()
}

/// The checks on one figure, or of one law, that passed and that failed.
fn checks<'a>(run: &'a Run, name: &str) -> (Vec<&'a Check>, Vec<&'a Check>) {
    run.checks.iter().filter(|check| check.name.starts_with(name)).partition(|check| check.pass)
}

/// A few seconds of it, at a rate that a build without optimisation bears.
fn tenants(form: KeyForm) -> Scenario {
    let mut scenario = builtin("tenants").unwrap().unwrap();
    (scenario.traffic.length, scenario.traffic.per_second) = (seconds(4.0), 500.0);
    (scenario.keys.count, scenario.cache.capacity) = (120, Some(20));
    scenario.keys.form = form;
    scenario
}

/// L8, K1: an application that forgets the tenant, or joins it to the id, answers with rows of others: seen by the reader,
/// not by the engine, whose key it is.
#[test]
fn l8_a_key_that_forgets_the_tenant_is_found_out() {
    for policy in ["none", "all"] {
        let right = run(&tenants(KeyForm::TenantAndId), policy);
        for name in ["L8", "foreign_answers"] {
            assert_eq!((checks(&right, name).0.len(), checks(&right, name).1.len()), (1, 0), "{policy}: {name}");
        }
        for form in [KeyForm::Joined, KeyForm::IdAlone] {
            let wrong = run(&tenants(form), policy);
            let told = wrong.figures.scene.as_ref().unwrap().foreign_answers;
            assert!(told > 20, "{policy}, {form:?}: {told}");
            for name in ["L8", "foreign_answers"] {
                assert_eq!(checks(&wrong, name).1.len(), 1, "{policy}, {form:?}: {name}");
            }
            assert!(!wrong.pass);
        }
    }
}

fn outage(fallback: bool) -> Scenario {
    let name = if fallback { "store-outage-fallback" } else { "store-outage" };
    let mut scenario = builtin(name).unwrap().unwrap();
    (scenario.traffic.length, scenario.traffic.per_second) = (seconds(10.0), 600.0);
    (scenario.keys.count, scenario.cache.capacity) = (1_000, Some(20));
    let down = |from: f64, until: f64, store| Trouble {
        store: Some(store),
        from: seconds(from),
        until: seconds(until),
        ..scenario.trouble[0]
    };
    scenario.trouble = vec![down(1.0, 4.0, StoreTrouble::Reset), down(5.0, 8.0, StoreTrouble::Hung)];
    scenario
}

/// T4: a store that is down is asked once in a probe's interval, by the store's own count; who asks more often is seen.
#[test]
fn t4_a_store_that_is_asked_too_often_is_found_out() {
    let with = run(&outage(false), "all");
    for name in ["store.least_gap_ms", "origin_peak_running", "L3", "L1", "recovery_ms"] {
        assert!(checks(&with, name).1.is_empty() && !checks(&with, name).0.is_empty(), "{name}: {:?}", with.checks);
    }
    let mut often = outage(false);
    often.shared.as_mut().unwrap().probe_every = Some(seconds(0.2));
    let run = run(&often, "all");
    assert_eq!(checks(&run, "store.least_gap_ms").1.len(), 1, "{:?}", run.figures.scene.unwrap().store);
}

/// G1: every refusal is told to a caller, or is a degraded answer; each of both counts is kept apart from the engine's.
#[test]
fn g1_refusals_and_degraded_answers_are_exact() {
    let (refused, degraded) = (run(&outage(false), "all"), run(&outage(true), "all"));
    for run in [&refused, &degraded] {
        assert_eq!(checks(run, "L1 refusals").1, Vec::<&Check>::new());
        assert_eq!(checks(run, "L1 refusals").0.len(), 1);
    }
    let count = |run: &Run, label: &str| serde_json::to_value(run).unwrap()["outcomes"][label].as_u64().unwrap_or(0);
    let before = count(&refused, "rejected");
    assert!(before > 200, "{before}");
    assert_eq!((count(&degraded, "rejected"), count(&degraded, "fallback")), (0, before), "the same seed, one by one");
    assert_eq!(checks(&degraded, "L1 degraded").0.len(), 1);
}

/// A sweep that goes from large to small has no gain.
#[test]
fn sizes_the_wrong_way_round_are_found_out() {
    let mut scenario = builtin("hit-ratio").unwrap().unwrap();
    let sweep = scenario.sweep.as_mut().unwrap();
    (sweep.capacities, sweep.requests, sweep.warm_up) = (vec![1_000, 100], 12_000, 6_000);
    let run = run(&scenario, "all");
    assert_eq!(checks(&run, "sweep.least_gain").1.len(), 1);
    // Nor does a figure pass that is not there.
    assert_eq!(checks(&run, "sweep.sizes.10000").1.len(), 2);
}

/// A call belongs to the phase in which it began, also within a second that has two of them.
#[test]
fn calls_are_put_into_the_phase_in_which_they_began() {
    let mut scenario = builtin("hit-ratio-0").unwrap().unwrap();
    let traffic = &mut scenario.traffic;
    (traffic.pacing, traffic.per_second, traffic.length) = (PacingSpec::Constant, 10.0, seconds(4.0));
    let at = |from: f64, until: f64| Trouble {
        from: seconds(from),
        until: seconds(until),
        slow: 2.0,
        fail: 0.0,
        stops_refresher: false,
        store: None,
    };
    // A key that nobody asked for before at 0.1 s, 0.2 s, …, 3.9 s: each is one call.
    scenario.trouble = vec![at(1.5, 1.7), at(2.2, 2.5)];
    let calls: Vec<_> = run(&scenario, "none").figures.phases.iter().map(|phase| phase.origin_calls).collect();
    assert_eq!(calls, [14, 10, 15], "what begins at a boundary belongs to what begins there");
}

/// A scenario without a countermeasure to switch off, with something changed that its checks must not bear.
struct Twin {
    name: &'static str,
    policy: &'static str,
    /// What is wrong with it.
    change: fn(&mut Scenario),
    /// The figures of which a check must fail.
    fails: &'static [&'static str],
}

const TWINS: &[Twin] = &[
    Twin {
        name: "hit-ratio-99",
        policy: "none",
        change: |twin| twin.keys.new_share = 0.013,
        fails: &["origin_calls_per_s"],
    },
    Twin {
        name: "hit-ratio-90",
        policy: "none",
        change: |twin| twin.keys.new_share = 0.09,
        fails: &["origin_calls_per_s"],
    },
    Twin {
        name: "hit-ratio-0",
        policy: "none",
        change: |twin| twin.keys.new_share = 0.98,
        fails: &["origin_calls_per_s"],
    },
    Twin {
        name: "cold-start",
        policy: "all",
        change: |twin| (twin.gate.permits, twin.gate.warm_up_permits) = (Some(2), Some(1)),
        fails: &["warm_up.duration_ms", "success_ratio", "latency_ms.p99"],
    },
    // The application writes and forgets its cache.
    Twin {
        name: "invalidate-in-flight",
        policy: "all",
        change: |twin| twin.act.iter_mut().for_each(|act| act.what = Deed::WriteUnseen),
        fails: &["L5", "outdated_answers", "discards.invalidated"],
    },
    Twin {
        name: "penetration",
        policy: "all",
        change: |twin| (twin.cache.capacity, twin.gate.permits, twin.gate.queue) = (Some(500), Some(4), Some(1)),
        fails: &["misses.evicted", "success_ratio"],
    },
    Twin {
        name: "new-hot-key",
        policy: "all",
        change: |twin| twin.cache.fresh_for = seconds(1.0),
        fails: &["hot_loads"],
    },
    Twin {
        name: "new-hot-key-lru",
        policy: "all",
        change: |twin| twin.cache.store = LocalStore::Moka,
        fails: &["hot_loads"],
    },
    Twin {
        name: "new-hot-key-quick",
        policy: "all",
        change: |twin| twin.cache.store = LocalStore::Moka,
        fails: &["hot_loads"],
    },
    Twin {
        name: "eviction-not-expiry",
        policy: "all",
        change: |twin| (twin.cache.fresh_for, twin.cache.capacity) = (seconds(20.0), Some(4_000)),
        fails: &["misses.expired", "misses.evicted"],
    },
];

/// All of them take minutes without optimisation: `HERDLAB_ALL=1 cargo test --release -p herdlab --test twins`.
#[test]
fn what_a_scenario_is_there_to_find_is_found() {
    let all = std::env::var_os("HERDLAB_ALL").is_some();
    for twin in TWINS.iter().filter(|twin| all || ["cold-start", "invalidate-in-flight"].contains(&twin.name)) {
        let mut scenario = builtin(twin.name).unwrap().unwrap();
        (twin.change)(&mut scenario);
        let run = run(&scenario, twin.policy);
        for figure in twin.fails {
            let (passed, failed) = checks(&run, figure);
            assert!(!failed.is_empty(), "{}: {figure} bears it: {passed:?}", twin.name);
        }
    }
}

/// No scenario is without: it names a policy that must fail, or has a twin here.
#[test]
fn every_scenario_is_shown_to_fail() {
    let here = ["tenants", "hit-ratio", "five-hours"];
    for scenario in builtins().unwrap() {
        let has = scenario.without.is_some()
            || TWINS.iter().any(|twin| twin.name == scenario.name)
            || here.contains(&scenario.name.as_str());
        assert!(has, "{} names no policy under which it fails, and has no twin", scenario.name);
    }
}
