//! What is told of herds, and what a reader that comes late still sees.
//!
//! A process of its own: the ring of events and its rate limit belong to the process, and the other tests fill them.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails there")]

mod cover;
mod herds;
mod hot;
mod privacy;
mod support;
mod surges;
