//! One answer against the record: is this what this caller may get at this moment (L1, L4, L5, L8)?
//!
//! Each judgement also says under which outcome the request must stand in the account.

use std::time::Duration;

use herdcache::herdfeed::Measure;
use herdcache::{Answer, Failure, GetError, Got, Outcome, RejectReason};

use super::load::{Down, Row, panic_text};
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
    let birth = named(world, key, answer, Duration::ZERO)?;
    in_time(world, birth, answer)?;
    newer(birth, world.last_change(key))
}

fn value(world: &World, tag: usize, answer: &Answer<Row>, at: At) -> Result<Outcome, String> {
    let asked = &world.asks[tag];
    // A batch keeps its answers until its end.
    let kept = if at == At::Batch { asked.at.elapsed() } else { Duration::ZERO };
    let birth = named(world, asked.key, answer, kept)?;
    newer(birth, asked.changed)?;
    let outcome = Answer::outcome(answer);
    match outcome {
        Outcome::Loaded if birth.opener != Some(tag) => Err("L1: loaded by another's flight".to_owned()),
        Outcome::Coalesced => waited_for(birth, tag, asked),
        Outcome::Loaded => Ok(()),
        Outcome::Stale | Outcome::Reserve if asked.off.contains(&Measure::Stale) => {
            Err("O1: stale values were off when it began".to_owned())
        }
        Outcome::Hit | Outcome::Stale | Outcome::Reserve => in_time(world, birth, answer),
        other => Err(format!("L1: a value cannot be {other}")),
    }?;
    Ok(outcome)
}

/// L8: the value names the key it was asked under; F1: its age is what the test's own clock says.
fn named<'a>(world: &'a World, key: u64, answer: &Answer<Row>, kept: Duration) -> Result<&'a Birth, String> {
    let birth = &world.births[answer.birth];
    if answer.key != key || birth.key != key || birth.came != Came::Value {
        return Err(format!("L8: key {key} was answered with {birth:?}"));
    }
    let age = birth.ended.map(|(_, at)| at.elapsed());
    let told = Answer::age(answer);
    if age.is_none_or(|age| told > age || told + kept < age) {
        return Err(format!("F1: the value is {age:?} old: {birth:?}"));
    }
    Ok(birth)
}

/// L5: no value whose load began before the last change of its key.
fn newer(birth: &Birth, changed: u64) -> Result<(), String> {
    if birth.began < changed {
        return Err(format!("L5: the value is older than a change of its key: {birth:?}"));
    }
    Ok(())
}

/// L4, F1, F2: the outcome's word fits the age, and no age is beyond its bound. L5: it was right to store it.
fn in_time(world: &World, birth: &Birth, answer: &Answer<Row>) -> Result<(), String> {
    let [fresh, hard, last] = world.bounds(birth);
    // Jitter moves every bound towards the birth by the same part of freshness.
    let cut = if birth.terms.fresh_for == Some(Duration::ZERO) { fresh } else { fresh.mul_f64(world.setup.jitter) };
    let (from, until) = match Answer::outcome(answer) {
        Outcome::Hit => (Duration::ZERO, fresh),
        Outcome::Stale => (fresh.saturating_sub(cut), hard),
        _ => (hard.saturating_sub(cut), last),
    };
    let age = Answer::age(answer);
    // A nanosecond for rounding.
    if age + Duration::from_nanos(1) < from || age >= until || !World::kept(birth) {
        return Err(format!("L4: {age:?} is not within {from:?} and {until:?}: {birth:?}"));
    }
    match world.overtaker(birth) {
        Some(newer) => Err(format!("L5: {birth:?} was stored over {newer:?}")),
        None => Ok(()),
    }
}

/// L1: a coalesced answer comes from another caller's load that ended while this one waited.
fn waited_for(birth: &Birth, tag: usize, asked: &Asked) -> Result<(), String> {
    let waited = birth.ended.is_some_and(|(ended, _)| ended > asked.seq);
    if birth.opener.is_none() || birth.opener == Some(tag) || !waited {
        return Err(format!("L1: this caller cannot have joined {birth:?}"));
    }
    Ok(())
}

/// An answer without a value names no outcome: the record has to know.
fn absence(world: &World, tag: usize, at: At) -> Result<Option<Outcome>, String> {
    let asked = &world.asks[tag];
    let absences = world.births.iter().filter(|birth| birth.key == asked.key && birth.came == Came::Absence);
    if absences.clone().any(|birth| birth.opener == Some(tag) && world.asks[tag].seq < birth.began) {
        return Ok(Some(Outcome::Loaded));
    }
    let found = absences.clone().any(|birth| remembered(world, birth, asked));
    let joined =
        absences.clone().any(|birth| newer(birth, asked.changed).is_ok() && waited_for(birth, tag, asked).is_ok());
    match (at, found, joined) {
        (At::First, true, _) | (At::Batch, true, false) => Ok(Some(Outcome::Negative)),
        (At::Later, _, true) | (At::Batch, false, true) => Ok(Some(Outcome::Coalesced)),
        (At::Batch, true, true) => Ok(None),
        _ => Err("L4, L5: nobody said that there is no such thing".to_owned()),
    }
}

/// Whether an absence may have been answered from the store when the caller came.
fn remembered(world: &World, birth: &Birth, asked: &Asked) -> bool {
    let Some((_, ended)) = birth.ended.filter(|(seq, _)| *seq < asked.seq) else { return false };
    let age = asked.at.duration_since(ended);
    newer(birth, asked.changed).is_ok() && World::kept(birth) && age < world.bounds(birth)[0]
}

fn failure(world: &World, tag: usize, error: &GetError<Down>) -> Result<Outcome, String> {
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
        Failure::Contract { what } if what.contains("left this key out") => left_out(world, tag)?,
        Failure::OriginTimeout { limit } | Failure::Deadline { limit } => {
            let right = if matches!(failure, Failure::Deadline { .. }) { deadline } else { origin };
            // Whoever joins waits for less than the limit; the one who opened the flight for all of it.
            return if *limit == right { Ok(()) } else { Err("S7: not the limit that was set".to_owned()) };
        }
        _ => return Err("S8: the runtime has not ended".to_owned()),
    };
    let own = birth.opener == Some(tag);
    if own || (newer(birth, asked.changed).is_ok() && waited_for(birth, tag, asked).is_ok()) {
        return Ok(());
    }
    Err(format!("E1: this caller had no part in {birth:?}"))
}

/// B1: the load of this caller's, or one that it waited for, which a batch's reply left out.
fn left_out(world: &World, tag: usize) -> Result<&Birth, String> {
    let asked = &world.asks[tag];
    let mut left = world.births.iter().filter(|birth| birth.key == asked.key && birth.came == Came::LeftOut);
    let joined = |birth: &Birth| newer(birth, asked.changed).is_ok() && waited_for(birth, tag, asked).is_ok();
    let had_part = |birth: &&Birth| birth.opener == Some(tag) || joined(birth);
    left.find(had_part).ok_or_else(|| "B1: no reply left this key out".to_owned())
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
        Failure::Contract { .. } => {
            let left = of_key.filter(|birth| birth.came == Came::LeftOut);
            left.max_by_key(|birth| birth.ended.map(|(seq, _)| seq))
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
    let stands = birth.ended.is_some_and(|(_, at)| asked.at < at + most) && newer(birth, asked.changed).is_ok();
    if stands { Ok(()) } else { Err(format!("E1: this failure is over: {birth:?}")) }
}

/// G1, S6: a refusal has its exact reason.
fn rejected(world: &World, asked: &Asked, reason: RejectReason) -> Result<(), String> {
    let others = world.asks.len() - 1;
    let right = match reason {
        RejectReason::WaitersFull => others >= world.setup.max_waiters,
        RejectReason::FlightsFull => others >= world.setup.max_flights,
        RejectReason::QueueFull => others >= world.setup.permits + world.setup.queue,
        RejectReason::QueueTimeout => world.setup.queue_timeout <= world.setup.flight_deadline,
        RejectReason::Deadline => world.setup.queue_timeout > Duration::ZERO,
        RejectReason::GroupShare => world.setup.group_share.is_some() && others >= 1,
        RejectReason::OriginDown => world.setup.fail_fast.is_some_and(|failures| world.births.len() as u64 >= failures),
    };
    if right { Ok(()) } else { Err(format!("G1: {reason} is not the reason: {asked:?}")) }
}
