//! Findings about the origin: it fails, is slow, has no connections left, or does not answer at all.

use herdfeed::{Fact, Histogram, OriginResult, Outcome, Severity, Tally, thresholds};

use super::{Finding, Kind, Scene, cures};
use crate::figures::{micros, number, percent, seconds, sum};
use crate::model::window::CacheWindow;

/// An origin is silent after this many times the usual duration of a call …
const TIMES_USUAL: u64 = 10;
/// … but not sooner than this …
const LEAST_US: u64 = 1_000_000;
/// … or this, while no call has shown yet what is usual.
const UNKNOWN_US: u64 = 2_000_000;

/// What a condition of the engine says about the origin; `None` for other facts.
pub(super) fn condition(scene: &Scene<'_>, fact: &Fact, base: &dyn Fn(Kind) -> Finding) -> Option<Finding> {
    match fact {
        Fact::OriginSlow { p99_us, usual_us } => Some(slow(scene, base(Kind::OriginSlow), *p99_us, *usual_us)),
        Fact::OriginFailing { ratio, calls } => Some(failing(scene, base(Kind::OriginFailing), *ratio, *calls)),
        Fact::OriginDown { failed, calls } => Some(down(scene, base(Kind::OriginDown), *failed, *calls)),
        Fact::ConnectionsExhausted { wait_us, call_us } => {
            Some(exhausted(scene, base(Kind::ConnectionsExhausted), *wait_us, *call_us))
        }
        _ => None,
    }
}

/// The gate's fail-fast is open: it holds until a probe succeeds, so there is nothing to ease.
fn down(scene: &Scene<'_>, base: Finding, failed: u64, calls: u64) -> Finding {
    base.what(format!("{} of {} loads failed", number(failed), number(calls)), calls)
        .why("the gate refuses loads and tests the origin with one probe at a time")
        .cure(cures::failing(scene))
}

fn slow(scene: &Scene<'_>, base: Finding, p99_us: u64, usual_us: u64) -> Finding {
    let base = base.why("calls take much longer than usual").cure(cures::slow(scene));
    let lately = scene.lately().and_then(|lately| lately.origin_call.quantile_us(0.99));
    match lately {
        Some(now_us) if now_us < thresholds::SLOW_FACTOR.saturating_mul(usual_us.max(1_000)) => {
            base.what(format!("p99 was {}, now {}", micros(p99_us), micros(now_us)), p99_us).eased()
        }
        _ => base.what(format!("p99 {}, usually {}", micros(p99_us), micros(usual_us)), p99_us),
    }
}

/// The engine judges ten seconds, in which the failures of an origin that has healed go on for a while.
fn failing(scene: &Scene<'_>, base: Finding, ratio: f64, calls: u64) -> Finding {
    let base = base.why("the origin gives errors or times out").cure(cures::failing(scene));
    let of_ten = format!("{} of {} calls in 10s", percent(ratio), number(calls));
    let Some(results) = scene.lately().map(|lately| lately.origin_results).filter(|results| results.total() > 0) else {
        return base.what(of_ten, calls);
    };
    let (bad, all) = (bad(&results), results.total());
    let part = bad as f64 / all as f64;
    let beat = scene.target.pulses.cache(&scene.cache.name).map(|pulse| pulse.bad_calls);
    match beat.filter(|_| bad == 0).and_then(|beat| beat.moved_ago_us(scene.told_us())) {
        Some(ago) => base.what(format!("last failure {} ago", seconds(ago)), 0).eased(),
        None if bad == 0 => base.what(of_ten, 0).over(None),
        None if part < thresholds::FAILING_RATIO => {
            base.what(format!("healing: {} of {} calls in 2s", percent(part), number(all)), bad).eased()
        }
        None => base.what(format!("{} of {} calls in 2s", percent(part), number(all)), bad),
    }
}

/// Calls that brought no value.
pub(super) fn bad(results: &Tally<OriginResult>) -> u64 {
    let bad = [OriginResult::Error, OriginResult::Timeout, OriginResult::Panicked];
    sum(bad.map(|result| results[result]))
}

fn exhausted(scene: &Scene<'_>, base: Finding, wait_us: u64, call_us: u64) -> Finding {
    let finding = base
        .what(format!("{} of {} a call", micros(wait_us), micros(call_us)), wait_us)
        .why("the origin answers; loads wait for a connection")
        .cure(cures::connections(scene));
    let has_room = |lately: &CacheWindow| {
        let (waits, calls): (&Histogram, &Histogram) = (&lately.connection_wait, &lately.origin_call);
        calls.count > 0 && (waits.sum_us as f64) < thresholds::EXHAUSTED_SHARE * calls.sum_us as f64
    };
    if scene.lately().as_ref().is_some_and(has_room) { finding.over(None) } else { finding }
}

/// Calls run and none ends, for much longer than a call takes: the origin hangs. It takes seconds before such calls
/// time out and anything else shows it.
pub(super) fn silence(scene: &Scene<'_>) -> Option<Finding> {
    let running = scene.cache.origin_active;
    let usual_us = scene.cache.origin_call.quantile_us(0.5);
    let silent_us = scene.target.pulses.cache(&scene.cache.name)?.answers.still_us(scene.told_us());
    if running == 0 || silent_us < patience_us(scene, usual_us) {
        return None;
    }
    let calls = if running == 1 { "1 call".to_owned() } else { format!("{} calls", number(running)) };
    let what = format!("no answer for {} to {calls}", micros(silent_us));
    let why = match usual_us {
        Some(usual) => format!("it takes calls and answers none, usually within {}", micros(usual)),
        None => "it takes calls and has answered none yet".to_owned(),
    };
    let hurts = scene.lately().is_some_and(|lately| {
        let hurt = [Outcome::Rejected, Outcome::Failed, Outcome::TimedOut];
        sum(hurt.map(|outcome| lately.outcomes[outcome])) > 0
    });
    Some(
        Finding::new(
            Kind::OriginSilent,
            if hurts { Severity::Critical } else { Severity::Warn },
            &scene.cache.name,
            &scene.target.name,
        )
        .what(what, running)
        .since(scene.now.unix_us.saturating_sub(silent_us))
        .why(why)
        .cure(cures::silent(scene)),
    )
}

fn patience_us(scene: &Scene<'_>, usual_us: Option<u64>) -> u64 {
    let Some(usual) = usual_us else { return UNKNOWN_US };
    let patience = usual.saturating_mul(TIMES_USUAL).max(LEAST_US);
    // A call that takes half of its limit without a word is late, however slow the origin usually is.
    let half = scene.config.map_or(0, |config| config.origin_timeout_ms.saturating_mul(500));
    if half > usual.saturating_mul(2).max(LEAST_US) { patience.min(half) } else { patience }
}
