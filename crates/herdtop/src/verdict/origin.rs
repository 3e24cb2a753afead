//! Findings about the origin: it fails, is slow, has no connections left, or does not answer at all.

use herdfeed::{CacheSnapshot, Fact, Histogram, Outcome, Severity, Stage, thresholds};

use super::{Finding, Kind, Scene, cures, failing};
use crate::figures::{micros, number, sum};
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
        Fact::OriginFailing { ratio, calls } => {
            Some(failing::condition(scene, base(Kind::OriginFailing), *ratio, *calls))
        }
        Fact::OriginDown { failed, calls } => Some(down(scene, base(Kind::OriginDown), *failed, *calls)),
        Fact::ConnectionsExhausted { wait_us, call_us } => {
            Some(exhausted(scene, base(Kind::ConnectionsExhausted), *wait_us, *call_us))
        }
        _ => None,
    }
}

/// The gate's fail-fast is open: it holds until a probe succeeds, so there is nothing to ease.
fn down(scene: &Scene<'_>, base: Finding, failed: u64, calls: u64) -> Finding {
    let base =
        base.why("the gate refuses loads and tests the origin with one probe at a time").cure(cures::failing(scene));
    // The condition counts a window that reaches back to before the trouble: half of it may have been good.
    match failing::drought(scene) {
        Some(drought) => base.what(drought, calls.saturating_add(1)),
        None => base.what(format!("{} of {} loads failed", number(failed), number(calls)), calls),
    }
}

fn slow(scene: &Scene<'_>, base: Finding, p99_us: u64, usual_us: u64) -> Finding {
    let base = base.why("calls take much longer than usual").cure(cures::slow(scene));
    if asks_nothing(scene) {
        return base.what(format!("p99 {}, usually {}", micros(p99_us), micros(usual_us)), 0).over(None);
    }
    let lately = scene.lately().and_then(|lately| lately.origin_call.quantile_us(0.99));
    match lately {
        Some(now_us) if now_us < thresholds::SLOW_FACTOR.saturating_mul(usual_us.max(1_000)) => {
            base.what(format!("p99 was {}, now {}", micros(p99_us), micros(now_us)), p99_us).eased()
        }
        _ => base.what(format!("p99 {}, usually {}", micros(p99_us), micros(usual_us)), p99_us),
    }
}

fn exhausted(scene: &Scene<'_>, base: Finding, wait_us: u64, call_us: u64) -> Finding {
    let finding = base
        .what(format!("{} of {} a call", micros(wait_us), micros(call_us)), wait_us)
        .why("the origin answers; loads wait for a connection")
        .cure(cures::connections(scene));
    if asks_nothing(scene) {
        return finding.over(None);
    }
    let has_room = |lately: &CacheWindow| {
        let (waits, calls): (&Histogram, &Histogram) = (&lately.connection_wait, &lately.origin_call);
        calls.count > 0 && (waits.sum_us as f64) < thresholds::EXHAUSTED_SHARE * calls.sum_us as f64
    };
    if scene.lately().as_ref().is_some_and(has_room) { finding.over(None) } else { finding }
}

/// Nothing is asked of the origin now: how it would answer is not known, and nobody waits for it.
fn asks_nothing(scene: &Scene<'_>) -> bool {
    scene.cache.origin_active == 0 && scene.lately().is_some_and(|lately| lately.origin_results.total() == 0)
}

/// Calls run and none ends, for much longer than a call takes: the origin hangs. It takes seconds before such calls
/// time out and anything else shows it.
pub(super) fn silence(scene: &Scene<'_>, found: &[Finding]) -> Option<Finding> {
    // Calls that are cut at their limit end, so that the silence would come and go.
    if failing::is_dry(scene, found) {
        return None;
    }
    let running = scene.cache.origin_active;
    let usual_us = scene.cache.origin_call.quantile_us(0.5);
    let quiet = quiet(scene).filter(|_| running > 0)?;
    let calls = if running == 1 { "1 call".to_owned() } else { format!("{} calls", number(running)) };
    let (silent_us, what) = match quiet {
        Quiet::Since(us) => (us, format!("no answer for {} to {calls}", micros(us))),
        Quiet::Unseen { watched_us, oldest_us } => {
            let (watched, oldest) = (micros(watched_us), micros(oldest_us));
            let whose = if running == 1 { "the only call" } else { "the oldest" };
            (oldest_us, format!("no answer within {watched} to {calls}, {whose} waits for {oldest}"))
        }
    };
    if silent_us < patience_us(scene, usual_us, quiet) {
        return None;
    }
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

/// How long the origin has answered nothing.
#[derive(Clone, Copy)]
enum Quiet {
    /// So long, and a call waits as long.
    Since(u64),
    /// Its last answer was before this screen looked; the oldest call waits for longer than that.
    Unseen { watched_us: u64, oldest_us: u64 },
}

/// What nobody was asked for is no silence: it is never longer than the oldest call waits.
fn quiet(scene: &Scene<'_>) -> Option<Quiet> {
    let (answers, told_us) = (scene.pulse()?.answers, scene.told_us());
    let (still_us, oldest_us) = (answers.still_us(told_us), oldest_call_us(scene.cache));
    let has_answered = answers.moved_ago_us(told_us).is_some();
    if has_answered || oldest_us <= still_us || !answers.is_still(told_us) {
        return Some(Quiet::Since(still_us.min(oldest_us)));
    }
    Some(Quiet::Unseen { watched_us: still_us, oldest_us })
}

/// At most how long the oldest call in progress runs: its flight began before it.
fn oldest_call_us(cache: &CacheSnapshot) -> u64 {
    // A call that was abandoned goes on after its flight, and is older than any.
    if cache.origin_abandoned > 0 {
        return u64::MAX;
    }
    let calls = cache.live.iter().filter(|flight| matches!(flight.stage, Stage::Origin | Stage::Doomed));
    calls.map(|flight| flight.age_us).max().unwrap_or(cache.flight_oldest_us)
}

fn patience_us(scene: &Scene<'_>, usual_us: Option<u64>, quiet: Quiet) -> u64 {
    let Some(usual) = usual_us else { return UNKNOWN_US };
    // Other calls may have been answered before this screen looked: one that is slow among them is no silence.
    if let Quiet::Unseen { .. } = quiet {
        let slow = scene.cache.origin_call.quantile_us(0.99).unwrap_or(usual);
        return usual.saturating_mul(TIMES_USUAL).max(slow.saturating_mul(2)).max(LEAST_US);
    }
    let patience = usual.saturating_mul(TIMES_USUAL).max(LEAST_US);
    // A call that takes half of its limit without a word is late, however slow the origin usually is.
    let half = scene.config.map_or(0, |config| config.origin_timeout_ms.saturating_mul(500));
    if half > usual.saturating_mul(2).max(LEAST_US) { patience.min(half) } else { patience }
}
