//! What a caller can be told instead of a value.

mod kind;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use herdfeed::{Outcome, RejectReason, SharedWrite};

use crate::answer::Answer;
pub use kind::ErrorKind;

/// The error type of caches that do not name their own.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// What a read gives: a value, the knowledge that there is none (`None`), or an error.
///
/// A stale value is an `Ok`: ask [`Answer::outcome`] for what it is.
pub type Got<V, E> = Result<Option<Answer<V>>, GetError<E>>;

/// Why a load did not bring an answer. Shared by all callers who waited for it.
#[derive(Debug)]
#[non_exhaustive]
pub enum Failure<E> {
    /// The origin gave this error.
    Origin(Arc<E>),
    /// The origin call took longer than `origin_timeout`.
    OriginTimeout {
        /// The configured limit.
        limit: Duration,
    },
    /// The flight took longer than `flight_deadline`.
    Deadline {
        /// The configured limit.
        limit: Duration,
    },
    /// The loader panicked.
    Panicked {
        /// The panic's message, if it was text.
        message: Arc<str>,
    },
    /// The value was loaded and the shared tier did not take it, where
    /// [`WriteFailure::Fail`](crate::WriteFailure::Fail) was chosen.
    SharedWrite {
        /// What became of the write.
        write: SharedWrite,
    },
    /// The loader, or the place it ran in, broke a rule of this crate.
    Contract {
        /// Which one.
        what: &'static str,
    },
}

/// Why a read gives no answer.
#[doc = include_str!("../docs/examples/error.md")]
#[derive(Debug)]
#[non_exhaustive]
pub enum GetError<E> {
    /// The load failed just now.
    Failed(Failure<E>),
    /// The key's last load failed a moment ago; no load starts until `retry_in` has passed.
    Cooling {
        /// How that load failed.
        last: Failure<E>,
        /// Time until the next load may start.
        retry_in: Duration,
    },
    /// Refused to protect the origin (load shedding).
    Rejected {
        /// The exact reason.
        reason: RejectReason,
        /// When a retry has a fair chance: an estimate from the gate's queue and mean load time, 100 ms to 10 s; with
        /// `origin_down`, the time until the next probe.
        retry_in: Duration,
    },
    /// The caller's own wait timeout passed. The load goes on and will fill the cache.
    WaitTimeout {
        /// The handle's limit.
        limit: Duration,
    },
    /// The loader asked for the very key that it loads.
    Reentrant,
    /// The cache was shut down.
    Closed,
}

impl<E> Clone for Failure<E> {
    fn clone(&self) -> Self {
        match self {
            Self::Origin(error) => Self::Origin(Arc::clone(error)),
            Self::OriginTimeout { limit } => Self::OriginTimeout { limit: *limit },
            Self::Deadline { limit } => Self::Deadline { limit: *limit },
            Self::Panicked { message } => Self::Panicked { message: Arc::clone(message) },
            Self::SharedWrite { write } => Self::SharedWrite { write: *write },
            Self::Contract { what } => Self::Contract { what },
        }
    }
}

impl<E> Clone for GetError<E> {
    fn clone(&self) -> Self {
        match self {
            Self::Failed(failure) => Self::Failed(failure.clone()),
            Self::Cooling { last, retry_in } => Self::Cooling { last: last.clone(), retry_in: *retry_in },
            Self::Rejected { reason, retry_in } => Self::Rejected { reason: *reason, retry_in: *retry_in },
            Self::WaitTimeout { limit } => Self::WaitTimeout { limit: *limit },
            Self::Reentrant => Self::Reentrant,
            Self::Closed => Self::Closed,
        }
    }
}

impl<E> GetError<E> {
    /// For a `Retry-After` header: how long to wait, if waiting can help by itself.
    ///
    /// `Some` when rejected or cooling.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Cooling { retry_in, .. } | Self::Rejected { retry_in, .. } => Some(*retry_in),
            Self::Failed(_) | Self::WaitTimeout { .. } | Self::Reentrant | Self::Closed => None,
        }
    }

    /// The origin's own error, if it gave one: now, or in the load whose failure is being shared.
    pub fn origin(&self) -> Option<&Arc<E>> {
        match self {
            Self::Failed(Failure::Origin(error)) | Self::Cooling { last: Failure::Origin(error), .. } => Some(error),
            Self::Failed(_)
            | Self::Cooling { .. }
            | Self::Rejected { .. }
            | Self::WaitTimeout { .. }
            | Self::Reentrant
            | Self::Closed => None,
        }
    }

    /// The word under which this request stands in the account.
    pub fn outcome(&self) -> Outcome {
        match self {
            Self::Failed(_) | Self::Reentrant => Outcome::Failed,
            Self::Cooling { .. } => Outcome::Cooling,
            Self::Rejected { .. } => Outcome::Rejected,
            Self::WaitTimeout { .. } => Outcome::TimedOut,
            Self::Closed => Outcome::Closed,
        }
    }
}

impl<E: fmt::Display> fmt::Display for Failure<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Origin(error) => write!(f, "the origin failed: {error}"),
            Self::OriginTimeout { limit } => write!(f, "the origin took longer than origin_timeout ({limit:?})"),
            Self::Deadline { limit } => write!(f, "the load took longer than flight_deadline ({limit:?})"),
            Self::Panicked { message } => write!(f, "the loader panicked: {message}"),
            Self::SharedWrite { write } => {
                write!(f, "the value was loaded, and the shared tier did not take it: {write}")
            }
            Self::Contract { what } => f.write_str(what),
        }
    }
}

impl<E: fmt::Display> fmt::Display for GetError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(failure) => failure.fmt(f),
            Self::Cooling { last, retry_in } => write!(f, "{last} (no new load for {retry_in:?})"),
            Self::Rejected { reason, retry_in } => write!(f, "rejected: {reason} (retry in {retry_in:?})"),
            Self::WaitTimeout { limit } => write!(f, "not answered within this caller's wait timeout ({limit:?})"),
            Self::Reentrant => f.write_str("a loader asked for the key that it loads"),
            Self::Closed => f.write_str("the cache was shut down"),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> std::error::Error for GetError<E> {}
impl<E: fmt::Debug + fmt::Display> std::error::Error for Failure<E> {}
