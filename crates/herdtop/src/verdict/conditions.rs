//! Findings from the conditions that an engine reports as active.

use herdfeed::{Event, Fact, Severity};

use super::{Finding, Kind, Scene, cures};
use crate::figures::{micros, number, percent, seconds};

/// One finding for each active condition of the cache and of its gate.
pub(super) fn judge(scene: &Scene<'_>) -> Vec<Finding> {
    let of_gate = scene.gate.map_or(&[][..], |gate| &gate.conditions);
    scene.cache.conditions.iter().chain(of_gate).filter_map(|event| one(scene, event)).collect()
}

fn one(scene: &Scene<'_>, event: &Event) -> Option<Finding> {
    let base =
        |kind| Finding::new(kind, event.severity, event.subject.clone(), &scene.target.name).since(event.unix_us);
    match &event.fact {
        Fact::HerdStarted { key, .. } => herd(scene, event, base(Kind::Herd), key),
        Fact::Avalanche { keys, within_us } => Some(avalanche(scene, base(Kind::Avalanche), *keys, *within_us)),
        Fact::EvictionSurge { evictions, miss_share } => Some(
            base(Kind::EvictionSurge)
                .what(format!("{} in 10s", number(*evictions)), *evictions)
                .why(format!("{} of misses were evicted keys", percent(*miss_share)))
                .cure(cures::capacity(scene)),
        ),
        Fact::OriginSaturated { .. }
        | Fact::OriginSlow { .. }
        | Fact::OriginFailing { .. }
        | Fact::OriginDown { .. }
        | Fact::ConnectionsExhausted { .. } => origin(scene, event, &base),
        Fact::Rejecting { per_s, reason } => Some(
            base(Kind::Rejecting)
                .what(format!("{}/s {reason}", number(*per_s)), *per_s)
                .why("callers are refused to protect the origin")
                .cure(cures::rejecting(scene, *reason)),
        ),
        Fact::ColdStart { hit_ratio } => Some(
            base(Kind::ColdStart)
                .what(format!("{} hits", percent(*hit_ratio)), 0)
                .why("the cache is young and mostly empty")
                .cure("warm up hot keys before taking traffic"),
        ),
        Fact::StaleBoundNear { key, left_us, .. } => Some(stale_bound(scene, base(Kind::StaleBound), key, *left_us)),
        Fact::DuplicateName { name } => Some(
            base(Kind::DuplicateName)
                .what(format!("two live caches are called {name}"), 0)
                .why("they coalesce nothing with each other")
                .cure("build the cache once and clone its handle, not one per request"),
        ),
        Fact::FlightStarted { .. }
        | Fact::FlightLanded { .. }
        | Fact::HerdEnded(_)
        | Fact::AvalancheEnded { .. }
        | Fact::EvictionSurgeEnded { .. }
        | Fact::OriginRelieved { .. }
        | Fact::OriginSlowEnded { .. }
        | Fact::OriginFailingEnded { .. }
        | Fact::OriginUp { .. }
        | Fact::ConnectionsExhaustedEnded { .. }
        | Fact::RejectingEnded { .. }
        | Fact::ColdStartEnded { .. }
        | Fact::HotKeyChanged { .. }
        | Fact::StaleBoundNearEnded { .. }
        | Fact::Tuned { .. }
        | Fact::Unknown => None,
    }
}

fn herd(scene: &Scene<'_>, event: &Event, base: Finding, key: &str) -> Option<Finding> {
    let Fact::HerdStarted { cause, waiters, loads, .. } = &event.fact else {
        return None;
    };
    let subject = super::loads::subject(&event.subject, key);
    let cause_text = cause.map_or_else(|| "missing".to_owned(), |cause| cause.to_string());
    if *loads > 1 {
        return Some(super::loads::stampede(scene, subject, *loads, event.unix_us));
    }
    let old = event.severity > Severity::Info;
    let (why, cure) = if old {
        (
            "one load runs long; all wait for it".to_owned(),
            "look at the origin; a soft timeout answers older values".to_owned(),
        )
    } else {
        (format!("{cause_text}, protected"), cures::herd(scene, *cause))
    };
    let finding = Finding { subject, ..base };
    Some(finding.what(format!("1 load, {} waiters", number(*waiters)), *waiters).why(why).cure(cure))
}

fn avalanche(scene: &Scene<'_>, base: Finding, keys: u64, within_us: u64) -> Finding {
    let jitter = scene.config.map_or(0.0, |config| config.jitter);
    let cure = if scene.is_off(herdfeed::Measure::Jitter) || jitter <= 0.0 {
        "set jitter 0.1: entries written together expire apart"
    } else {
        "more jitter, or stale_for; permits hold the origin meanwhile"
    };
    base.what(format!("{} keys load within {}", number(keys), micros(within_us)), keys)
        .why("they expired or were invalidated together")
        .cure(cure)
}

fn stale_bound(scene: &Scene<'_>, base: Finding, key: &str, left_us: u64) -> Finding {
    let taken_at = scene.target.recent.newest().map_or(scene.now.mono_us, |newest| newest.at_us);
    let left = left_us.saturating_sub(scene.now.since_us(taken_at));
    let what =
        if left == 0 { "has ended: values turn into errors".to_owned() } else { format!("ends in {}", seconds(left)) };
    let finding = Finding { subject: super::loads::subject(&base.subject, key), ..base };
    finding
        .what(what, u64::MAX - left)
        .why("refreshes fail and the value grows old")
        .cure("heal the origin before then, or raise stale_if_error_for")
}

fn origin(scene: &Scene<'_>, event: &Event, base: &dyn Fn(Kind) -> Finding) -> Option<Finding> {
    match &event.fact {
        Fact::OriginSaturated { limit, pending, rejected } => Some(
            base(Kind::Saturated)
                .what(format!("{limit} of {limit} permits, {} wait", number(*pending)), *pending)
                .why(format!("more loads than the origin may take, {} refused", number(*rejected)))
                .cure(cures::overload(scene, "find the load in hot keys; more permits only if the origin has room")),
        ),
        Fact::OriginSlow { p99_us, usual_us } => Some(
            base(Kind::OriginSlow)
                .what(format!("p99 {}, usually {}", micros(*p99_us), micros(*usual_us)), *p99_us)
                .why("calls take much longer than usual")
                .cure(cures::overload(scene, "look at the origin; stale values cover readers")),
        ),
        Fact::OriginFailing { ratio, calls } => Some(
            base(Kind::OriginFailing)
                .what(format!("{} of {} calls in 10s", percent(*ratio), number(*calls)), *calls)
                .why("the origin gives errors or times out")
                .cure(cures::overload(scene, "heal the origin; old values cover readers until their bound")),
        ),
        Fact::OriginDown { failed, calls } => Some(
            base(Kind::OriginDown)
                .what(format!("{} of {} loads failed", number(*failed), number(*calls)), *calls)
                .why("fail-fast is open: loads are refused, one probe at a time tests it")
                .cure(cures::overload(scene, "heal the origin; old values cover readers until their bound")),
        ),
        Fact::ConnectionsExhausted { wait_us, call_us } => Some(
            base(Kind::ConnectionsExhausted)
                .what(format!("{} of {} a call", micros(*wait_us), micros(*call_us)), *wait_us)
                .why("the origin answers; loads wait for a connection")
                .cure(cures::connections(scene)),
        ),
        _ => None,
    }
}
