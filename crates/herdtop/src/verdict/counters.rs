//! Findings from counters, gates and switches, for what no condition names.

use std::collections::BTreeMap;

use herdfeed::{OriginResult, Outcome, ProtectionLevel, Severity};

use super::{Finding, Kind, Scene, WINDOW_US, cures};
use crate::figures::{count, number, percent};
use crate::model::World;
use crate::model::window::CacheWindow;

/// Fewer requests than this prove nothing about a ratio.
const MIN_REQUESTS: u64 = 100;
/// A failed part of all requests that is worth a word.
const FAILED_PART: f64 = 0.01;
/// Failed part of the requests that makes it critical.
const DOWN_PART: f64 = 0.5;

/// What the counters of one cache say.
pub(super) fn judge(scene: &Scene<'_>, found: &[Finding]) -> Vec<Finding> {
    let window = scene.target.cache_window(&scene.cache.name, WINDOW_US);
    let told = |kinds: &[Kind]| found.iter().any(|f| kinds.contains(&f.kind) && f.targets.contains(&scene.target.name));
    let mut findings = Vec::new();
    findings.extend(law(scene));
    findings.extend(protection(scene));
    if let Some(window) = window {
        if !told(&[Kind::Rejecting]) {
            findings.extend(rejecting(scene, &window));
        }
        let failing = failing(scene, &window);
        findings.extend(failing.filter(|f| f.severity == Severity::Critical || !told(&[Kind::OriginFailing])));
    }
    if !told(&[Kind::Saturated]) {
        findings.extend(saturated(scene));
    }
    findings
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
        let off = cures::off(scene, &scene.cache.off);
        return Some(
            finding(Kind::ProtectionOff, Severity::Warn)
                .what(off, scene.cache.off.len() as u64)
                .why("switched off by the application")
                .cure("switch on before the next expiry of a hot key"),
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

fn rejecting(scene: &Scene<'_>, window: &CacheWindow) -> Option<Finding> {
    let refused = window.rejections.total();
    let (reason, _) = window.rejections.iter().max_by_key(|(_, count)| *count)?;
    (refused > 0).then(|| {
        Finding::new(Kind::Rejecting, Severity::Warn, &scene.cache.name, &scene.target.name)
            .what(format!("{}/s {reason}", count(window.rate(refused))), refused)
            .why("callers are refused to protect the origin")
            .cure(cures::rejecting(scene, reason))
    })
}

fn failing(scene: &Scene<'_>, window: &CacheWindow) -> Option<Finding> {
    let failed = window.outcomes[Outcome::Failed].saturating_add(window.outcomes[Outcome::Cooling]);
    let all = window.outcomes.total();
    if all < MIN_REQUESTS || (failed as f64) < FAILED_PART * all as f64 {
        return None;
    }
    let bad = [OriginResult::Error, OriginResult::Timeout, OriginResult::Panicked];
    let (reason, calls) = bad.into_iter().map(|r| (r, window.origin_results[r])).max_by_key(|(_, count)| *count)?;
    let why =
        if calls > 0 { format!("origin calls end with {reason}") } else { "loads fail or their keys cool".to_owned() };
    // From here on the service is down for its callers, whatever the reason.
    let severity = if failed as f64 >= DOWN_PART * all as f64 { Severity::Critical } else { Severity::Warn };
    Some(
        Finding::new(Kind::Failing, severity, &scene.cache.name, &scene.target.name)
            .what(format!("{} of requests get errors", percent(failed as f64 / all as f64)), failed)
            .why(why)
            .cure(cures::overload(scene, "heal the origin; raise stale_if_error_for to cover readers")),
    )
}

fn saturated(scene: &Scene<'_>) -> Option<Finding> {
    let gate = scene.gate?;
    (gate.limit > 0 && gate.used() >= gate.limit && gate.pending > 0).then(|| {
        Finding::new(Kind::Saturated, Severity::Info, &gate.name, &scene.target.name)
            .what(format!("{} of {} permits, {} wait", gate.used(), gate.limit, number(gate.pending)), gate.pending)
            .why("every permit is out")
            .cure(cures::overload(scene, "fine for a moment: the gate holds the load back"))
    })
}

/// G6: the permits of all processes against what their origin can bear.
pub(super) fn capacity(world: &World) -> Vec<Finding> {
    let mut gates: BTreeMap<&str, (u64, u64, Vec<String>)> = BTreeMap::new();
    for target in &world.targets {
        for gate in target.gates() {
            let Some(capacity) = gate.origin_capacity else { continue };
            let (permits, least, names) = gates.entry(&gate.name).or_insert((0, u64::MAX, Vec::new()));
            *permits = permits.saturating_add(gate.ceiling.unwrap_or(gate.limit));
            *least = (*least).min(capacity);
            names.push(target.name.clone());
        }
    }
    gates
        .into_iter()
        .filter(|(_, (permits, capacity, _))| permits > capacity)
        .map(|(gate, (permits, capacity, targets))| Finding {
            targets,
            ..Finding::new(Kind::Overcommitted, Severity::Warn, gate, "")
                .what(format!("{permits} permits for an origin of {capacity}"), permits)
                .why("the processes together may call more than it can bear")
                .cure("fewer permits in each process: capacity divided by the most processes")
        })
        .collect()
}
