//! What theory expects of a run: the scenario's figures put into a formula.

mod early;
mod herds;
mod sizes;

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

/// A run, with the figures that most formulas need.
struct Case<'a> {
    scenario: &'a Scenario,
    run: &'a Run,
    /// Readers of the watched key each second.
    rate: f64,
    load_s: f64,
    fresh_s: f64,
    length_s: f64,
    /// How long of it requests are sent.
    asked_s: f64,
}

impl<'a> Case<'a> {
    fn of(scenario: &'a Scenario, run: &'a Run) -> Self {
        Self {
            scenario,
            run,
            rate: scenario.traffic.most_per_second() * scenario.watched_share(),
            load_s: scenario.origin.mean_s(),
            fresh_s: scenario.cache.fresh_for.seconds(),
            length_s: scenario.traffic.length.seconds(),
            asked_s: scenario.traffic.length.seconds() - scenario.traffic.after.seconds(),
        }
    }

    /// Loads for each expiry when nobody coalesces.
    fn duplicates(&self, sigmas: f64) -> Expected {
        let (rate, load_s) = (self.rate, self.load_s);
        let expiries = self.run.figures.expiries.unwrap_or_default().max(1) as f64;
        let (mean, sigma, formula) = if self.scenario.traffic.open().is_some() {
            let formula = format!("1 + λL = 1 + {} × {} s", short(rate), short(load_s));
            (theory::duplicates(rate, load_s), theory::duplicates_sigma(rate, load_s), formula)
        } else {
            let (users, think_s) = (self.scenario.traffic.users as f64, self.scenario.traffic.think.seconds());
            let (mean, sigma) = (
                theory::closed_duplicates(users, load_s, think_s),
                theory::closed_duplicates_sigma(users, load_s, think_s),
            );
            (mean, sigma, format!("1 + (C − 1)(1 − e^(−L/Z)), C = {users}"))
        };
        let how = format!("{formula}, ± {sigmas}σ over {expiries} expiries");
        Expected::around(mean, sigmas * sigma / expiries.sqrt(), how)
    }

    /// Seconds to the first answer of a database that its callers drown, as far as its pool lets them.
    fn first_answer(&self) -> (f64, &'static str) {
        let capacity = self.scenario.origin.capacity.unwrap_or(f64::INFINITY);
        match self.run.setup.origin.connections {
            None => (theory::first_answer_s(self.rate, self.load_s, capacity), "(c/λ)·e^(λL/c − 1)"),
            Some(most) => {
                let first = theory::pooled_first_answer_s(self.rate, self.load_s, capacity, most as f64);
                (first, "K/λ + (L − done by then)·K/c, K connections")
            }
        }
    }

    fn misses(&self, hit_ratio: f64, sigmas: f64) -> Expected {
        let calls = self.scenario.traffic.most_per_second() * (1.0 - hit_ratio);
        // A Poisson count over all that is asked, as its mean for each second.
        let slack = sigmas * (calls * self.asked_s).sqrt() / self.asked_s;
        Expected::around(calls, slack, format!("rate × (1 − {hit_ratio}), ± {sigmas}σ"))
    }

    fn spread(&self, sigmas: f64) -> Expected {
        let (keys, jitter) = (self.scenario.keys.count as f64, self.run.setup.config.jitter);
        let mean = theory::spread_per_s(keys, jitter, self.fresh_s);
        // The largest of several seconds is above their mean; one that is far below it is not of these keys.
        Expected::around(mean, sigmas * mean.sqrt(), format!("N/(J·T) = {}, ± {sigmas}σ", short(mean)))
    }

    fn cooling(&self, length: Time) -> Expected {
        let [base, cap] = self.scenario.cache.cooling.map_or([0.1, 5.0], |windows| windows.map(Time::seconds));
        let (low, high) = theory::cooling_attempts(length.seconds(), base, cap);
        Expected { low: low as f64, high: high as f64, how: "windows that double from base to cap".into() }
    }
}

/// What `oracle` expects of this run.
pub(super) fn expected(oracle: Oracle, scenario: &Scenario, run: &Run) -> Expected {
    let case = Case::of(scenario, run);
    match oracle {
        Oracle::Duplicates { sigmas } => case.duplicates(sigmas),
        Oracle::Collapse { within } => {
            let (first, how) = case.first_answer();
            Expected::within(first * 1_000.0, within, how.into())
        }
        Oracle::CollapseLoads { within } => {
            let (first, how) = case.first_answer();
            Expected::within(case.rate * first, within, format!("λ × {how}"))
        }
        Oracle::Misses { hit_ratio, sigmas } => case.misses(hit_ratio, sigmas),
        Oracle::Spread { sigmas } => case.spread(sigmas),
        Oracle::Steady { within } => {
            let in_all = case.asked_s * theory::steady_loads_per_s(case.rate, case.load_s, case.fresh_s);
            Expected::within(in_all, within, "length ÷ (T + L + 1/λ)".into())
        }
        Oracle::Lead { sigmas } => early::lead(&case, sigmas),
        Oracle::LeadMedian { sigmas } => early::lead_median(&case, sigmas),
        Oracle::EarlyStarts => early::starts(&case),
        Oracle::EarlyCycles { sigmas } => early::cycles(&case, sigmas),
        Oracle::Herds { from, until, sigmas } => herds::herds(&case, (from, until), sigmas),
        Oracle::Together { sigmas } => herds::together(&case, sigmas),
        Oracle::Lru { entries, within } => sizes::lru(&case, entries, within),
        Oracle::MostPopular { entries, sigmas } => sizes::most_popular(&case, entries, sigmas),
        Oracle::Cooling { length } => case.cooling(length),
    }
}

#[cfg(test)]
mod tests;
