//! Storms: real threads, real time, and more of everything than a scripted test has.
//!
//! Small where somebody waits for them, whole in `.ci/run`: `HERDCACHE_RUNS` is how often a herd is repeated,
//! `HERDCACHE_FLOOD` how many keys or entries a flood has. They run on either clock: with all features on tokio's, without
//! `test-util` on the coarse one.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails there")]

mod aborts;
mod herds;
mod keys;
mod leavings;
mod size;
#[path = "../engine/support.rs"]
#[expect(dead_code, reason = "these tests need a part of it")]
mod support;

use size::number;
use tokio::runtime::{Builder, Runtime};

/// Threads that get in each other's way also where there are fewer processors.
fn threads(count: usize) -> Runtime {
    Builder::new_multi_thread().worker_threads(count).enable_all().build().unwrap()
}
