//! What a subscriber of `tracing` is told of flights and waits.
//!
//! Each test has a subscriber of its own, on its own thread.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails there")]

mod book;
mod choice;
mod flights;
mod herds;
mod locks;
mod rude;
mod support;
mod threads;
mod tiers;
mod waits;
