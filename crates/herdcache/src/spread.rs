//! [`Spread`]: how far a write or an invalidation has got.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// How far a change of a key has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reach {
    /// It holds in this process; there is no shared tier.
    Process,
}

/// A change of a key that has taken effect in this process.
///
/// Await it to learn how far it has got beyond. Dropping it takes nothing back.
#[derive(Debug)]
pub struct Spread(Reach);

impl Spread {
    pub(crate) fn process() -> Self {
        Self(Reach::Process)
    }
}

impl Future for Spread {
    type Output = Reach;
    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Reach> {
        Poll::Ready(self.0)
    }
}
