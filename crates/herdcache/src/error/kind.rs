//! [`ErrorKind`]: the five answers that a service can give for a [`GetError`], whatever framework carries them.
//!
//! Statuses and sentences stand here once; the axum integration only dresses them. Nothing here looks into
//! the origin's error: what a database says may name tables and statements, and belongs to the operator.

use std::fmt;

use super::{Failure, GetError};

/// What a read without an answer means to whoever asked the service.
///
/// Complete on purpose: every way to fail falls into one of these, also those that a later version adds
/// to [`GetError`]. So a mapping to another protocol can be an exhaustive `match`:
///
/// ```
/// use herdcache::ErrorKind;
/// fn grpc(kind: ErrorKind) -> &'static str {
///     match kind {
///         ErrorKind::Busy | ErrorKind::Closed | ErrorKind::OriginFailed => "UNAVAILABLE",
///         ErrorKind::Timeout => "DEADLINE_EXCEEDED",
///         ErrorKind::Defect => "INTERNAL",
///     }
/// }
/// # assert_eq!(grpc(ErrorKind::Busy), "UNAVAILABLE");
/// ```
///
/// Its text is a fixed sentence for outsiders; it never holds anything of the origin's error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// No load may start now: rejected, or cooling. HTTP 503; [`GetError::retry_after`] says when to come back.
    Busy,
    /// The cache was shut down, and with it this process, most likely. HTTP 503; another process may answer.
    Closed,
    /// Too late: `origin_timeout`, `flight_deadline`, or the caller's own wait timeout. HTTP 504.
    Timeout,
    /// The origin gave an error. HTTP 502.
    OriginFailed,
    /// A mistake in this service: the loader panicked, broke a rule, or asked for its own key. HTTP 500.
    Defect,
}

impl ErrorKind {
    /// The HTTP status: 500, 502, 503 or 504.
    pub const fn http_status(self) -> u16 {
        match self {
            Self::Busy | Self::Closed => 503,
            Self::Timeout => 504,
            Self::OriginFailed => 502,
            Self::Defect => 500,
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Busy => "this cannot be loaded now: try again later",
            Self::Closed => "the service is shutting down",
            Self::Timeout => "there was no answer in time",
            Self::OriginFailed => "what was asked for could not be loaded",
            Self::Defect => "the service made a mistake",
        })
    }
}

impl<E> GetError<E> {
    /// What this error means to whoever asked the service: its HTTP status, for example.
    ///
    /// Cooling is [`ErrorKind::Busy`] whatever the failure was that is being shared: to come back later is the
    /// answer to all of them. [`retry_after`](Self::retry_after) is `Some` exactly when the kind is `Busy`.
    ///
    /// ```
    /// use std::{convert::Infallible, time::Duration};
    /// use herdcache::{GetError, RejectReason};
    /// let error = GetError::<Infallible>::Rejected { reason: RejectReason::QueueFull, retry_in: Duration::from_millis(1_200) };
    /// assert_eq!((error.kind().http_status(), error.retry_after_seconds()), (503, Some(2)));
    /// ```
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Cooling { .. } | Self::Rejected { .. } => ErrorKind::Busy,
            Self::Closed => ErrorKind::Closed,
            Self::WaitTimeout { .. } => ErrorKind::Timeout,
            Self::Reentrant => ErrorKind::Defect,
            Self::Failed(failure) => match failure {
                Failure::Origin(_) | Failure::SharedWrite { .. } => ErrorKind::OriginFailed,
                Failure::OriginTimeout { .. } | Failure::Deadline { .. } => ErrorKind::Timeout,
                Failure::Panicked { .. } | Failure::Contract { .. } => ErrorKind::Defect,
            },
        }
    }

    /// [`retry_after`](Self::retry_after) as the header `Retry-After` wants it: whole seconds, at least 1.
    ///
    /// Rounded up, since rounding down would bring everybody back too early.
    pub fn retry_after_seconds(&self) -> Option<u64> {
        let wait = self.retry_after()?;
        let seconds = wait.as_secs().saturating_add(u64::from(wait.subsec_nanos() > 0));
        Some(seconds.max(1))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use herdfeed::{RejectReason, SharedWrite};

    use super::*;

    fn all(retry_in: Duration) -> Vec<(GetError<&'static str>, ErrorKind, u16)> {
        let limit = Duration::from_millis(5);
        let failures = || {
            [
                (Failure::Origin(Arc::new("secret")), ErrorKind::OriginFailed, 502),
                (Failure::OriginTimeout { limit }, ErrorKind::Timeout, 504),
                (Failure::Deadline { limit }, ErrorKind::Timeout, 504),
                (Failure::SharedWrite { write: SharedWrite::Timeout }, ErrorKind::OriginFailed, 502),
                (Failure::Panicked { message: "secret".into() }, ErrorKind::Defect, 500),
                (Failure::Contract { what: "secret" }, ErrorKind::Defect, 500),
            ]
        };
        let failed = failures().into_iter().map(|(failure, kind, status)| (GetError::Failed(failure), kind, status));
        let cooling =
            failures().into_iter().map(|(last, ..)| (GetError::Cooling { last, retry_in }, ErrorKind::Busy, 503));
        let own = [
            (GetError::Rejected { reason: RejectReason::QueueFull, retry_in }, ErrorKind::Busy, 503),
            (GetError::WaitTimeout { limit }, ErrorKind::Timeout, 504),
            (GetError::Reentrant, ErrorKind::Defect, 500),
            (GetError::Closed, ErrorKind::Closed, 503),
        ];
        failed.chain(cooling).chain(own).collect()
    }

    /// A5, A7: each error has its kind, the kind its status, and exactly the busy ones a time to come back.
    #[test]
    fn a7_a5_each_error_has_its_kind_and_status() {
        for (error, kind, status) in all(Duration::from_secs(3)) {
            assert_eq!((error.kind(), error.kind().http_status()), (kind, status), "{error:?}");
            assert_eq!(error.retry_after_seconds(), (kind == ErrorKind::Busy).then_some(3), "{error:?}");
        }
    }

    /// P3: what outsiders read is one of five fixed sentences, whatever the origin, a panic or a rule says.
    #[test]
    fn p3_the_sentence_for_outsiders_is_fixed() {
        for (error, ..) in all(Duration::ZERO) {
            let text = error.kind().to_string();
            assert!(!text.is_empty() && !text.contains("secret"), "{text}");
        }
    }

    /// A7: whole seconds, never too early, never 0, and no overflow.
    #[test]
    fn a7_retry_after_is_rounded_up() {
        let table = [
            (Duration::ZERO, 1),
            (Duration::from_nanos(1), 1),
            (Duration::from_secs(1), 1),
            (Duration::from_nanos(1_000_000_001), 2),
            (Duration::from_millis(2_500), 3),
            (Duration::MAX, u64::MAX),
        ];
        for (retry_in, seconds) in table {
            let error = GetError::<()>::Rejected { reason: RejectReason::QueueTimeout, retry_in };
            assert_eq!(error.retry_after_seconds(), Some(seconds), "{retry_in:?}");
        }
    }
}
