//! Findings from the flights themselves: stampedes, and herds that have passed.

use std::collections::HashMap;

use herdfeed::{CacheSnapshot, Fact, HerdEnd, Measure, Severity, Stage};

use super::{Finding, Kind, Scene, cures};
use crate::clock::Now;
use crate::figures::{micros, number, seconds};
use crate::model::{Entry, Occurrence, World};

/// A herd that has passed is told this long.
const TOLD_US: u64 = 5_000_000;

/// A cache and one of its keys.
pub(super) fn subject(cache: &str, key: &str) -> String {
    format!("{cache} {key}")
}

/// Parallel loads of one key that no condition has named yet.
pub(super) fn judge(scene: &Scene<'_>, found: &[Finding]) -> Vec<Finding> {
    let mut stampedes: Vec<(&str, u64, u64)> = parallel_loads(scene.cache)
        .into_iter()
        .map(|(key, (loads, age))| (key, loads, age))
        .filter(|load| load.1 > 1)
        .collect();
    stampedes.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    stampedes
        .into_iter()
        .take(3)
        .map(|(key, loads, age_us)| {
            let since = scene.now.unix_us.saturating_sub(age_us);
            stampede(scene, subject(&scene.cache.name, key), loads, since)
        })
        .filter(|finding| !found.iter().any(|other| other.is_same(finding) && other.targets == finding.targets))
        .collect()
}

/// Loads of each key in progress that could still answer callers, and the age of the oldest.
fn parallel_loads(cache: &CacheSnapshot) -> HashMap<&str, (u64, u64)> {
    let mut loads: HashMap<&str, (u64, u64)> = HashMap::new();
    for flight in &cache.live {
        match flight.stage {
            // One doomed load may run beside the current one; held and landed ones do not load.
            Stage::Doomed | Stage::Held | Stage::Landed | Stage::Unknown => {}
            Stage::Queued | Stage::Origin => {
                let (count, oldest) = loads.entry(&flight.key).or_default();
                *count += 1;
                *oldest = (*oldest).max(flight.age_us);
            }
        }
    }
    loads
}

/// Several loads of one key at once.
pub(super) fn stampede(scene: &Scene<'_>, subject: String, loads: u64, since_unix_us: u64) -> Finding {
    let many = loads >= herdfeed::thresholds::herd_waiters(scene.limit());
    let severity = if many { Severity::Critical } else { Severity::Warn };
    let why = if scene.is_off(Measure::SingleFlight) { "single-flight is off" } else { "loads of one key overlap" };
    Finding::new(Kind::Stampede, severity, subject, &scene.target.name)
        .what(format!("{} parallel loads", number(loads)), loads)
        .since(since_unix_us)
        .why(why)
        .cure(cures::stampede(scene))
}

/// Herds that landed a moment ago.
pub(super) fn ended_herds(world: &World, now: Now) -> Vec<Finding> {
    let young = |entry: &&Entry| now.unix_us.saturating_sub(entry.unix_us) <= TOLD_US;
    world.log.entries().rev().take(200).filter(young).filter_map(|entry| ended(world, entry)).collect()
}

fn ended(world: &World, entry: &Entry) -> Option<Finding> {
    let Occurrence::Event(event) = &entry.occurrence else {
        return None;
    };
    let Fact::HerdEnded(end) = &event.fact else { return None };
    let target = world.targets.iter().find(|target| target.name == entry.target)?;
    let cache = target.caches().iter().find(|cache| cache.name == event.subject)?;
    let scene = Scene { now: Now::default(), target, cache, config: target.cache_config(&cache.name), gate: None };
    let finding = Finding::new(Kind::HerdPassed, Severity::Info, subject(&event.subject, &end.key), &entry.target)
        .since(event.unix_us.saturating_sub(end.duration_us));
    Some(finding.what(figures(end), end.peak).why(reason(end)).cure(cures::herd(&scene, end.cause)))
}

fn figures(end: &HerdEnd) -> String {
    format!(
        "{} waited {} for {} load{}",
        number(end.peak),
        micros(end.duration_us),
        number(end.loads.max(1)),
        plural(end.loads)
    )
}

fn reason(end: &HerdEnd) -> String {
    let cause = end.cause.map_or_else(|| end.trigger.to_string(), |cause| cause.to_string());
    if end.repeats >= 2 {
        format!("{cause}, every {}", seconds(end.since_last_us))
    } else {
        format!("{cause}; {} calls avoided", number(end.avoided))
    }
}

fn plural(count: u64) -> &'static str {
    if count > 1 { "s" } else { "" }
}
