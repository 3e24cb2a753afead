//! Findings about the protection itself: what is switched off, and laws found broken.

use herdfeed::{Measure, ProtectionLevel, Severity};

use super::{Finding, Kind, Scene, cures};
use crate::figures::number;

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
    if !scene.cache.off.is_empty() {
        return Some(
            finding(Kind::ProtectionOff, Severity::Warn)
                .what(cures::off(scene, &cures::BY_WEIGHT), scene.cache.off.len() as u64)
                .why("switched off by the application")
                .cure(switch_on(scene)),
        );
    }
    match scene.cache.protection? {
        ProtectionLevel::Observe => Some(
            finding(Kind::ProtectionOff, Severity::Warn)
                .what("observe only", 0)
                .why("the cache runs without countermeasures")
                .cure("read what they would have saved, then switch them on"),
        ),
        ProtectionLevel::Degraded => Some(
            finding(Kind::ProtectionDegraded, Severity::Warn)
                .what("one load per key and process", 0)
                .why("the lease cannot be reached")
                .cure("bring the shared tier back"),
        ),
        ProtectionLevel::Cluster | ProtectionLevel::Process => None,
    }
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
