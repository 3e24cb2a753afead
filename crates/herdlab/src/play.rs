//! One run of a scenario under a policy, in virtual time.
//!
//! The real engine, readers, database and troubles run on one thread whose clock
//! stands still while anybody works and jumps when all wait: a thousand seconds pass
//! in one, and the same seed gives the same run. Here is only the order of things;
//! figures are summed up in `report`, and judged in [`crate::verdict`].

mod deeds;
mod key;
mod mix;
mod phases;
mod record;
mod report;
mod source;
mod stage;
mod store;
mod sweep;
mod tape;
mod watched;
mod witness;

use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use herdcache::{Answer, ConfigError};
use herdfeed::recording::RecordingError;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::load::{ClosedPlan, LoadAccount, LoadFigures, Plan, Reply, Stop, drive, drive_closed};
use crate::policy::Policy;
use crate::run::{BystanderFacts, Peaks, Run, Second, SweepFacts, WarmUpFacts};
use crate::scenario::Scenario;
use mix::{Keyring, Mix};
use phases::Phases;
use record::Record;
use source::ms;
use stage::Stage;
use tape::Out;
use witness::Witness;

/// Why a run did not come about.
#[derive(Debug)]
#[non_exhaustive]
pub enum PlayError {
    /// The scenario's settings contradict each other.
    Config(ConfigError),
    /// The system gave no runtime.
    Runtime(io::Error),
    /// The run could not be recorded.
    Record(RecordingError),
    /// The run ended with a panic.
    Panicked,
}

impl fmt::Display for PlayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) => write!(f, "its settings cannot work: {error}"),
            Self::Runtime(error) => write!(f, "no runtime for the scenario: {error}"),
            Self::Record(error) => write!(f, "{error}"),
            Self::Panicked => f.write_str("the run ended with a panic, told above"),
        }
    }
}

impl std::error::Error for PlayError {}

/// What a run left behind, all at rest.
struct Played {
    stage: Arc<Stage>,
    witness: Arc<Witness>,
    callers: LoadFigures,
    seconds: Vec<Second>,
    peaks: Peaks,
    bystander: Option<BystanderFacts>,
    warm_up: Option<WarmUpFacts>,
    sweep: Option<SweepFacts>,
    /// Whether the application has a degraded value.
    degrades: bool,
    took: Duration,
    /// How long requests were sent.
    sent_for: Duration,
    wall: SystemTime,
    /// Started with the run, on the machine's clock.
    real: std::time::Instant,
}

/// Plays `scenario` once.
///
/// Takes a thread of its own, since what the engine leaves to chance is drawn from
/// the thread's generator: with a seed there, the run can be repeated.
///
/// # Errors
/// [`PlayError`] when the settings cannot work, or there is no thread or runtime for it.
pub fn play(scenario: &Scenario, policy: &Policy, seed: u64) -> Result<Run, PlayError> {
    play_on(scenario, policy, seed, None)
}

/// Plays `scenario` once, and writes its feed into `out` as a [`herdfeed::recording`].
///
/// # Errors
/// As [`play`]; also when `out` cannot be written.
pub fn play_recorded(
    scenario: &Scenario,
    policy: &Policy,
    seed: u64,
    out: Box<dyn Write + Send>,
) -> Result<Run, PlayError> {
    play_on(scenario, policy, seed, Some(out))
}

fn play_on(scenario: &Scenario, policy: &Policy, seed: u64, out: Option<Out>) -> Result<Run, PlayError> {
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().name("herdlab".into());
        let running = builder.spawn_scoped(scope, || {
            fastrand::seed(seed);
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
            runtime.map_err(PlayError::Runtime)?.block_on(run(scenario, policy, seed, out))
        });
        running.map_err(PlayError::Runtime)?.join().unwrap_or(Err(PlayError::Panicked))
    })
}

async fn run(scenario: &Scenario, policy: &Policy, seed: u64, out: Option<Out>) -> Result<Run, PlayError> {
    let (wall, real) = (SystemTime::now(), std::time::Instant::now());
    let phases = Phases::new(&scenario.trouble);
    let stage = Arc::new(Stage::build(scenario, policy, seed, phases).map_err(PlayError::Config)?);
    let witness = Arc::new(Witness::new(phases));
    let (account, start) = (LoadAccount::new(), Instant::now());
    let tape = out.map(|out| tape::roll(&stage, out, scenario, policy, wall)).transpose().map_err(PlayError::Record)?;
    let record = Record::start(&stage);
    let deeds = deeds::start(scenario, policy, &stage);
    let bystander = scenario.bystander.map(|other| deeds::beside(other, scenario.traffic.length.0, &stage, seed));
    let warm_up = scenario.warm_up.map(|warm_up| deeds::warm_up(warm_up, &stage));
    ask(scenario, &stage, &witness, &account, seed).await;
    let took = start.elapsed();
    deeds.iter().for_each(JoinHandle::abort);
    let bystander = ended(bystander).await;
    let warm_up = ended(warm_up).await;
    settle(&stage).await;
    let (seconds, peaks) = record.end(&stage);
    tape.map_or(Ok(()), tape::Running::end).map_err(PlayError::Record)?;
    let callers = account.figures();
    let sweep = swept(scenario, seed).await.map_err(PlayError::Config)?;
    let degrades = scenario.cache.fallback;
    let sent_for = scenario.traffic.length.0.saturating_sub(scenario.traffic.after.0);
    Ok(report::run(
        scenario,
        policy,
        seed,
        &Played {
            stage,
            witness,
            callers,
            seconds,
            peaks,
            bystander,
            warm_up,
            sweep,
            degrades,
            took,
            sent_for,
            wall,
            real,
        },
    ))
}

/// Lets everybody ask whom the scenario lets ask.
async fn ask(scenario: &Scenario, stage: &Arc<Stage>, witness: &Arc<Witness>, account: &LoadAccount, seed: u64) {
    let (traffic, keys) = (&scenario.traffic, &scenario.keys);
    let patience = stage.settings.flight_deadline + Duration::from_secs(1);
    let (account, reader) = (account.clone(), reader(stage, witness));
    let (after, length) = (traffic.after.0, traffic.length.0);
    if let Some(pacing) = traffic.open() {
        let arrivals = Mix::new(pacing, traffic, keys, seed);
        let plan = Plan { arrivals, length: Some(length), most_in_flight: traffic.most_in_flight, patience };
        drive(plan, account, Stop::default(), reader).await;
    } else {
        let plan = ClosedPlan { users: traffic.users, think: traffic.think.0, after, length, patience, seed };
        let mut keyring = Keyring::new(keys, seed.wrapping_add(3));
        drive_closed(plan, account, move |at| keyring.key(at), reader).await;
    }
}

async fn swept(scenario: &Scenario, seed: u64) -> Result<Option<SweepFacts>, ConfigError> {
    match &scenario.sweep {
        Some(sweep) => sweep::play(sweep, &scenario.keys, scenario.cache.store, seed).await.map(Some),
        None => Ok(None),
    }
}

async fn ended<T>(task: Option<JoinHandle<T>>) -> Option<T> {
    match task {
        Some(task) => task.await.ok(),
        None => None,
    }
}

/// One reader: asks for a row, looks at it, and notes what it was told.
fn reader(
    stage: &Arc<Stage>,
    witness: &Arc<Witness>,
) -> impl Fn(u64) -> std::pin::Pin<Box<dyn Future<Output = Reply> + Send>> + use<> {
    let (stage, witness) = (Arc::clone(stage), Arc::clone(witness));
    let cache = match stage.settings.wait_timeout {
        Some(limit) => stage.cache.with_wait_timeout(limit),
        None => stage.cache.clone(),
    };
    move |key| {
        let (cache, question) = (cache.clone(), witness.ask(key, stage.source.least(key)));
        let key = stage.key(key);
        Box::pin(async move {
            let got = cache.get(&key).await;
            let reply = match &got {
                Ok(Some(answer)) => Reply { outcome: Some(Answer::outcome(answer)), age: Some(Answer::age(answer)) },
                Ok(None) => Reply { outcome: None, age: None },
                Err(error) => Reply { outcome: Some(error.outcome()), age: None },
            };
            question.told(reply.outcome, got.ok().flatten().as_deref());
            reply
        })
    }
}

/// Waits until engine and origin are at rest, or long enough to call it a fault.
async fn settle(stage: &Stage) {
    let limit = Instant::now() + stage.settings.flight_deadline + Duration::from_secs(60);
    while !at_rest(stage) && Instant::now() < limit {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn at_rest(stage: &Stage) -> bool {
    let (cache, gate, origin) = (stage.cache.snapshot(), stage.gate.snapshot(), stage.source.origin.counts());
    let left = [
        cache.active,
        cache.flights_active,
        cache.origin_active,
        gate.used(),
        gate.pending,
        origin.calling,
        origin.running,
    ];
    left.iter().all(|left| *left == 0)
}

#[cfg(test)]
mod tests;
