//! The database of a scenario: rows with versions, and what is watched about one of them.
//!
//! A row carries its key and its version, so that a reader can tell an answer that is
//! another key's, or one that an invalidation should have kept from it.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use herdcache::{GetError, LoadContext, Loaded};
use herdfeed::FlightTrigger;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::key::RowKey;
use super::mix::NEW_FROM;
use super::phases::Phases;
use super::watched::{Watched, WatchedFigures};
use crate::origin::{Origin, OriginError};

/// One row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Row {
    pub(super) key: u64,
    pub(super) version: u64,
    pub(super) bytes: Box<[u8]>,
}

/// The database, and the loader over it.
pub(super) struct Source {
    pub(super) origin: Origin,
    /// Keys from here on do not exist, but for new ones.
    absent_from: u64,
    value_bytes: u64,
    versions: Mutex<HashMap<u64, u64>>,
    /// Versions that readers who ask from now on must not see less of.
    least: Mutex<HashMap<u64, u64>>,
    watched: Mutex<Watched>,
    phases: Phases,
    /// Calls that began in each phase.
    called: Mutex<[u64; 3]>,
    /// Degraded values that were asked for: all of them, and those for requests that the gate or the table had refused.
    degraded: AtomicU64,
    degraded_refused: AtomicU64,
}

impl Source {
    pub(super) fn new(origin: Origin, absent_from: u64, value_bytes: u64, watched: Watched, phases: Phases) -> Self {
        Self {
            origin,
            absent_from,
            value_bytes,
            versions: Mutex::default(),
            least: Mutex::default(),
            watched: Mutex::new(watched),
            phases,
            called: Mutex::default(),
            degraded: AtomicU64::new(0),
            degraded_refused: AtomicU64::new(0),
        }
    }

    /// Loads one row, for the engine.
    pub(super) async fn load(self: Arc<Self>, cx: LoadContext<RowKey, Row>) -> Result<Loaded<Row>, OriginError> {
        let key = cx.key().number();
        self.called.lock()[self.phases.at(Instant::now())] += 1;
        self.watch(key, |watched| watched.load_started(Instant::now(), cx.trigger()));
        // A database reads when the query arrives, not when its answer does.
        let row = self.row(key);
        let served = self.origin.call(key).await;
        let waited = match served {
            Ok(served) => served.connection_wait,
            Err(OriginError::NoConnection { waited }) => Some(waited),
            Err(OriginError::Failing | OriginError::Stopped) => None,
        };
        if let Some(wait) = waited {
            cx.connection_wait(wait);
        }
        served?;
        self.watch(key, |watched| watched.load_answered(Instant::now()));
        Ok(row.map_or_else(Loaded::absent, Loaded::value))
    }

    /// The row as it is now.
    pub(super) fn row(&self, key: u64) -> Option<Row> {
        let version = self.versions.lock().get(&key).copied().unwrap_or_default();
        let bytes = vec![0; usize::try_from(self.value_bytes).unwrap_or(usize::MAX)].into_boxed_slice();
        (key < self.absent_from || key >= NEW_FROM).then_some(Row { key, version, bytes })
    }

    /// The degraded row that the application has where nothing else may be answered.
    pub(super) fn degraded(&self, key: u64, error: &GetError<OriginError>) -> Row {
        self.degraded.fetch_add(1, Relaxed);
        if matches!(error, GetError::Rejected { .. }) {
            self.degraded_refused.fetch_add(1, Relaxed);
        }
        // Of no version: it is not what the database would say, whatever was written.
        Row { key, version: u64::MAX, bytes: Box::default() }
    }

    /// How often a degraded row was asked for, and how often since the load had been refused.
    pub(super) fn degradations(&self) -> (u64, u64) {
        (self.degraded.load(Relaxed), self.degraded_refused.load(Relaxed))
    }

    /// Calls that began in each phase.
    pub(super) fn calls_by_phase(&self) -> [u64; 3] {
        *self.called.lock()
    }

    /// A new version of the row.
    pub(super) fn write(&self, key: u64) {
        *self.versions.lock().entry(key).or_default() += 1;
    }

    /// The key was invalidated: who asks from now on must not be answered with less than what there is now.
    pub(super) fn invalidated(&self, key: u64) {
        let now = self.versions.lock().get(&key).copied().unwrap_or_default();
        self.least.lock().insert(key, now);
    }

    /// The least version that a reader who asks now may be answered with.
    pub(super) fn least(&self, key: u64) -> u64 {
        self.least.lock().get(&key).copied().unwrap_or_default()
    }

    /// What was seen of the watched key.
    pub(super) fn watched(&self) -> WatchedFigures {
        self.watched.lock().figures()
    }

    /// Every key was expired by hand.
    pub(super) fn expired_by_hand(&self) {
        self.watched.lock().expired_by_hand();
    }

    fn watch(&self, key: u64, see: impl FnOnce(&mut Watched)) {
        let mut watched = self.watched.lock();
        if watched.key() == key {
            see(&mut watched);
        }
    }
}

/// Whether a load was started by refresh-ahead.
pub(super) fn is_early(trigger: FlightTrigger) -> bool {
    trigger == FlightTrigger::Early
}

/// Milliseconds with their parts.
pub(super) fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}
