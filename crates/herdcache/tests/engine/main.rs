//! The engine from outside, on paused time.
#![expect(missing_docs, reason = "tests")]

mod flights;
mod support;
