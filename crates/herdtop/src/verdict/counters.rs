//! Findings from counters and gates, for what no condition names.

use std::collections::BTreeMap;

use herdfeed::{Outcome, RejectReason, Severity};

use super::{Finding, Kind, Scene, Standing, cures, failing};
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
    let told = |kind: Kind, subject: &str| {
        found.iter().any(|f| {
            (f.kind, f.subject.as_str(), f.standing) == (kind, subject, Standing::Holds)
                && f.targets.contains(&scene.target.name)
        })
    };
    let mut findings = Vec::new();
    if let Some(window) = scene.window() {
        // Told as over is told too: the counters know nothing newer.
        let by_condition = found.iter().any(|f| f.kind == Kind::Rejecting && f.subject == scene.cache.name);
        if !by_condition && (refusals(&window) > 0) {
            let base = Finding::new(Kind::Rejecting, Severity::Warn, &scene.cache.name, &scene.target.name);
            findings.push(refused(scene, base, None));
        }
        let failing = failing(scene, &window);
        let is_told = told(Kind::OriginFailing, &scene.cache.name);
        findings.extend(failing.filter(|f| f.severity == Severity::Critical || !is_told));
    }
    if !told(Kind::Saturated, &scene.cache.gate) {
        findings.extend(saturated(scene));
    }
    findings
}

/// Requests refused, or loads of theirs: one is counted where a reserve value answered all the same.
fn refusals(window: &CacheWindow) -> u64 {
    window.rejections.total().max(window.outcomes[Outcome::Rejected])
}

/// Callers are refused. `told` is what a condition said of it: how many a second, and why.
pub(super) fn refused(scene: &Scene<'_>, base: Finding, told: Option<(String, RejectReason)>) -> Finding {
    let (lately, window) = (scene.lately(), scene.window());
    let most = |window: &CacheWindow| {
        let most = window.rejections.iter().max_by_key(|(_, count)| *count).filter(|(_, count)| *count > 0);
        most.map(|(reason, _)| reason)
    };
    let told_reason = told.as_ref().map(|(_, reason)| *reason);
    let reason = lately.as_ref().and_then(most).or(told_reason).or_else(|| window.as_ref().and_then(most));
    let rate = |window: &CacheWindow| (refusals(window) > 0).then(|| count(window.rate(refusals(window))));
    let now = lately.as_ref().and_then(rate);
    let before = told.map(|(per_s, _)| per_s).or_else(|| window.as_ref().and_then(rate));
    let per_s = now.or(before).unwrap_or_else(|| "0".to_owned());
    let weight = lately.as_ref().map_or(0, refusals);
    let (reason, cure) = match reason {
        Some(reason) => (format!(" {reason}"), cures::rejecting(scene, reason)),
        None => (String::new(), cures::overload(scene)),
    };
    // Whoever asks too much is not to blame while nothing comes back.
    let cure = if failing::drought(scene).is_some() { cures::failing(scene) } else { cure };
    let finding =
        base.what(format!("{per_s}/s{reason}"), weight).why("callers are refused to protect the origin").cure(cure);
    scene.by(|pulse| &pulse.refusals, finding)
}

/// Whether callers get errors is judged over ten seconds; how many is told of now, where it falls while it heals.
fn failing(scene: &Scene<'_>, window: &CacheWindow) -> Option<Finding> {
    let share = |window: &CacheWindow| {
        let failed = window.outcomes[Outcome::Failed].saturating_add(window.outcomes[Outcome::Cooling]);
        (failed, failed as f64 / window.outcomes.total().max(1) as f64)
    };
    let (failed, part) = share(window);
    if window.outcomes.total() < MIN_REQUESTS || part < FAILED_PART {
        return None;
    }
    let lately = scene.lately().map(|lately| share(&lately)).filter(|(failed, _)| *failed > 0);
    let (weight, now) = lately.unwrap_or((failed, part));
    // From here on the service is down for its callers, whatever the reason.
    let severity = if now >= DOWN_PART { Severity::Critical } else { Severity::Warn };
    let finding = Finding::new(Kind::Failing, severity, &scene.cache.name, &scene.target.name)
        .what(format!("{} of requests get errors", percent(now)), weight)
        .why(super::failing::why(scene))
        .cure(cures::failing(scene));
    Some(scene.by(|pulse| &pulse.failures, finding))
}

fn saturated(scene: &Scene<'_>) -> Option<Finding> {
    let gate = scene.gate?;
    (gate.limit > 0 && gate.used() >= gate.limit && gate.pending > 0).then(|| {
        Finding::new(Kind::Saturated, Severity::Info, &gate.name, &scene.target.name)
            .what(format!("{} of {} permits, {} wait", gate.used(), gate.limit, number(gate.pending)), gate.pending)
            .why("every permit is out")
            .cure("fine for a moment: the gate holds the load back")
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
