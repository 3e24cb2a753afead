//! Time that passes when a test says so, and tasks that run when it waits for them.
//!
//! Nothing here sets a clock: tokio's is paused by [`run_paused`], or by the attribute
//! `#[tokio::test(start_paused = true)]`, and the cache follows it.

#[cfg(feature = "test-util")]
use std::future::Future;
use std::time::Duration;

#[cfg(feature = "test-util")]
use crate::sync::runtime;
use crate::sync::{task, time};

/// How often [`settle`] lets others run. A task that wakes a task that wakes a task … gets as far as this.
const TURNS: usize = 50;

/// Lets every task that can run do so, without letting time pass.
///
/// For runtimes of one thread; elsewhere tasks run when they please.
///
/// # Cancel safety
/// Nothing is lost.
pub async fn settle() {
    for _ in 0..TURNS {
        task::yield_now().await;
    }
}

/// Lets `span` pass: on a paused clock at once, with every timer up to then in its order, and then [`settle`].
///
/// On a clock that is not paused it really waits.
///
/// # Cancel safety
/// The time that has passed stays passed.
pub async fn pass(span: Duration) {
    time::sleep(span).await;
    settle().await;
}

/// Runs a future to its end on a runtime of its own, of one thread, whose clock is paused.
///
/// As `#[tokio::test(start_paused = true)]` does, for tests that are no tokio tests. While nothing can run, the clock jumps
/// to the next timer: an hour of waiting takes no time.
///
/// ```
/// use std::time::{Duration, Instant};
/// use herdcache::testing::{pass, run_paused};
/// let begun = Instant::now();
/// run_paused(pass(Duration::from_secs(3_600)));
/// assert!(begun.elapsed() < Duration::from_secs(60));
/// ```
///
/// # Panics
/// If the system has no resources for a runtime, or if called within one.
#[cfg(feature = "test-util")]
pub fn run_paused<F: Future>(future: F) -> F::Output {
    match runtime::Builder::new_current_thread().enable_all().start_paused(true).build() {
        Ok(runtime) => runtime.block_on(future),
        Err(error) => panic!("no runtime for a test: {error}"),
    }
}
