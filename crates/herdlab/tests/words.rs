//! Each word of a scenario does what it says, and the figures of a run add up.
//!
//! A setting that is read and goes nowhere, or a figure that is always 0, passes every check that says "at most". So each is
//! played here in a second or two of virtual time, and its figure is what can be worked out by hand.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails there")]

use herdlab::play::play;
use herdlab::scenario::Scenario;
use serde_json::Value;

/// What is not said otherwise: a hundred requests a second, each for a key that nobody has asked for before.
fn scenario(traffic: &str, keys: &str, cache: &str, origin: &str, rest: &str) -> Scenario {
    let text = format!(
        "about = \"words\"\npolicies = [\"none\"]\n[traffic]\n{traffic}\n[keys]\n{keys}\n[cache]\n{cache}\n[origin]\n{origin}\n{rest}"
    );
    Scenario::parse("words", &text).unwrap_or_else(|error| panic!("{error}"))
}

fn run(scenario: &Scenario, policy: &str) -> Value {
    serde_json::to_value(play(scenario, &policy.parse().unwrap(), 1).unwrap()).unwrap()
}

/// A number by its place, a verdict as 1 or 0; a label that was never counted is 0.
fn at(run: &Value, place: &str) -> f64 {
    let found = run.pointer(place);
    found.and_then(|one| one.as_f64().or_else(|| one.as_bool().map(f64::from))).unwrap_or(0.0)
}

/// Words of one table, the policy, where the figure stands, and the range that it must lie in.
struct Word {
    traffic: &'static str,
    keys: &'static str,
    cache: &'static str,
    origin: &'static str,
    rest: &'static str,
    policy: &'static str,
    figures: &'static [(&'static str, f64, f64)],
}

const STEADY: &str = "pacing = \"constant\"\nper_second = 100\nlength = \"10s\"";
const SHORT: &str = "pacing = \"constant\"\nper_second = 100\nlength = \"2s\"";
const NEW: &str = "count = 1\nnew_share = 1.0";
const ONE: &str = "count = 1\nwarm = \"together\"";
const HOUR: &str = "fresh_for = \"1h\"";
const QUICK: &str = "latency = \"5ms\"";

const WORD: Word =
    Word { traffic: STEADY, keys: NEW, cache: HOUR, origin: QUICK, rest: "", policy: "none", figures: &[] };

#[rustfmt::skip]
const WORDS: &[Word] = &[
    // Requests come at 5.01 s, 5.02 s, …, 9.99 s.
    Word { traffic: "pacing = \"constant\"\nper_second = 100\nafter = \"5s\"\nlength = \"10s\"",
        figures: &[("/requests", 499.0, 499.0), ("/scene/seconds/4/requests", 0.0, 0.0), ("/scene/origin_calls_per_s", 99.8, 99.8)], ..WORD },
    // One key that is remembered as absent for 5 s is asked for at 0, 5 and 10 s; for the engine's own second, ten times.
    Word { keys: "count = 1\nabsent = { count = 1, share = 1.0 }", cache: "fresh_for = \"1h\"\nnegative_ttl = \"5s\"",
        figures: &[("/origin_calls", 2.0, 3.0)], policy: "singleflight", ..WORD },
    // 1,000 draws of 1,000 absent keys find 1,000(1 − 1/e) ± 4 × 10 different ones.
    Word { keys: "count = 1\nabsent = { count = 1000, share = 1.0 }", cache: "fresh_for = \"1h\"\nnegative_ttl = \"1h\"",
        figures: &[("/origin_calls", 592.0, 672.0)], policy: "singleflight", ..WORD },
    // A share is one of all requests, whatever takes its part beside it: half of 999 ± 4 × 15.8.
    Word { keys: "count = 10000\nhot = [{ key = 7, share = 0.5 }]\nabsent = { count = 1000000, share = 0.5 }",
        figures: &[("/outcomes/hit", 430.0, 565.0), ("/scene/hot_loads", 1.0, 2.0)], ..WORD },
    // One that becomes hot after 5 s has half of what comes then, and one that is all along its own half.
    Word { keys: "count = 10000\nhot = [{ key = 7, share = 0.5 }, { key = 8, share = 0.5, from = \"5s\" }]",
        figures: &[("/scene/hot_loads", 1.0, 2.0), ("/outcomes/hit", 680.0, 815.0)], ..WORD },
    Word { cache: "fresh_for = \"1h\"\nmax_flights = 1", origin: "latency = \"100ms\"", traffic: SHORT, policy: "singleflight",
        figures: &[("/rejections/flights_full", 150.0, 199.0)], ..WORD },
    // One leader, two waiters, and the others until the load's end at 110 ms are refused.
    Word { keys: "count = 1", cache: "fresh_for = \"1h\"\nmax_waiters = 2", origin: "latency = \"100ms\"", traffic: SHORT, policy: "singleflight",
        figures: &[("/rejections/waiters_full", 7.0, 9.0), ("/waiters_peak", 3.0, 3.0), ("/pass", 1.0, 1.0)], ..WORD },
    // Who comes at 20 ms, 30 ms, …, 510 ms waits for the load that began at 10 ms.
    Word { keys: "count = 1", origin: "latency = \"500ms\"", traffic: SHORT, policy: "singleflight",
        figures: &[("/waiters_peak", 50.0, 51.0), ("/outcomes/loaded", 1.0, 1.0), ("/scene/seconds/0/blocked", 50.0, 51.0)], ..WORD },
    // Two permits, five in the queue: two loads a second.
    Word { origin: "latency = \"1s\"", rest: "[gate]\npermits = 2\nqueue = 5\nqueue_timeout = \"300ms\"", policy: "singleflight+permits",
        figures: &[("/config/permits", 2.0, 2.0), ("/origin_peak_running", 2.0, 2.0), ("/queue_peak", 5.0, 5.0),
            ("/config/timeouts/queue", 300.0, 300.0), ("/rejections/queue_full", 500.0, 980.0), ("/rejections/queue_timeout", 50.0, 200.0)], ..WORD },
    // What is tried instead multiplies every timeout, and the pool.
    Word { origin: "latency = \"10s\"\nconnections = 1\nacquire_timeout = \"100ms\"", traffic: SHORT, policy: "timeout-x4",
        figures: &[("/pool_wait_ms/max", 399.0, 402.0), ("/pool_wait_ms/p50", 399.0, 402.0), ("/origin/connections", 1.0, 1.0)], ..WORD },
    Word { origin: "latency = \"10s\"\nconnections = 3\nacquire_timeout = \"100ms\"", traffic: SHORT, policy: "pool-x4",
        figures: &[("/pool_wait_ms/max", 99.0, 102.0), ("/origin_peak_running", 12.0, 12.0)], ..WORD },
    Word { traffic: "pacing = \"constant\"\nper_second = 100\nlength = \"2s\"\nwait_timeout = \"50ms\"", origin: "latency = \"3s\"", policy: "timeout-x4",
        figures: &[("/latency_ms/max", 199.0, 202.0), ("/wait_timeouts", 199.0, 199.0), ("/config/timeouts/wait", 200.0, 200.0)], ..WORD },
    Word { cache: "fresh_for = \"1h\"\norigin_timeout = \"40ms\"\nflight_deadline = \"70ms\"", origin: "latency = \"3s\"", traffic: SHORT, policy: "timeout-x4",
        figures: &[("/latency_ms/max", 159.0, 162.0), ("/failures/timeout", 199.0, 199.0), ("/config/timeouts/flight", 280.0, 280.0)], ..WORD },
    // Ten users who never get an answer.
    Word { traffic: "pacing = \"closed\"\nusers = 10\nthink = \"10ms\"\nlength = \"2s\"", keys: "count = 1", origin: "latency = \"4s\"",
        figures: &[("/requests", 10.0, 10.0), ("/key_peak_calls", 10.0, 10.0)], ..WORD },
    // Values of one age expire in one second, of many ages within ten.
    Word { keys: "count = 1000\nwarm = \"together\"", cache: "fresh_for = \"5s\"\njitter = 0.0", policy: "singleflight",
        traffic: "pacing = \"constant\"\nper_second = 5000\nlength = \"7s\"", figures: &[("/scene/expired_peak_per_s", 960.0, 1040.0)], ..WORD },
    Word { keys: "count = 1000\nwarm = \"spread\"", cache: "fresh_for = \"5s\"\njitter = 0.0", policy: "singleflight",
        traffic: "pacing = \"constant\"\nper_second = 5000\nlength = \"7s\"", figures: &[("/scene/expired_peak_per_s", 160.0, 300.0)], ..WORD },
    // Three keys that are there: what one deed does to one of them, or to all.
    Word { keys: "count = 3\nwarm = \"together\"", rest: "[[act]]\nat = \"1s\"\nkey = 1\nwhat = \"invalidate\"", policy: "singleflight", figures: &[("/origin_calls", 1.0, 1.0)], ..WORD },
    Word { keys: "count = 3\nwarm = \"together\"", cache: "fresh_for = \"1h\"\nstale_for = \"1h\"", rest: "[[act]]\nat = \"1s\"\nkey = 1\nwhat = \"mark_stale\"",
        policy: "singleflight+stale", figures: &[("/origin_calls", 1.0, 1.0), ("/outcomes/stale", 1.0, 2.0), ("/scene/seconds/1/stale", 1.0, 2.0)], ..WORD },
    Word { keys: "count = 3\nwarm = \"together\"", rest: "[[act]]\nat = \"1s\"\nwhat = \"clear\"", policy: "singleflight", figures: &[("/origin_calls", 3.0, 3.0)], ..WORD },
    Word { keys: "count = 3\nwarm = \"together\"", rest: "[[act]]\nat = \"1s\"\nwhat = \"expire_all\"", policy: "singleflight",
        figures: &[("/origin_calls", 3.0, 3.0), ("/amplification", 1.0, 1.0), ("/exposure", 333.0, 333.0)], ..WORD },
    Word { keys: "count = 3\nwarm = \"together\"", rest: "[[act]]\nat = \"1s\"\nevery = \"2s\"\nwhat = \"clear\"", policy: "singleflight",
        figures: &[("/origin_calls", 15.0, 15.0), ("/amplification", 5.0, 5.0)], ..WORD },
    // A store that takes 30 ms is asked before each load.
    Word { rest: "[shared]\nlatency = \"30ms\"\nlease = true", traffic: SHORT,
        figures: &[("/latency_ms/p50", 34.0, 37.0), ("/config/lease_ms", 1.0, 60_000.0)], ..WORD },
    // 50 keys and room for 5: after the store was emptied each that has no room is loaded again.
    Word { keys: "count = 50", cache: "fresh_for = \"1h\"\ncapacity = 5", rest: "[shared]\n[[trouble]]\nfrom = \"5s\"\nuntil = \"6s\"\nstore = \"emptied\"",
        policy: "singleflight", figures: &[("/origin_calls", 90.0, 100.0), ("/scene/store/values", 44.0, 50.0)], ..WORD },
    // Trouble of the database is also that of the queries beside the cache.
    Word { keys: ONE, rest: "[bystander]\nper_second = 100\n[[trouble]]\nfrom = \"5s\"\nuntil = \"10s\"\nfail = 1.0",
        figures: &[("/scene/bystander/success_ratio", 0.43, 0.57)], ..WORD },
    // Whoever asked in the last 500 ms before the end gets nothing until its timeout; in the phase in which it asked.
    Word { cache: "fresh_for = \"1h\"\norigin_timeout = \"500ms\"", rest: "[[trouble]]\nfrom = \"4s\"\nuntil = \"6s\"\nslow = 1000",
        figures: &[("/scene/recovery_ms", 480.0, 501.0), ("/phases/0/outcomes/failed", 0.0, 0.0), ("/phases/1/outcomes/failed", 0.0, 200.0),
            ("/phases/1/latency_ms/p50", 499.0, 502.0), ("/phases/2/latency_ms/max", 5.0, 7.0), ("/failures/timeout", 199.0, 201.0), ("/success_ratio", 0.79, 0.81)], ..WORD },
    Word { rest: "[[trouble]]\nfrom = \"4s\"\nuntil = \"6s\"\nfail = 1.0", cache: "fresh_for = \"1h\"",
        figures: &[("/failures/error", 199.0, 201.0), ("/scene/seconds/4/failed", 99.0, 101.0)], ..WORD },
    // Fresh for 1 s, and a refresh takes 1 s: what is answered meanwhile is 1 to 2 s old.
    Word { keys: ONE, cache: "fresh_for = \"1s\"\nstale_for = \"10s\"\njitter = 0.0", origin: "latency = \"1s\"\nvalue_bytes = 100", policy: "singleflight+stale",
        figures: &[("/stale/age_ms_p99", 1_950.0, 2_001.0), ("/stale/ratio", 0.4, 0.6), ("/stale/age_ms_max", 1_990.0, 2_002.0), ("/data_bytes", 100.0, 100.0)], ..WORD },
    Word { keys: "count = 30", origin: "latency = \"5ms\"\nvalue_bytes = 100", figures: &[("/data_bytes", 3_000.0, 3_000.0)], ..WORD },
    // Those that wait at the end of a second: the last hundred, whose loads take two.
    Word { origin: "latency = \"1500ms\"", traffic: SHORT, figures: &[("/scene/seconds/0/waiting", 98.0, 100.0), ("/scene/seconds/0/origin_running", 98.0, 100.0)], ..WORD },
];

#[test]
fn each_word_does_what_it_says() {
    let mut wrong = Vec::new();
    for word in WORDS {
        let scenario = scenario(word.traffic, word.keys, word.cache, word.origin, word.rest);
        let run = run(&scenario, word.policy);
        for (place, low, high) in word.figures {
            let told = at(&run, place);
            if !(*low..=*high).contains(&told) {
                wrong.push(format!(
                    "{place} is {told}, not {low} to {high}: {} {} {} {} under {}",
                    word.keys, word.cache, word.origin, word.rest, word.policy
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Where a trouble lasts to the end nobody can say that its readers recovered.
#[test]
fn a_run_that_ends_in_trouble_has_not_recovered() {
    let rest = "[[trouble]]\nfrom = \"1s\"\nuntil = \"5s\"\nfail = 1.0\n[[check]]\npolicies = [\"none\"]\nfigure = \"recovery_ms\"\nat_most = 1000\n";
    let scenario = scenario(SHORT, NEW, HOUR, QUICK, rest);
    let run = run(&scenario, "none");
    assert_eq!((&run["scene"]["recovery_ms"], &run["pass"]), (&Value::Null, &false.into()));
}

/// The law of the keys is told with everything that is asked for.
#[test]
fn what_is_asked_for_is_told() {
    let keys = "count = 9\nzipf = 0.5\nhot = [{ key = 1, share = 0.25 }, { key = 2, share = 0.125, from = \"1s\" }]\n\
                absent = { count = 7, share = 0.25 }\nnew_share = 0.125";
    let run = run(&scenario(SHORT, keys, HOUR, QUICK, ""), "none");
    let told = "zipf(0.5), hot key 0.25, hot key 0.125 from 1 s, 7 absent keys 0.25, new keys 0.125";
    assert_eq!(run["distribution"], told);
}

fn sum(run: &Value, list: &str, field: &str) -> f64 {
    run.pointer(list).and_then(Value::as_array).unwrap().iter().map(|one| at(one, field)).sum()
}

fn total(tally: &Value) -> f64 {
    tally.as_object().unwrap().values().filter_map(Value::as_f64).sum()
}

/// Seconds and phases are the same requests and calls as the whole, told in parts.
#[test]
fn parts_add_up_to_the_whole() {
    let rest = "[gate]\npermits = 3\nqueue = 4\nqueue_timeout = \"50ms\"\n[[trouble]]\nfrom = \"3s\"\nuntil = \"5s\"\nslow = 30\n\
                [[trouble]]\nfrom = \"6s\"\nuntil = \"7s\"\nfail = 0.5";
    let cache = "fresh_for = \"500ms\"\nstale_for = \"300ms\"\nstale_if_error_for = \"1s\"\norigin_timeout = \"200ms\"";
    for policy in ["none", "all", "singleflight+permits"] {
        let run = run(&scenario(STEADY, "count = 60\nzipf = 0.8", cache, "latency = \"20ms\"", rest), policy);
        let outcome = |label: &str| at(&run["outcomes"], &format!("/{label}"));
        let seconds = |field: &str| sum(&run, "/scene/seconds", field);
        let failed: f64 = ["rejected", "cooling", "failed", "timed_out"].map(outcome).iter().sum();
        let expired = at(&run, "/scene/misses/expired");
        for (what, told, whole) in [
            ("requests", seconds("/requests"), at(&run, "/requests")),
            ("outcomes", total(&run["outcomes"]), at(&run, "/requests")),
            ("calls", seconds("/origin_calls"), at(&run, "/origin_calls")),
            ("stale", seconds("/stale"), outcome("stale") + outcome("reserve")),
            ("blocked", seconds("/blocked"), outcome("loaded") + outcome("coalesced")),
            ("failed", seconds("/failed"), failed),
            ("expired", seconds("/expired"), expired),
            ("calls by phase", sum(&run, "/phases", "/origin_calls"), at(&run, "/origin_calls")),
            ("exposure", at(&run, "/exposure") * at(&run, "/origin_calls"), at(&run, "/requests")),
            ("stale ratio", at(&run, "/stale/ratio") * at(&run, "/requests"), outcome("stale") + outcome("reserve")),
            ("answered", at(&run, "/success_ratio") * at(&run, "/requests"), at(&run, "/requests") - failed),
        ] {
            assert!((told - whole).abs() < 1e-6 * whole.max(1.0), "{policy}: {what} {told}, in all {whole}");
        }
        let phases: f64 = run["phases"].as_array().unwrap().iter().map(|phase| total(&phase["outcomes"])).sum();
        assert!((phases - at(&run, "/requests")).abs() < 1e-9 && expired > 50.0, "{policy}: {phases}, {expired}");
        let fault = total(&run["phases"][1]["outcomes"]);
        assert!((fault - 400.0).abs() <= 1.0, "{policy}: four seconds of trouble, {fault}");
    }
}
