use super::*;

const LEAST: &str = r#"
about = "one key"
policies = ["none"]
[traffic]
per_second = 10
length = "1s"
[keys]
count = 1
[cache]
fresh_for = "1s"
[origin]
latency = "5ms"
"#;

fn wrong(change: (&str, &str)) -> String {
    let text = LEAST.replace(change.0, change.1);
    assert_ne!(text, LEAST);
    Scenario::parse("mine", &text).unwrap_err().to_string()
}

#[test]
fn what_is_left_out_has_its_default() {
    let scenario = Scenario::parse("mine", LEAST).unwrap();
    assert_eq!((scenario.name.as_str(), scenario.gate.permits()), ("mine", 64));
    assert_eq!(scenario.cache.stale_for, Time::default());
    assert!((scenario.watched_share() - 1.0).abs() < 1e-9);
}

#[test]
fn every_scenario_of_the_lab_can_be_read_and_checks_something() {
    let all = builtins().unwrap();
    assert!(all.len() >= 18, "{}", all.len());
    for scenario in all {
        assert!(!scenario.check.is_empty(), "{} checks nothing", scenario.name);
        for policy in scenario.check.iter().flat_map(|check| &check.policies) {
            assert!(
                scenario.policies.iter().any(|named| named.parse::<Policy>() == policy.parse()),
                "{} checks {policy}, which it does not run",
                scenario.name
            );
        }
    }
}

#[test]
fn a_misspelt_word_is_told_with_its_line() {
    let error = wrong(("fresh_for", "fresh_fro"));
    assert!(error.contains("scenario \"mine\"") && error.contains("line 10") && error.contains("fresh_fro"), "{error}");
    let error = wrong(("\"5ms\"", "\"5 apples\""));
    assert!(error.contains("5 apples") && error.contains("500ms"), "{error}");
}

#[test]
fn what_cannot_be_is_told_with_its_field() {
    for (change, field) in [
        (("per_second = 10", "per_second = 0"), "traffic.per_second"),
        (("per_second = 10", "pacing = \"closed\""), "traffic.users"),
        (("per_second = 10", "pacing = \"closed\"\nusers = 5"), "traffic.think"),
        (("per_second = 10", "per_second = 10\npacing = \"closed\"\nusers = 5\nthink = \"1s\""), "traffic.per_second"),
        (("per_second = 10", "per_second = 10\nusers = 5"), "traffic.users"),
        (("count = 1", "count = 0"), "keys.count"),
        (("count = 1", "count = 1\nhot = [{ key = 0, share = 0.7 }]\nnew_share = 0.7"), "keys"),
        (("[\"none\"]", "[]"), "policies"),
        (("[\"none\"]", "[\"lucky\"]"), "policies"),
        (("latency = \"5ms\"", "latency = \"5ms\"\nmodel = \"processor_sharing\""), "origin.capacity"),
        (("latency = \"5ms\"", "latency = \"5ms\"\n[[trouble]]\nfrom = \"2s\"\nuntil = \"1s\""), "trouble"),
    ] {
        let error = wrong(change);
        assert!(error.contains(field), "{error} does not name {field}");
    }
}
