//! Runs one history on a runtime of its own, on paused time, and checks the laws after every step.
//!
//! Callers are futures that this task polls by hand: so the test decides when each
//! of them looks, and a caller can be dropped between its wake-up and its answer.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use herdcache::herdfeed::Measure;
use herdcache::{Answer, Cache, Gate, Got, LoadContext, Outcome, ReadThrough, Switch, Ttl};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::check::{self, Account};
use super::generate::KEYS;
use super::history::{By, History, Keep, Leave, Made, Polled, Script, Setup, Step, Terms};
use super::judge::{self, At};
use super::load::{Down, Key, Load, Row, loaded, make};
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

struct Run {
    cache: ReadThrough<Key, Row, Down>,
    gate: Gate,
    world: Shared,
    pending: Vec<Caller>,
    told: Arc<Notify>,
}

/// A caller that has no answer yet.
struct Caller {
    tag: usize,
    asking: Pin<Box<dyn Future<Output = Got<Row, Down>>>>,
    bell: Arc<Bell>,
}

/// A caller's waker.
struct Bell {
    rung: AtomicBool,
    told: Arc<Notify>,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.rung.store(true, Relaxed);
        self.told.notify_one();
    }
}

impl Caller {
    fn poll(&mut self) -> Poll<Got<Row, Down>> {
        self.bell.rung.store(false, Relaxed);
        let waker = Waker::from(Arc::clone(&self.bell));
        self.asking.as_mut().poll(&mut Context::from_waker(&waker))
    }
}

fn build(setup: &Setup, gate: &Gate, world: &Shared) -> Result<ReadThrough<Key, Row, Down>, herdcache::ConfigError> {
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
        .capacity(setup.capacity);
    if let Some(limit) = setup.soft_timeout {
        builder = builder.soft_timeout(limit);
    }
    let world = Arc::clone(world);
    let cache = builder.build_over(move |cx: LoadContext<Key, Row>| make(&world, &cx))?;
    setup.off.iter().for_each(|measure| cache.set_measure(*measure, Switch::Off));
    Ok(cache)
}

impl Run {
    fn open(setup: &Setup) -> Result<Self, String> {
        let gate = Gate::builder(setup.permits)
            .queue(setup.queue)
            .queue_timeout(setup.queue_timeout)
            .refresh_permits(setup.refresh_permits)
            .build()
            .map_err(|error| error.to_string())?;
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

    async fn take(&mut self, step: &Step) -> Result<(), String> {
        match *step {
            Step::Ask { by, key, wait, load } => self.ask(by, key, wait, load),
            Step::Pass { time, polled: Polled::Promptly } => self.pass(time).await,
            Step::Pass { time, polled: Polled::Late } => {
                tokio::time::sleep(time).await;
                Ok(())
            }
            Step::Turn => {
                turns().await;
                Ok(())
            }
            Step::Poll { nth } => match self.nth(nth) {
                Some(nth) => self.poll(nth).map(drop),
                None => Ok(()),
            },
            Step::Cancel { nth } => {
                if let Some(nth) = self.nth(nth) {
                    drop(self.pending.remove(nth));
                    self.world.lock().outcomes[Outcome::Cancelled] += 1;
                }
                Ok(())
            }
            Step::Invalidate { key } => {
                let mut world = self.world.lock();
                world.change(key, Changed::Invalidated);
                world.invalidations += 1;
                drop(world);
                self.cache.invalidate(&Key { number: key, tag: 0 });
                Ok(())
            }
            Step::Insert { key, made, terms } => {
                let birth = self.world.lock().insert(key, made, terms);
                self.cache.insert(Key { number: key, tag: 0 }, loaded(made, terms, Row { key, birth }));
                Ok(())
            }
            Step::Set { measure, to } => {
                self.set(measure, to);
                Ok(())
            }
            Step::Shutdown { limit } => self.shutdown(limit).await,
        }
    }

    fn set(&self, measure: Measure, to: Switch) {
        let mut world = self.world.lock();
        world.off.retain(|other| *other != measure);
        if to == Switch::Off {
            world.off.push(measure);
            world.ever_off.push(measure);
        }
        drop(world);
        self.cache.set_measure(measure, to);
    }

    fn nth(&self, nth: usize) -> Option<usize> {
        nth.checked_rem(self.pending.len())
    }

    /// A caller asks, and is polled once.
    fn ask(&mut self, by: By, key: u64, wait: Option<Duration>, load: Script) -> Result<(), String> {
        let tag = self.world.lock().ask(key, wait, load);
        let key = Key { number: key, tag };
        let before = self.cache.peek(&key).map(|answer| Answer::outcome(&answer));
        let cache = match wait {
            Some(limit) => self.cache.with_wait_timeout(limit),
            None => self.cache.clone(),
        };
        let asking: Pin<Box<dyn Future<Output = Got<Row, Down>>>> = match by {
            By::Get => Box::pin(async move { cache.get(&key).await }),
            By::GetWith => {
                let world = Arc::clone(&self.world);
                let load = move |cx: LoadContext<Key, Row>| -> Load { make(&world, &cx) };
                Box::pin(async move { cache.get_with(&key, load).await })
            }
        };
        let bell = Arc::new(Bell { rung: AtomicBool::new(false), told: Arc::clone(&self.told) });
        let mut caller = Caller { tag, asking, bell };
        let polled = caller.poll();
        let outcome = match &polled {
            Poll::Ready(got) => Some(judge::judge(&self.world.lock(), tag, got, At::First)?),
            Poll::Pending => None,
        };
        self.looked(before, outcome)?;
        match outcome {
            Some(outcome) => self.world.lock().outcomes[outcome] += 1,
            None => self.pending.push(caller),
        }
        Ok(())
    }

    /// F3, F1: what a look shows is answered at once, and nothing else counts as found.
    fn looked(&self, before: Option<Outcome>, outcome: Option<Outcome>) -> Result<(), String> {
        let mut world = self.world.lock();
        let expected = before.filter(|found| *found == Outcome::Hit || world.has(Measure::Stale));
        if expected.is_some() && outcome != expected {
            return Err(format!("F3: a look showed {before:?}, the caller got {outcome:?}"));
        }
        if !matches!(outcome, Some(Outcome::Hit | Outcome::Stale | Outcome::Negative)) {
            world.misses += 1;
        }
        Ok(())
    }

    /// Polls a pending caller; true if it has its answer now.
    fn poll(&mut self, nth: usize) -> Result<Poll<()>, String> {
        let Poll::Ready(got) = self.pending[nth].poll() else { return Ok(Poll::Pending) };
        let caller = self.pending.remove(nth);
        let mut world = self.world.lock();
        let outcome = judge::judge(&world, caller.tag, &got, At::Later)?;
        world.outcomes[outcome] += 1;
        Ok(Poll::Ready(()))
    }

    /// Polls whoever was woken.
    fn pump(&mut self) -> Result<(), String> {
        let mut nth = 0;
        while nth < self.pending.len() {
            let rung = self.pending[nth].bell.rung.load(Relaxed);
            if !rung || self.poll(nth)?.is_pending() {
                nth += 1;
            }
        }
        Ok(())
    }

    /// Time passes, and whoever is woken looks at once.
    async fn pass(&mut self, time: Duration) -> Result<(), String> {
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
            let asked = &world.asks[caller.tag];
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
    fn check(&self) -> Result<Account, String> {
        let account = Account { cache: self.cache.snapshot(), gate: self.gate.snapshot() };
        check::always(&self.world.lock(), &account, self.pending.len() as u64)?;
        for key in 0..KEYS {
            if let Some(answer) = self.cache.peek(&Key { number: key, tag: 0 }) {
                judge::peeked(&self.world.lock(), key, &answer)?;
            }
        }
        Ok(account)
    }

    /// L6: everything ends by itself; then the keys are free and the permits back.
    async fn rest(mut self) -> Result<Account, String> {
        let setup = self.world.lock().setup.clone();
        self.pass(setup.flight_deadline + setup.cooling.1 * 2).await?;
        let account = self.check()?;
        check::quiet(&self.world.lock(), &account)?;
        if self.world.lock().closed.is_none() {
            self.probe(&setup).await?;
            let account = self.check()?;
            check::quiet(&self.world.lock(), &account)?;
        }
        Ok(account)
    }

    /// S2, L3: as many loads as there are permits run at once, and every key can be loaded.
    async fn probe(&mut self, setup: &Setup) -> Result<(), String> {
        for measure in setup.off.iter().copied().chain([Measure::SingleFlight, Measure::Permits]) {
            self.set(measure, Switch::On);
        }
        let terms = Terms { fresh_for: None, stale_for: None, keep: Keep::DoNotStore };
        let end = super::history::End::Gives(Made::Value, terms);
        let at_once = setup.permits.min(setup.max_flights);
        let load = Script { after: Some(ms(1)), end, leave: Leave::Quietly };
        for nth in 0..at_once as u64 {
            self.ask(By::GetWith, KEYS + nth, None, load)?;
        }
        let running = self.world.lock().running().count();
        if running != at_once {
            return Err(format!("L6: {running} loads run where {at_once} could"));
        }
        self.pass(ms(5)).await?;
        for key in 0..KEYS {
            self.take(&Step::Invalidate { key }).await?;
            let before = self.world.lock().outcomes[Outcome::Loaded];
            self.ask(By::Get, key, None, Script { after: None, end, leave: Leave::Quietly })?;
            if self.world.lock().outcomes[Outcome::Loaded] != before + 1 {
                return Err(format!("S2: key {key} cannot be loaded any more"));
            }
        }
        Ok(())
    }
}
