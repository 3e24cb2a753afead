//! The engine from outside, on paused time.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails there")]

mod batches;
mod blocking;
mod closing;
mod cooling;
mod errors;
mod field;
mod flights;
mod freshness;
mod groups;
mod invalidation;
mod laws;
mod limits;
mod live;
mod loading;
mod measures;
mod negatives;
mod outage;
mod outcomes;
mod overlap;
mod panics;
mod reentrance;
mod refreshing;
mod removals;
mod runtimes;
mod sharing;
mod sources;
mod spread;
mod support;
mod surface;
mod tags;
mod warming;
