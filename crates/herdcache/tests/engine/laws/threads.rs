//! The same histories on a runtime with several threads and the real clock, where any interleaving may come.
//!
//! The steps of a history are dealt to four actors who take them at the same time, a tenth as
//! long as on paused time. What is recorded before the engine is told may be told later, so
//! the record knows an order only where one thing had ended before another began. What then
//! still holds is asserted here: L1 and L6 when all is over, L2 and L3 as loads begin
//! (`allowed.rs`), L4, L5 and L8 by what each value says of its birth.

mod actor;
mod small;
mod told;

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use herdcache::{Gate, ReadThrough};
use parking_lot::Mutex;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::build::{build, gate};
use super::check::Account;
use super::generate;
use super::history::History;
use super::latch::Latch;
use super::load::{Down, Key, Row};
use super::reached::Seen;
use super::world::{Order, Shared, World};
use crate::support::ms;
use actor::Actor;

/// How many take their steps at the same time.
const ACTORS: usize = 4;
/// Histories that are played at the same time.
const TOGETHER: usize = 8;
/// Far longer than anything that is on its way takes, also where the machine is busy.
const PATIENCE: Duration = Duration::from_secs(20);

/// What the actors of a history share.
#[derive(Clone)]
struct Stage {
    cache: ReadThrough<Key, Row, Down>,
    gate: Gate,
    world: Shared,
}

/// Runs histories, a few of them at a time, and tells what came of each.
pub(super) async fn all(seeds: Vec<u64>, results: &Sender<Result<Account, String>>) {
    let mut playing = JoinSet::new();
    for seed in seeds {
        while playing.len() >= TOGETHER {
            let _ = playing.join_next().await;
        }
        let results = results.clone();
        playing.spawn(async move {
            let history = generate::history(seed);
            let came = run(&history).await.map_err(|broken| format!("{broken}\n\nthe history, on threads:\n{history}"));
            // Whoever listened has seen enough.
            let _ = results.send(came);
        });
    }
    while playing.join_next().await.is_some() {}
}

/// Runs a history. Gives the account at its end, or the law that was broken.
async fn run(history: &History) -> Result<Account, String> {
    let history = small::smaller(history);
    let mut world = World::new(&history.setup);
    (world.order, world.latch) = (Order::Rough, Arc::new(Latch::open()));
    let world = Arc::new(Mutex::new(world));
    let gate = gate(&history.setup).map_err(|error| error.to_string())?;
    let cache = build(&history.setup, &gate, &world).map_err(|error| error.to_string())?;
    let stage = Stage { cache, gate, world };
    let steps = Arc::new(history.steps);
    let actors: Vec<_> =
        (0..ACTORS).map(|first| tokio::spawn(Actor::new(&stage).through(Arc::clone(&steps), first, ACTORS))).collect();
    for actor in actors {
        actor.await.map_err(|panic| format!("an actor panicked: {panic}"))??;
    }
    stage.rest().await
}

impl Stage {
    /// L1, L6: soon nothing runs, and every request, flight and call has had its one end.
    async fn rest(&self) -> Result<Account, String> {
        let began = Instant::now();
        loop {
            let account = Account { cache: self.cache.snapshot(), gate: self.gate.snapshot(), seen: Seen::default() };
            match self.at_rest(&account) {
                // Loads that were given up end when their runtime gets to them.
                Err(Loud(_)) if began.elapsed() < PATIENCE => {}
                Err(Loud(what)) => return Err(what),
                Ok(judged) => return judged.map(|()| account),
            }
            tokio::time::sleep(ms(1)).await;
        }
    }
    /// The judgement of the account, if all is over.
    fn at_rest(&self, account: &Account) -> Result<Result<(), String>, Loud> {
        let world = self.world.lock();
        if let Some(fault) = world.faults.first() {
            return Ok(Err(fault.clone()));
        }
        told::quiet(&world, account).map_err(Loud)?;
        Ok(told::ledger(&world, &account.cache))
    }
}

/// What is not over yet.
struct Loud(String);
