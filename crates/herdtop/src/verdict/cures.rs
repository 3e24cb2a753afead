//! The cures, each a few plain words that fit the verdict line.
//!
//! A cure names the setting to change and what it does. A bigger pool, for which
//! people reach first, is never given, and a longer timeout only where answers come
//! close to it. Where there is no room what stands after a colon or a semicolon goes
//! first, so what to do stands before it.

use std::time::Duration;

use herdfeed::words::ClosedSet;
use herdfeed::{Measure, MissCause, RejectReason};

use super::failing::Timeouts;
use super::scene::Pressure;
use super::{Scene, failing};
use crate::figures::{micros, number};

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
        switch_on(scene, "stale", "readers get the old value while one load runs")
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
        switch_on(scene, "single-flight", "one load answers all")
    } else {
        "wait: single-flight is on, the rest runs out".into()
    }
}

/// The origin answers, the pool is empty.
pub(super) fn connections(scene: &Scene<'_>) -> String {
    let off = off(scene, &[Measure::SingleFlight, Measure::Permits]);
    match (off.is_empty(), scene.limit()) {
        (false, _) => switch_on(scene, &off, "a bigger pool does not help"),
        (true, 0) => "keep permits below the pool's size: a bigger pool does not help".into(),
        (true, limit) => format!("fewer permits (now {limit}) than connections: a bigger pool does not help"),
    }
}

/// More loads want the origin than it may take: the cure follows what makes them.
pub(super) fn overload(scene: &Scene<'_>) -> String {
    let pressure = scene.pressure();
    let off = off(scene, helps_against(pressure));
    if !off.is_empty() {
        return switch_on(scene, &off, "less load on the origin");
    }
    match pressure {
        Pressure::OneKey => "wait: loads of one key from before single-flight was on run out".into(),
        Pressure::ManyKeys(Some(MissCause::Cold | MissCause::Version)) => cold_keys(scene),
        Pressure::ManyKeys(Some(MissCause::Evicted)) => capacity(scene),
        Pressure::ManyKeys(Some(MissCause::Invalidated)) => {
            "invalidate fewer keys at once, or insert the new values".into()
        }
        Pressure::ManyKeys(Some(MissCause::Expired)) => avalanche(scene),
        Pressure::ManyKeys(None) => too_slow(scene)
            .unwrap_or_else(|| "load fewer keys at once; more permits only if the origin has room".into()),
        Pressure::Unknown => too_slow(scene)
            .unwrap_or_else(|| "find the load in hot keys; more permits only if the origin has room".into()),
    }
}

/// Many keys that were never loaded. A longer queue helps only where it runs empty before the patience of its loads.
fn cold_keys(scene: &Scene<'_>) -> String {
    match too_slow(scene) {
        Some(slow) => format!("warm up before taking traffic; {slow}"),
        None => "warm up before taking traffic; a longer queue lets more callers wait".into(),
    }
}

/// What to say where loads take so long that the gate's queue cannot run empty within its timeout.
fn too_slow(scene: &Scene<'_>) -> Option<String> {
    let gate = scene.gate_config()?;
    let calls = scene.window().map(|window| window.origin_call).filter(|calls| calls.count > 0);
    let calls = calls.unwrap_or_else(|| scene.cache.origin_call.clone());
    let mean_us = calls.sum_us.checked_div(calls.count).filter(|mean| *mean > 0)?;
    let patience_us = gate.queue_timeout_ms.saturating_mul(1_000);
    let limit = if scene.limit() > 0 { scene.limit() } else { gate.permits };
    let served = patience_us.saturating_mul(limit) / mean_us;
    (patience_us > 0 && served < gate.queue).then(|| {
        let (mean, patience) = (micros(mean_us), micros(patience_us));
        format!(
            "quicken loads: at {mean} each, {} of {} that wait get a permit within queue_timeout {patience}",
            number(served),
            number(gate.queue)
        )
    })
}

/// The measures whose absence can be the reason. An old value to answer helps nobody who asks for a new key.
fn helps_against(pressure: Pressure) -> &'static [Measure] {
    match pressure {
        Pressure::ManyKeys(Some(MissCause::Cold | MissCause::Version | MissCause::Evicted)) => {
            &[Measure::SingleFlight, Measure::Permits]
        }
        Pressure::ManyKeys(Some(MissCause::Expired)) => {
            &[Measure::SingleFlight, Measure::Permits, Measure::Stale, Measure::Jitter]
        }
        Pressure::OneKey | Pressure::ManyKeys(Some(MissCause::Invalidated) | None) | Pressure::Unknown => {
            &[Measure::SingleFlight, Measure::Permits, Measure::Stale]
        }
    }
}

/// Many keys expire together.
pub(super) fn avalanche(scene: &Scene<'_>) -> String {
    let jitter = scene.config.map_or(0.0, |config| config.jitter);
    let early = scene.config.map_or(0.0, |config| config.early_refresh);
    if scene.is_off(Measure::Jitter) {
        switch_on(scene, "jitter", "entries written together expire apart")
    } else if jitter <= 0.0 {
        "set jitter 0.1: entries written together expire apart".into()
    } else if !scene.has_stale_cover() {
        "set stale_for: old values answer while keys reload; or more jitter".into()
    } else if early <= 0.0 {
        "more jitter, or early_refresh(1.0): hot keys reload apart".into()
    } else {
        "more jitter; permits hold the origin meanwhile".into()
    }
}

/// The origin gives errors.
pub(super) fn failing(scene: &Scene<'_>) -> String {
    let off = off(scene, &[Measure::SingleFlight, Measure::Permits, Measure::Stale]);
    if !off.is_empty() {
        return format!("heal the origin; {}", switch_on(scene, &off, "").trim_end_matches(": "));
    }
    if let Some(timeouts) = failing::timeouts(scene) {
        return cut(timeouts);
    }
    match scene.error_cover() {
        None => "heal the origin".into(),
        Some(Duration::ZERO) => "heal the origin; set stale_if_error_for: old values answer meanwhile".into(),
        Some(cover) => {
            let us = u64::try_from(cover.as_micros()).unwrap_or(u64::MAX);
            format!("heal the origin; old values answer until {} past freshness", micros(us))
        }
    }
}

/// Calls end with a timeout.
fn cut(timeouts: Timeouts) -> String {
    match timeouts {
        Timeouts::Near { limit_us, slow_us } => format!(
            "speed up the query, or raise origin_timeout ({}): answers take up to {}",
            micros(limit_us),
            micros(slow_us)
        ),
        Timeouts::Never { limit_us } => {
            let limit = micros(limit_us);
            format!("speed up the query, or raise origin_timeout ({limit}): no answer has come within it yet")
        }
        Timeouts::Hangs { limit_us } => {
            format!("look at the origin: it hangs, and origin_timeout ({}) cuts its calls", micros(limit_us))
        }
    }
}

/// The origin takes long.
pub(super) fn slow(scene: &Scene<'_>) -> String {
    let off = off(scene, &[Measure::SingleFlight, Measure::Permits, Measure::Stale]);
    if !off.is_empty() {
        switch_on(scene, &off, "less load on the origin")
    } else if scene.has_stale_cover() {
        "look at the origin; stale values cover readers".into()
    } else {
        "look at the origin; set stale_for: old values answer meanwhile".into()
    }
}

/// The origin answers nothing.
pub(super) fn silent(scene: &Scene<'_>) -> String {
    let look = "look at the origin: a lock, a full disk, a lost network";
    match scene.config.map(|config| config.origin_timeout_ms).filter(|ms| *ms > 0) {
        Some(ms) => format!("{look}; calls end after {}", micros(ms.saturating_mul(1_000))),
        None => look.into(),
    }
}

/// Callers are refused.
pub(super) fn rejecting(scene: &Scene<'_>, reason: RejectReason) -> String {
    match reason {
        RejectReason::QueueFull | RejectReason::QueueTimeout => overload(scene),
        RejectReason::Deadline => "a shorter queue or a quicker origin: loads wait too long for a permit".into(),
        RejectReason::FlightsFull => "shed callers, or raise max_flights: many keys load at once".into(),
        RejectReason::WaitersFull if scene.has_stale_cover() => {
            "a wait timeout, or raise max_waiters: callers pile up on one load".into()
        }
        RejectReason::WaitersFull => "set stale_for, or a wait timeout: callers pile up on one load".into(),
        RejectReason::GroupShare => "limit the group that asks too much, or raise its share".into(),
        RejectReason::OriginDown => "bring the origin back; one probe at a time tests it".into(),
    }
}

/// Every measure, the one whose absence hurts most first: where there is no room for all, the first are told.
pub(super) const BY_WEIGHT: [Measure; 5] =
    [Measure::SingleFlight, Measure::Permits, Measure::Stale, Measure::Early, Measure::Jitter];

/// What brings measures back that are off: a cache that only observes has no switch for a single one.
fn switch_on(scene: &Scene<'_>, off: &str, then: &str) -> String {
    if scene.is_bare() { format!("remove observe_only(): {then}") } else { format!("switch {off} on: {then}") }
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
pub(super) fn measure(measure: Measure) -> &'static str {
    match measure {
        Measure::SingleFlight => "single-flight",
        Measure::Early => "early refresh",
        Measure::Jitter | Measure::Stale | Measure::Permits => measure.label(),
    }
}
