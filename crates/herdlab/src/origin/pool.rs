//! A connection pool before the origin: so many connections, so long a wait.
//!
//! It tells *waiting for a connection* from *running at the origin*, which is
//! what an emptied pool and a slow database differ in.

use std::sync::Arc;
use std::time::Duration;

use hdrhistogram::Histogram;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::quantiles::{self, Quantiles};

/// A pool of connections; a clone is the same pool.
#[derive(Clone, Debug)]
pub struct Pool {
    connections: usize,
    acquire_timeout: Duration,
    free: Arc<Semaphore>,
    waits: Arc<Mutex<Histogram<u64>>>,
}

/// No connection came free in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolError {
    /// How long the call waited.
    pub waited: Duration,
}

impl Pool {
    /// A pool of `connections` (at least 1) for which a call waits `acquire_timeout` at most.
    ///
    /// With a timeout of zero it refuses at once: a database at its largest
    /// number of connections.
    pub fn new(connections: usize, acquire_timeout: Duration) -> Self {
        let connections = connections.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            connections,
            acquire_timeout,
            free: Arc::new(Semaphore::new(connections)),
            waits: Arc::new(Mutex::new(quantiles::histogram())),
        }
    }

    /// How many connections it has.
    pub fn connections(&self) -> usize {
        self.connections
    }

    /// Waits for connections, also those that ended without one.
    pub fn waits(&self) -> Option<Quantiles> {
        Quantiles::of(&self.waits.lock())
    }

    pub(super) async fn acquire(&self) -> Result<Connection, PoolError> {
        let start = Instant::now();
        let free = Arc::clone(&self.free);
        let got = match free.clone().try_acquire_owned() {
            Ok(permit) => Some(permit),
            Err(_) if self.acquire_timeout.is_zero() => None,
            Err(_) => tokio::time::timeout(self.acquire_timeout, free.acquire_owned()).await.ok().and_then(Result::ok),
        };
        let waited = start.elapsed();
        quantiles::record(&mut self.waits.lock(), waited);
        match got {
            Some(permit) => Ok(Connection { waited, _permit: permit }),
            None => Err(PoolError { waited }),
        }
    }
}

/// A connection in use; dropping it gives it back.
#[derive(Debug)]
pub(super) struct Connection {
    waited: Duration,
    _permit: OwnedSemaphorePermit,
}

impl Connection {
    pub(super) fn waited(&self) -> Duration {
        self.waited
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_pool_without_patience_refuses_at_once() {
        let pool = Pool::new(1, Duration::ZERO);
        let held = pool.acquire().await.unwrap();
        assert_eq!(held.waited(), Duration::ZERO);
        assert_eq!(pool.acquire().await.unwrap_err(), PoolError { waited: Duration::ZERO });
        drop(held);
        assert!(pool.acquire().await.is_ok());
        assert_eq!(pool.waits().unwrap().count, 3);
    }
}
