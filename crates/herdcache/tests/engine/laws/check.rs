//! The engine's account against the record, after every step and when all is over (L1, L2, L3, L6, L7).

use std::fmt::Debug;

use herdcache::herdfeed::{
    CacheSnapshot, DiscardReason, FlightRole, FlightTrigger, GateSnapshot, Measure, OriginResult, Outcome,
};

use super::reached::Seen;
use super::world::{Birth, Came, Changed, World};

/// What the engine says of itself.
pub(super) struct Account {
    pub(super) cache: CacheSnapshot,
    pub(super) gate: GateSnapshot,
    pub(super) seen: Seen,
}

/// Law `what`, unless `mine` and `theirs` agree.
fn same<T: PartialEq + Debug>(what: &str, mine: &T, theirs: &T) -> Result<(), String> {
    if mine == theirs { Ok(()) } else { Err(format!("{what}: the test counts {mine:?}, the engine {theirs:?}")) }
}

fn at_most(what: &str, value: u64, most: u64) -> Result<(), String> {
    if value <= most { Ok(()) } else { Err(format!("{what}: {value} is more than {most}")) }
}

/// Requests whose callers wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    pub(super) singles: u64,
    pub(super) of_batches: u64,
}

impl Pending {
    fn total(self) -> u64 {
        self.singles + self.of_batches
    }
}

/// What must hold at any moment.
pub(super) fn always(world: &World, account: &Account, pending: Pending) -> Result<(), String> {
    if let Some(fault) = world.faults.first() {
        return Err(fault.clone());
    }
    ledger(world, &account.cache, pending)?;
    flights(world, &account.cache)?;
    caps(world, account)
}

/// L1: every request stands under one outcome, the one that its caller saw.
fn ledger(world: &World, cache: &CacheSnapshot, pending: Pending) -> Result<(), String> {
    // B1: a batch looks keys up when there is room for their loads, and no more once it was dropped.
    at_most("L1 begun", cache.begun, world.requests)?;
    let unasked = world.requests - cache.begun;
    at_most("B1 keys that were not looked up", unasked, pending.of_batches + world.untold)?;
    // A batch answers at its end; its requests end one by one.
    at_most("L1 active", cache.active, pending.total())?;
    at_most("L1 callers of one key", pending.singles, cache.active)?;
    same("L1 waiting", &cache.active, &cache.waiting)?;
    at_most("L1 ended and not told", cache.active + unasked, world.untold + pending.total())?;
    let unseen = world.untold + pending.total() - cache.active - unasked;
    if unseen == 0 {
        same("L1 outcomes", &world.outcomes, &cache.outcomes)?;
    }
    for (outcome, seen) in world.outcomes.iter() {
        at_most("L1 outcomes of callers", seen, cache.outcomes[outcome])?;
    }
    same("L1 outcomes in all", &(world.outcomes.total() + unseen), &cache.outcomes.total())?;
    at_most("L1 misses", world.misses, cache.misses.total())?;
    let misses = world.misses + world.perhaps_misses + world.untold + pending.of_batches;
    at_most("L1 misses", cache.misses.total(), misses)?;
    let (least, perhaps) = world.invalidated;
    at_most("A6, W2 invalidations", cache.invalidations, least + perhaps)?;
    at_most("A6, W2 invalidations", least, cache.invalidations)?;
    let old = cache.outcomes[Outcome::Stale] + cache.outcomes[Outcome::Reserve];
    same("L1 stale serves", &old, &cache.stale_serves.total())?;
    same("run-time checks of the laws", &0, &cache.law_violations)
}

/// L1: every flight is in progress or has ended once.
fn flights(world: &World, cache: &CacheSnapshot) -> Result<(), String> {
    let started = cache.flight_starts.total();
    same("L1 flights", &(started - cache.flights.total()), &cache.flights_active)?;
    let led = cache.flight_starts[FlightTrigger::Miss] + cache.flight_starts[FlightTrigger::Batch];
    same("L1 leaders", &led, &cache.participants[FlightRole::Leader])?;
    at_most("L1 running loads", World::calls(world.running()) as u64, cache.origin_active)?;
    same("L1 origin calls", &(cache.origin_calls - cache.origin_results.total()), &cache.origin_active)?;
    at_most("S7 abandoned", cache.origin_abandoned, cache.origin_active)
}

/// L3, L7: nothing grows beyond what was configured.
fn caps(world: &World, account: &Account) -> Result<(), String> {
    let (cache, gate, setup) = (&account.cache, &account.gate, &world.setup);
    at_most("L7 flights", cache.flights_active, setup.max_flights as u64)?;
    // Whoever opened the flight waits for it too, beside its waiters.
    let most = cache.live.iter().map(|flight| flight.waiters).max().unwrap_or(0);
    at_most("L7 waiters of a flight", most, setup.max_waiters as u64 + 1)?;
    at_most("L7 values", cache.entries - cache.negatives, setup.capacity)?;
    at_most("L7, N1 negative entries", cache.negatives, cache.negative_capacity)?;
    at_most("L7 queue", gate.pending, setup.queue as u64)?;
    at_most("L3 permits", gate.used(), setup.permits as u64)?;
    at_most("L3 permits of queries", world.outside.held as u64, gate.used())?;
    same("L3 run-time check", &0, &gate.law_violations)
}

/// L6: what must hold once nothing runs any more.
pub(super) fn quiet(world: &World, account: &Account) -> Result<(), String> {
    let (cache, gate) = (&account.cache, &account.gate);
    let gauges = [cache.active, cache.waiting, cache.flights_active, cache.flights_unwatched, cache.origin_active];
    same("L6 gauges", &[0; 5], &gauges)?;
    same("L6 abandoned, permits out, queue", &[0; 3], &[cache.origin_abandoned, gate.used(), gate.pending])?;
    same("L6 running loads", &0, &world.running().count())?;
    same("L1 ends", &cache.flight_starts.total(), &cache.flights.total())?;
    same("L1 results", &cache.origin_calls, &cache.origin_results.total())?;
    // One call is told by one word: of what a batch brought, a value first, then a confirmation.
    let calls = |came: &[Came]| {
        let births = world.births.iter().filter(|birth| birth.opener.is_some() && came.contains(&birth.came));
        World::calls(births) as u64
    };
    let values = calls(&[Came::Value]);
    let confirmed = calls(&[Came::Value, Came::Confirmation, Came::Nonsense]);
    let all = calls(&[Came::Value, Came::Confirmation, Came::Nonsense, Came::Absence]);
    let mine = [values, confirmed - values, all - confirmed];
    let results = &cache.origin_results;
    let theirs = [OriginResult::Value, OriginResult::NotModified, OriginResult::Absent].map(|word| results[word]);
    same("L1 calls that brought a value, a confirmation, an absence", &mine, &theirs)?;
    discards(world, cache)
}

/// W1: every load that a change overtook is counted as discarded, under what overtook it first.
fn discards(world: &World, cache: &CacheSnapshot) -> Result<(), String> {
    let overtaken = |by: Changed| {
        let doomed = |birth: &&Birth| {
            let ended = birth.ended.map_or(0, |(seq, _)| seq);
            let by_name = world.change_between(birth.key, birth.began, ended) == Some(by);
            // A tag is looked at where no change of the key has decided already.
            let by_tag = by == Changed::Invalidated && world.cut_between(birth, birth.began, ended);
            by_name || (by_tag && world.change_between(birth.key, birth.began, ended).is_none())
        };
        brought(world).filter(doomed).count() as u64
    };
    let mine = [overtaken(Changed::Invalidated), overtaken(Changed::Written)];
    let theirs = [cache.discards[DiscardReason::Invalidated], cache.discards[DiscardReason::NewerWrite]];
    // A change before the load began dooms a flight in the queue and none that is held back (L2). A change that is not
    // certain may have doomed it. And without single-flight, loads overtake each other.
    let unsure = brought(world).any(|birth| {
        let (opened, ended) = (world.opened(birth), birth.ended.map_or(0, |(seq, _)| seq));
        let early = world.doomed(birth, birth.began).is_some() || world.cut_between(birth, opened, birth.began);
        early || world.perhaps_between(birth.key, opened, ended)
    });
    if unsure || world.ever_off.contains(&Measure::SingleFlight) {
        return at_most("W1 discarded", mine.iter().sum(), theirs.iter().sum());
    }
    same("W1 invalidated, newer write", &mine, &theirs)
}

/// Loads that brought an answer.
fn brought(world: &World) -> impl Iterator<Item = &Birth> {
    world.births.iter().filter(|birth| birth.came.is_answer() && birth.opener.is_some())
}
