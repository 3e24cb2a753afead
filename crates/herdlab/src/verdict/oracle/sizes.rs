//! What is expected of caches of several sizes.

use super::{Case, Expected, short};
use crate::theory;

/// The hit ratio of an exact LRU.
pub(super) fn lru(case: &Case<'_>, entries: u64, within: f64) -> Expected {
    let ratio = theory::lru_hit_ratio(&case.scenario.keys.probabilities(), entries as f64);
    Expected::within(ratio, within, format!("Che's approximation, ± {} %", short(within * 100.0)))
}

/// The most that a cache can answer which does not know what comes.
pub(super) fn most_popular(case: &Case<'_>, entries: u64, sigmas: f64) -> Expected {
    let entries = usize::try_from(entries).unwrap_or(usize::MAX);
    let ratio = theory::most_popular_ratio(&case.scenario.keys.probabilities(), entries);
    let counted =
        case.run.figures.scene.as_ref().and_then(|scene| scene.sweep.as_ref()).map_or(1, |sweep| sweep.requests);
    let sigma = (ratio * (1.0 - ratio) / counted.max(1) as f64).sqrt();
    let how = format!("the most popular are always there: {}, + {sigmas}σ", short(ratio));
    Expected { low: 0.0, high: ratio + sigmas * sigma, how }
}
