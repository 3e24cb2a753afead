//! What the benches share: options, keys and traffic, interleaved rounds, the JSON document.
//!
//! Knows no cache; what is compared stands in the benches themselves.

pub(crate) mod caches;
pub(crate) mod reads;
pub(crate) mod report;
pub(crate) mod rounds;
pub(crate) mod traffic;

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// How thorough a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// Seconds: shows that everything runs; figures are rough.
    Quick,
    /// The figures of the documentation.
    Full,
}

impl Effort {
    /// `--quick` on the command line chooses the quick run.
    pub(crate) fn from_arguments() -> Self {
        if std::env::args().any(|argument| argument == "--quick") { Self::Quick } else { Self::Full }
    }

    pub(crate) fn of<T>(self, quick: T, full: T) -> T {
        match self {
            Self::Quick => quick,
            Self::Full => full,
        }
    }
}

/// The result of a future that needs no runtime: it is polled without a waker until it is ready.
pub(crate) fn ready<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let mut cx = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
            return output;
        }
    }
}
