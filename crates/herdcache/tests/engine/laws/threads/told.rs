//! What holds whatever the order of things was: of one answer, and of the account when all is over.

use std::fmt::Debug;
use std::time::Duration;

use herdcache::herdfeed::{CacheSnapshot, Measure};
use herdcache::{Answer, GetError, Got, Outcome};

use crate::laws::check::Account;
use crate::laws::load::{DEGRADED, Down, Row};
use crate::laws::world::{Birth, Came, World};

/// The outcome of an answer, if it is a lawful one and if it names it.
pub(super) fn judge(world: &World, tag: usize, got: &Got<Row, Down>) -> Result<Option<Outcome>, String> {
    let asked = &world.asks[tag];
    let judged = match got {
        Ok(Some(answer)) => answered(world, tag, answer).map(|()| Some(Answer::outcome(answer))),
        Ok(None) => absent(world, tag).map(|()| None),
        Err(GetError::Closed) if world.closed.is_none() => Err("X1: nobody shut the cache down".to_owned()),
        Err(GetError::Reentrant) => Err("S5: no load asks for its own key here".to_owned()),
        Err(_) if world.setup.fallback.covers(asked.key) => Err("A6: an error, though there is a fallback".to_owned()),
        Err(error) => Ok(Some(error.outcome())),
    };
    judged.map_err(|broken| format!("{broken}\n  answer {got:?}\n  at {:?} to {asked:?}", asked.at.elapsed()))
}

fn answered(world: &World, tag: usize, answer: &Answer<Row>) -> Result<(), String> {
    let asked = &world.asks[tag];
    let outcome = Answer::outcome(answer);
    if outcome == Outcome::Fallback {
        let right = world.setup.fallback.covers(asked.key) && **answer == Row { key: asked.key, birth: DEGRADED };
        return if right { Ok(()) } else { Err("A6: not the degraded value".to_owned()) };
    }
    if matches!(outcome, Outcome::Stale | Outcome::Reserve) && asked.off.contains(&Measure::Stale) {
        return Err("O1: stale values are off".to_owned());
    }
    value(world, (asked.key, asked.seq), answer)?;
    let loads = || {
        let own = |load: &&Birth| load.opener == Some(tag);
        let brought = |load: &&Birth| world.rows_of(answer.birth).any(|birth| brought(world, load, birth));
        world.births.iter().filter(brought).partition::<Vec<_>, _>(own)
    };
    let right = match outcome {
        Outcome::Loaded => !loads().0.is_empty(),
        Outcome::Coalesced => loads().1.iter().any(|load| load.opener.is_some()),
        _ => true,
    };
    if right { Ok(()) } else { Err(format!("L1: {outcome} by no such load")) }
}

fn brought(world: &World, load: &Birth, birth: &Birth) -> bool {
    load.place == birth.place || world.may_yield(load, birth)
}

/// L4, L5, L8: a value of the key that was looked for at a moment, no older than what had changed by then.
pub(super) fn value(world: &World, (key, asked): (u64, u64), answer: &Answer<Row>) -> Result<(), String> {
    let (age, outcome) = (Answer::age(answer), Answer::outcome(answer));
    let births: Vec<_> = world.rows_of(answer.birth).collect();
    if answer.key != key || births.is_empty() || births[0].key != key {
        return Err(format!("L8: key {key} was answered with {births:?}"));
    }
    // Of a value that was confirmed, one of its births must fit.
    let right = |birth: &&Birth| {
        let most = birth.ended.map_or(Duration::ZERO, |(_, at)| at.elapsed() + birth.terms.source_age);
        let bound = match outcome {
            Outcome::Hit => world.widest(birth)[0],
            Outcome::Stale => world.widest(birth)[1],
            Outcome::Reserve => world.widest(birth)[2],
            _ => Duration::MAX,
        };
        let stored = World::kept(birth) || bound == Duration::MAX;
        world.since(birth) >= world.changed(birth, asked) && age <= most && age < bound && stored
    };
    if births.iter().any(right) {
        return Ok(());
    }
    let changed: Vec<_> = births.iter().map(|birth| (birth.began, world.changed(birth, asked))).collect();
    Err(format!("L4, L5: {outcome} of age {age:?} fits no birth of it, began and changed {changed:?}: {births:?}"))
}

/// L5: somebody has said that there is no such thing, and not before the last change.
fn absent(world: &World, tag: usize) -> Result<(), String> {
    let asked = &world.asks[tag];
    let fits = |birth: &Birth| {
        birth.key == asked.key && birth.came == Came::Absence && world.since(birth) >= world.changed(birth, asked.seq)
    };
    if world.births.iter().any(fits) { Ok(()) } else { Err("L5: nobody said that there is no such thing".to_owned()) }
}

/// L1: no request and no call is missing from any look, whatever happens meanwhile.
pub(super) fn always(cache: &CacheSnapshot) -> Result<(), String> {
    same("L1 requests of one look", &cache.begun, &(cache.outcomes.total() + cache.active))?;
    same("L1 calls of one look", &cache.origin_calls, &(cache.origin_results.total() + cache.origin_active))?;
    if cache.origin_abandoned <= cache.origin_active { Ok(()) } else { Err("S7: more abandoned than run".to_owned()) }
}

/// L6: nothing runs.
pub(super) fn quiet(world: &World, account: &Account) -> Result<(), String> {
    let (cache, gate) = (&account.cache, &account.gate);
    let gauges = [cache.active, cache.waiting, cache.flights_active, cache.flights_unwatched, cache.origin_active];
    same("L6 gauges", &[0; 5], &gauges)?;
    same("L6 abandoned, permits out, queue", &[0; 3], &[cache.origin_abandoned, gate.used(), gate.pending])?;
    same("L6 running loads", &0, &world.running().count())?;
    same("L3 run-time check", &0, &gate.law_violations)?;
    let warmup = &cache.warmup;
    same("L6 warm-ups", &[0; 3], &[warmup.running, warmup.width, warmup.left])?;
    same("L1 flights", &cache.flight_starts.total(), &cache.flights.total())
}

/// L1, L7: every request, flight and call is told once; the run-time checks found nothing.
pub(super) fn ledger(world: &World, cache: &CacheSnapshot) -> Result<(), String> {
    same("L1 begun", &world.requests, &cache.begun)?;
    same("L1 outcomes in all", &world.requests, &cache.outcomes.total())?;
    same("L1 outcomes that were seen", &world.requests, &(world.outcomes.total() + world.untold))?;
    // An absence does not say by which of three words it stands in the account.
    for (outcome, seen) in world.outcomes.iter() {
        let unsure = matches!(outcome, Outcome::Loaded | Outcome::Coalesced | Outcome::Negative);
        let told = cache.outcomes[outcome];
        if told < seen || (told > seen && !unsure) {
            return Err(format!("L1 {outcome}: {seen} callers, {told} in the account"));
        }
    }
    same("L1 results", &cache.origin_calls, &cache.origin_results.total())?;
    let (least, perhaps) = world.invalidated;
    if cache.invalidations < least {
        return Err(format!(
            "W2: {least} to {} invalidations, the account has {}",
            least + perhaps,
            cache.invalidations
        ));
    }
    let entries = cache.entries - cache.negatives;
    if entries > world.setup.capacity {
        return Err(format!("L7: {entries} values"));
    }
    same("run-time checks of the laws", &0, &cache.law_violations)
}

fn same<T: PartialEq + Debug>(what: &str, mine: &T, theirs: &T) -> Result<(), String> {
    if mine == theirs { Ok(()) } else { Err(format!("{what}: the test counts {mine:?}, the engine {theirs:?}")) }
}
