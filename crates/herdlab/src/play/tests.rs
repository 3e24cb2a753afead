use super::*;
use crate::scenario::builtin;

fn short(name: &str, seconds: u64) -> Scenario {
    let mut scenario = builtin(name).unwrap().unwrap();
    scenario.traffic.length = crate::scenario::Time(Duration::from_secs(seconds));
    scenario.traffic.per_second = scenario.traffic.per_second.min(500.0);
    scenario
}

/// The run as it is printed, without the machine's own times.
fn printed(name: &str, policy: &str, seed: u64) -> String {
    let run = play(&short(name, 12), &policy.parse().unwrap(), seed).unwrap();
    let mut run = serde_json::to_value(&run).unwrap();
    run["started_at"] = "".into();
    run["wall_ms"] = 0.into();
    serde_json::to_string_pretty(&run).unwrap()
}

#[test]
fn the_same_seed_gives_the_same_run_to_the_byte() {
    for (name, policy) in [
        ("hot-key", "none"),
        ("slow-origin", "all"),
        ("failing-origin", "all"),
        ("penetration", "all"),
        ("eviction-not-expiry", "all"),
        ("cold-start", "all"),
    ] {
        let (first, second) = (printed(name, policy, 7), printed(name, policy, 7));
        let differs = first.lines().zip(second.lines()).find(|(one, other)| one != other);
        assert_eq!(differs, None, "{name} under {policy}");
        assert_ne!(first, printed(name, policy, 8), "{name}: another seed is another run");
    }
}

/// Impatient callers, and what they leave behind (field case 02).
#[test]
fn s4_case_02_callers_that_leave_early_still_fill_the_cache() {
    let scenario = builtin("impatient-callers").unwrap().unwrap();
    let run = play(&scenario, &"singleflight".parse().unwrap(), 1).unwrap();
    assert!(run.pass, "{:?}", run.checks.iter().filter(|check| !check.pass).collect::<Vec<_>>());
    assert_eq!(run.figures.origin_calls, 1);
}

#[test]
fn settings_that_cannot_work_are_told_not_played() {
    let mut scenario = short("hot-key", 1);
    scenario.cache.jitter = Some(0.9);
    let error = play(&scenario, &"all".parse().unwrap(), 1).unwrap_err().to_string();
    assert!(error.contains("jitter"), "{error}");
}
