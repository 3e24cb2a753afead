//! What a flight brought.

use std::sync::Arc;
use std::time::Duration;

use herdfeed::{RejectReason, StaleReason};

use crate::clock::Moment;
use crate::entry::{Entry, Stored};
use crate::error::Failure;

/// The one result of a flight, shared by all who waited.
#[derive(Debug)]
pub(crate) enum Landing<V: Send + Sync + 'static, E> {
    /// A value.
    Value(Arc<Entry<V>>),
    /// There is none.
    Absent,
    /// The shared tier had this, and was asked at this moment: a thread that is held up since makes nothing older. If it
    /// was stale then, it is answered for this reason.
    Shared { stored: Stored<V>, reason: StaleReason, at: Moment },
    /// The load failed.
    Failed(Failure<E>),
    /// The gate refused the load.
    Rejected { reason: RejectReason, retry_in: Duration },
    /// The cache was shut down.
    Closed,
    /// The runtime that carried the flight ended; somebody on another one may take over.
    Orphaned,
}

impl<V: Send + Sync + 'static, E> From<Stored<V>> for Landing<V, E> {
    fn from(stored: Stored<V>) -> Self {
        match stored {
            Stored::Value(entry) => Self::Value(entry),
            Stored::Absent(_) => Self::Absent,
        }
    }
}
