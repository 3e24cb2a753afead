//! Findings from the flights themselves: stampedes, and herds that have passed.

use std::collections::HashMap;

use herdfeed::words::ClosedSet;
use herdfeed::{CacheSnapshot, Fact, FlightTrigger, HerdEnd, LiveFlight, Measure, MissCause, Severity, Stage};

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
            // One doomed load may run beside the current one; held, landed and following ones do not load.
            Stage::Doomed | Stage::Held | Stage::Landed | Stage::Shared | Stage::Following | Stage::Unknown => {}
            Stage::Queued | Stage::Origin => {
                let (count, oldest) = loads.entry(&flight.key).or_default();
                *count += 1;
                *oldest = (*oldest).max(flight.age_us);
            }
        }
    }
    loads
}

/// Whether a load of this key has taken half of its flight's deadline.
pub(super) fn is_late(scene: &Scene<'_>, key: &str) -> bool {
    let half_us = scene.config.map_or(0, |config| config.flight_deadline_ms.saturating_mul(500));
    let late = |flight: &LiveFlight| flight.key == key && flight.end.is_none() && flight.age_us >= half_us;
    half_us > 0 && scene.cache.live.iter().any(late)
}

/// Several loads of one key at once.
pub(super) fn stampede(scene: &Scene<'_>, subject: String, loads: u64, since_unix_us: u64) -> Finding {
    let many = loads >= herdfeed::thresholds::herd_waiters(scene.limit());
    let (severity, why) = match (scene.is_off(Measure::SingleFlight), many) {
        (true, true) => (Severity::Critical, "single-flight is off"),
        (true, false) => (Severity::Warn, "single-flight is off"),
        // With single-flight on no second load of a key begins: these are what is left of the time without it.
        (false, _) => (Severity::Warn, "they began before single-flight was on"),
    };
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
    let scene = Scene::of(target, cache, Now::default());
    let finding = Finding::new(Kind::HerdPassed, Severity::Info, subject(&event.subject, &end.key), &entry.target)
        .since(event.unix_us.saturating_sub(end.duration_us));
    let cure = if end.loads > 1 { cures::stampede(&scene) } else { cures::herd(&scene, end.cause) };
    Some(finding.what(figures(end), end.peak).why(reason(end)).cure(cure))
}

fn figures(end: &HerdEnd) -> String {
    match end.loads {
        0 | 1 => format!("{} waited {} for 1 load", number(end.peak), micros(end.duration_us)),
        loads => format!("{} loads of it within {}", number(loads), micros(end.duration_us)),
    }
}

fn reason(end: &HerdEnd) -> String {
    let cause = because(end.cause, end.trigger);
    if end.repeats >= 2 {
        let every = if end.since_last_us < 1_000_000 { micros(end.since_last_us) } else { seconds(end.since_last_us) };
        format!("{cause}, every {every}")
    } else if end.avoided > 0 {
        format!("{cause}; {} calls avoided", number(end.avoided))
    } else {
        cause.to_owned()
    }
}

/// Why the value was loaded, as it is spoken.
pub(super) fn because(cause: Option<MissCause>, trigger: FlightTrigger) -> &'static str {
    match (cause, trigger) {
        (Some(cause), _) => cause.label(),
        (None, FlightTrigger::Miss) => "missing",
        (None, FlightTrigger::Early) => "refreshed before expiry",
        (None, FlightTrigger::Stale) => "refreshed while stale",
        (None, FlightTrigger::Forced) => "refreshed by the application",
        (None, FlightTrigger::Warmup) => "warmed up",
        (None, FlightTrigger::Batch) => "loaded in a batch",
    }
}
