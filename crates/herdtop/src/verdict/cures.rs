//! The cures, each a few plain words that fit the verdict line.
//!
//! A cure names the setting to change and what it does. Two that people reach
//! for first are never given: a bigger pool, and a longer timeout.

use herdfeed::words::ClosedSet;
use herdfeed::{Measure, MissCause, RejectReason};

use super::Scene;

/// A herd behind one load, by why the value was missing.
pub(super) fn herd(scene: &Scene<'_>, cause: Option<MissCause>) -> String {
    match cause {
        Some(MissCause::Evicted) => capacity(scene),
        Some(MissCause::Invalidated) => "insert the new value instead of invalidating: readers never miss".into(),
        Some(MissCause::Cold) => "warm up hot keys before taking traffic".into(),
        Some(MissCause::Version) => "warm up the new version before the switch".into(),
        Some(MissCause::Expired) | None => expired(scene),
    }
}

fn expired(scene: &Scene<'_>) -> String {
    let early = scene.config.map_or(0.0, |config| config.early_refresh);
    if scene.is_off(Measure::Stale) {
        "switch stale on: readers get the old value while one load runs".into()
    } else if !scene.has_stale_cover() {
        "set stale_for: readers get the old value while one load runs".into()
    } else if early <= 0.0 || scene.is_off(Measure::Early) {
        "early_refresh(1.0) reloads before expiry; or a longer stale_for".into()
    } else {
        "raise stale_for: this value's stale cover is too short".into()
    }
}

/// More room.
pub(super) fn capacity(scene: &Scene<'_>) -> String {
    format!("raise capacity ({} of {} entries used): TTLs do not help", scene.cache.entries, scene.cache.capacity)
}

/// Several loads of one key at once.
pub(super) fn stampede(scene: &Scene<'_>) -> String {
    if scene.is_off(Measure::SingleFlight) {
        "switch single-flight on: one load answers all".into()
    } else {
        "load through one cache handle; do not build a cache per request".into()
    }
}

/// The origin answers, the pool is empty.
pub(super) fn connections(scene: &Scene<'_>) -> String {
    let off = off(scene, &[Measure::SingleFlight, Measure::Permits]);
    match (off.is_empty(), scene.limit()) {
        (false, _) => format!("not a bigger pool: switch {off} on"),
        (true, 0) => "not a bigger pool: keep permits below the pool's size".into(),
        (true, limit) => format!("not a bigger pool: fewer permits (now {limit}) than connections"),
    }
}

/// The origin is slow, or all permits are out.
pub(super) fn overload(scene: &Scene<'_>, otherwise: &str) -> String {
    let off = off(scene, &[Measure::SingleFlight, Measure::Permits, Measure::Stale]);
    if !off.is_empty() {
        return format!("switch {off} on: less load on the origin");
    }
    if scene.has_stale_cover() {
        otherwise.to_owned()
    } else {
        format!("{otherwise}; stale_for would keep readers answered")
    }
}

/// Callers are refused.
pub(super) fn rejecting(scene: &Scene<'_>, reason: RejectReason) -> String {
    match reason {
        RejectReason::QueueFull | RejectReason::QueueTimeout => {
            overload(scene, "find the load in hot keys; more permits only if the origin has room")
        }
        RejectReason::Deadline => "loads wait too long for a permit: shorten the queue, speed up the origin".into(),
        RejectReason::FlightsFull => "many keys load at once: shed callers, or raise max_flights".into(),
        RejectReason::WaitersFull => "callers pile up on one load: stale_for, or a wait timeout".into(),
        RejectReason::GroupShare => "one group asks too much: limit it, or raise its share".into(),
        RejectReason::OriginDown => "bring the origin back; one probe at a time tests it".into(),
    }
}

/// Which of `wanted` are switched off, as `single-flight and permits`.
pub(super) fn off(scene: &Scene<'_>, wanted: &[Measure]) -> String {
    let names: Vec<&str> = wanted.iter().filter(|m| scene.is_off(**m)).map(|m| measure(*m)).collect();
    match names.split_last() {
        None => String::new(),
        Some((last, [])) => (*last).to_owned(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
    }
}

/// A measure as it is spoken.
pub(crate) fn measure(measure: Measure) -> &'static str {
    match measure {
        Measure::SingleFlight => "single-flight",
        Measure::Early => "early refresh",
        Measure::Jitter | Measure::Stale | Measure::Permits => measure.label(),
    }
}
