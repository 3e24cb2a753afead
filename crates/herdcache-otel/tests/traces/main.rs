//! What is exported of flights, herds and waits, by the SDK's own exporter in memory.
//!
//! The tracer of herds is one for the process: these tests run one after another.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails there")]

mod exported;
mod flights;
mod herds;
mod keys;
mod layers;
mod page;
mod reloaded;
mod sampled;
mod scoped;
