//! Runs one history on a runtime of its own, on paused time, and checks the laws after every step.
//!
//! Callers are futures that this task polls by hand: so the test decides when each
//! of them looks, and a caller can be dropped between its wake-up and its answer.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use herdcache::herdfeed::Measure;
use herdcache::{
    Answer, Cache, ConfigError, FailFast, Gate, Got, LoadContext, Outcome, ReadThrough, Switch, Ttl, Tuning,
};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::caller::{Ask, Asking, Caller};
use super::check::{self, Account, Pending};
use super::generate::KEYS;
use super::history::{By, History, Polled, Script, Setup, Step};
use super::judge::{self, At};
use super::load::{Down, Key, Load, Row, Source, loaded, make};
use super::world::{Changed, Shared, World};
use crate::support::ms;

/// Timers go off at whole milliseconds of the runtime, so up to one late; two, to be safe.
const TIMER: Duration = ms(2);

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
async fn turns() {
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
}

/// A history that is being run.
pub(super) struct Run {
    cache: ReadThrough<Key, Row, Down>,
    gate: Gate,
    pub(super) world: Shared,
    pending: Vec<Caller>,
    told: Arc<Notify>,
}

fn build(setup: &Setup, gate: &Gate, world: &Shared) -> Result<ReadThrough<Key, Row, Down>, ConfigError> {
    let mut ttl = Ttl::fresh_for(setup.fresh_for).stale_for(setup.stale_for);
    if let Some(longer) = setup.stale_if_error_for {
        ttl = ttl.stale_if_error_for(longer);
    }
    let mut builder = Cache::builder("laws", ttl, gate)
        .jitter(setup.jitter)
        .early_refresh(setup.beta)
        .origin_timeout(setup.origin_timeout)
        .flight_deadline(setup.flight_deadline)
        .negative_ttl(setup.negative_ttl)
        .cooling(setup.cooling.0, setup.cooling.1)
        .max_flights(setup.max_flights)
        .max_waiters(setup.max_waiters)
        .capacity(setup.capacity)
        .when_unwatched(setup.when_unwatched);
    if let Some(limit) = setup.soft_timeout {
        builder = builder.soft_timeout(limit);
    }
    if let Some(share) = setup.group_share {
        builder = builder.group_share(share, |key: &Key| key.number % 2);
    }
    if let Some(most) = setup.tunable {
        builder = builder.tunable_stale_for(most).tunable_stale_if_error_for(most);
    }
    let cache = builder.build_over(Source(Arc::clone(world)))?;
    setup.off.iter().for_each(|measure| cache.set_measure(*measure, Switch::Off));
    Ok(cache)
}

impl Run {
    fn open(setup: &Setup) -> Result<Self, String> {
        let mut gate = Gate::builder(setup.permits).queue(setup.queue).refresh_permits(setup.refresh_permits);
        // One that is longer than the deadline can only be the default.
        if setup.queue_timeout <= setup.flight_deadline {
            gate = gate.queue_timeout(setup.queue_timeout);
        }
        gate = match setup.fail_fast {
            Some(failures) => {
                let when = FailFast::new().at_least(failures).window(ms(1_000)).probe_every(ms(20));
                gate.fail_fast(when)
            }
            None => gate.without_fail_fast(),
        };
        let gate = gate.build().map_err(|error| error.to_string())?;
        let world = Arc::new(Mutex::new(World::new(setup)));
        let cache = build(setup, &gate, &world).map_err(|error| error.to_string())?;
        Ok(Self { cache, gate, world, pending: Vec::new(), told: Arc::default() })
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
            Step::Pass { time, polled: Polled::Late } => tokio::time::sleep(time).await,
            Step::Turn => turns().await,
            Step::Poll { nth } => {
                if let Some(nth) = self.nth(nth) {
                    let _ = self.poll(nth)?;
                }
            }
            Step::Cancel { nth } => {
                if let Some(nth) = self.nth(nth) {
                    let gone = self.pending.remove(nth);
                    let mut world = self.world.lock();
                    // Of several some may have ended by themselves.
                    let outcome = (gone.asks.len() == 1).then_some(Outcome::Cancelled);
                    gone.asks.iter().for_each(|ask| world.answered(ask.tag, outcome));
                    drop(world);
                    drop(gone);
                }
            }
            Step::Invalidate { key } => {
                self.world.lock().change(key, Changed::Invalidated);
                self.cache.invalidate(&Key { number: key, tag: 0 });
            }
            Step::Insert { key, made, terms } => {
                let birth = self.world.lock().insert(key, made, terms);
                self.cache.insert(Key { number: key, tag: 0 }, loaded(made, terms, Row { key, birth }));
            }
            Step::Set { measure, to } => self.set(measure, to),
            Step::Tune { stale_for, stale_if_error_for, refresh } => {
                let tuning = Tuning::new().stale_for(stale_for).stale_if_error_for(stale_if_error_for);
                self.cache.tune(tuning.refresh(refresh)).map_err(|error| format!("A6: {error}"))?;
                // L4: from here on these are the bounds, for what is stored already too.
                let setup = &mut self.world.lock().setup;
                (setup.stale_for, setup.stale_if_error_for) = (stale_for, Some(stale_if_error_for));
            }
            Step::Shutdown { limit } => self.shutdown(limit).await?,
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

    /// The n-th of the pending callers, counted round.
    fn nth(&self, nth: usize) -> Option<usize> {
        nth.checked_rem(self.pending.len())
    }

    /// A caller asks, and is polled once.
    pub(super) fn ask(&mut self, by: By, key: u64, wait: Option<Duration>, load: Script) -> Result<(), String> {
        let tag = self.world.lock().ask(key, wait, load);
        let key = Key { number: key, tag };
        let before = self.before(&key);
        let cache = match wait {
            Some(limit) => self.cache.with_wait_timeout(limit),
            None => self.cache.clone(),
        };
        let asking: Asking = match by {
            By::Get => Box::pin(async move { vec![cache.get(&key).await] }),
            By::GetWith => {
                let world = Arc::clone(&self.world);
                let load = move |cx: LoadContext<Key, Row>| -> Load { make(&world, &cx) };
                Box::pin(async move { vec![cache.get_with(&key, load).await] })
            }
        };
        let mut caller = Caller::new(vec![Ask { tag, before }], asking, &self.told);
        let outcome = match caller.poll() {
            Poll::Ready(got) => judge::judge(&self.world.lock(), tag, &got[0], At::First)?,
            Poll::Pending => None,
        };
        self.looked(before, outcome)?;
        match outcome {
            Some(outcome) => self.world.lock().answered(tag, Some(outcome)),
            None => self.pending.push(caller),
        }
        Ok(())
    }

    /// B1: a caller asks for several keys, and is polled once.
    fn ask_many(&mut self, asks: &[(u64, Script)], wait: Option<Duration>) -> Result<(), String> {
        let mut keys = Vec::new();
        for (number, script) in asks {
            let tag = self.world.lock().ask(*number, wait, *script);
            keys.push(Key { number: *number, tag });
        }
        let asks = keys.iter().map(|key| Ask { tag: key.tag, before: self.before(key) }).collect();
        let cache = match wait {
            Some(limit) => self.cache.with_wait_timeout(limit),
            None => self.cache.clone(),
        };
        let asking = Box::pin(async move { cache.get_many(&keys).await });
        self.pending.push(Caller::new(asks, asking, &self.told));
        self.poll(self.pending.len() - 1).map(drop)
    }

    /// What a look shows that a caller must be answered with at once.
    fn before(&self, key: &Key) -> Option<Outcome> {
        let before = self.cache.peek(key).map(|answer| Answer::outcome(&answer));
        before.filter(|found| *found == Outcome::Hit || self.world.lock().has(Measure::Stale))
    }

    /// A batch has ended: one answer for each of its keys, in their order.
    fn ended(world: &mut World, asks: &[Ask], got: &[Got<Row, Down>]) -> Result<(), String> {
        if asks.len() != got.len() {
            return Err(format!("B1: {} keys, {} answers", asks.len(), got.len()));
        }
        for (ask, got) in asks.iter().zip(got) {
            let outcome = judge::judge(world, ask.tag, got, At::Batch)?;
            if ask.before.is_some() && outcome != ask.before {
                return Err(format!("F3: a look showed {:?}, the batch got {outcome:?}", ask.before));
            }
            world.answered(ask.tag, outcome);
            match outcome {
                None | Some(Outcome::Hit | Outcome::Negative) => {}
                // Answered at once, or instead of a load that failed.
                Some(Outcome::Stale) => world.perhaps_misses += 1,
                Some(_) => world.misses += 1,
            }
        }
        Ok(())
    }

    /// F3, F1: what a look shows is answered at once, and nothing else counts as found.
    fn looked(&self, before: Option<Outcome>, outcome: Option<Outcome>) -> Result<(), String> {
        let mut world = self.world.lock();
        if before.is_some() && outcome != before {
            return Err(format!("F3: a look showed {before:?}, the caller got {outcome:?}"));
        }
        if !matches!(outcome, Some(Outcome::Hit | Outcome::Stale | Outcome::Negative)) {
            world.misses += 1;
        }
        Ok(())
    }

    /// Polls a pending caller; ready if it has its answer now.
    fn poll(&mut self, nth: usize) -> Result<Poll<()>, String> {
        let Poll::Ready(got) = self.pending[nth].poll() else { return Ok(Poll::Pending) };
        let caller = self.pending.remove(nth);
        let mut world = self.world.lock();
        match (&*caller.asks, &*got) {
            ([Ask { tag, .. }], [got]) => {
                let outcome = judge::judge(&world, *tag, got, At::Later)?;
                world.answered(*tag, outcome);
            }
            (asks, got) => Self::ended(&mut world, asks, got)?,
        }
        Ok(Poll::Ready(()))
    }

    /// Polls whoever was woken.
    fn pump(&mut self) -> Result<(), String> {
        let mut nth = 0;
        while nth < self.pending.len() {
            if !self.pending[nth].is_woken() || self.poll(nth)?.is_pending() {
                nth += 1;
            }
        }
        Ok(())
    }

    /// Time passes, and whoever is woken looks at once.
    pub(super) async fn pass(&mut self, time: Duration) -> Result<(), String> {
        self.pump_until(sleep_until(Instant::now() + time)).await?;
        turns().await;
        self.pump()?;
        self.nobody_waits_too_long()
    }

    async fn pump_until(&mut self, end: impl Future<Output = ()>) -> Result<(), String> {
        let told = Arc::clone(&self.told);
        let mut end = pin!(end);
        loop {
            self.pump()?;
            tokio::select! {
                biased;
                () = told.notified() => {}
                () = &mut end => return Ok(()),
            }
        }
    }

    /// S2, S4, S7: a flight's deadline ends every wait, and so does the caller's own limit.
    fn nobody_waits_too_long(&self) -> Result<(), String> {
        let world = self.world.lock();
        for caller in &self.pending {
            let asked = &world.asks[caller.asks[0].tag];
            let limit = asked.wait.unwrap_or(Duration::MAX).min(world.setup.flight_deadline) + TIMER;
            if asked.at.elapsed() > limit {
                return Err(format!("S2: a caller still waits after {:?}: {asked:?}", asked.at.elapsed()));
            }
        }
        Ok(())
    }

    /// X1: afterwards nobody waits and nothing flies.
    async fn shutdown(&mut self, limit: Duration) -> Result<(), String> {
        let closed = self.world.lock().tick();
        self.world.lock().closed.get_or_insert(closed);
        let (cache, began) = (self.cache.clone(), Instant::now());
        self.pump_until(async move { cache.shutdown(limit).await }).await?;
        if began.elapsed() > limit + TIMER {
            return Err(format!("X1: the shutdown took {:?}", began.elapsed()));
        }
        turns().await;
        self.pump()?;
        let flying = self.cache.snapshot().flights_active;
        if !self.pending.is_empty() || flying > 0 {
            return Err(format!("X1: {} callers wait for {flying} flights", self.pending.len()));
        }
        Ok(())
    }

    /// What must hold after every step.
    pub(super) fn check(&self) -> Result<Account, String> {
        let account = Account { cache: self.cache.snapshot(), gate: self.gate.snapshot() };
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
