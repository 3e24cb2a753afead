use super::*;
use crate::policy::Policy;

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
    let error = wrong(("\"1s\"\n[origin]", "\"1s\"\nstore = \"redis\"\n[origin]"));
    assert!(error.contains("line 11") && error.contains("no store \"redis\": say one of moka,"), "{error}");
    let error = wrong(("\"5ms\"", "\"5 apples\""));
    assert!(error.contains("5 apples") && error.contains("500ms"), "{error}");
}

/// The part of the watched key is one of all requests, whatever else is asked for, and with what the law of all keys adds.
#[test]
fn shares_are_parts_of_all_requests() {
    let share = |keys: &str| {
        let text = LEAST.replace("count = 1", keys);
        let scenario = Scenario::parse("mine", &text).unwrap();
        (scenario.watched_share(), scenario.keys.probabilities().iter().sum::<f64>())
    };
    for (keys, watched, existing) in [
        ("count = 4\nabsent = { count = 9, share = 0.5 }", 0.125, 0.5),
        ("count = 4\nhot = [{ key = 3, share = 0.2 }]", 0.2 + 0.8 / 4.0, 1.0),
        ("count = 4\nhot = [{ key = 3, share = 0.2 }]\nnew_share = 0.6", 0.2 + 0.2 / 4.0, 0.4),
        ("count = 4\nhot = [{ key = 3, share = 0.2, from = \"1s\" }]", 0.2, 1.0),
    ] {
        let (told, all) = share(keys);
        assert!((told - watched).abs() < 1e-12 && (all - existing).abs() < 1e-12, "{keys}: {told}, {all}");
    }
}

/// One table each, with what replaces it, and the field that the error names.
const WRONG: &[(&str, &str, &str)] = &[
    ("per_second = 10", "per_second = 0", "traffic.per_second"),
    ("per_second = 10", "per_second = nan", "traffic.per_second"),
    ("per_second = 10", "pacing = \"closed\"", "traffic.users"),
    ("per_second = 10", "pacing = \"closed\"\nusers = 5", "traffic.think"),
    ("per_second = 10", "per_second = 10\npacing = \"closed\"\nusers = 5\nthink = \"1s\"", "traffic.per_second"),
    ("per_second = 10", "per_second = 10\nusers = 5", "traffic.users"),
    ("per_second = 10", "per_second = 10\nburst = 5", "traffic.burst"),
    ("per_second = 10", "per_second = 10\npacing = \"bursts\"", "traffic.burst"),
    ("per_second = 10", "per_second = 10\nmost_in_flight = 0", "traffic.most_in_flight"),
    ("per_second = 10", "per_second = 10\nwait_timeout = \"0s\"", "traffic.wait_timeout"),
    ("per_second = 10", "per_second = 10\nafter = \"1s\"", "traffic.after"),
    ("length = \"1s\"", "length = \"0s\"", "traffic.length"),
    ("length = \"1s\"", "length = \"9999999h\"", "traffic.length"),
    ("count = 1", "count = 0", "keys.count"),
    ("count = 1", "count = 20000000", "keys.count"),
    ("count = 1", "count = 9\nzipf = nan", "keys.zipf"),
    ("count = 1", "count = 9\nzipf = -1.0", "keys.zipf"),
    ("count = 1", "count = 9\nhot = [{ key = 9, share = 0.5 }]", "keys.hot"),
    ("count = 1", "count = 9\nabsent = { count = 0, share = 0.5 }", "keys.absent.count"),
    ("count = 1", "count = 1\nhot = [{ key = 0, share = 0.7 }]\nnew_share = 0.7", "keys"),
    ("[\"none\"]", "[]", "policies"),
    ("[\"none\"]", "[\"lucky\"]", "policies"),
    ("[\"none\"]", "[\"stale+jitter\", \"jitter+stale\"]", "policies"),
    ("[\"none\"]", "[\"none\"]\nwithout = \"lucky\"", "without"),
    ("\"5ms\"", "\"2h\"", "origin.latency"),
    ("\"5ms\"", "\"5ms\"\nmodel = \"processor_sharing\"", "origin.capacity"),
    ("\"5ms\"", "\"5ms\"\nmodel = \"processor_sharing\"\ncapacity = inf", "origin.capacity"),
    ("\"5ms\"", "\"5ms\"\ncapacity = 5.0", "origin.capacity"),
    ("\"5ms\"", "\"5ms\"\nsigma = 0.5", "origin.sigma"),
    ("\"5ms\"", "\"5ms\"\nmodel = \"log_normal\"\nsigma = nan", "origin.sigma"),
    ("\"5ms\"", "\"5ms\"\nconnections = 0", "origin.connections"),
    ("\"5ms\"", "\"5ms\"\nacquire_timeout = \"1s\"", "origin.acquire_timeout"),
    ("\"5ms\"", "\"5ms\"\nvalue_bytes = 99999999999", "origin.value_bytes"),
    ("\"5ms\"", "\"5ms\"\n[bystander]\nper_second = nan", "bystander.per_second"),
    ("\"5ms\"", "\"5ms\"\n[warm_up]\nkeys = 2", "warm_up"),
    ("\"5ms\"", "\"5ms\"\n[warm_up]\nfrom = 18446744073709551615\nkeys = 2", "warm_up"),
    ("\"5ms\"", "\"5ms\"\n[refresher]\nkeys = 0", "refresher.keys"),
    ("\"5ms\"", "\"5ms\"\n[refresher]\nevery = \"0s\"", "refresher.every"),
    ("\"5ms\"", "\"5ms\"\n[sweep]\ncapacities = []\nrequests = 5", "sweep.capacities"),
    ("\"5ms\"", "\"5ms\"\n[sweep]\ncapacities = [5]\nrequests = 0", "sweep.requests"),
    ("\"5ms\"", "\"5ms\"\n[sweep]\ncapacities = [5]\nrequests = 5\nwarm_up = 5", "sweep.warm_up"),
    ("\"5ms\"", "\"5ms\"\n[[trouble]]\nfrom = \"2s\"\nuntil = \"1s\"\nslow = 2", "trouble[0].from"),
    ("\"5ms\"", "\"5ms\"\n[[trouble]]\nfrom = \"2s\"\nuntil = \"3s\"\nslow = 2", "trouble[0].from"),
    ("\"5ms\"", "\"5ms\"\n[[trouble]]\nfrom = \"0s\"\nuntil = \"1s\"\nslow = nan", "trouble[0].slow"),
    ("\"5ms\"", "\"5ms\"\n[[trouble]]\nfrom = \"0s\"\nuntil = \"1s\"\nfail = 2", "trouble[0].fail"),
    ("\"5ms\"", "\"5ms\"\n[[trouble]]\nfrom = \"0s\"\nuntil = \"1s\"\nstore = \"hung\"", "trouble[0].store"),
    ("\"5ms\"", "\"5ms\"\n[[trouble]]\nfrom = \"0s\"\nuntil = \"1s\"", "trouble[0] does nothing"),
    ("\"5ms\"", "\"5ms\"\n[[act]]\nat = \"0s\"\nevery = \"1ns\"\nwhat = \"write\"", "act[0].every"),
    ("\"5ms\"", "\"5ms\"\n[[act]]\nat = \"0s\"\nkey = 1\nwhat = \"write\"", "act[0].key"),
    ("\"5ms\"", "\"5ms\"\n[[act]]\nat = \"1s\"\nwhat = \"write\"", "act[0].at"),
];

#[test]
fn what_cannot_be_is_told_with_its_field() {
    for (old, new, field) in WRONG {
        let error = wrong((old, new));
        assert!(error.starts_with(&format!("scenario \"mine\": {field}")), "{error} does not begin with {field}");
        assert!(!error.contains('\n') && error.len() > 40, "{error} says too little, or too much");
    }
}

#[test]
fn troubles_that_would_heal_each_other_are_refused() {
    let two = |one: &str, other: &str| {
        let text = format!("{LEAST}[shared]\n[[trouble]]\n{one}\n[[trouble]]\n{other}\n");
        Scenario::parse("mine", &text).map(drop).map_err(|error| error.to_string())
    };
    let (slow, failing) =
        ("from = \"0s\"\nuntil = \"500ms\"\nslow = 2", "from = \"500ms\"\nuntil = \"900ms\"\nfail = 1");
    assert!(two(slow, failing).unwrap_err().contains("trouble[1] touches the same as trouble[0]"));
    assert_eq!(two(slow, "from = \"501ms\"\nuntil = \"900ms\"\nfail = 1"), Ok(()));
    assert_eq!(two(slow, "from = \"100ms\"\nuntil = \"900ms\"\nstore = \"hung\""), Ok(()));
}

#[test]
fn a_check_that_could_not_be_made_or_could_not_fail_is_refused() {
    let with = |check: &str| {
        let text = format!("{LEAST}[[check]]\nfigure = \"requests\"\n{check}\n");
        Scenario::parse("mine", &text).map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(with("policies = [\"none\"]\nequals = 10"), Ok(()));
    let bursts = LEAST.replace("per_second = 10", "per_second = 10\npacing = \"bursts\"\nburst = 5");
    let law =
        "[[check]]\nfigure = \"requests\"\npolicies = [\"none\"]\noracle = { law = \"duplicates\", sigmas = 4 }\n";
    let error = Scenario::parse("mine", &format!("{bursts}{law}")).unwrap_err().to_string();
    assert!(error.contains("check[0].oracle supposes readers who come one by one"), "{error}");
    // The origin is the last table, so that its model can be written behind it.
    for (model, law) in [
        ("model = \"log_normal\"", "duplicates\", sigmas = 4"),
        ("model = \"log_normal\"", "lead\", sigmas = 4"),
        ("model = \"log_normal\"", "collapse\", within = 0.05"),
        ("", "collapse-loads\", within = 0.05"),
        ("model = \"processor_sharing\"\ncapacity = 9", "herds\", from = \"0s\", until = \"1s\", sigmas = 4"),
    ] {
        let check = format!("[[check]]\nfigure = \"requests\"\npolicies = [\"none\"]\noracle = {{ law = \"{law} }}\n");
        let error = Scenario::parse("mine", &format!("{LEAST}{model}\n{check}")).unwrap_err().to_string();
        assert!(error.contains("check[0].oracle is a law of another model"), "{model}, {law}: {error}");
    }
    for (check, why) in [
        ("policies = [\"none\"]", "exactly one of equals"),
        ("policies = [\"none\"]\nequals = 1\nat_most = 2", "exactly one of equals"),
        ("policies = [\"none\"]\nequal = 1", "unknown field `equal`"),
        ("policies = []\nequals = 1", "check[0].policies must name"),
        ("policies = [\"all\"]\nequals = 1", "check[0].policies names \"all\", which the scenario does not run"),
        ("policies = [\"none\"]\nat_most = nan", "check[0].figure is held against"),
        ("policies = [\"none\"]\nat_least = -inf", "check[0].figure is held against"),
        ("policies = [\"none\"]\nbetween = [2, 1]", "check[0].between must be"),
        ("policies = [\"none\"]\noracle = { law = \"steady\", within = inf }", "check[0].oracle needs"),
        ("policies = [\"none\"]\noracle = { law = \"luck\" }", "unknown variant `luck`"),
    ] {
        let error = with(check).unwrap_err();
        assert!(error.contains(why), "{error} does not say {why}");
    }
}
