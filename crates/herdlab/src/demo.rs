//! The demonstration: a real engine under load in this process, and hands to make trouble with.
//!
//! Requests for a few thousand pages, half of them for one ticker that expires
//! every second, over a database that slows down when it is hit. With protection
//! the ticker costs one load per expiry; with single-flight and permits off the
//! database melts within seconds, and heals when they are switched on again.
//! Nothing here is played back: the dashboard shows what the engine really does.
//!
//! It has a runtime of its own, so that the screen stays quick while it melts.

mod config;
mod engine;
mod pages;
mod peaks;
mod report;
mod switches;

use std::fmt;
use std::time::{Duration, SystemTime};

use herdcache::ConfigError;
pub use herdcache::Switch;
use herdfeed::Measure;
use parking_lot::Mutex;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::load::{LoadAccount, LoadFigures, Stop, drive};
use crate::origin::{Faults, KeyCalls, OriginCounts};
use crate::run::Run;
pub use config::DemoConfig;
use config::TICKER;
use engine::Engine;
use peaks::PeakWatch;
use switches::Switches;

/// A running demonstration. Dropping it ends it.
#[derive(Debug)]
pub struct Demo {
    config: DemoConfig,
    started: Started,
    engine: Engine,
    account: LoadAccount,
    stop: Stop,
    peaks: PeakWatch,
    switches: Mutex<Switches>,
    load: Option<JoinHandle<()>>,
    runtime: Option<Runtime>,
}

#[derive(Clone, Copy, Debug)]
struct Started {
    wall: SystemTime,
    at: Instant,
}

/// What a demonstration has come to so far.
#[derive(Clone, Debug)]
pub struct DemoAccount {
    /// Since the start.
    pub elapsed: Duration,
    /// What the callers counted.
    pub callers: LoadFigures,
    /// What the origin counted.
    pub origin: OriginCounts,
    /// What the origin counted for the hot key.
    pub hot: KeyCalls,
    /// Expiries of the hot key that a load has followed.
    pub expiries: u64,
}

/// Why a demonstration does not start.
#[derive(Debug)]
#[non_exhaustive]
pub enum DemoError {
    /// Its settings contradict each other.
    Config(ConfigError),
    /// The system gave no threads.
    Runtime(std::io::Error),
}

impl fmt::Display for DemoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) => write!(f, "the demonstration's settings cannot work: {error}"),
            Self::Runtime(error) => write!(f, "no threads for the demonstration: {error}"),
        }
    }
}

impl std::error::Error for DemoError {}

impl From<ConfigError> for DemoError {
    fn from(error: ConfigError) -> Self {
        Self::Config(error)
    }
}

impl Demo {
    /// Starts the engine and its load.
    ///
    /// # Errors
    ///
    /// [`DemoError::Config`] when settings contradict each other,
    /// [`DemoError::Runtime`] when no threads can be had.
    pub fn start(config: DemoConfig) -> Result<Self, DemoError> {
        let engine = Engine::build(&config)?;
        let runtime = runtime()?;
        let started = Started { wall: SystemTime::now(), at: Instant::now() };
        let (account, stop) = (LoadAccount::new(), Stop::default());
        let load = runtime.spawn(drive(engine::plan(&config), account.clone(), stop.clone(), engine.reader()));
        let peaks = PeakWatch::start(&runtime, engine.cache.clone(), engine.gate.clone());
        Ok(Self {
            switches: Mutex::new(Switches::new(&config.off)),
            config,
            started,
            engine,
            account,
            stop,
            peaks,
            load: Some(load),
            runtime: Some(runtime),
        })
    }

    /// Switches one measure over and tells what it is now.
    pub fn toggle(&self, measure: Measure) -> Switch {
        let mut switches = self.switches.lock();
        let now = switches.toggle(measure);
        // Under the lock, so that two hands cannot leave engine and memory apart; it only stores a flag.
        self.engine.cache.set_measure(measure, now);
        now
    }

    /// Whether a measure is on.
    pub fn measure(&self, measure: Measure) -> Switch {
        self.switches.lock().state(measure)
    }

    /// Ends the freshness of the hot key now.
    pub fn expire_hot(&self) {
        self.engine.pages.hot_expired_by_hand();
        self.engine.cache.expire(&TICKER);
    }

    /// Ends the freshness of every key now.
    pub fn expire_all(&self) {
        self.engine.pages.hot_expired_by_hand();
        self.engine.cache.expire_all();
    }

    /// Makes the origin slow, or as quick as before, and tells which.
    pub fn slow_origin(&self) -> Switch {
        match self.slow() {
            Switch::Off => self.faults().set_slow(self.config.slow_factor),
            Switch::On => self.faults().set_slow(1.0),
        }
        self.slow()
    }

    /// Makes the origin fail, or answer again, and tells which.
    pub fn fail_origin(&self) -> Switch {
        match self.failing() {
            Switch::Off => self.faults().set_fail_ratio(self.config.fail_ratio),
            Switch::On => self.faults().set_fail_ratio(0.0),
        }
        self.failing()
    }

    /// Whether the origin is slow.
    pub fn slow(&self) -> Switch {
        if self.faults().slow() > 1.0 { Switch::On } else { Switch::Off }
    }

    /// Whether the origin fails.
    pub fn failing(&self) -> Switch {
        if self.faults().fail_ratio() > 0.0 { Switch::On } else { Switch::Off }
    }

    /// What it has come to so far.
    pub fn account(&self) -> DemoAccount {
        DemoAccount {
            elapsed: self.started.at.elapsed(),
            callers: self.account.figures(),
            origin: self.engine.pages.origin().counts(),
            hot: self.engine.pages.origin().key_calls(TICKER),
            expiries: self.engine.pages.expiries(),
        }
    }

    /// Whether its load has come to its end by itself.
    pub fn is_over(&self) -> bool {
        self.load.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Ends the load, waits until nothing runs, and sums up.
    ///
    /// Blocks for up to some ten seconds when the origin has a backlog; must
    /// not be called on a runtime's thread.
    pub fn finish(mut self) -> Run {
        self.stop.now();
        if let (Some(runtime), Some(load)) = (&self.runtime, self.load.take()) {
            runtime.block_on(async {
                // A load that panicked has left requests uncounted: the checks will tell.
                let _ = load.await;
                self.settle().await;
            });
        }
        report::run(&self)
    }

    /// Waits until engine and origin are at rest, or long enough to call it a fault.
    async fn settle(&self) {
        let limit = Instant::now() + self.config.flight_deadline + Duration::from_secs(10);
        while !self.at_rest() && Instant::now() < limit {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    fn at_rest(&self) -> bool {
        let cache = self.engine.cache.snapshot();
        let origin = self.engine.pages.origin().counts();
        let gate = self.engine.gate.snapshot();
        [
            cache.active,
            cache.flights_active,
            cache.origin_active,
            gate.used(),
            gate.pending,
            origin.calling,
            origin.running,
        ]
        .iter()
        .all(|left| *left == 0)
    }

    fn faults(&self) -> &Faults {
        self.engine.pages.origin().faults()
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        self.stop.now();
        if let Some(runtime) = self.runtime.take() {
            // The screen may drop it on a runtime's thread, where waiting is not allowed.
            runtime.shutdown_background();
        }
    }
}

fn runtime() -> Result<Runtime, DemoError> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("herd-demo")
        .enable_time()
        .build()
        .map_err(DemoError::Runtime)
}

#[cfg(test)]
mod tests;
