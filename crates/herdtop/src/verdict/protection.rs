//! Findings about the protection itself: what is switched off, and laws found broken.

use herdfeed::{Measure, ProtectionLevel, Severity};

use super::{Finding, Kind, Scene, cures};
use crate::figures::{number, percent};

pub(super) fn judge(scene: &Scene<'_>) -> Vec<Finding> {
    [law(scene), protection(scene)].into_iter().flatten().collect()
}

fn law(scene: &Scene<'_>) -> Option<Finding> {
    let broken = scene.cache.law_violations.saturating_add(scene.gate.map_or(0, |gate| gate.law_violations));
    (broken > 0).then(|| {
        Finding::new(Kind::LawBroken, Severity::Critical, &scene.cache.name, &scene.target.name)
            .what(format!("{} violations", number(broken)), broken)
            .why("a run-time check of the engine failed: its figures may be wrong")
            .cure("keep the output of --once --json and report it as a bug")
    })
}

fn protection(scene: &Scene<'_>) -> Option<Finding> {
    let finding = |kind, severity| Finding::new(kind, severity, &scene.cache.name, &scene.target.name);
    if scene.is_bare() {
        return Some(bare(scene, finding(Kind::ProtectionOff, Severity::Warn)));
    }
    if !scene.cache.off.is_empty() {
        return Some(
            finding(Kind::ProtectionOff, Severity::Warn)
                .what(cures::off(scene, &cures::BY_WEIGHT), scene.cache.off.len() as u64)
                .why(format!("switched off by the application{}", saved(scene)))
                .cure(switch_on(scene)),
        );
    }
    match scene.cache.protection? {
        ProtectionLevel::Observe => Some(bare(scene, finding(Kind::ProtectionOff, Severity::Warn))),
        ProtectionLevel::Degraded => Some(
            finding(Kind::ProtectionDegraded, Severity::Warn)
                .what("one load per key and process", 0)
                .why("the lease cannot be reached")
                .cure("bring the shared tier back"),
        ),
        ProtectionLevel::Cluster | ProtectionLevel::Process => None,
    }
}

/// The cache was built to only observe.
fn bare(scene: &Scene<'_>, base: Finding) -> Finding {
    base.what("observe only", scene.cache.off.len() as u64)
        .why(format!("the cache runs without countermeasures{}", saved(scene)))
        .cure("remove observe_only(): each miss of a hot key calls the origin")
}

/// What the measures that are off would have saved since the process began, as far as it estimates that; else empty.
fn saved(scene: &Scene<'_>) -> String {
    let (saved, calls) = (&scene.cache.saved, scene.cache.origin_calls);
    let fewer = saved.coalesced.saturating_add(saved.cooled).min(calls);
    if fewer > 0 {
        return format!(
            ", which cost about {} of {} origin calls",
            percent(fewer as f64 / calls as f64),
            number(calls)
        );
    }
    if saved.stale > 0 {
        return format!(", and {} requests waited that a stale value could have answered", number(saved.stale));
    }
    String::new()
}

/// What the absence of the weightiest measure lets happen.
fn switch_on(scene: &Scene<'_>) -> &'static str {
    match cures::BY_WEIGHT.into_iter().find(|measure| scene.is_off(*measure)) {
        Some(Measure::SingleFlight) | None => "switch on: each miss of a hot key calls the origin",
        Some(Measure::Permits) => "switch on: nothing bounds the calls to the origin",
        Some(Measure::Stale) => "switch on: every expiry of a hot key makes its readers wait",
        Some(Measure::Early) => "switch on: hot keys are reloaded only after they expire",
        Some(Measure::Jitter) => "switch on: entries written together expire together",
    }
}
