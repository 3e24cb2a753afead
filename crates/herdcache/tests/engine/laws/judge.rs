//! One answer against the record: is this what this caller may get at this moment (L1, L4, L5, L8)?
//!
//! Each judgement also says under which outcome the request must stand in the account.

use std::time::Duration;

use herdcache::herdfeed::Measure;
use herdcache::{Answer, Failure, GetError, Got, Outcome, RejectReason};

use tokio::time::Instant;

use super::facts::Bounds;
use super::history::FAIL_FAST_WINDOW;
use super::load::{DEGRADED, Down, Row, panic_text};
use super::world::{Asked, Birth, Came, World};

/// At which of its polls a caller was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum At {
    First,
    Later,
    /// When its batch ended: at that moment or before.
    Batch,
}

/// The outcome of an answer, if it is a lawful one; `None` if it may be either of two.
pub(super) fn judge(world: &World, tag: usize, got: &Got<Row, Down>, at: At) -> Result<Option<Outcome>, String> {
    let asked = &world.asks[tag];
    let outcome = match got {
        Ok(Some(answer)) => value(world, tag, answer, at).map(Some),
        Ok(None) => absence(world, tag, at),
        Err(error) => failure(world, tag, error).map(Some),
    };
    outcome.map_err(|broken| format!("{broken}\n  answer {got:?}\n  at {:?} to {asked:?}", asked.at.elapsed()))
}

/// L4, L5, L8: a value that was looked at without a request.
pub(super) fn peeked(world: &World, key: u64, answer: &Answer<Row>) -> Result<(), String> {
    one_of(named(world, key, answer, Duration::ZERO)?, |birth| {
        newer(world, birth, u64::MAX)?;
        in_time(world, birth, answer, (At::Later, u64::MAX))
    })
}

fn value(world: &World, tag: usize, answer: &Answer<Row>, at: At) -> Result<Outcome, String> {
    let asked = &world.asks[tag];
    let outcome = Answer::outcome(answer);
    if outcome == Outcome::Fallback {
        return degraded(world, asked, answer).map(|()| outcome);
    }
    // A batch keeps its answers until its end.
    let kept = if at == At::Batch { asked.at.elapsed() } else { Duration::ZERO };
    one_of(named(world, asked.key, answer, kept)?, |birth| {
        newer(world, birth, asked.seq)?;
        let mut loads = world.births.iter().filter(|load| brought(world, load, birth));
        match outcome {
            Outcome::Loaded if loads.any(|load| load.opener == Some(tag)) => Ok(()),
            Outcome::Loaded => Err("L1: loaded by another's flight".to_owned()),
            Outcome::Coalesced if loads.any(|load| waited_for(load, tag, asked)) => Ok(()),
            Outcome::Coalesced => Err(format!("L1: this caller cannot have joined {birth:?}")),
            Outcome::Stale | Outcome::Reserve if asked.off.contains(&Measure::Stale) => {
                Err("O1: stale values were off when it began".to_owned())
            }
            Outcome::Hit | Outcome::Stale | Outcome::Reserve => in_time(world, birth, answer, (at, asked.seq)),
            other => Err(format!("L1: a value cannot be {other}")),
        }
    })?;
    Ok(outcome)
}

/// A6: the degraded value, of the right key and of no age.
fn degraded(world: &World, asked: &Asked, answer: &Answer<Row>) -> Result<(), String> {
    let right = world.setup.fallback.covers(asked.key) && **answer == Row { key: asked.key, birth: DEGRADED };
    if right && Answer::age(answer).is_zero() { Ok(()) } else { Err("A6: not the degraded value".to_owned()) }
}

/// Whether one of several is right; else what is wrong with the last.
fn one_of<'a>(births: Vec<&'a Birth>, right: impl Fn(&'a Birth) -> Result<(), String>) -> Result<(), String> {
    let mut broken = Ok(());
    for birth in births {
        broken = right(birth);
        if broken.is_ok() {
            break;
        }
    }
    broken
}

/// Whether the callers of a load may have been answered with this: what it brought, or what was of a newer version.
fn brought(world: &World, load: &Birth, birth: &Birth) -> bool {
    load.place == birth.place || world.may_yield(load, birth)
}

/// L8: the value names the key it was asked under; F1: its age is what the test's own clock says.
///
/// A value that was confirmed has an age of each birth; those that fit.
fn named<'a>(world: &'a World, key: u64, answer: &Answer<Row>, kept: Duration) -> Result<Vec<&'a Birth>, String> {
    let told = Answer::age(answer);
    let of_age = |birth: &&Birth| {
        let age = birth.ended.map(|(_, at)| at.elapsed() + birth.terms.source_age);
        age.is_some_and(|age| told <= age && told + kept >= age)
    };
    let mut births: Vec<_> = world.rows_of(answer.birth).collect();
    if answer.key != key || births.is_empty() || births[0].key != key {
        return Err(format!("L8: key {key} was answered with {births:?}"));
    }
    let ages: Vec<_> = births.iter().map(|birth| (birth.ended.map(|(_, at)| at.elapsed()), birth.place)).collect();
    births.retain(of_age);
    if births.is_empty() { Err(format!("F1: a value of {ages:?} is not of this age")) } else { Ok(births) }
}

/// L5: no value whose load began before the last change of its key, or of one of its tags.
fn newer(world: &World, birth: &Birth, asked: u64) -> Result<(), String> {
    if birth.began < world.changed(birth, asked) {
        return Err(format!("L5: the value is older than a change of its key: {birth:?}"));
    }
    Ok(())
}

/// L4, F1, F2: the outcome's word fits the age, and no age is beyond its bound. L5: it was right to store it.
fn in_time(world: &World, birth: &Birth, answer: &Answer<Row>, (at, asked): (At, u64)) -> Result<(), String> {
    let (age, outcome) = (Answer::age(answer), Answer::outcome(answer));
    if outcome == Outcome::Hit && world.marked_between(birth.key, birth.began, asked) {
        return Err(format!("W2: it was marked stale: {birth:?}"));
    }
    // Marked while its flight flew, or later, it is stale from then on.
    let marked = world.marked_between(birth.key, world.opened(birth), u64::MAX);
    let within = |[fresh, hard, last]: Bounds| {
        // Jitter moves every bound towards the birth by the same part of freshness.
        let cut = world.cut(birth);
        let (from, until) = match outcome {
            Outcome::Hit => (Duration::ZERO, fresh),
            Outcome::Stale if marked => (Duration::ZERO, hard),
            Outcome::Stale => (fresh.saturating_sub(cut), hard),
            _ => (hard.saturating_sub(cut), last),
        };
        // A nanosecond for rounding.
        age + Duration::from_nanos(1) >= from && age < until
    };
    let answered = birth.ended.map(|(_, ended)| ended + age.saturating_sub(birth.terms.source_age));
    let in_force = match (at, answered) {
        // By the bounds of the moment in which the batch took its answer.
        (At::Batch, Some(answered)) => world.bounds_at(birth, answered).any(within),
        _ => within(world.bounds(birth)),
    };
    if !in_force || !World::kept(birth) {
        return Err(format!("L4: {age:?} is not within {:?}: {birth:?}", world.bounds(birth)));
    }
    if let Some(newer) = world.overtaker(birth) {
        return Err(format!("L5: {birth:?} was stored over {newer:?}"));
    }
    match world.refused_for(birth) {
        Some(newer) => Err(format!("W1: {birth:?} was stored over a newer version: {newer:?}")),
        None => Ok(()),
    }
}

/// L1: a coalesced answer comes from another caller's load that ended while this one waited.
fn waited_for(load: &Birth, tag: usize, asked: &Asked) -> bool {
    let waited = load.ended.is_some_and(|(ended, _)| ended > asked.seq);
    load.opener.is_some() && load.opener != Some(tag) && waited
}

/// An answer without a value names no outcome: the record has to know.
fn absence(world: &World, tag: usize, at: At) -> Result<Option<Outcome>, String> {
    let asked = &world.asks[tag];
    let absences = world.births.iter().filter(|birth| birth.key == asked.key && birth.came == Came::Absence);
    let loads = |absence| world.births.iter().filter(move |load| brought(world, load, absence));
    if absences.clone().any(|absence| loads(absence).any(|load| load.opener == Some(tag))) {
        return Ok(Some(Outcome::Loaded));
    }
    let joined = absences.clone().any(|absence| {
        newer(world, absence, asked.seq).is_ok() && loads(absence).any(|load| waited_for(load, tag, asked))
    });
    let found = absences.clone().any(|birth| remembered(world, birth, (asked.seq, asked.at)));
    // B1: so does a key of a batch that had no room for its load at first.
    let again = (at == At::Batch || !world.tagged.is_empty())
        && absences.clone().any(|birth| seen_again(world, birth, asked, at));
    match (at, found, joined, again) {
        (At::First, true, ..) | (At::Batch, true, false, _) | (At::Later | At::Batch, false, false, true) => {
            Ok(Some(Outcome::Negative))
        }
        (At::Later, _, true, false) | (At::Batch, false, true, false) => Ok(Some(Outcome::Coalesced)),
        (At::Batch, true, true, _) | (At::Later | At::Batch, _, true, true) => Ok(None),
        _ => Err("L4, L5: nobody said that there is no such thing".to_owned()),
    }
}

/// Whether an absence may have been answered from the store to a caller who looked at a moment.
fn remembered(world: &World, birth: &Birth, (seq, at): (u64, Instant)) -> bool {
    let Some((_, ended)) = birth.ended.filter(|(ended, _)| *ended < seq) else { return false };
    let age = at.duration_since(ended) + birth.terms.source_age;
    newer(world, birth, seq).is_ok() && World::kept(birth) && age < world.bounds(birth)[0]
}

/// W2: whoever waited for what turned out to be outdated looks into the store a second time: a single caller now, a
/// batch at some moment since it asked.
fn seen_again(world: &World, birth: &Birth, asked: &Asked, at: At) -> bool {
    let Some((_, ended)) = birth.ended else { return false };
    match at {
        At::First => false,
        At::Later => remembered(world, birth, (u64::MAX, Instant::now())),
        At::Batch => {
            let age = asked.at.max(ended).duration_since(ended) + birth.terms.source_age;
            newer(world, birth, asked.seq).is_ok() && World::kept(birth) && age < world.bounds(birth)[0]
        }
    }
}

fn failure(world: &World, tag: usize, error: &GetError<Down>) -> Result<Outcome, String> {
    if world.setup.fallback.covers(world.asks[tag].key) {
        return Err("A6: an error, though there is a degraded value".to_owned());
    }
    refused(world, tag, error)
}

/// The outcome of an error, if it is a lawful one; whether the caller gets it or what stands in for it.
pub(super) fn refused(world: &World, tag: usize, error: &GetError<Down>) -> Result<Outcome, String> {
    let asked = &world.asks[tag];
    match error {
        GetError::Failed(failure) => failed(world, tag, failure),
        GetError::Cooling { last, retry_in } => cooling(world, asked, last, *retry_in),
        GetError::Rejected { reason, .. } => rejected(world, asked, *reason),
        GetError::WaitTimeout { limit } if asked.wait == Some(*limit) && asked.at.elapsed() >= *limit => Ok(()),
        GetError::WaitTimeout { .. } => Err("S4: not this caller's limit".to_owned()),
        GetError::Closed if world.closed.is_some() => Ok(()),
        GetError::Closed => Err("X1: nobody shut the cache down".to_owned()),
        _ => Err("S5: no load asks for its own key here".to_owned()),
    }?;
    Ok(error.outcome())
}

/// E1: a failure is that of a load that this caller opened or waited for.
fn failed(world: &World, tag: usize, failure: &Failure<Down>) -> Result<(), String> {
    let asked = &world.asks[tag];
    let (origin, deadline) = (world.setup.origin_timeout, world.setup.flight_deadline);
    let birth = match failure {
        Failure::Origin(_) | Failure::Panicked { .. } => cause(world, asked.key, failure)?,
        Failure::Contract { what } => breach(world, tag, breached(what)?)?,
        Failure::OriginTimeout { limit } | Failure::Deadline { limit } => {
            let right = if matches!(failure, Failure::Deadline { .. }) { deadline } else { origin };
            // Whoever joins waits for less than the limit; the one who opened the flight for all of it.
            return if *limit == right { Ok(()) } else { Err("S7: not the limit that was set".to_owned()) };
        }
        _ => return Err("S8: the runtime has not ended".to_owned()),
    };
    let own = birth.opener == Some(tag);
    if own || (newer(world, birth, asked.seq).is_ok() && waited_for(birth, tag, asked)) {
        return Ok(());
    }
    Err(format!("E1: this caller had no part in {birth:?}"))
}

/// Which breach of the loader's contract an error tells of.
fn breached(what: &str) -> Result<Came, String> {
    if what.contains("left this key out") {
        Ok(Came::LeftOut)
    } else if what.contains("not modified") {
        Ok(Came::Nonsense)
    } else {
        Err(format!("no load breaks its contract so: {what}"))
    }
}

/// A4, B1: the load of this caller's, or one that it waited for, which broke its contract.
fn breach(world: &World, tag: usize, came: Came) -> Result<&Birth, String> {
    let asked = &world.asks[tag];
    let mut broken = world.births.iter().filter(|birth| birth.key == asked.key && birth.came == came);
    let joined = |birth: &Birth| newer(world, birth, asked.seq).is_ok() && waited_for(birth, tag, asked);
    let had_part = |birth: &&Birth| birth.opener == Some(tag) || joined(birth);
    broken.find(had_part).ok_or_else(|| format!("B1, A4: no load of this caller's ended as {came:?}"))
}

/// The load that a failure tells of.
fn cause<'a>(world: &'a World, key: u64, failure: &Failure<Down>) -> Result<&'a Birth, String> {
    // B1: what failed a batch is told of its call, and to each of its keys.
    let mut of_key = world.births.iter().filter(|birth| birth.key == key);
    let found = match failure {
        Failure::Origin(error) => of_key.find(|birth| birth.call == error.0.birth && birth.came == Came::Error),
        Failure::Panicked { message } => {
            of_key.find(|birth| panic_text(birth.call) == **message && birth.came == Came::Panic)
        }
        Failure::Contract { what } => {
            let came = breached(what)?;
            of_key.filter(|birth| birth.came == came).max_by_key(|birth| birth.ended.map(|(seq, _)| seq))
        }
        _ => None,
    };
    found.ok_or_else(|| "L8: no load of this key failed so".to_owned())
}

/// E1: the key cools after a failure that still stands, within its window.
fn cooling(world: &World, asked: &Asked, last: &Failure<Down>, retry_in: Duration) -> Result<(), String> {
    let most = world.setup.cooling.1 + Duration::from_nanos(1);
    if retry_in.is_zero() || retry_in > most {
        return Err(format!("E1: the window is {most:?} at most"));
    }
    if matches!(last, Failure::OriginTimeout { .. } | Failure::Deadline { .. }) {
        return Ok(());
    }
    let birth = cause(world, asked.key, last)?;
    let stands = |birth: &Birth| {
        birth.ended.is_some_and(|(_, at)| asked.at < at + most) && newer(world, birth, asked.seq).is_ok()
    };
    // A breach of contract does not say which load it was: one that was superseded may have ended later.
    let same =
        |other: &&Birth| matches!(last, Failure::Contract { .. }) && other.key == birth.key && other.came == birth.came;
    if stands(birth) || world.births.iter().filter(same).any(stands) {
        Ok(())
    } else {
        Err(format!("E1: this failure is over: {birth:?}"))
    }
}

/// G1, S6: a refusal has its exact reason.
fn rejected(world: &World, asked: &Asked, reason: RejectReason) -> Result<(), String> {
    let others = world.asks.len() - 1;
    let right = match reason {
        RejectReason::WaitersFull => others >= world.setup.max_waiters,
        RejectReason::FlightsFull => others >= world.setup.max_flights,
        RejectReason::Deadline => world.setup.queue_timeout > Duration::ZERO,
        RejectReason::GroupShare => world.setup.group_share.is_some() && others >= 1,
        RejectReason::QueueTimeout => world.setup.queue_timeout <= world.setup.flight_deadline,
        RejectReason::QueueFull | RejectReason::OriginDown => turned_away(world, reason).is_ok(),
    };
    if right { Ok(()) } else { Err(format!("G1: {reason} is not the reason: {asked:?}")) }
}

/// G1, G5: the same for a query that bypasses the cache.
pub(super) fn turned_away(world: &World, reason: RejectReason) -> Result<(), String> {
    let (setup, outside) = (&world.setup, &world.outside);
    let others = (world.asks.len() + outside.asked).saturating_sub(1);
    let right = match reason {
        RejectReason::QueueFull => others >= setup.permits + setup.queue,
        // It has no deadline that could come first.
        RejectReason::QueueTimeout => others >= setup.permits,
        RejectReason::OriginDown => setup.fail_fast.is_some_and(|least| may_be_down(world, least)),
        RejectReason::WaitersFull | RejectReason::FlightsFull | RejectReason::Deadline | RejectReason::GroupShare => {
            false
        }
    };
    if right { Ok(()) } else { Err(format!("G1: {reason} is not the reason")) }
}

/// G5: whether so many loads have ended, or those that failed held half of the permits for a whole window.
fn may_be_down(world: &World, least: u64) -> bool {
    let outside = &world.outside;
    let many = world.births.len() as u64 + outside.told >= least;
    let lasted = |birth: &Birth| birth.ended.map_or_else(Instant::now, |(_, at)| at) - birth.began_at;
    let lost = world.births.iter().map(lasted).sum::<Duration>() + outside.lost;
    // The window is seen in tenths, and its first may have begun before.
    let permits = u32::try_from(world.setup.permits).unwrap_or(u32::MAX);
    let much = (FAIL_FAST_WINDOW * permits / 2).max(FAIL_FAST_WINDOW * 9 / 10);
    many || lost >= much
}
