//! A pool of real `SQLite` connections.
//!
//! It is a tokio semaphore over a list of connections rather than a mutex with a
//! condition variable, for three reasons: a caller that waits holds no thread
//! (a herd of a thousand waiters would fill tokio's 512 blocking threads and
//! stop queries that already *have* a connection), places are given in the order
//! of asking, and a wait ends exactly at its timeout. A query itself runs on a
//! blocking thread, of which there are never more than connections.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tracing::{Instrument, Span};

use super::{DbError, spans};
use crate::stats::{QueryKind, Stats};

/// How many steps of `SQLite`'s machine lie between two looks at the clock. A row
/// takes a few steps, so a query stops within about one row of its deadline.
const STEPS_BETWEEN_LOOKS: i32 = 8;

/// A pool of connections. Cloning gives another handle to the same pool.
#[derive(Clone, Debug)]
pub struct Pool {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// One place for each connection; a holder of a place finds a connection in `idle`.
    places: Arc<Semaphore>,
    /// Held only to push or pop, never over a query or an await.
    idle: Mutex<Vec<Connection>>,
    usage: Mutex<Usage>,
    stats: Arc<Stats>,
    size: u64,
    products: u32,
}

/// How the connections are used, and what waiting for them has cost so far.
#[derive(Clone, Copy, Debug, Default)]
struct Usage {
    in_use: u64,
    peak: u64,
    waits: u64,
    timeouts: u64,
    waited: Duration,
    full: Duration,
    /// Since when every connection has been in use.
    full_since: Option<Instant>,
}

/// The pool's figures, as `/stats` shows them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolFigures {
    /// Connections.
    pub size: u64,
    /// Connections in use now.
    pub in_use: u64,
    /// Most connections in use at once since the start.
    pub peak: u64,
    /// Acquisitions that found no free connection.
    pub waits: u64,
    /// Of these, those that ended by their timeout.
    pub wait_timeouts: u64,
    /// Sum of all waits that ended with a connection, in microseconds.
    pub waited_us: u64,
    /// Time during which every connection was in use, in microseconds.
    #[serde(default)]
    pub full_us: u64,
}

impl Pool {
    pub(crate) fn new(connections: Vec<Connection>, products: u32, stats: Arc<Stats>) -> Self {
        let size = connections.len();
        let shared = Shared {
            places: Arc::new(Semaphore::new(size)),
            idle: Mutex::new(connections),
            usage: Mutex::default(),
            stats,
            size: size as u64,
            products,
        };
        Self { shared: Arc::new(shared) }
    }

    /// Takes a connection, waiting for one at most `limit`.
    ///
    /// # Errors
    ///
    /// [`DbError::NoConnection`] when none became free in time.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future gives the place in the line back; no connection is lost.
    pub async fn acquire(&self, limit: Duration) -> Result<Pooled, DbError> {
        let began = Instant::now();
        let places = Arc::clone(&self.shared.places);
        let place = match Arc::clone(&places).try_acquire_owned() {
            Ok(place) => place,
            Err(_) => self.wait_for_place(places, limit).instrument(spans::wait()).await?,
        };
        let connection = self.shared.idle.lock().pop().ok_or(DbError::NoConnection { limit })?;
        self.shared.usage.lock().taken(began.elapsed(), self.shared.size);
        let shared = Arc::clone(&self.shared);
        Ok(Pooled { connection: Some(connection), shared, asked_by: Span::current(), _place: place })
    }

    async fn wait_for_place(&self, places: Arc<Semaphore>, limit: Duration) -> Result<OwnedSemaphorePermit, DbError> {
        self.shared.usage.lock().waits += 1;
        // The semaphore is never closed, so its only end without a place is the timeout.
        if let Ok(Ok(place)) = tokio::time::timeout(limit, places.acquire_owned()).await {
            return Ok(place);
        }
        self.shared.usage.lock().timeouts += 1;
        Err(DbError::NoConnection { limit })
    }

    /// The figures now.
    pub fn figures(&self) -> PoolFigures {
        let usage = *self.shared.usage.lock();
        PoolFigures {
            size: self.shared.size,
            in_use: usage.in_use,
            peak: usage.peak,
            waits: usage.waits,
            wait_timeouts: usage.timeouts,
            waited_us: micros(usage.waited),
            full_us: micros(usage.full + usage.full_since.map_or(Duration::ZERO, |since| since.elapsed())),
        }
    }

    /// The figures now, for whoever must not keep the connections open; `None` once the pool is gone.
    pub fn watch(&self) -> impl Fn() -> Option<PoolFigures> + Send + Sync + use<> {
        let shared = Arc::downgrade(&self.shared);
        move || Some(Self { shared: shared.upgrade()? }.figures())
    }

    /// Products in the database, bundles included, counted at the start.
    pub fn products(&self) -> u32 {
        self.shared.products
    }
}

impl Usage {
    fn taken(&mut self, waited: Duration, size: u64) {
        self.in_use += 1;
        self.peak = self.peak.max(self.in_use);
        self.waited = self.waited.saturating_add(waited);
        if self.in_use == size {
            self.full_since = Some(Instant::now());
        }
    }

    fn given_back(&mut self) {
        self.in_use -= 1;
        if let Some(since) = self.full_since.take() {
            self.full += since.elapsed();
        }
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// A connection taken from the pool. Dropping it gives it back, whatever thread
/// it is dropped on, also when the query panicked.
#[derive(Debug)]
pub struct Pooled {
    /// Present until the drop.
    connection: Option<Connection>,
    shared: Arc<Shared>,
    /// The request or flight that took it: queries run on other threads, where nobody knows it.
    asked_by: Span,
    /// Given back after `drop` has put the connection into the list: fields are dropped later.
    _place: OwnedSemaphorePermit,
}

impl Pooled {
    /// Runs `work`, counts it as one query of `kind`, and stops it at `deadline`.
    ///
    /// This blocks its thread: call it on a blocking one.
    ///
    /// # Errors
    ///
    /// [`DbError::Interrupted`] when the deadline came first, else what `SQLite` said.
    pub fn run<T>(
        &mut self,
        kind: QueryKind,
        deadline: Instant,
        work: impl FnOnce(&mut Connection) -> rusqlite::Result<T>,
    ) -> Result<T, DbError> {
        let connection = self.connection.as_mut().ok_or(DbError::Thread)?;
        let span = spans::query(kind, &self.asked_by);
        let _within = span.enter();
        self.shared.stats.query(kind);
        let left = deadline.saturating_duration_since(Instant::now());
        // The wait for another writer's lock is not a step of the machine, so it has a limit of its own.
        connection.busy_timeout(left.min(Duration::from_secs(60)))?;
        connection.progress_handler(STEPS_BETWEEN_LOOKS, Some(move || Instant::now() >= deadline))?;
        let result = work(connection).map_err(DbError::from);
        connection.progress_handler(0, None::<fn() -> bool>)?;
        if matches!(result, Err(DbError::Interrupted)) {
            self.shared.stats.interrupted();
        }
        if let Err(error) = &result {
            spans::failed(&span, error);
        }
        result
    }
}

impl Drop for Pooled {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            self.shared.usage.lock().given_back();
            self.shared.idle.lock().push(connection);
        }
    }
}
