//! What goes wrong on purpose, so that one can see what herdcache and the dashboards make of it.
//!
//! The origin's trouble strikes within a query, while its connection is held, as a slow or failing database would. The
//! shared tier's is that of [`MemoryTier`]. The cache knows of neither.

use std::time::{Duration, Instant};

use clap::ValueEnum;
use herdcache::{Fault, MemoryTier, TierError};
use tokio::task::JoinHandle;

use crate::db::DbError;

/// Time between two losses of all leases.
const LEASES_LAST: Duration = Duration::from_millis(100);

/// What goes wrong, and from when on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Trouble {
    /// Time from the start until it begins.
    pub after: Duration,
    /// How much longer each product query takes.
    pub slow_origin: Duration,
    /// Part of the product queries that fail, 0 to 1.
    pub failing_origin: f64,
    /// What is wrong with the shared tier.
    pub shared: Option<SharedTrouble>,
}

/// What can be wrong with the shared tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SharedTrouble {
    /// No connection to it.
    Connection,
    /// It never answers.
    Hangs,
    /// It forgets leases while they are held.
    LosesLeases,
}

/// The origin's part of the trouble.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OriginTrouble {
    from: Instant,
    slow: Duration,
    failing: f64,
}

impl OriginTrouble {
    /// Delays a query, and fails it if its lot says so. Blocks its thread, at most until `deadline`.
    pub(crate) fn strike(&self, deadline: Instant) -> Result<(), DbError> {
        let now = Instant::now();
        if now < self.from {
            return Ok(());
        }
        if !self.slow.is_zero() {
            std::thread::sleep(self.slow.min(deadline.saturating_duration_since(now)));
        }
        if fastrand::f64() < self.failing { Err(DbError::OnPurpose) } else { Ok(()) }
    }
}

/// Trouble being made for a shared tier, until it is dropped.
#[derive(Debug)]
pub(crate) struct Making(JoinHandle<()>);

impl Drop for Making {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Trouble {
    /// The origin's part of it, counted from now.
    pub(crate) fn of_origin(&self) -> OriginTrouble {
        OriginTrouble { from: Instant::now() + self.after, slow: self.slow_origin, failing: self.failing_origin }
    }

    /// Makes the shared tier's part of it, counted from now. `None` if there is none.
    pub(crate) fn make_for(&self, tier: MemoryTier) -> Option<Making> {
        let (after, what) = (self.after, self.shared?);
        Some(Making(tokio::spawn(async move {
            tokio::time::sleep(after).await;
            match what {
                SharedTrouble::Connection => tier.inject(Fault::Fail(TierError::Connection)),
                SharedTrouble::Hangs => tier.inject(Fault::Hang),
                SharedTrouble::LosesLeases => loop {
                    tokio::time::sleep(LEASES_LAST).await;
                    tier.lose_leases();
                },
            }
        })))
    }
}
