//! What theory expects of a run: the scenario's figures put into a formula.

use std::fmt;

use crate::run::Run;
use crate::scenario::{Oracle, Scenario, Time};
use crate::theory;

/// The range that a figure must lie in, and where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Expected {
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) how: String,
}

impl Expected {
    fn around(mean: f64, slack: f64, how: String) -> Self {
        Self { low: mean - slack, high: mean + slack, how }
    }

    /// A part of the mean on both sides.
    fn within(mean: f64, part: f64, how: String) -> Self {
        Self::around(mean, mean * part, how)
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (low, high) = (short(self.low), short(self.high));
        match (self.low.is_finite(), self.high.is_finite()) {
            (true, true) if low == high => f.write_str(&low)?,
            (false, _) => write!(f, "<= {high}")?,
            (_, false) => write!(f, ">= {low}")?,
            (true, true) => write!(f, "{low} to {high}")?,
        }
        if self.how.is_empty() { Ok(()) } else { write!(f, " ({})", self.how) }
    }
}

/// A number as people read it: three places, no trailing zeros.
pub(super) fn short(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').into()
}

/// Loads for each expiry when nobody coalesces.
fn duplicates(sigmas: f64, scenario: &Scenario, run: &Run, rate: f64) -> Expected {
    let load_s = scenario.origin.latency.seconds();
    let expiries = run.figures.expiries.unwrap_or_default().max(1) as f64;
    let law = if scenario.traffic.pacing.open().is_some() {
        let formula = format!("1 + λL = 1 + {} × {} s", short(rate), short(load_s));
        (theory::duplicates(rate, load_s), theory::duplicates_sigma(rate, load_s), formula)
    } else {
        let (users, think_s) = (scenario.traffic.users as f64, scenario.traffic.think.seconds());
        let (mean, sigma) = (
            theory::closed_duplicates(users, load_s, think_s),
            theory::closed_duplicates_sigma(users, load_s, think_s),
        );
        (mean, sigma, format!("1 + (C − 1)(1 − e^(−L/Z)), C = {users}"))
    };
    let (mean, sigma, formula) = law;
    let how = format!("{formula}, ± {sigmas}σ over {expiries} expiries");
    Expected::around(mean, sigmas * sigma / expiries.sqrt(), how)
}

/// Seconds to the first answer of a database that its callers drown, as far as its pool lets them.
fn first_answer(scenario: &Scenario, run: &Run, rate: f64) -> (f64, &'static str) {
    let load_s = scenario.origin.latency.seconds();
    let capacity = scenario.origin.capacity.unwrap_or(f64::INFINITY);
    match run.setup.origin.connections {
        None => (theory::first_answer_s(rate, load_s, capacity), "(c/λ)·e^(λL/c − 1)"),
        Some(most) => {
            let first = theory::pooled_first_answer_s(rate, load_s, capacity, most as f64);
            (first, "K/λ + (L − done by then)·K/c, K connections")
        }
    }
}

/// What `oracle` expects of this run.
pub(super) fn expected(oracle: Oracle, scenario: &Scenario, run: &Run) -> Expected {
    let load_s = scenario.origin.latency.seconds();
    let fresh_s = scenario.cache.fresh_for.seconds();
    let length_s = scenario.traffic.length.seconds();
    // Readers of the watched key alone.
    let traffic = &scenario.traffic;
    let rate = traffic.most_per_second() * scenario.watched_share();
    match oracle {
        Oracle::Duplicates { sigmas } => duplicates(sigmas, scenario, run, rate),
        Oracle::Collapse { within } => {
            let (first, how) = first_answer(scenario, run, rate);
            Expected::within(first * 1_000.0, within, how.into())
        }
        Oracle::CollapseLoads { within } => {
            let (first, how) = first_answer(scenario, run, rate);
            Expected::within(rate * first, within, format!("λ × {how}"))
        }
        Oracle::Misses { hit_ratio, sigmas } => {
            let calls = traffic.most_per_second() * (1.0 - hit_ratio);
            // A Poisson count over the whole run, as its mean for each second.
            let slack = sigmas * (calls * length_s).sqrt() / length_s;
            Expected::around(calls, slack, format!("rate × (1 − {hit_ratio}), ± {sigmas}σ"))
        }
        Oracle::Spread { sigmas } => {
            let mean = theory::spread_per_s(scenario.keys.count as f64, run.setup.config.jitter, fresh_s);
            let high = mean + sigmas * mean.sqrt();
            Expected { low: 0.0, high, how: format!("N/(J·T) = {}, + {sigmas}σ", short(mean)) }
        }
        Oracle::Steady { within } => {
            let in_all = length_s * theory::steady_loads_per_s(rate, load_s, fresh_s);
            Expected::within(in_all, within, "length ÷ (T + L + 1/λ)".into())
        }
        Oracle::Lead { sigmas } => {
            let beta = run.setup.config.beta;
            let cycles = run.figures.scene.as_ref().map_or(1, |scene| scene.early.starts.max(1)) as f64;
            let slack = sigmas * theory::lead_sigma_s(load_s, beta) / cycles.sqrt() * 1_000.0;
            let mean = theory::lead_mean_s(rate, load_s, beta) * 1_000.0;
            Expected::around(mean, slack, format!("βδ(ln rβδ + 0.577), ± {sigmas}σ over {cycles} cycles"))
        }
        Oracle::Cooling { length } => {
            let [base, cap] = scenario.cache.cooling.map_or([0.1, 5.0], |windows| windows.map(Time::seconds));
            let (low, high) = theory::cooling_attempts(length.seconds(), base, cap);
            Expected { low: low as f64, high: high as f64, how: "windows that double from base to cap".into() }
        }
    }
}
