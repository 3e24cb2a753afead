//! The bounds of each law, worked out by hand: a range that is wider than its theory would pass what it must not.

use super::*;
use crate::play::play;
use crate::run::SweepFacts;
use crate::scenario::ModelSpec;

const TEXT: &str = r#"
about = "one key"
policies = ["none"]
[traffic]
per_second = 1000
length = "100ms"
[keys]
count = 1
[cache]
fresh_for = "10s"
[origin]
latency = "100ms"
"#;

fn seconds(seconds: u64) -> Time {
    Time(std::time::Duration::from_secs(seconds))
}

/// A scenario of 40 s of requests, from the tenth second on, and a run of it that says what bounds are made of.
fn case() -> (Scenario, Run) {
    let mut scenario = Scenario::parse("mine", TEXT).unwrap();
    let mut run = play(&scenario, &"none".parse().unwrap(), 1).unwrap();
    (scenario.traffic.length, scenario.traffic.after) = (seconds(50), seconds(10));
    scenario.cache.cooling = Some([Time(std::time::Duration::from_millis(100)), seconds(1)]);
    run.figures.expiries = Some(4);
    (run.setup.config.jitter, run.setup.config.beta) = (0.1, 1.0);
    let scene = run.figures.scene.as_mut().unwrap();
    scene.early.expiries = 25;
    scene.sweep = Some(SweepFacts { requests: 10_000, least_gain: None, least_over_lru: None, sizes: Vec::new() });
    (scenario, run)
}

fn range(oracle: Oracle, keys: u64, change: impl Fn(&mut Scenario)) -> [f64; 2] {
    let (mut scenario, run) = case();
    scenario.keys.count = keys;
    change(&mut scenario);
    let Expected { low, high, .. } = expected(oracle, &scenario, &run);
    [low, high]
}

#[test]
fn ranges_are_as_wide_as_theory_says_and_no_wider() {
    let as_it_is: fn(&mut Scenario) = |_| {};
    let shared: fn(&mut Scenario) =
        |one| (one.origin.model, one.origin.capacity) = (ModelSpec::ProcessorSharing, Some(50.0));
    let closed: fn(&mut Scenario) = |one| {
        (one.traffic.pacing, one.traffic.users) = (crate::scenario::PacingSpec::Closed, 101);
        one.traffic.think = Time(std::time::Duration::from_millis(100));
    };
    // m·e^(σ²/2) of a median of 100 ms with σ = 1 is 164.9 ms.
    let spread: fn(&mut Scenario) = |one| (one.origin.model, one.origin.sigma) = (ModelSpec::LogNormal, Some(1.0));
    for (oracle, keys, change, low, high) in [
        // 101 ± 4 × 10 ÷ √4.
        (Oracle::Duplicates { sigmas: 4.0 }, 1, as_it_is, 81.0, 121.0),
        // 1 + 100 × 0.63212 ± 4 × √(100 × 0.63212 × 0.36788) ÷ √4.
        (Oracle::Duplicates { sigmas: 4.0 }, 1, closed, 54.5675, 73.8567),
        // 100 a second ± 4 × √4,000 ÷ 40 s.
        (Oracle::Misses { hit_ratio: 0.9, sigmas: 4.0 }, 1, as_it_is, 93.6754, 106.3246),
        // 10,000 keys over a tenth of 10 s.
        (Oracle::Spread { sigmas: 5.0 }, 10_000, as_it_is, 9_500.0, 10_500.0),
        // 40 ÷ 10.101, and 40 ÷ 10.1659.
        (Oracle::Steady { within: 0.02 }, 1, as_it_is, 3.880_80, 4.039_20),
        (Oracle::Steady { within: 0.02 }, 1, spread, 3.856_06, 4.013_45),
        // 1,000(1 − 1/e) ± 4 × 15.2494.
        (Oracle::Together { sigmas: 4.0 }, 1_000, as_it_is, 571.123, 693.118),
        // 100 ms × (ln 100 + 0.577) ± 4 × 128.255 ÷ 5, and 100 ms × ln(100 ÷ ln 2) ± 4 × 28.854.
        (Oracle::Lead { sigmas: 4.0 }, 1, as_it_is, 415.635, 620.843),
        (Oracle::LeadMedian { sigmas: 4.0 }, 1, as_it_is, 381.752, 612.584),
        (Oracle::EarlyStarts, 1, as_it_is, 1.0, 1.0),
        // 39.9 s ÷ 9.58176 s ± 4 × 0.0273143 and 1.
        (Oracle::EarlyCycles { sigmas: 4.0 }, 1, as_it_is, 3.0549, 5.2734),
        (Oracle::Lru { entries: 50, within: 0.01 }, 100, as_it_is, 0.495, 0.505),
        // Half ± 4 × √(0.25 ÷ 10,000), above alone.
        (Oracle::MostPopular { entries: 50, sigmas: 4.0 }, 100, as_it_is, 0.0, 0.52),
        // 50 ms × e.
        (Oracle::Collapse { within: 0.05 }, 1, shared, 129.118, 142.710),
        (Oracle::CollapseLoads { within: 0.05 }, 1, shared, 129.118, 142.710),
        (Oracle::Cooling { length: seconds(5) }, 1, as_it_is, 7.0, 10.0),
    ] {
        let told = range(oracle, keys, change);
        let near = |told: f64, by_hand: f64| (told - by_hand).abs() <= by_hand.abs() * 1e-4 + 1e-9;
        assert!(near(told[0], low) && near(told[1], high), "{oracle:?}: {told:?}, by hand {low} to {high}");
    }
}
