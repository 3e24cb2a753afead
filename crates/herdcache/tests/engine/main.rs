//! The engine from outside, on paused time.
#![expect(missing_docs, reason = "tests")]

mod blocking;
mod closing;
mod flights;
mod invalidation;
mod overlap;
mod panics;
mod reentrance;
mod refreshing;
mod runtimes;
mod support;
