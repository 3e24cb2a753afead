//! Values and keys that misbehave as they are dropped, one test at a time in a process of their own.
//!
//! The store leaves some drops to whichever thread comes by later, of any cache of the process. On a thread of another
//! test such a value would fail that test, or act by that test's paused clock on what waits by this one's.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails there")]

#[path = "drops/calling.rs"]
mod calling;
#[path = "drops/panicking.rs"]
mod panicking;
#[path = "engine/support.rs"]
#[expect(dead_code, reason = "these tests need a part of it")]
mod support;

use tokio::sync::{Mutex, MutexGuard};

static ALONE: Mutex<()> = Mutex::const_new(());

/// Waits until no other test of this process runs.
async fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().await
}

/// The same outside a runtime.
fn alone_here() -> MutexGuard<'static, ()> {
    ALONE.blocking_lock()
}
