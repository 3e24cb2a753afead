//! The drop sweep: every public future of the crate, cut at every await, on paused time.
//!
//! A future is polled n times for n = 0, 1, 2, … and then dropped, after a poll or after what happened since. Between two
//! polls one thing happens: another task's turn, a little time, a change. Afterwards nothing may be left of it,
//! and whoever else asked must have been answered. `harness.rs` says how, `leaks.rs` shows that it notices.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails there")]

mod background;
mod batches;
mod blocking;
mod gate;
mod harness;
mod leaks;
mod quiet;
mod reads;
mod services;
#[path = "../engine/support.rs"]
#[expect(dead_code, reason = "these tests need a part of it")]
mod support;
mod tiers;
mod waits;
mod world;
