//! What an answer must be, by the record.

use std::time::Duration;

use herdcache::herdfeed::Tier;
use herdcache::{Answer, Failure, GetError, Got, Outcome};

use super::steps::{Health, KEYS};
use super::world::{Due, Shared, World};
use crate::support::{DbError, ms};

/// How long values are fresh, stale and in reserve.
pub(super) const FRESH: Duration = ms(300);
pub(super) const STALE: Duration = ms(300);
pub(super) const RESERVE: Duration = ms(900);
/// The longest that one operation of the tier may take.
pub(super) const OPERATION: Duration = ms(50);

/// A caller has been answered, perhaps some time ago, as happens to parts of a batch.
pub(super) fn told(
    world: &Shared,
    (process, key): (usize, usize),
    (due, lag): (Due, Duration),
    got: &Got<u64, DbError>,
) {
    let mut world = world.lock();
    let due = world.still(due, key);
    let outcome = match got {
        Ok(Some(answer)) => {
            world.reached.answers += 1;
            answered(&mut world, (process, key), (due, lag), answer);
            Answer::outcome(answer)
        }
        Ok(None) => {
            world.broken.push(format!("L8: key {key} is there, and was told to be absent"));
            return;
        }
        Err(error) => {
            world.reached.errors += 1;
            failed(&mut world, (process, key), error);
            error.outcome()
        }
    };
    world.outcomes[process][outcome] += 1;
}

fn answered(world: &mut World, (process, key): (usize, usize), (due, lag): (Due, Duration), answer: &Answer<u64>) {
    let (value, outcome, tier) = (**answer, Answer::outcome(answer), Answer::tier(answer));
    let what = || format!("process {process}, key {key}: {value} as {outcome:?} of {tier:?}, due {due:?}");
    if value % KEYS as u64 != key as u64 {
        world.broken.push(format!("L8: another key's value: {}", what()));
        return;
    }
    if value < due.own {
        world.broken.push(format!("L5: older than this process's last change: {}", what()));
    }
    // Who opened the flight, and found this in the tier.
    if tier == Tier::Shared && outcome == Outcome::Hit && value < due.all {
        world.broken.push(format!("L5: older than a change that the tier had confirmed: {}", what()));
    }
    let bound = match outcome {
        Outcome::Reserve => FRESH + RESERVE,
        Outcome::Hit => FRESH,
        // Stale; and what was loaded for somebody is answered however old the source says it is.
        _ => FRESH + STALE,
    };
    // On the way to the tier and from it nothing ages.
    let slack = lag + if world.was_slow { OPERATION * 2 } else { Duration::ZERO };
    match world.age(value) {
        None => world.broken.push(format!("L5: nobody has brought this: {}", what())),
        Some(age) if age > bound + slack => world.broken.push(format!("L4: {age:?} old: {}", what())),
        Some(age) if Answer::age(answer) + slack < age => {
            let told = Answer::age(answer);
            world.broken.push(format!("L4, T2: {age:?} old, told as {told:?}: {}", what()));
        }
        Some(_) => {}
    }
    world.reached.by_the_tier += u64::from(tier == Tier::Shared);
    world.reached.stale += u64::from(outcome == Outcome::Stale);
    world.reached.reserve += u64::from(outcome == Outcome::Reserve);
}

/// T4: where nothing is wrong, nothing fails but for want of room, or of time where others load anew again and again.
fn failed(world: &mut World, (process, key): (usize, usize), error: &GetError<DbError>) {
    let room = matches!(error, GetError::Rejected { .. });
    let late = matches!(error, GetError::Failed(Failure::Deadline { .. }));
    let excused = room || (late && world.was_changed_again_and_again(key));
    if world.setup.tier == Health::Sound && !excused {
        world.broken.push(format!("process {process}, key {key}: {error:?}, and nothing is wrong"));
    }
}
