//! The verdict: what is wrong, since when, why, and the cure, in plain words.
//!
//! A pure function from what was learned to a list of findings, most severe
//! first. It believes the conditions that the engines report, adds what only the
//! counters' differences, the gates or several processes together show, and
//! never says more than these figures hold.

mod conditions;
mod counters;
mod cures;
mod finding;
mod links;
mod loads;

pub use finding::{Finding, Kind};

use herdfeed::{CacheConfig, CacheSnapshot, GateSnapshot, Measure, Severity};

use crate::clock::Now;
use crate::model::{Target, World};

/// Judgements look back this far.
const WINDOW_US: u64 = 10_000_000;

/// One cache of one process, with what a judgement needs around it.
struct Scene<'a> {
    now: Now,
    target: &'a Target,
    cache: &'a CacheSnapshot,
    config: Option<&'a CacheConfig>,
    gate: Option<&'a GateSnapshot>,
}

impl Scene<'_> {
    fn is_off(&self, measure: Measure) -> bool {
        self.cache.off.contains(&measure)
    }

    /// Whether stale values may be answered; unknown settings count as no.
    fn has_stale_cover(&self) -> bool {
        self.config.is_some_and(|config| config.stale_ms > 0) && !self.is_off(Measure::Stale)
    }

    fn limit(&self) -> u64 {
        self.gate.map_or(0, |gate| gate.limit)
    }
}

/// Everything that is wrong or worth knowing, most severe first, one for each kind and subject.
pub fn findings(world: &World, now: Now) -> Vec<Finding> {
    let mut found = Vec::new();
    for target in &world.targets {
        found.extend(links::judge(target, now));
        let caches = target.caches();
        for cache in caches {
            let scene = Scene {
                now,
                target,
                cache,
                config: target.cache_config(&cache.name),
                gate: target.gates().iter().find(|gate| gate.name == cache.gate),
            };
            found.extend(conditions::judge(&scene));
            found.extend(counters::judge(&scene, &found));
            found.extend(loads::judge(&scene, &found));
        }
    }
    found.extend(counters::capacity(world));
    found.extend(loads::ended_herds(world, now));
    merged(found)
}

/// One finding for each kind and subject: the worst figures, the earliest start, every process.
fn merged(found: Vec<Finding>) -> Vec<Finding> {
    let mut merged: Vec<Finding> = Vec::new();
    for finding in found {
        match merged.iter_mut().find(|other| other.is_same(&finding)) {
            Some(other) => other.absorb(finding),
            None => merged.push(finding),
        }
    }
    merged.sort_by(|a, b| a.rank().cmp(&b.rank()).then_with(|| a.subject.cmp(&b.subject)));
    merged
}

/// The worst severity among the findings.
pub fn worst(findings: &[Finding]) -> Option<Severity> {
    findings.iter().map(|finding| finding.severity).max()
}
