//! What is expected of many keys when nobody coalesces.

use super::{Case, Expected, short};
use crate::policy::{Cure, Policy};
use crate::scenario::Time;
use crate::theory::{self, Cycle, Herds};

/// Loads that begin within a part of the run, over all keys that were written together at its start.
pub(super) fn herds(case: &Case<'_>, (from, until): (Time, Time), sigmas: f64) -> Expected {
    let (from_s, until_s) = (from.seconds(), until.seconds());
    let policy: Option<Policy> = case.run.setup.policy.parse().ok();
    let listed = match policy.and_then(|policy| policy.cure()) {
        Some(Cure::Refresher) => case.scenario.refreshed(),
        Some(Cure::Pool | Cure::Timeout) | None => Vec::new(),
    };
    let mut herds = Herds::default();
    for (key, share) in (0..).zip(case.scenario.keys.probabilities()) {
        let rate = case.scenario.traffic.most_per_second() * share;
        // A key on the list expires first when its last round is over; if the refresher never stops, never.
        let first_s = match listed.iter().position(|one| *one == key) {
            Some(place) => case.last_round_s(place, listed.len()).map(|at| at + case.load_s + case.fresh_s),
            None => Some(case.fresh_s),
        };
        if let Some(first_s) = first_s {
            herds.add(Cycle { rate, load_s: case.load_s, fresh_s: case.fresh_s, first_s }, from_s, until_s);
        }
    }
    let rounds = if listed.is_empty() { 0.0 } else { case.rounds_within(from_s, until_s, listed.len()) };
    herds.add_known(rounds);
    let slack = sigmas * herds.variance.sqrt();
    let how = format!(
        "Σ (1 + λL) = {} to {}, {rounds} of a refresher among them, ± {sigmas}σ",
        short(herds.least),
        short(herds.most)
    );
    Expected { low: herds.least - slack, high: herds.most + slack, how }
}

/// Keys that are asked for within the second after they expired together.
pub(super) fn together(case: &Case<'_>, sigmas: f64) -> Expected {
    let rate = case.scenario.traffic.most_per_second();
    let (mean, sigma) = theory::asked_within(case.scenario.keys.count as f64, rate, 1.0);
    Expected::around(mean, sigmas * sigma, format!("N(1 − e^(−λ/N)), ± {sigmas}σ"))
}

impl Case<'_> {
    /// Whether the central refresher goes on at that time.
    fn refreshes_at(&self, at_s: f64) -> bool {
        let stops = self.scenario.trouble.iter().filter(|trouble| trouble.stops_refresher);
        !stops.into_iter().any(|trouble| (trouble.from.seconds()..trouble.until.seconds()).contains(&at_s))
    }

    /// When the refresher loads a key of its list for the last time; `None` if it goes on to the end.
    fn last_round_s(&self, place: usize, keys: usize) -> Option<f64> {
        let gap_s = self.scenario.refresh_gap(keys).as_secs_f64();
        let rounds = (0_u32..).map(|round| (f64::from(round) * keys as f64 + place as f64 + 1.0) * gap_s);
        let all: Vec<f64> = rounds.take_while(|at_s| *at_s < self.length_s).collect();
        let last = all.iter().rev().find(|at_s| self.refreshes_at(**at_s)).copied().unwrap_or(0.0);
        all.iter().any(|at_s| *at_s > last).then_some(last)
    }

    /// Loads of the refresher within a span.
    fn rounds_within(&self, from_s: f64, until_s: f64, keys: usize) -> f64 {
        let gap_s = self.scenario.refresh_gap(keys).as_secs_f64();
        let ticks = (1_u32..).map(|tick| f64::from(tick) * gap_s).take_while(|at_s| *at_s < until_s - 1e-9);
        ticks.filter(|at_s| *at_s >= from_s && self.refreshes_at(*at_s + 1e-9)).count() as f64
    }
}
