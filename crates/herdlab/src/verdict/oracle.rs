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

/// What `oracle` expects of this run.
pub(super) fn expected(oracle: Oracle, scenario: &Scenario, run: &Run) -> Expected {
    let load_s = scenario.origin.latency.seconds();
    let fresh_s = scenario.cache.fresh_for.seconds();
    let length_s = scenario.traffic.length.seconds();
    // Readers of the watched key alone.
    let rate = scenario.traffic.per_second * scenario.watched_share();
    let capacity = scenario.origin.capacity.unwrap_or(f64::INFINITY);
    match oracle {
        Oracle::Duplicates { sigmas } => {
            let expiries = run.figures.expiries.unwrap_or_default().max(1) as f64;
            let slack = sigmas * theory::duplicates_sigma(rate, load_s) / expiries.sqrt();
            let how =
                format!("1 + λL = 1 + {} × {} s, ± {sigmas}σ over {expiries} expiries", short(rate), short(load_s));
            Expected::around(theory::duplicates(rate, load_s), slack, how)
        }
        Oracle::Collapse { within } => {
            let first = theory::first_answer_s(rate, load_s, capacity);
            Expected::within(first * 1_000.0, within, "(c/λ)·e^(λL/c − 1)".into())
        }
        Oracle::CollapseLoads { within } => {
            let until_then = rate * theory::first_answer_s(rate, load_s, capacity);
            Expected::within(until_then, within, "λ·(c/λ)·e^(λL/c − 1)".into())
        }
        Oracle::Misses { hit_ratio, sigmas } => {
            let calls = scenario.traffic.per_second * (1.0 - hit_ratio);
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
            Expected { low: low as f64, high: high as f64, how: "windows from base to cap, × U[1, 1.5]".into() }
        }
    }
}
