//! What goes over a wire to a collector, by the exporters that an application has; and what becomes of the application where
//! the collector takes nothing.
//!
//! Whoever observes a process sees all of its caches, and the tracer of herds is one: these tests run one after another.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails there")]

mod bytes;
mod service;
mod storms;
