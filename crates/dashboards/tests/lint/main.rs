//! Dashboards, rules and runbooks checked against each other and against the metrics that there are.
//!
//! Nobody here can look at a rendered dashboard: what a machine can know is checked instead. Each room holds a pure
//! function from text to complaints, a test that runs it over the files, and a test that shows it can fail. That every
//! query brings data is shown by a real Prometheus (`examples/shop/tests/observability`).

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod boards;
mod example;
mod files;
mod names;
mod rules;
mod traces;
