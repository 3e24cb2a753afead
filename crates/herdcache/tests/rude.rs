//! The storm of values that panic as they are dropped, in a process of its own.
//!
//! The store leaves some drops to whichever thread comes by later, of any cache of the process: a panic of such a value
//! would fail another test.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails there")]

#[path = "storms/drops.rs"]
mod drops;
#[path = "storms/size.rs"]
mod size;
#[path = "engine/support.rs"]
#[expect(dead_code, reason = "these tests need a part of it")]
mod support;

use size::number;
