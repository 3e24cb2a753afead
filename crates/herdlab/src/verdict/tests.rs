use super::*;
use crate::play::play;

const TEXT: &str = r#"
about = "one key"
policies = ["none", "singleflight"]
[traffic]
pacing = "constant"
per_second = 1000
length = "500ms"
[keys]
count = 1
[cache]
fresh_for = "10s"
[origin]
latency = "100ms"
[[check]]
policies = ["singleflight"]
figure = "origin_calls"
equals = 1
[[check]]
policies = ["none"]
figure = "origin_calls_per_expiry"
oracle = { law = "duplicates", sigmas = 4 }
[[check]]
policies = ["none", "singleflight"]
figure = "latency_ms.p42"
at_most = 1
"#;

fn run(policy: &str) -> (Scenario, Run) {
    let scenario = Scenario::parse("mine", TEXT).unwrap();
    let run = play(&scenario, &policy.parse().unwrap(), 1).unwrap();
    (scenario, run)
}

#[test]
fn only_the_checks_of_the_policy_are_made() {
    let (scenario, run) = run("singleflight");
    let checks = checks(&scenario, &run);
    let told: Vec<_> = checks.iter().map(|check| (check.name.as_str(), check.measured.as_str(), check.pass)).collect();
    // A figure that does not exist fails its check.
    assert_eq!(told, [("origin_calls", "1", true), ("latency_ms.p42", "nothing", false)]);
    assert!(!run.pass);
}

#[test]
fn a_run_without_the_measure_fails_what_is_asked_of_one_with_it() {
    let (scenario, run) = run("none");
    let own = checks(&scenario, &run);
    assert!(own[0].pass && own[0].expected.contains("1 + λL"), "{own:?}");
    let as_if = checks_as(&scenario, &run, "singleflight");
    assert_eq!((as_if[0].name.as_str(), as_if[0].pass), ("origin_calls", false));
}

#[test]
fn the_measures_of_a_policy_are_named_in_any_order() {
    for (named, policy, same) in [
        ("stale+singleflight", "singleflight+stale", true),
        ("singleflight+stale", "stale+singleflight", true),
        ("singleflight", "singleflight+stale", false),
        ("lucky", "lucky", false),
    ] {
        assert_eq!(is(named, policy), same, "{named} and {policy}");
    }
}

/// A range has two ends, and both are held.
#[test]
fn a_figure_on_either_side_of_its_range_fails() {
    let (scenario, run) = run("singleflight");
    let figures = serde_json::to_value(&run).unwrap();
    for (bound, pass) in [
        (Bound::Between([0.0, 0.5]), false),
        (Bound::Between([0.5, 1.0]), true),
        (Bound::Between([1.5, 2.0]), false),
        (Bound::AtMost(0.9), false),
        (Bound::AtLeast(1.1), false),
        (Bound::Equals(1.0), true),
        (Bound::Equals(2.0), false),
    ] {
        let check = CheckSpec { bound: bound.clone(), ..scenario.check[0].clone() };
        assert_eq!(judge(&scenario, &check, &run, &figures).pass, pass, "{bound:?}");
    }
}
