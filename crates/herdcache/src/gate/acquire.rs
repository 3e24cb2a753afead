//! [`Gate::acquire`]: permits for queries that bypass every cache.

use std::fmt;
use std::time::Duration;

use herdfeed::RejectReason;

use super::breaker::Health;
use super::{Admission, Gate, Permit};
use crate::clock::{self, Moment};
use crate::error::GetError;

/// The right to call the origin, from [`Gate::acquire`]; dropping it gives it back.
///
/// ```
/// use herdcache::{Gate, GatePermit, Rejected};
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Rejected> {
/// let gate = Gate::new(8);
/// for result in [Ok("written"), Err("the database is down")] {
///     let permit: GatePermit = gate.acquire().await?;
///     // What the query said of the origin counts towards the gate's fail-fast, as loads do.
///     match result {
///         Ok(_) => permit.answered(),
///         Err(_) => permit.failed(),
///     }
/// }
/// assert_eq!(gate.snapshot().used(), 0);
/// # Ok(()) }
/// ```
#[must_use = "the permit is given back when this is dropped"]
pub struct GatePermit(Permit);

/// No permit: refused to protect the origin (load shedding).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rejected {
    /// The exact reason.
    pub reason: RejectReason,
    /// When a retry has a fair chance: an estimate from the queue and the mean time for which permits are held, 100 ms
    /// to 10 s; with `origin_down`, the time until the next probe.
    pub retry_in: Duration,
}

/// A handler that reads through a cache and writes past it has one error for both: `gate.acquire().await?`.
///
/// With the feature `axum` that is 503 with `Retry-After`.
impl<E> From<Rejected> for GetError<E> {
    fn from(Rejected { reason, retry_in }: Rejected) -> Self {
        Self::Rejected { reason, retry_in }
    }
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rejected: {} (retry in {:?})", self.reason, self.retry_in)
    }
}

impl std::error::Error for Rejected {}

impl GatePermit {
    /// Gives the permit back and says that the origin answered.
    ///
    /// Optional. What is told counts towards the gate's fail-fast ([`GateBuilder::fail_fast`](crate::GateBuilder::fail_fast));
    /// a permit that is merely dropped counts neither way.
    pub fn answered(self) {
        self.tell(Health::Good);
    }

    /// Gives the permit back and says that the origin failed: an error of its own, or no answer in time.
    ///
    /// Optional, as [`GatePermit::answered`]. Not for what is wrong with the query.
    pub fn failed(self) {
        self.tell(Health::Bad);
    }

    fn tell(self, health: Health) {
        if let Some(report) = self.0.report() {
            report.tell(health);
        }
    }
}

impl fmt::Debug for GatePermit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("GatePermit").field(self.0.gate()).finish()
    }
}

impl Gate {
    /// Waits for a permit, for a query that bypasses every cache: a write, a report, a list.
    ///
    /// What calls the origin without a permit is not counted by the gate, so its limit
    /// would not hold. The permit comes out of the same limit and the same queue as
    /// the loads of caches do, waits at most the gate's queue timeout, and is counted as
    /// `foreground`. It is not for use within a loader: a load holds a permit already.
    ///
    /// ```
    /// # use herdcache::{Gate, Rejected};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Rejected> {
    /// let gate = Gate::new(8);
    /// let permit = gate.acquire().await?;
    /// // INSERT INTO orders …
    /// drop(permit);
    /// # assert_eq!(gate.snapshot().used(), 0);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Rejected`] when the queue is full, no permit came in time or the origin is down, with the exact reason and a
    /// time to come back. It becomes a [`GetError`] by `?`.
    ///
    /// # Panics
    /// If it has to wait and there is no tokio runtime with its time enabled.
    ///
    /// # Cancel safety
    /// Dropping the future frees its place in the queue at once; a permit that was on its way goes to the next.
    pub async fn acquire(&self) -> Result<GatePermit, Rejected> {
        let reason = match self.enter(None, clock::exact()) {
            Admission::Granted(permit) => return Ok(GatePermit(permit)),
            Admission::Queued(place) => match place.wait(Moment::MAX).await {
                Ok(permit) => return Ok(GatePermit(permit)),
                Err(reason) => reason,
            },
            Admission::Refused(reason) => reason,
        };
        Err(Rejected { reason, retry_in: self.retry_in(reason) })
    }
}
