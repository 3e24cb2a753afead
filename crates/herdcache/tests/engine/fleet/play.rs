//! Plays a history, and judges what is left of it.

use std::sync::Arc;
use std::time::Duration;

use herdcache::herdfeed::{CircuitState, FlightEnd, SharedWrite};
use herdcache::{
    Cache, Fault, Gate, MemoryTier, Outcome, Reach, ReadThrough, Shared, Spread, Ttl, WhenUnwatched, WriteFailure,
};
use parking_lot::Mutex;
use tokio::task::{JoinHandle, yield_now};
use tokio::time::{Instant, sleep};

use super::judge::{self, FRESH, OPERATION, RESERVE, STALE};
use super::source::Source;
use super::steps::{History, KEYS, PROCESSES, Setup, Step};
use super::world::{self, Due, Reached, World};
use crate::support::{DbError, assert_quiet, ms};

type Items = ReadThrough<u64, u64, DbError>;

/// A history under way.
struct Play {
    world: world::Shared,
    tier: MemoryTier,
    gates: Vec<Gate>,
    fleet: Vec<Items>,
    callers: Vec<JoinHandle<()>>,
}

pub(super) async fn play(history: &History) -> Result<Reached, String> {
    let mut play = Play::new(&history.setup);
    for (nth, step) in history.steps.iter().enumerate() {
        play.step(step).await;
        // A few turns: not everything that could run has run.
        for _ in 0..nth % 4 {
            yield_now().await;
        }
        play.check(&format!("step {nth}, {step:?}"))?;
    }
    play.rest().await
}

impl Play {
    fn new(setup: &Setup) -> Self {
        let tier = MemoryTier::new();
        let world = Arc::new(Mutex::new(World::new(setup)));
        let gate = |_| Gate::builder(setup.permits).queue(8).queue_timeout(ms(100)).build().unwrap();
        let gates: Vec<Gate> = (0..PROCESSES).map(gate).collect();
        let fleet = (0..PROCESSES).map(|process| build(setup, &tier, &gates[process], Source::new(&world, process)));
        let fleet = fleet.collect();
        Self { world, tier, gates, fleet, callers: Vec::new() }
    }

    async fn step(&mut self, step: &Step) {
        match step {
            Step::Get(process, key) => self.get(*process, *key),
            Step::GetMany(process, keys) => self.get_many(*process, keys.clone()),
            Step::Leave => self.leave(),
            Step::Insert(process, key) => self.insert(*process, *key),
            Step::Invalidate(process, key) => self.invalidate(*process, *key),
            Step::Clear(process) => self.clear(*process),
            Step::MarkStale(process, key) => drop(self.fleet[*process].mark_stale(&(*key as u64))),
            Step::Refresh(process, key) => _ = self.fleet[*process].refresh(&(*key as u64)),
            Step::Mode(key, mode) => self.world.lock().modes[*key] = *mode,
            Step::Pass(time) => sleep(*time).await,
            Step::Fault(operation, fault) => {
                self.world.lock().was_slow |= matches!(fault, Fault::Slow(_));
                self.tier.inject_on(*operation, *fault);
            }
            Step::Heal => self.tier.heal(),
            Step::Flush => self.forget(MemoryTier::flush),
            Step::Evict => self.forget(MemoryTier::evict),
            Step::LoseLeases => self.tier.lose_leases(),
            Step::LoseCounters => self.forget(MemoryTier::lose_counters),
        }
    }

    fn forget(&self, forget: fn(&MemoryTier)) {
        forget(&self.tier);
        self.world.lock().forgets();
    }

    fn get(&mut self, process: usize, key: usize) {
        let (items, world) = (self.fleet[process].clone(), Arc::clone(&self.world));
        let asking = tokio::spawn(async move {
            let due = { world.lock().due(process, key) };
            let got = items.get(&(key as u64)).await;
            judge::told(&world, (process, key), (due, Duration::ZERO), &got);
        });
        self.world.lock().asked[process] += 1;
        self.callers.push(asking);
    }

    fn get_many(&mut self, process: usize, keys: Vec<u64>) {
        let (items, world) = (self.fleet[process].clone(), Arc::clone(&self.world));
        self.world.lock().asked[process] += keys.len() as u64;
        tokio::spawn(async move {
            let places: Vec<usize> = keys.iter().map(|key| usize::try_from(*key).unwrap()).collect();
            let dues: Vec<_> = { places.iter().map(|key| world.lock().due(process, *key)).collect() };
            let began = Instant::now();
            let got = items.get_many(&keys).await;
            let lag = began.elapsed();
            for ((key, due), got) in places.iter().zip(dues).zip(&got) {
                judge::told(&world, (process, *key), (due, lag), got);
            }
        });
    }

    /// One that has been asked, but not answered: its request ends as cancelled, if it has begun.
    fn leave(&mut self) {
        self.callers.retain(|asking| !asking.is_finished());
        if !self.callers.is_empty() {
            self.callers.remove(0).abort();
        }
    }

    fn insert(&self, process: usize, key: usize) {
        let (value, due, insert, versions) = {
            let mut world = self.world.lock();
            let (value, due) = world.changes(process, key);
            (value, due, world.inserts(process, key, value), world.setup.versions)
        };
        let spread = self.fleet[process].insert(key as u64, world::brings(value, versions));
        self.hear((process, key), due, Some(insert), spread);
    }

    fn invalidate(&self, process: usize, key: usize) {
        let (_, due) = self.world.lock().changes(process, key);
        let spread = self.fleet[process].invalidate(&(key as u64));
        self.hear((process, key), due, None, spread);
    }

    /// Forgets everything: the loads that run are superseded as by a change of each key.
    fn clear(&self, process: usize) {
        let world = Arc::clone(&self.world);
        world.lock().clears(process);
        let spread = self.fleet[process].clear();
        tokio::spawn(async move {
            spread.await;
            world.lock().clears(process);
        });
    }

    /// Hears how far a change has got.
    fn hear(&self, (process, key): (usize, usize), due: Due, insert: Option<usize>, spread: Spread) {
        let world = Arc::clone(&self.world);
        tokio::spawn(async move {
            let reach = spread.await;
            let mut world = world.lock();
            world.heard(process, key);
            if let Some(insert) = insert {
                world.settled(insert);
            }
            match reach {
                Reach::Cluster => {
                    world.confirmed(key, due);
                    world.reached.cluster += 1;
                }
                Reach::Queued => world.reached.queued += 1,
                other => world.broken.push(format!("W2: a change that is not told to the tier: {other:?}")),
            }
        });
    }

    /// After each step.
    fn check(&self, at: &str) -> Result<(), String> {
        for (process, (items, gate)) in self.fleet.iter().zip(&self.gates).enumerate() {
            let (cache, gate) = (items.snapshot(), gate.snapshot());
            let counts = [cache.law_violations, gate.law_violations, gate.used().saturating_sub(gate.limit)];
            if counts != [0; 3] {
                return Err(format!("{at}: L3, L4, L5 as process {process} counts them: {counts:?}"));
            }
            if cache.outcomes.total() + cache.active != cache.begun {
                return Err(format!("{at}: L1: the outcomes of process {process} do not add up"));
            }
        }
        match self.world.lock().broken.first() {
            Some(broken) => Err(format!("{at}: {broken}")),
            None => Ok(()),
        }
    }

    /// L6: everything ends, and everything can be loaded.
    async fn rest(mut self) -> Result<Reached, String> {
        self.tier.heal();
        {
            let mut world = self.world.lock();
            world.modes = [super::steps::Mode::After(ms(5)); KEYS];
        }
        sleep(ms(20_000)).await;
        self.check("at rest")?;
        self.ledger()?;
        for process in 0..PROCESSES {
            for key in 0..KEYS {
                self.invalidate(process, key);
                self.get(1 - process, key);
            }
            sleep(ms(1_000)).await;
        }
        // Each process has been told of its last change by itself, and reads what the source has by now.
        for key in 0..KEYS {
            for process in 0..PROCESSES {
                self.clear(process);
                self.get(process, key);
            }
        }
        sleep(ms(5_000)).await;
        self.check("after the last reads")?;
        self.ledger()?;
        self.empty().await?;
        let reached = self.world.lock().reached;
        Ok(reached)
    }

    /// L1: outcomes are those that the callers got; L6: nothing is left.
    fn ledger(&self) -> Result<(), String> {
        let mut world = self.world.lock();
        for (process, items) in self.fleet.iter().enumerate() {
            let cache = items.snapshot();
            assert_quiet(&cache);
            // Who was given up before it was polled has asked for nothing.
            let cancelled = cache.outcomes[Outcome::Cancelled];
            let mut expected = world.outcomes[process].clone();
            expected[Outcome::Cancelled] = cancelled;
            if cache.outcomes != expected || cache.begun > world.asked[process] {
                return Err(format!("L1: process {process} told {:?}, its callers {expected:?}", cache.outcomes));
            }
            let (shared, lease) = (cache.shared.unwrap(), cache.lease);
            let held = lease.as_ref().map_or([0; 2], |lease| [lease.held, lease.following]);
            let left = [held[0], held[1], shared.queued, shared.lost, self.tier.leases() as u64];
            if left != [0; 5] {
                return Err(format!("L6: held, followed, queued, lost, leases: {left:?}"));
            }
            world.reached.cancelled += cancelled;
            world.reached.followed += cache.flights[FlightEnd::Followed];
            world.reached.refused += shared.writes[SharedWrite::RefusedFence];
            world.reached.leases_lost += lease.map_or(0, |lease| lease.losses.total());
            world.reached.breaker_opened += shared.transitions[CircuitState::Open];
        }
        Ok(())
    }

    /// X1, L6: there is nothing to wait for.
    async fn empty(&mut self) -> Result<(), String> {
        let began = Instant::now();
        for items in &self.fleet {
            items.shutdown(ms(60_000)).await;
        }
        let gates: Vec<_> = self.gates.iter().map(|gate| (gate.snapshot().used(), gate.snapshot().pending)).collect();
        let left = (began.elapsed(), gates, self.tier.leases());
        if left == (ms(0), vec![(0, 0); PROCESSES], 0) { Ok(()) } else { Err(format!("X1, L6: {left:?} is left")) }
    }
}

/// One process.
fn build(setup: &Setup, tier: &MemoryTier, gate: &Gate, source: Source) -> Items {
    let ttl = Ttl::fresh_for(FRESH).stale_for(STALE).stale_if_error_for(RESERVE);
    let builder = Cache::builder("fleet", ttl, gate).jitter(0.0).cooling(ms(10), ms(40));
    let builder = builder.origin_timeout(ms(300)).flight_deadline(ms(400));
    let write = if setup.write_fails { WriteFailure::Fail } else { WriteFailure::Ignore };
    let shared = Shared::json(tier.clone()).operation_timeout(OPERATION).write_failure(write);
    let builder = builder.shared(shared.breaker(5, ms(200)));
    let builder = if setup.lease { builder.lease(tier.clone()) } else { builder };
    let what = if setup.abandon { WhenUnwatched::Abandon } else { WhenUnwatched::Finish };
    builder.when_unwatched(what).build_over(source).unwrap()
}
