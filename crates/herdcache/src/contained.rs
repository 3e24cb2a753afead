//! Code that is not ours, run where its panic must end nothing but itself.
//!
//! What a panic carries is the application's too: it may be any value, and its
//! `Drop` may panic again once the first panic was caught. So it is dropped here,
//! and what that throws is not dropped at all.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// What `run` gives; `None` if it panics.
pub(crate) fn contained<T>(run: impl FnOnce() -> T) -> Option<T> {
    let panic = match catch_unwind(AssertUnwindSafe(run)) {
        Ok(given) => return Some(given),
        Err(panic) => panic,
    };
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
        std::mem::forget(again);
    }
    None
}
