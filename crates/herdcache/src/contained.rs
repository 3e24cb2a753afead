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

#[cfg(test)]
mod tests {
    use std::panic::panic_any;

    use super::*;

    /// Panics when it is dropped, and leaves another of its kind.
    struct Bomb;

    impl Drop for Bomb {
        fn drop(&mut self) {
            if !std::thread::panicking() {
                panic_any(Bomb);
            }
        }
    }

    /// S2: neither a panic nor what it carries comes through.
    #[test]
    fn s2_a_panic_is_contained_with_what_it_carries() {
        assert_eq!(contained(|| 1), Some(1));
        assert_eq!(contained(|| panic!("a text")), None::<u8>);
        assert_eq!(contained(|| panic_any(Bomb)), None::<u8>);
    }
}
