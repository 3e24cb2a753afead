//! Every scenario passes, and fails where its countermeasure is off.
//!
//! All of them take minutes without optimisation, so a usual run plays the small
//! ones; `HERDLAB_ALL=1 cargo test --release -p herdlab --test scenarios` plays all.

use herdlab::play::play;
use herdlab::run::Check;
use herdlab::scenario::{Scenario, builtins};
use herdlab::verdict;

/// Requests that a usual run plays of a scenario.
const SMALL: f64 = 50_000.0;

#[expect(clippy::unwrap_used, reason = "a unit test reads all of them")]
fn played() -> Vec<Scenario> {
    let all = std::env::var_os("HERDLAB_ALL").is_some();
    let requests = |scenario: &Scenario| {
        let asked =
            scenario.traffic.most_per_second() * (scenario.traffic.length.seconds() - scenario.traffic.after.seconds());
        // A request that goes by a shared store costs several others; a sweep asks every size.
        let each = if scenario.shared.is_some() { 5.0 } else { 1.0 };
        let swept = scenario.sweep.as_ref().map_or(0, |sweep| sweep.requests * sweep.capacities.len() as u64);
        asked * each + swept as f64
    };
    let short = builtins().unwrap().into_iter().filter(|scenario| !scenario.long);
    short.filter(|scenario| all || requests(scenario) <= SMALL).collect()
}

fn failed(checks: &[Check]) -> Vec<String> {
    let failed = checks.iter().filter(|check| !check.pass);
    failed.map(|check| format!("{}: {}, expected {}", check.name, check.measured, check.expected)).collect()
}

#[test]
fn every_scenario_passes() {
    for scenario in played() {
        for policy in &scenario.policies {
            let run = play(&scenario, &policy.parse().unwrap(), 1).unwrap();
            assert_eq!(failed(&run.checks), Vec::<String>::new(), "{} under {policy}", scenario.name);
        }
    }
}

/// What is checked of protected runs is not true of a run without the countermeasure.
#[test]
fn what_a_countermeasure_is_checked_for_fails_without_it() {
    let mut tried = 0;
    for scenario in played() {
        let Some(without) = &scenario.without else { continue };
        let run = play(&scenario, &without.parse().unwrap(), 1).unwrap();
        let protected = scenario
            .policies
            .iter()
            .filter(|policy| policy.parse::<herdlab::policy::Policy>().unwrap().cure().is_none());
        for policy in protected.filter(|policy| *policy != without) {
            let checks = verdict::checks_as(&scenario, &run, policy);
            assert!(!checks.is_empty(), "{} checks nothing of {policy}", scenario.name);
            assert_ne!(failed(&checks), Vec::<String>::new(), "{} under {without} passes for {policy}", scenario.name);
            tried += 1;
        }
    }
    assert!(tried >= 3, "{tried}");
}
