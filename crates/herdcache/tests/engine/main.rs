//! The engine from outside, on paused time.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails there")]

mod blocking;
mod closing;
mod flights;
mod invalidation;
mod outcomes;
mod overlap;
mod panics;
mod reentrance;
mod refreshing;
mod runtimes;
mod support;
