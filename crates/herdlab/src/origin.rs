//! The origin as a model: what a database does to the calls that reach it.
//!
//! An [`Origin`] is built of a [`Model`] of its speed, an optional connection
//! [`Pool`] before it, and [`Faults`] that can be switched while it runs. It
//! counts its own calls ([`OriginCounts`]), apart from any engine, so that an
//! engine's account can be checked against it.
//!
//! Like a real database it does not notice that a caller has left: work that
//! was started is worked off, and holds its connection meanwhile.

mod counts;
mod expiries;
mod faults;
mod pool;
mod sharing;
mod spread;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub use counts::{KeyCalls, OriginCounts};
pub use expiries::Expiries;
pub use faults::Faults;
pub use pool::{Pool, PoolError};
pub use sharing::Sharing;

use counts::{Counts, End};
use spread::Spread;

/// How fast the origin works.
#[derive(Clone, Debug)]
pub enum Model {
    /// Every call takes its own work, however many run.
    Fixed,
    /// Every call takes a time of its own around its work, which is the median.
    LogNormal {
        /// σ of the time's logarithm; 0 is [`Model::Fixed`].
        sigma: f64,
    },
    /// Running calls share a capacity: a database that slows down when hit.
    Sharing(Sharing),
}

impl Model {
    /// Its name in the JSON of a run.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::LogNormal { .. } => "log_normal",
            Self::Sharing(_) => "processor_sharing",
        }
    }

    /// How many calls it works on at full speed, if that is limited.
    pub fn capacity(&self) -> Option<f64> {
        match self {
            Self::Fixed | Self::LogNormal { .. } => None,
            Self::Sharing(sharing) => Some(sharing.capacity()),
        }
    }
}

/// Why a call brought no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OriginError {
    /// The origin was told to fail.
    Failing,
    /// No connection came free in time; the call never reached the origin.
    NoConnection {
        /// How long it waited.
        waited: Duration,
    },
    /// The runtime that worked on the call has ended.
    Stopped,
}

impl fmt::Display for OriginError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failing => f.write_str("the origin failed"),
            Self::NoConnection { waited } => write!(f, "no connection within {waited:?}"),
            Self::Stopped => f.write_str("the origin was stopped"),
        }
    }
}

impl std::error::Error for OriginError {}

/// What one answered call tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// Its wait for a connection, where the origin has a pool.
    pub connection_wait: Option<Duration>,
}

/// A modelled origin; a clone is the same origin.
#[derive(Clone, Debug)]
pub struct Origin {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    model: Model,
    work: Duration,
    pool: Option<Pool>,
    faults: Faults,
    spread: Spread,
    counts: Arc<Counts>,
}

impl Origin {
    /// An origin whose calls take `work` each when nothing disturbs them.
    ///
    /// `seed` decides which calls a partial failure hits, and how long each takes where they differ.
    pub fn new(model: Model, work: Duration, pool: Option<Pool>, seed: u64) -> Self {
        let (faults, spread) = (Faults::new(seed), Spread::new(seed));
        let shared = Shared { model, work, pool, faults, spread, counts: Arc::default() };
        Self { shared: Arc::new(shared) }
    }

    /// Calls the origin for `key`.
    ///
    /// # Errors
    ///
    /// [`OriginError::NoConnection`] when the pool has none in time,
    /// [`OriginError::Failing`] at once when a fault says so,
    /// [`OriginError::Stopped`] when the runtime ends under it.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves a wait for a connection, but not work that has
    /// begun: the origin works it off, and counts it as running until then.
    pub async fn call(&self, key: u64) -> Result<Served, OriginError> {
        let shared = &*self.shared;
        let calling = shared.counts.call(key);
        let connection = match &shared.pool {
            Some(pool) => match pool.acquire().await {
                Ok(connection) => Some(connection),
                Err(PoolError { waited }) => {
                    calling.end(End::Refused);
                    return Err(OriginError::NoConnection { waited });
                }
            },
            None => None,
        };
        let connection_wait = connection.as_ref().map(pool::Connection::waited);
        if shared.faults.next_fails() {
            calling.end(End::Failed);
            return Err(OriginError::Failing);
        }
        let held = (shared.counts.run(), connection);
        let work = shared.faults.slowed(shared.work);
        let done = match &shared.model {
            Model::Fixed => fixed(work, held).await,
            Model::LogNormal { sigma } => fixed(shared.spread.stretch(work, *sigma), held).await,
            Model::Sharing(sharing) => sharing.work(work, held).await,
        };
        match done {
            Done::Worked => {
                calling.end(End::Answered);
                Ok(Served { connection_wait })
            }
            Done::Stopped => {
                calling.end(End::Failed);
                Err(OriginError::Stopped)
            }
        }
    }

    /// The switches for trouble.
    pub fn faults(&self) -> &Faults {
        &self.shared.faults
    }

    /// What it has counted.
    pub fn counts(&self) -> OriginCounts {
        self.shared.counts.read()
    }

    /// What it has counted for one key.
    pub fn key_calls(&self, key: u64) -> KeyCalls {
        self.shared.counts.key(key)
    }

    /// Waits for connections: count and quantiles, if it has a pool.
    pub fn pool(&self) -> Option<&Pool> {
        self.shared.pool.as_ref()
    }

    /// Its model.
    pub fn model(&self) -> &Model {
        &self.shared.model
    }

    /// What one call takes when nothing disturbs it.
    pub fn work(&self) -> Duration {
        self.shared.work
    }
}

/// How the work on one call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// All of it was done.
    Worked,
    /// Whoever worked on it has gone.
    Stopped,
}

/// Works for `work` in a task of its own, since the origin goes on when the caller leaves.
async fn fixed(work: Duration, held: impl Send + 'static) -> Done {
    let task = tokio::spawn(async move {
        tokio::time::sleep(work).await;
        drop(held);
    });
    match task.await {
        Ok(()) => Done::Worked,
        Err(_) => Done::Stopped,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::Instant;

    const WORK: Duration = Duration::from_millis(100);

    async fn call_together(origin: &Origin, calls: u64) -> Vec<Result<Served, OriginError>> {
        let mut set = tokio::task::JoinSet::new();
        for key in 0..calls {
            let origin = origin.clone();
            set.spawn(async move { origin.call(key).await });
        }
        set.join_all().await
    }

    #[tokio::test(start_paused = true)]
    async fn a_fixed_origin_takes_the_same_time_for_one_and_for_many() {
        let origin = Origin::new(Model::Fixed, WORK, None, 1);
        let start = Instant::now();
        let answers = call_together(&origin, 50).await;
        assert_eq!(start.elapsed(), WORK);
        assert!(answers.iter().all(|answer| answer == &Ok(Served { connection_wait: None })));
        let counts = origin.counts();
        assert_eq!([counts.started, counts.answered, counts.peak_running], [50, 50, 50]);
        assert_eq!([counts.running, counts.calling], [0, 0]);
        assert_eq!(counts.distinct_keys, 50);
    }

    #[tokio::test(start_paused = true)]
    async fn work_goes_on_after_its_caller_left() {
        for model in [Model::Fixed, Model::Sharing(Sharing::new(1.0))] {
            let origin = Origin::new(model, WORK, None, 1);
            let left = tokio::time::timeout(WORK / 2, origin.call(1)).await;
            assert!(left.is_err());
            let counts = origin.counts();
            assert_eq!([counts.running, counts.calling, counts.left], [1, 0, 1]);
            tokio::time::sleep(WORK).await;
            assert_eq!(origin.counts().running, 0);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_pool_lets_connections_run_and_tells_waiting_from_running() {
        let pool = Pool::new(2, Duration::from_secs(1));
        let origin = Origin::new(Model::Fixed, WORK, Some(pool), 1);
        let start = Instant::now();
        let mut waits: Vec<_> = call_together(&origin, 6)
            .await
            .into_iter()
            .map(|answer| answer.unwrap().connection_wait.unwrap())
            .collect();
        waits.sort();
        assert_eq!(start.elapsed(), WORK * 3);
        assert_eq!(waits, [0, 0, 1, 1, 2, 2].map(|rounds| WORK * rounds));
        assert_eq!([origin.counts().peak_running, origin.counts().peak_calling], [2, 6]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_without_a_connection_in_time_never_reaches_the_origin() {
        let pool = Pool::new(1, WORK / 2);
        let origin = Origin::new(Model::Fixed, WORK, Some(pool), 1);
        let answers = call_together(&origin, 3).await;
        let refused = Err(OriginError::NoConnection { waited: WORK / 2 });
        assert_eq!(answers.iter().filter(|answer| **answer == refused).count(), 2);
        let counts = origin.counts();
        assert_eq!([counts.started, counts.answered, counts.refused], [3, 1, 2]);
    }

    #[tokio::test(start_paused = true)]
    async fn faults_are_switched_while_it_runs() {
        let origin = Origin::new(Model::Fixed, WORK, None, 1);
        origin.faults().set_slow(3.0);
        let start = Instant::now();
        assert!(origin.call(1).await.is_ok());
        assert_eq!(start.elapsed(), WORK * 3);
        origin.faults().set_fail_ratio(1.0);
        assert_eq!(origin.call(1).await, Err(OriginError::Failing));
        origin.faults().set_fail_ratio(0.0);
        assert!(origin.call(1).await.is_ok());
        assert_eq!([origin.counts().answered, origin.counts().failed], [2, 1]);
        assert_eq!(origin.key_calls(1).started, 3);
    }
}
