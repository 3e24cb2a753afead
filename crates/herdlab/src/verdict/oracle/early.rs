//! What refresh-ahead is expected to do.

use super::{Case, Expected, short};
use crate::theory;

impl Case<'_> {
    fn beta(&self) -> f64 {
        self.run.setup.config.beta
    }

    /// Expiries that a refresh began ahead of; of none there is no mean, so that a run without any fails.
    fn early_expiries(&self) -> f64 {
        self.run.figures.scene.as_ref().map_or(0, |scene| scene.early.expiries).max(1) as f64
    }
}

/// Milliseconds of lead in the mean.
pub(super) fn lead(case: &Case<'_>, sigmas: f64) -> Expected {
    let cycles = case.early_expiries();
    let slack = sigmas * theory::lead_sigma_s(case.load_s, case.beta()) / cycles.sqrt() * 1_000.0;
    let mean = theory::lead_mean_s(case.rate, case.load_s, case.beta()) * 1_000.0;
    Expected::around(mean, slack, format!("βδ(ln rβδ + 0.577), ± {sigmas}σ over {cycles} cycles"))
}

/// The same in the median.
pub(super) fn lead_median(case: &Case<'_>, sigmas: f64) -> Expected {
    let cycles = case.early_expiries();
    let slack = sigmas * theory::lead_median_sigma_s(case.load_s, case.beta(), cycles) * 1_000.0;
    let median = theory::lead_median_s(case.rate, case.load_s, case.beta()) * 1_000.0;
    Expected::around(median, slack, format!("βδ·ln(rβδ/ln 2), ± {sigmas}σ over {cycles} cycles"))
}

/// Starts for each expiry: F4 lets one refresh of a key run at a time, also where nothing else is coalesced.
pub(super) fn starts(case: &Case<'_>) -> Expected {
    let without = short(theory::early_starts(case.beta()));
    Expected::around(1.0, 0.0, format!("one at a time; it would be e^(1/β) = {without} otherwise"))
}

/// Expiries that a refresh began ahead of.
pub(super) fn cycles(case: &Case<'_>, sigmas: f64) -> Expected {
    // The first expiry comes before any load has shown how long loads take, so that nothing is ahead of it.
    let length_s = case.length_s - case.fresh_s.max(case.length_s - case.asked_s) - case.load_s;
    let (mean, sigma) = theory::early_cycles(length_s, (case.rate, case.load_s, case.fresh_s), case.beta());
    Expected::around(mean, sigmas * sigma + 1.0, format!("length ÷ (T − lead + L), ± {sigmas}σ and 1 for the last"))
}
