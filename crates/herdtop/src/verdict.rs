//! The verdict: what is wrong, since when, why, and the cure, in plain words.
//!
//! A pure function from what was learned to a list of findings, most severe
//! first. It believes the conditions that the engines report, adds what only the
//! counters' differences, the gates or several processes together show, and
//! never says more than these figures hold. [`Memory`] keeps the list still.

mod conditions;
mod counters;
mod cures;
mod failing;
mod finding;
mod links;
mod loads;
mod memory;
mod origin;
mod protection;
mod running;
mod scene;
mod twins;

pub use finding::{Finding, Kind, Standing};
pub use memory::Memory;
pub(crate) use running::changes as tuned;

use herdfeed::{Measure, Severity};

use crate::clock::Now;
use crate::model::World;
use scene::Scene;

/// Everything that is wrong or worth knowing, most severe first, one for each kind and subject.
pub fn findings(world: &World, now: Now) -> Vec<Finding> {
    let mut found = links::judge(world, now);
    for target in &world.targets {
        found.extend(twins::judge(target));
        for cache in target.caches() {
            let scene = Scene::of(target, cache, now);
            found.extend(conditions::judge(&scene));
            found.extend(protection::judge(&scene));
            found.extend(failing::judge(&scene, &found));
            found.extend(counters::judge(&scene, &found));
            found.extend(loads::judge(&scene, &found));
            found.extend(origin::silence(&scene, &found));
            found.extend(running::judge(&scene));
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
    order(&mut merged);
    merged
}

/// Most severe first.
fn order(findings: &mut [Finding]) {
    findings.sort_by(|a, b| a.rank().cmp(&b.rank()).then_with(|| a.subject.cmp(&b.subject)));
}

/// The worst severity among the findings.
pub fn worst(findings: &[Finding]) -> Option<Severity> {
    findings.iter().map(|finding| finding.severity).max()
}

/// The names of these measures, the one whose absence hurts most first.
pub fn by_weight(measures: &[Measure]) -> impl Iterator<Item = &'static str> {
    cures::BY_WEIGHT.into_iter().filter(|measure| measures.contains(measure)).map(cures::measure)
}
