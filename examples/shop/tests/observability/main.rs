//! The shop under load and in trouble, watched by a real Prometheus with the rules that are shipped.
//!
//! What the lint of `crates/dashboards` cannot know is shown here: that every panel's query brings data, that the
//! alerts come for the trouble they are for, and that nothing comes from a service that is well or idle; and that what the
//! program pushes by OTLP is what it shows, also in `VictoriaMetrics`. It needs `prometheus`, `promtool`,
//! `prometheus-node-exporter` and `victoria-metrics` in the path, and has a stage of its own in `scripts/test`.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod children;
mod fleet;
mod http;
mod live;
#[cfg(feature = "otlp")]
mod otlp;
mod prometheus;
mod promtool;
mod queries;
#[cfg(feature = "otlp")]
mod traces;
mod victoria;
