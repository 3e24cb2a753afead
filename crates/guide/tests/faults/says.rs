//! What the phrases of the table mean: the words that a cell may be made of, and when each of them is true.
//!
//! A closed language on purpose. A cell that says something else is refused, so that no
//! sentence of the two columns stands there without a check.

use std::time::Duration;

use herdcache::herdfeed::Outcome;
use tokio::time::Instant;

use crate::origin::LOAD;
use crate::page::{Fault, clauses};
use crate::seen::{End, Seen, Told, ms};

/// What is wrong with a row, given what its scene shows.
pub(crate) fn complaints(fault: &Fault, seen: &Seen) -> Vec<String> {
    let mut wrong: Vec<_> = callers(&fault.callers, seen).chain(database(&fault.database, seen)).collect();
    let still = fault.counters.iter().filter(|counter| !seen.moved(counter));
    wrong.extend(still.map(|counter| format!("`{counter}` did not move")));
    wrong.into_iter().map(|what| format!("{}: {what}", fault.name)).collect()
}

/// What is wrong with a cell of what callers see.
pub(crate) fn callers(cell: &str, seen: &Seen) -> impl Iterator<Item = String> {
    let mut wrong = Vec::new();
    let clauses = clauses(cell);
    for who in seen.callers.keys().filter(|who| clauses.iter().all(|(named, _)| named != *who)) {
        wrong.push(format!("it says nothing of {who:?}"));
    }
    for (who, phrases) in clauses {
        let Some(told) = seen.callers.get(who).filter(|told| !told.is_empty()) else {
            wrong.push(format!("nobody was there of {who:?}"));
            continue;
        };
        for phrase in phrases {
            if let Err(met) = all_got(phrase, told, seen) {
                wrong.push(format!("callers do not see {phrase:?} of {who:?}: {met}"));
            }
        }
    }
    wrong.into_iter()
}

/// Whether all of them got this; else what somebody got instead.
fn all_got(phrase: &str, told: &[Told], seen: &Seen) -> Result<(), String> {
    let got = |phrase: &str, told: &Told| got(phrase, told, seen).ok_or_else(|| format!("no such words: {phrase:?}"));
    if let Some(phrase) = phrase.strip_prefix("mostly ") {
        let mut those = 0;
        for one in told {
            those += usize::from(got(phrase, one)?);
        }
        return if those * 2 > told.len() && those < told.len() {
            Ok(())
        } else {
            Err(format!("{those} of {}", told.len()))
        };
    }
    let choices: Vec<_> = phrase.split(" or ").collect();
    let mut met = vec![0; choices.len()];
    for one in told {
        let mut any = false;
        for (choice, met) in choices.iter().zip(&mut met) {
            let this = got(choice, one)?;
            any |= this;
            *met += usize::from(this);
        }
        if !any {
            return Err(format!("{one:?}"));
        }
    }
    if met.contains(&0) { Err(format!("nobody got one of these: {met:?}")) } else { Ok(()) }
}

/// Whether this caller got this; `None` for words that have no meaning here.
fn got(phrase: &str, told: &Told, seen: &Seen) -> Option<bool> {
    let refused = |status, with_time| told.end == End::Refused { status, with_time };
    Some(match phrase {
        "the value" | "values" => matches!(told.end, End::Row { outcome, behind: 0, .. } if is_current(outcome)),
        "the value as it was" => {
            matches!(told.end, End::Row { outcome, behind: 1.., .. } if is_current(outcome))
        }
        "an older value" | "older values" => matches!(
            told.end,
            End::Row { outcome: Outcome::Stale | Outcome::Reserve, age, behind: 1.. } if age >= FRESH
        ),
        "the degraded value" => told.end == End::Degraded,
        "404" => told.end == End::Absent,
        "500" => refused(500, false),
        "502" => refused(502, false),
        "503" => refused(503, true),
        "503 for good" => refused(503, false),
        "504" => refused(504, false),
        "no answer" => told.end == End::Gone,
        _ => return waited(phrase, told.took, seen),
    })
}

/// How long all values of the scenes are fresh.
pub(crate) const FRESH: Duration = Duration::from_secs(60);

fn is_current(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Hit | Outcome::Loaded | Outcome::Coalesced)
}

fn waited(phrase: &str, took: Duration, seen: &Seen) -> Option<bool> {
    if phrase == "no wait" {
        return Some(took.is_zero());
    }
    if let Some(words) = phrase.strip_prefix("once ").and_then(|words| words.strip_suffix(" is over")) {
        let (over, slack) = (*seen.spans.get(words)?, *seen.spans.get("a look")?);
        return Some(took >= over && took <= over + LOAD + slack);
    }
    if let Some(words) = phrase.strip_prefix("within ") {
        return Some(took <= span(words, seen)?);
    }
    Some(took == span(phrase.strip_prefix("after ")?, seen)?)
}

/// A length of time, in words: one that the scene names, a load's, or both.
fn span(words: &str, seen: &Seen) -> Option<Duration> {
    if let Some(named) = seen.spans.get(words) {
        return Some(*named);
    }
    if words == "a load" {
        return Some(LOAD);
    }
    Some(*seen.spans.get(words.strip_suffix(" and a load")?)? + LOAD)
}

/// What is wrong with a cell of what the database sees.
pub(crate) fn database(cell: &str, seen: &Seen) -> impl Iterator<Item = String> {
    let mut wrong = Vec::new();
    for phrase in cell.split(", ") {
        let met = || format!("{} calls, {} at once", seen.calls.len(), seen.peak());
        match met_by(phrase, seen) {
            Some(true) => {}
            Some(false) => wrong.push(format!("the database does not see {phrase:?}: {}", met())),
            None => wrong.push(format!("no such words: {phrase:?}")),
        }
    }
    wrong.into_iter()
}

fn met_by(phrase: &str, seen: &Seen) -> Option<bool> {
    let (calls, peak, keys) = (seen.calls.len() as u64, seen.peak(), seen.by_key());
    let many = calls > seen.permits;
    Some(match phrase {
        "no new call" => calls == 0,
        "one call" => calls == 1,
        "two calls" => calls == 2,
        "two calls at once" => calls == 2 && peak == 2,
        "one call a key" => keys.len() > 1 && keys.values().all(|calls| calls.len() == 1),
        "one call a process" => seen.processes > 1 && calls == seen.processes && keys.len() == 1,
        "more calls than keys" => calls > keys.len() as u64,
        "all permits at once" => many && peak == seen.permits,
        "at most the permits at once" => many && peak <= seen.permits,
        "all refresh permits at once" => calls > seen.refresh_permits && peak == seen.refresh_permits,
        "warm-ups in their share" => {
            let warm = seen.calls.iter().map(|call| call.warm_at_once).max()?;
            (1..=seen.warm_up_permits).contains(&warm)
        }
        "given up" => seen.given_up > 0 && seen.running == 0,
        "the first goes on" => seen.running == 1 && seen.given_up == 0,
        "one call a window" => windows(seen)?,
        "one call a key and `negative_ttl`" => {
            let apart = *seen.spans.get("`negative_ttl`")?;
            keys.len() > 1
                && keys.values().all(|calls| calls.len() > 1 && gaps(calls).all(|gap| near(gap, apart + LOAD, seen)))
        }
        "20 calls then one a second" => {
            let probes = later(20, seen);
            probes.len() >= 5 && gaps(&probes).all(|gap| near(gap, ms(1_000), seen))
        }
        "at most twice the permits then about one a second" => {
            let probes = later(2 * seen.permits, seen);
            let seconds = (*probes.last()? - *probes.first()?).as_secs();
            peak == seen.permits && seconds >= 5 && (seconds..=seconds + 2).contains(&(probes.len() as u64))
        }
        _ => return None,
    })
}

fn gaps(calls: &[Instant]) -> impl Iterator<Item = Duration> {
    calls.windows(2).map(|two| two[1] - two[0])
}

/// Whether it was this long, or as much longer as a scene may need to look.
fn near(span: Duration, length: Duration, seen: &Seen) -> bool {
    let look = seen.spans.get("a look").copied().unwrap_or_default();
    span >= length && span <= length + look
}

/// E1: between the calls of a key lies the load itself and a window. It is 100 ms, doubled each time, and up to half as much
/// longer; near 5 s it is spread below them, by up to a third.
fn windows(seen: &Seen) -> Option<bool> {
    let look = *seen.spans.get("a look")?;
    let most = ms(5_000);
    let fits = |calls: &Vec<_>| {
        let mut grown = ms(100);
        let fits = gaps(calls).all(|gap| {
            let (least, longest) = (grown.min(most * 2 / 3), (grown + grown / 2).min(most));
            grown *= 2;
            gap >= least + LOAD && gap <= longest + LOAD + look
        });
        fits && grown > most
    };
    Some(!seen.calls.is_empty() && seen.by_key().values().all(fits))
}

/// When the calls began that came after so many.
fn later(at_first: u64, seen: &Seen) -> Vec<Instant> {
    seen.calls.iter().map(|call| call.at).skip(usize::try_from(at_first).unwrap_or(usize::MAX)).collect()
}
