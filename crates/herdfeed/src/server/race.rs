//! Two futures, one after which the other no longer matters.
//!
//! `tokio::select!` would bring a procedural-macro crate into every service that
//! embeds the feed; these lines do not.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

/// Which of two futures was ready first.
pub(super) enum First<A, B> {
    /// The first one, also when both were.
    One(A),
    /// The second one.
    Two(B),
}

/// Polls both and gives the first that is ready; the other is dropped.
pub(super) async fn race<A: Future, B: Future>(one: A, two: B) -> First<A::Output, B::Output> {
    let (mut one, mut two) = (pin!(one), pin!(two));
    poll_fn(|cx| {
        if let Poll::Ready(output) = one.as_mut().poll(cx) {
            return Poll::Ready(First::One(output));
        }
        two.as_mut().poll(cx).map(First::Two)
    })
    .await
}
