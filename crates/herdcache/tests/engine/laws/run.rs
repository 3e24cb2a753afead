//! Runs one history on a runtime of its own, on paused time, and checks the laws after every step.
//!
//! Callers are futures that this task polls by hand: so the test decides when each
//! of them looks, and a caller can be dropped between its wake-up and its answer.
//! How they ask is told in `asking.rs`, how time passes in `timing.rs`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use herdcache::herdfeed::Measure;
use herdcache::{Gate, ReadThrough, Switch};
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::behind::Behind;
use super::build::{build, gate};
use super::caller::Caller;
use super::check::{self, Account, Pending};
use super::generate::KEYS;
use super::history::{History, Polled, Setup, Step};
use super::judge;
use super::load::{Down, Key, Row};
use super::outside::Queries;
use super::reached::Seen;
use super::world::{Shared, World};

/// Runs a history. Gives the account at its end, or the law that was broken and where.
pub(super) fn run(history: &History) -> Result<Account, String> {
    // The engine's own dice, on this thread.
    fastrand::seed(history.seed);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let run = || runtime.block_on(Run::open(&history.setup)?.through(history));
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
        Err(format!("panicked: {}", text.unwrap_or("(no message)")))
    })
}

/// Lets every task that can run do so, without letting time pass: what wakes another does so a few times in a row.
pub(super) async fn turns() {
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
}

/// A history that is being run.
pub(super) struct Run {
    pub(super) cache: ReadThrough<Key, Row, Down>,
    pub(super) gate: Gate,
    pub(super) world: Shared,
    pub(super) pending: Vec<Caller>,
    pub(super) told: Arc<Notify>,
    pub(super) behind: Behind,
    pub(super) queries: Queries,
    /// Words of interest that the account does not count.
    pub(super) seen: Seen,
}

impl Run {
    fn open(setup: &Setup) -> Result<Self, String> {
        let gate = gate(setup).map_err(|error| error.to_string())?;
        let world = Arc::new(Mutex::new(World::new(setup)));
        let cache = build(setup, &gate, &world).map_err(|error| error.to_string())?;
        let told = Arc::clone(&world.lock().told);
        let queries = Queries::new(&gate, &told);
        let (pending, behind, seen) = (Vec::new(), Behind::default(), Seen::default());
        Ok(Self { cache, gate, world, pending, told, behind, queries, seen })
    }

    async fn through(mut self, history: &History) -> Result<Account, String> {
        let mut steps = history.steps.iter().enumerate().peekable();
        while let Some((at, step)) = steps.next() {
            let mut done = self.take(step).await;
            // Callers that come in a row are one step to the account, which takes most of the time.
            let in_a_row =
                |next: Option<&(usize, &Step)>| next.is_some_and(|(_, next)| matches!(next, Step::Ask { .. }));
            if !(matches!(step, Step::Ask { .. }) && in_a_row(steps.peek())) {
                done = done.and_then(|()| self.check().map(drop));
            }
            done.map_err(|broken| format!("after step {at}: {broken}"))?;
        }
        self.rest().await.map_err(|broken| format!("when all was over: {broken}"))
    }

    pub(super) async fn take(&mut self, step: &Step) -> Result<(), String> {
        match *step {
            Step::Ask { by, key, wait, load } => self.ask(by, key, wait, load)?,
            Step::AskMany { ref asks, wait } => self.ask_many(asks, wait)?,
            Step::Pass { time, polled: Polled::Promptly } => self.pass(time).await?,
            Step::Pass { time, polled: Polled::Late } => self.idle(time).await?,
            Step::Turn => turns().await,
            Step::Poll { nth } => {
                if let Some(nth) = self.nth(nth) {
                    let _ = self.poll(nth)?;
                }
            }
            Step::Cancel { nth } => self.cancel(nth),
            Step::Set { measure, to } => self.set(measure, to),
            Step::Shutdown { limit } => self.shutdown(limit).await?,
            Step::Invalidate { .. }
            | Step::InvalidateMany { .. }
            | Step::InvalidateTag { .. }
            | Step::Clear
            | Step::MarkStale { .. }
            | Step::Insert { .. }
            | Step::Tune { .. } => self.change(step)?,
            Step::Refresh { key, load } => self.refresh(key, load)?,
            Step::WarmUp { ref loads } => self.warm_up(loads),
            Step::Chill { nth } => self.chill(nth).await,
            Step::Peek { key } => self.peek(key)?,
            Step::Acquire => self.acquire()?,
            Step::Release { nth, told } => self.release(nth, told),
            Step::Unblock => self.unblock().await?,
        }
        Ok(())
    }

    pub(super) fn set(&self, measure: Measure, to: Switch) {
        let mut world = self.world.lock();
        world.off.retain(|other| *other != measure);
        if to == Switch::Off {
            world.off.push(measure);
            world.ever_off.push(measure);
        }
        drop(world);
        self.cache.set_measure(measure, to);
    }

    /// What must hold after every step.
    pub(super) fn check(&mut self) -> Result<Account, String> {
        let (cache, gate) = (self.cache.snapshot(), self.gate.snapshot());
        self.seen.look(&cache, &gate);
        let account = Account { cache, gate, seen: self.seen.clone() };
        let (mut singles, mut of_batches) = (0, 0);
        for caller in &self.pending {
            *(if caller.is_batch() { &mut of_batches } else { &mut singles }) += caller.asks.len() as u64;
        }
        check::always(&self.world.lock(), &account, Pending { singles, of_batches })?;
        for key in 0..KEYS {
            if let Some(answer) = self.cache.peek(&Key { number: key, tag: 0 }) {
                judge::peeked(&self.world.lock(), key, &answer)?;
            }
        }
        Ok(account)
    }
}

impl Drop for Run {
    /// Whatever was found, blocking work must not outlive its history.
    fn drop(&mut self) {
        let latch = Arc::clone(&self.world.lock().latch);
        latch.let_go();
    }
}
