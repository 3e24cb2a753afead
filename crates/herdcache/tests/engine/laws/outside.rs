//! Queries that bypass the cache: they take their permits out of the same gate (G1, L3).

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use herdcache::{Gate, GatePermit, Rejected};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::caller::Bell;
use super::history::Told;
use super::judge;
use super::run::Run;

type Asking = Pin<Box<dyn Future<Output = Result<GatePermit, Rejected>>>>;

/// Queries that have a permit, and those that wait for one.
pub(super) struct Queries {
    gate: Gate,
    told: Arc<Notify>,
    asking: Vec<(Asking, Arc<Bell>)>,
    held: Vec<(GatePermit, Instant)>,
}

impl Queries {
    pub(super) fn new(gate: &Gate, told: &Arc<Notify>) -> Self {
        Self { gate: gate.clone(), told: Arc::clone(told), asking: Vec::new(), held: Vec::new() }
    }
}

impl Run {
    /// A query asks for a permit, and is polled once.
    pub(super) fn acquire(&mut self) -> Result<(), String> {
        self.world.lock().outside.asked += 1;
        let gate = self.queries.gate.clone();
        let bell = Bell::new(&self.queries.told);
        bell.ring();
        self.queries.asking.push((Box::pin(async move { gate.acquire().await }), bell));
        self.pump_queries()
    }

    /// Polls whoever was woken.
    pub(super) fn pump_queries(&mut self) -> Result<(), String> {
        let mut asking = std::mem::take(&mut self.queries.asking);
        let mut done = Ok(());
        asking.retain_mut(|(query, bell)| {
            if !bell.is_rung() {
                return true;
            }
            let Poll::Ready(came) = bell.poll(query.as_mut()) else { return true };
            let mut world = self.world.lock();
            match came {
                Ok(permit) => {
                    world.outside.held += 1;
                    self.queries.held.push((permit, Instant::now()));
                }
                Err(rejected) => {
                    let judged = judge::turned_away(&world, rejected.reason);
                    done = std::mem::replace(&mut done, Ok(())).and(judged);
                }
            }
            false
        });
        self.queries.asking = asking;
        done
    }

    /// One of those that have a permit gives it back; else one of those that wait goes away.
    pub(super) fn release(&mut self, nth: usize, told: Told) {
        if let Some(nth) = nth.checked_rem(self.queries.held.len()) {
            let (permit, since) = self.queries.held.swap_remove(nth);
            let mut world = self.world.lock();
            world.outside.held -= 1;
            world.outside.told += u64::from(told != Told::Nothing);
            if told == Told::Failed {
                world.outside.lost += since.elapsed();
            }
            drop(world);
            match told {
                Told::Nothing => drop(permit),
                Told::Answered => permit.answered(),
                Told::Failed => permit.failed(),
            }
        } else if let Some(nth) = nth.checked_rem(self.queries.asking.len()) {
            let gone = self.queries.asking.swap_remove(nth);
            drop(gone);
        }
    }

    /// All of them are over.
    pub(super) fn release_all(&mut self) {
        while !self.queries.held.is_empty() || !self.queries.asking.is_empty() {
            self.release(0, Told::Nothing);
        }
    }
}
