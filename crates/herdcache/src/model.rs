//! What a story under shuttle needs of the engine: its clock. Not part of any service's build.

use std::time::Duration;

/// Sets the clock back, and the dice: before each run of a story.
pub fn reset() {
    fastrand::seed(1);
    crate::sync::time::reset();
}

/// Moves the clock, and wakes everyone whose limit that passes.
pub fn advance(by: Duration) {
    crate::sync::time::advance(by);
}
