//! The real shop on a real port with a real database, asked over HTTP.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod account;
mod answers;
mod database;
mod limits;
#[cfg(feature = "otlp")]
mod otlp;
#[cfg(unix)]
mod process;
mod support;
mod trouble;
