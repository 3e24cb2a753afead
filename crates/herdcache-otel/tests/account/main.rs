//! What a collection says, against what the engine's own snapshot says.
//!
//! The engine's list of caches is one for the process, and so is what observes it: these tests run one after another,
//! and look at their own caches only.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails there")]
#![expect(clippy::float_cmp, reason = "what is compared are whole numbers, exact as floats")]

mod basics;
mod handles;
mod laws;
mod names;
mod play;
mod reader;
mod samples;
mod support;
mod table;
