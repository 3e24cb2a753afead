//! The origin fails: as the engine's condition says, or as the counters show where no condition holds.
//!
//! The engine judges ten seconds and needs twenty calls. Here the last second counts too, and that callers are
//! answered in place of loads that failed: protection holds back most of them, and few calls are left to count.

use herdfeed::{OriginResult, Outcome, Severity, StaleReason, Tally, thresholds};

use super::{Finding, Kind, Scene, Standing, cures};
use crate::figures::{micros, number, percent, seconds, sum};
use crate::model::window::CacheWindow;

/// The last calls are judged over the shortest of these spans that holds enough of them.
const SPANS_US: [u64; 2] = [1_000_000, 2_000_000];
/// Calls that all failed prove it sooner than a part of them.
const ALL_FAILED: u64 = 5;
/// Failures in a row that are no accident.
const STREAK: u64 = 3;
/// A shorter streak proves it when it lasts so long.
const STREAK_US: u64 = 2_000_000;
/// A part of the requests that is touched by failed loads: without failures having been seen …
const SHIELDED_PART: f64 = 0.05;
/// … or with them.
const TOUCHED_PART: f64 = 0.01;
/// Part of the requests that get errors which makes it critical.
const DOWN_PART: f64 = 0.5;

/// What a condition of the engine says, as it stands by the last two seconds.
pub(super) fn condition(scene: &Scene<'_>, base: Finding, ratio: f64, calls: u64) -> Finding {
    let base = base.why(why(scene)).cure(cures::failing(scene));
    if let Some(dry) = dry(scene) {
        return Finding { severity: base.severity.max(dry.hurt(scene)), ..base.what(dry.what(scene), calls) };
    }
    let of_ten = format!("{} of {} calls in 10s", percent(ratio), number(calls));
    let last_failure = scene.pulse().and_then(|pulse| pulse.bad_calls.moved_ago_us(scene.told_us()));
    let last_failure = last_failure.map(|ago| format!("last failure {} ago", seconds(ago)));
    let Some(results) = scene.lately().map(|lately| lately.origin_results).filter(|results| results.total() > 0) else {
        // Nobody has asked since: what was seen last counts.
        let has_healed = scene.pulse().is_some_and(|pulse| pulse.streak.is_none());
        return match last_failure.filter(|_| has_healed) {
            Some(ago) => base.what(ago, 0).eased(),
            None => base.what(of_ten, calls),
        };
    };
    let (bad, all) = (bad(&results), results.total());
    let part = bad as f64 / all as f64;
    match last_failure.filter(|_| bad == 0) {
        Some(ago) => base.what(ago, 0).eased(),
        None if bad == 0 => base.what(of_ten, 0).over(None),
        None if part < thresholds::FAILING_RATIO => {
            base.what(format!("healing: {} of {} calls in 2s", percent(part), number(all)), bad).eased()
        }
        None => base.what(format!("{} of {} calls in 2s", percent(part), number(all)), bad),
    }
}

/// What the counters say where no condition does.
pub(super) fn judge(scene: &Scene<'_>, found: &[Finding]) -> Option<Finding> {
    if is_told(scene, found) {
        return None;
    }
    let finding = |severity| {
        let finding = Finding::new(Kind::OriginFailing, severity, &scene.cache.name, &scene.target.name);
        finding.why(why(scene)).cure(cures::failing(scene))
    };
    if let Some(dry) = dry(scene) {
        // Calls of now that fail are trouble also before anybody has noticed.
        let is_past = dry.touches == Touches::Nobody && last_calls(scene).is_none();
        let severity = if is_past { Severity::Info } else { dry.hurt(scene) };
        let since = scene.now.unix_us.saturating_sub(dry.for_us);
        return Some(finding(severity).what(dry.what(scene), dry.for_us).since(since));
    }
    let (failed, calls, span_us) = last_calls(scene)?;
    let part = percent(failed as f64 / calls as f64);
    let what = format!("{part} of {} calls in {}{}", number(calls), seconds(span_us), answered(scene));
    Some(finding(hurt(scene)).what(what, failed))
}

/// Whether this cache's origin is said to fail already.
fn is_told(scene: &Scene<'_>, found: &[Finding]) -> bool {
    let told = |f: &Finding| {
        (f.kind == Kind::OriginFailing && f.subject == scene.cache.name)
            || (f.kind == Kind::OriginDown && f.subject == scene.cache.gate && f.standing == Standing::Holds)
    };
    found.iter().any(|finding| finding.targets.contains(&scene.target.name) && told(finding))
}

/// Whether no load succeeds, and that is said already: then everything else about loads is what comes of it.
pub(super) fn is_dry(scene: &Scene<'_>, found: &[Finding]) -> bool {
    is_told(scene, found) && dry(scene).is_some_and(|dry| dry.touches == Touches::Requests)
}

/// That no load succeeds, since when, and what callers get in place of loads; `None` while some do.
pub(super) fn drought(scene: &Scene<'_>) -> Option<String> {
    dry(scene).map(|dry| dry.what(scene))
}

/// Failed calls, all calls, and the span: of the last second or two, if they prove it.
fn last_calls(scene: &Scene<'_>) -> Option<(u64, u64, u64)> {
    // What has ended with the last failure is not told any more, however full the span is of them.
    let ago_us = scene.pulse()?.bad_calls.moved_ago_us(scene.told_us())?;
    if ago_us >= SPANS_US[0] {
        return None;
    }
    SPANS_US.into_iter().find_map(|span_us| {
        let results = scene.within(span_us)?.origin_results;
        let (bad, all) = (bad(&results), results.total());
        let many = all >= thresholds::ORIGIN_MIN_CALLS && bad as f64 >= thresholds::FAILING_RATIO * all as f64;
        (many || (all >= ALL_FAILED && bad == all)).then_some((bad, all, span_us))
    })
}

/// Whom loads that fail concern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Touches {
    /// Requests of now.
    Requests,
    /// Nobody asks, or nearly nobody.
    Nobody,
}

/// No load has succeeded since one failed.
struct Dry {
    for_us: u64,
    touches: Touches,
}

impl Dry {
    fn what(&self, scene: &Scene<'_>) -> String {
        let length = seconds(self.for_us.max(1_000_000));
        let Some(now) = scene.lately().map(|lately| Shielded::of(&lately)) else {
            return format!("no load has succeeded for {length}");
        };
        // A refusal is an error to whoever gets it; while no load succeeds it comes of that, whatever its reason.
        let word = if now.errors == 0 { "are refused" } else { "get errors" };
        let old = now.told(now.old, "answered stale");
        let errors = now.told(now.errors.saturating_add(now.refused), word);
        format!("no load has succeeded for {length}{old}{errors}")
    }

    /// Callers who are turned away because no load succeeds are as bad as those who are told of an error.
    fn hurt(&self, scene: &Scene<'_>) -> Severity {
        let refused = scene.lately().map_or(0, |lately| Shielded::of(&lately).refused);
        let is_cause = self.touches == Touches::Requests && refused > 0;
        if is_cause { Severity::Critical } else { hurt(scene) }
    }
}

fn dry(scene: &Scene<'_>) -> Option<Dry> {
    let (pulse, told_us) = (scene.pulse()?, scene.told_us());
    let late_us = scene.now.since_us(told_us);
    let shielded = scene.window().map_or(0.0, |window| Shielded::of(&window).part());
    if let Some(streak) = pulse.streak {
        let lasts_us = told_us.saturating_sub(streak.since_us);
        // While no load succeeds a refusal comes of that, too. The last seconds show it before ten do.
        let part = |window: Option<CacheWindow>| window.map_or(0.0, |window| Shielded::of(&window).touched());
        let is_asked = part(scene.window()).max(part(scene.lately())) >= TOUCHED_PART;
        let is_proved = streak.failed >= STREAK || (lasts_us >= STREAK_US && is_asked);
        let touches = if is_asked { Touches::Requests } else { Touches::Nobody };
        // Calls that hang are seen to fail only when they are cut: they brought nothing all the time before.
        let hung_us = match worst_end(scene) {
            Some(OriginResult::Timeout) => scene.origin_timeout_us().unwrap_or(0),
            _ => 0,
        };
        let quiet_us = pulse.good_calls.still_us(told_us).max(lasts_us);
        let for_us = lasts_us.saturating_add(hung_us).min(quiet_us).saturating_add(late_us);
        return is_proved.then_some(Dry { for_us, touches });
    }
    // Attached while it fails: cooling keeps loads away, and callers are answered in their place.
    let good = pulse.good_calls;
    let is_dry = good.moved_ago_us(told_us).is_none() && good.is_still(told_us) && shielded >= SHIELDED_PART;
    is_dry.then(|| Dry { for_us: good.still_us(told_us).saturating_add(late_us), touches: Touches::Requests })
}

/// Requests that got something else because a load has failed.
struct Shielded {
    stale: u64,
    errors: u64,
    /// Refused for whatever reason, also while loads succeed.
    refused: u64,
    /// Answered with an older value for whatever reason.
    old: u64,
    all: u64,
}

impl Shielded {
    fn of(window: &CacheWindow) -> Self {
        let stale = [StaleReason::Cooling, StaleReason::Error].map(|reason| window.stale_serves[reason]);
        let errors = [Outcome::Failed, Outcome::Cooling].map(|outcome| window.outcomes[outcome]);
        let refused = window.outcomes[Outcome::Rejected];
        let old = sum([Outcome::Stale, Outcome::Reserve].map(|outcome| window.outcomes[outcome]));
        Self { stale: sum(stale), errors: sum(errors), refused, old, all: window.outcomes.total() }
    }

    /// So many of the requests, as `, 100% answered stale`; empty for none.
    fn told(&self, count: u64, word: &str) -> String {
        match count {
            0 => String::new(),
            count => format!(", {} {word}", percent(count as f64 / self.all.max(1) as f64)),
        }
    }

    fn touched(&self) -> f64 {
        self.part() + self.refused as f64 / self.all.max(1) as f64
    }

    fn part(&self) -> f64 {
        self.stale.saturating_add(self.errors) as f64 / self.all.max(1) as f64
    }
}

/// What callers get in place of loads, as `, 100% answered stale`; empty when none of them does.
fn answered(scene: &Scene<'_>) -> String {
    let Some(now) = scene.lately().map(|lately| Shielded::of(&lately)) else {
        return String::new();
    };
    now.told(now.stale, "answered stale") + &now.told(now.errors, "get errors")
}

fn hurt(scene: &Scene<'_>) -> Severity {
    let now = scene.lately().map(|lately| Shielded::of(&lately));
    let is_down = now.is_some_and(|now| now.errors as f64 >= DOWN_PART * now.all.max(1) as f64);
    if is_down { Severity::Critical } else { Severity::Warn }
}

/// How most of the failed calls ended.
pub(super) fn why(scene: &Scene<'_>) -> String {
    match (worst_end(scene), scene.origin_timeout_us()) {
        (None, _) => "loads have failed, and their keys cool".into(),
        (Some(OriginResult::Timeout), Some(limit)) => {
            format!("origin calls end with timeout: origin_timeout is {}", micros(limit))
        }
        (Some(end), _) => format!("origin calls end with {end}"),
    }
}

/// How most of the calls that failed within the last seconds ended.
fn worst_end(scene: &Scene<'_>) -> Option<OriginResult> {
    let results = scene.window()?.origin_results;
    let ends = BAD.into_iter().map(|end| (end, results[end]));
    ends.max_by_key(|(_, count)| *count).filter(|(_, count)| *count > 0).map(|(end, _)| end)
}

const BAD: [OriginResult; 3] = [OriginResult::Panicked, OriginResult::Timeout, OriginResult::Error];
const GOOD: [OriginResult; 3] = [OriginResult::Value, OriginResult::Absent, OriginResult::NotModified];

/// Calls that brought no value.
fn bad(results: &Tally<OriginResult>) -> u64 {
    sum(BAD.map(|result| results[result]))
}

/// What calls that end with a timeout say of their limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timeouts {
    /// Answers that do come take nearly as long: the limit cuts an origin that works.
    Near { limit_us: u64, slow_us: u64 },
    /// None has come within the limit yet.
    Never { limit_us: u64 },
    /// Answers come much sooner, or not at all.
    Hangs { limit_us: u64 },
}

/// Of failed calls most ended with a timeout: what that says of the limit.
pub(super) fn timeouts(scene: &Scene<'_>) -> Option<Timeouts> {
    let limit_us = scene.origin_timeout_us()?;
    if worst_end(scene) != Some(OriginResult::Timeout) {
        return None;
    }
    let good = |results: &Tally<OriginResult>| sum(GOOD.map(|result| results[result]));
    if good(&scene.cache.origin_results) == 0 {
        return Some(Timeouts::Never { limit_us });
    }
    // The durations hold the calls that were cut too, and those are the longest of all.
    let window = scene.window()?;
    let (results, calls) = match good(&window.origin_results) {
        0 => (&scene.cache.origin_results, &scene.cache.origin_call),
        _ => (&window.origin_results, &window.origin_call),
    };
    let part = good(results) as f64 / results.total().max(1) as f64;
    let slow_us = calls.quantile_us(0.99 * part).unwrap_or(0).min(limit_us);
    // A quantile is at most a quarter too high.
    let is_near = slow_us as f64 >= 0.75 * limit_us as f64;
    Some(if is_near { Timeouts::Near { limit_us, slow_us } } else { Timeouts::Hangs { limit_us } })
}
