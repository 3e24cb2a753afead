//! Where users stand: a cache behind real axum, in place and over TCP, and in stacks of tower.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails there")]

mod adapter;
mod herd;
mod layer;
mod origin;
mod refusals;
mod support;
