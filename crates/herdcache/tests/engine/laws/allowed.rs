//! Whether a load might begin, beside those that run: L2, L3, E1, X1.

use herdcache::WhenUnwatched;
use herdcache::herdfeed::Measure;
use tokio::time::Instant;

use super::world::{Asked, Birth, Order, State, Who, World};

/// Whether this load might begin now, beside those that run.
pub(super) fn may_begin(world: &World, place: usize) -> Result<(), String> {
    let birth = &world.births[place];
    let opened = world.opened(birth);
    if world.under(birth, Measure::Permits) {
        let running = World::calls(world.running().filter(|other| world.under(other, Measure::Permits)));
        let (held, permits) = (world.outside.held, world.setup.permits);
        if running + held > permits {
            return Err(format!("L3: {running} origin calls and {held} queries under {permits} permits"));
        }
    }
    if world.under(birth, Measure::SingleFlight) {
        one_flight(world, place)?;
    }
    if world.order == Order::Rough {
        return Ok(());
    }
    if world.closed.is_some_and(|closed| opened > closed) {
        return Err(format!("X1: a load began for a flight that opened after the shutdown: {birth:?}"));
    }
    warm_enough(world, birth, opened)
}

/// L2: one load of a key that nothing has overtaken, two in all.
fn one_flight(world: &World, place: usize) -> Result<(), String> {
    let key = world.births[place].key;
    let loads: Vec<&Birth> =
        world.running().filter(|load| load.key == key && world.under(load, Measure::SingleFlight)).collect();
    let current = |load: &&&Birth| {
        let superseded = world.doomed(load, u64::MAX).is_some() || outrun(world, load);
        !superseded && !overran(world, load) && !given_up(world, load, place)
    };
    let current = loads.iter().filter(current).count();
    if loads.len() > 2 || (current > 1 && world.order == Order::Known) {
        return Err(format!("L2: {} loads of a key, {current} of them current: {loads:#?}", loads.len()));
    }
    Ok(())
}

/// L5: whether a load that began later may have been stored: only without single-flight.
fn outrun(world: &World, load: &Birth) -> bool {
    let later = |other: &Birth| other.key == load.key && other.began > load.began && other.came.is_answer();
    world.ever_off.contains(&Measure::SingleFlight) && world.births.iter().any(later)
}

/// Whether the load's flight has passed a limit by now.
fn overran(world: &World, load: &Birth) -> bool {
    let now = Instant::now();
    now >= load.began_at + world.setup.origin_timeout || now >= world.opened_at(load) + world.setup.flight_deadline
}

/// S1: whether nobody waits for the load any more, and the cache gives it up then.
fn given_up(world: &World, load: &Birth, newest: usize) -> bool {
    let (opened, newest) = (world.opened(load), world.opened(&world.births[newest]));
    let waits = |asked: &Asked| {
        let alone = matches!(asked.who, Who::Caller(_));
        alone && asked.key == load.key && asked.state == State::Running && asked.seq >= opened && asked.seq < newest
    };
    world.setup.when_unwatched == WhenUnwatched::Abandon && opened < newest && !world.asks.iter().any(waits)
}

/// E1: no flight opens while its key cools after a failure that still stands.
fn warm_enough(world: &World, birth: &Birth, opened: u64) -> Result<(), String> {
    // Few flights mean few places for cooling keys, of which one may be forgotten for another.
    // And when a warm-up opened the flight is not known.
    let warmer = birth.opener.is_some_and(|tag| world.asks[tag].who == Who::Warmer);
    if world.ever_off.contains(&Measure::SingleFlight) || world.setup.max_flights < 1_000 || warmer {
        return Ok(());
    }
    let last = world.births.iter().filter(|other| other.key == birth.key && other.opener.is_some()).filter(|other| {
        let before = other.ended.is_some_and(|(seq, _)| seq < opened);
        before && world.doomed(other, opened).is_none()
    });
    let Some(last) = last.max_by_key(|other| other.ended.map(|(seq, _)| seq)) else { return Ok(()) };
    let Some((_, failed_at)) = last.ended.filter(|_| last.came.is_failure()) else { return Ok(()) };
    // B1: a key of a batch for which there was no room at first opens its flight when there is.
    let in_batch = birth.opener.is_some_and(|tag| matches!(world.asks[tag].who, Who::Member(_)));
    let opened_at = if in_batch { birth.began_at } else { world.opened_at(birth) };
    if opened_at < failed_at + world.setup.cooling.0 {
        return Err(format!("E1: a flight was opened while its key cooled: {birth:#?} after {last:#?}"));
    }
    Ok(())
}
