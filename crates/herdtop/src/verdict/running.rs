//! What is under way in a cache and no trouble: a warm-up, and settings that an operator has changed.
//!
//! Worth a line because both explain what else is on the screen: loads that no caller waits for, and values that are
//! answered for longer, or refreshed less, than the code says. Neither is judged here.

use herdfeed::{Severity, TunedNow};

use super::{Finding, Kind, Scene};
use crate::figures::{micros, number};

pub(super) fn judge(scene: &Scene<'_>) -> Vec<Finding> {
    [warm_up(scene), tuned(scene)].into_iter().flatten().collect()
}

/// Warm-ups in progress. How far they are is told by what is left: the other totals count all there ever were.
fn warm_up(scene: &Scene<'_>) -> Option<Finding> {
    let warmup = &scene.cache.warmup;
    (warmup.running > 0).then(|| {
        let failed = match warmup.failed {
            0 => String::new(),
            failed => format!(", {} failed so far", number(failed)),
        };
        let what = format!("{} keys left, {} at once{failed}", number(warmup.left), number(warmup.width));
        Finding::new(Kind::WarmingUp, Severity::Info, &scene.cache.name, &scene.target.name)
            .what(what, warmup.left)
            .why("keys are loaded before they are asked for; callers' loads and a slow origin hold it back")
    })
}

/// Settings in force that differ from those that the cache was built with.
fn tuned(scene: &Scene<'_>) -> Option<Finding> {
    let changes = changes(scene.tuned()?);
    (!changes.is_empty()).then(|| {
        Finding::new(Kind::Tuned, Severity::Info, &scene.cache.name, &scene.target.name)
            .what(changes.join(", "), changes.len() as u64)
            .why("the application has tuned it while it runs")
            .cure("Tuning::as_built() once that is no longer wanted")
    })
}

/// What is tuned, with what it was built with.
pub(crate) fn changes(tuned: &TunedNow) -> Vec<String> {
    let ms = |ms: u64| micros(ms.saturating_mul(1_000));
    let bound = |name: &str, now: u64, built: Option<u64>| {
        let built = built.filter(|built| *built != now)?;
        Some(format!("{name} {} (built {})", ms(now), ms(built)))
    };
    let refresh = tuned.refresh_off.then(|| "no background refreshes".to_owned());
    let stale = bound("stale_for", tuned.stale_ms, tuned.built_stale_ms);
    let if_error = bound("stale_if_error_for", tuned.stale_if_error_ms, tuned.built_stale_if_error_ms);
    [refresh, stale, if_error].into_iter().flatten().collect()
}
