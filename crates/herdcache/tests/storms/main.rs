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

/// Whoever asks for a store by the environment gets it, or a build that lacks it would prove nothing of it.
#[tokio::test]
async fn the_store_that_was_asked_for_is_the_one_that_is_tried() {
    let asked = std::env::var("HERDCACHE_STORE").unwrap_or_else(|_| "moka".to_owned());
    let ttl = herdcache::Ttl::fresh_for(std::time::Duration::from_secs(60));
    let cache = herdcache::Cache::<u64, u64>::builder("asked-for", ttl, &herdcache::Gate::new(1)).build().unwrap();
    let (caches, _) = herdcache::process_config();
    let told = caches.iter().find(|config| config.name == cache.snapshot().name).map(|config| config.store.as_str());
    assert_eq!(told, Some(asked.as_str()), "the feature `lab` lets the environment choose");
}
