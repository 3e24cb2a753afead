//! Findings from the conditions that an engine reports as active.
//!
//! A condition lives for some quiet seconds after its cause, and its figures are those of when it last held. Here
//! each is held against the counters, so that a finding says what is true now or that it is over.

use herdfeed::{Event, Fact, Outcome, Severity, thresholds};

use super::{Finding, Kind, Scene, counters, cures, origin};
use crate::figures::{micros, number, percent, seconds};

/// A value that was not answered for this long is not asked for much.
const UNASKED_US: u64 = 3_000_000;

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
        Fact::EvictionSurge { evictions, miss_share } => {
            Some(evictions_of(scene, base(Kind::EvictionSurge), *evictions, *miss_share))
        }
        Fact::OriginSaturated { rejected, .. } => saturated(scene, base(Kind::Saturated), *rejected),
        Fact::OriginSlow { .. }
        | Fact::OriginFailing { .. }
        | Fact::OriginDown { .. }
        | Fact::ConnectionsExhausted { .. } => origin::condition(scene, &event.fact, &base),
        Fact::Rejecting { per_s, reason } => {
            let told = (number(*per_s), *reason);
            Some(counters::refused(scene, base(Kind::Rejecting), Some(told)))
        }
        Fact::ColdStart { hit_ratio } => cold(scene, base(Kind::ColdStart), *hit_ratio),
        Fact::StaleBoundNear { key, left_us, .. } => Some(stale_bound(scene, base(Kind::StaleBound), key, *left_us)),
        Fact::SharedDown { operation, failed, calls } => Some(
            base(Kind::SharedDown)
                .what(
                    format!("the shared tier is down: {} of {} operations failed", number(*failed), number(*calls)),
                    *failed,
                )
                .why(format!("{operation} failed last; every process loads for itself, behind its gate"))
                .cure("look at the shared tier; a fleet of cold local tiers is what the origin sees"),
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
        // Seen in the names, for as long as it is so.
        | Fact::DuplicateName { .. }
        | Fact::SharedUp { .. }
        | Fact::CircuitChanged { .. }
        | Fact::LeaseLost { .. }
        | Fact::WriteRefused { .. }
        | Fact::Unknown => None,
    }
}

fn herd(scene: &Scene<'_>, event: &Event, base: Finding, key: &str) -> Option<Finding> {
    let Fact::HerdStarted { cause, trigger, waiters, loads, .. } = &event.fact else {
        return None;
    };
    // Its flight has landed and the word of its end is on the way.
    if *waiters == 0 && *loads == 0 {
        return None;
    }
    let subject = super::loads::subject(&event.subject, key);
    if *loads > 1 {
        return Some(super::loads::stampede(scene, subject, *loads, event.unix_us));
    }
    let is_late = event.severity > Severity::Info || super::loads::is_late(scene, key);
    let (why, cure) = if is_late {
        (
            "one load runs long; all wait for it".to_owned(),
            "look at the origin; set soft_timeout: older values answer meanwhile".to_owned(),
        )
    } else {
        (format!("{}, protected", super::loads::because(*cause, *trigger)), cures::herd(scene, *cause))
    };
    let severity = if is_late { base.severity.max(Severity::Warn) } else { base.severity };
    let finding = Finding { severity, subject, ..base };
    Some(finding.what(format!("1 load, {} waiters", number(*waiters)), *waiters).why(why).cure(cure))
}

fn avalanche(scene: &Scene<'_>, base: Finding, keys: u64, within_us: u64) -> Finding {
    let finding = base
        .what(format!("{} keys load within {}", number(keys), micros(within_us)), keys)
        .why("they expired or were invalidated together")
        .cure(cures::avalanche(scene));
    scene.by(|pulse| &pulse.starts, finding)
}

fn evictions_of(scene: &Scene<'_>, base: Finding, evictions: u64, miss_share: f64) -> Finding {
    let finding = base
        .what(format!("{} in 10s", number(evictions)), evictions)
        .why(format!("{} of misses were evicted keys", percent(miss_share)))
        .cure(cures::capacity(scene));
    scene.by(|pulse| &pulse.evictions, finding)
}

fn saturated(scene: &Scene<'_>, base: Finding, rejected: u64) -> Option<Finding> {
    let gate = scene.gate?;
    let (used, limit, pending) = (number(gate.used()), number(gate.limit), number(gate.pending));
    let refused = if rejected > 0 { format!(", {} refused", number(rejected)) } else { String::new() };
    let finding = base.why(format!("more loads than the origin may take{refused}")).cure(cures::overload(scene));
    let beat = scene.target.pulses.full(&gate.name);
    if beat.is_some_and(|beat| beat.is_still(scene.told_us())) {
        return Some(scene.by_beat(beat, finding.what("full", gate.pending)));
    }
    if gate.used() < gate.limit || gate.pending == 0 {
        // It was full a moment ago and may be so again: no longer the worst, not yet over.
        let severity = finding.severity.min(Severity::Warn);
        let what = format!("full a moment ago, now {used} of {limit}");
        return Some(Finding { severity, ..finding.what(what, gate.pending) });
    }
    Some(finding.what(format!("{used} of {limit} permits, {pending} wait"), gate.pending))
}

/// The engine counts from the cache's birth; where most requests of now are hits it is warm.
fn cold(scene: &Scene<'_>, base: Finding, hit_ratio: f64) -> Option<Finding> {
    let base = base.why("the cache is young and mostly empty").cure("warm up hot keys before taking traffic");
    let lately = scene.lately().filter(|lately| lately.outcomes.total() >= 20).map(|lately| {
        let hits = [Outcome::Hit, Outcome::Stale, Outcome::Negative].map(|outcome| lately.outcomes[outcome]);
        crate::figures::sum(hits) as f64 / lately.outcomes.total() as f64
    });
    match lately {
        Some(now) if now >= thresholds::COLD_HIT_RATIO => None,
        Some(now) => Some(base.what(format!("{} hits", percent(now)), 0)),
        None => Some(base.what(format!("{} hits", percent(hit_ratio)), 0)),
    }
}

/// The figure is that of the last answer: it counts down from there, and says nothing of now once nobody asks.
fn stale_bound(scene: &Scene<'_>, base: Finding, key: &str, left_us: u64) -> Finding {
    let beat = scene.target.pulses.cache(&scene.cache.name).map(|pulse| pulse.near).unwrap_or_default();
    let answered_us = beat.still_us(scene.told_us());
    let left = left_us.saturating_sub(beat.still_us(scene.now.mono_us));
    let what =
        if left == 0 { "has ended: values turn into errors".to_owned() } else { format!("ends in {}", seconds(left)) };
    let finding = Finding { subject: super::loads::subject(&base.subject, key), ..base }
        .what(what, u64::MAX - left)
        .why("refreshes fail and the value grows old")
        .cure("heal the origin before then, or raise stale_if_error_for");
    if answered_us < UNASKED_US {
        return finding;
    }
    let what = format!("{} left when last answered, {} ago", seconds(left_us), seconds(answered_us));
    finding.what(what, 0).eased()
}
