//! A shop over `SQLite` that reads through herdcache: a model for embedding it.
//!
//! | module | holds |
//! |---|---|
//! | [`product`] | what the shop sells, and the cache key |
//! | [`catalog`] | gate, cache and loader: the part to copy |
//! | [`db`] | the `SQLite` file and its pool of connections |
//! | [`http`] | routes and status codes |
//! | [`stats`] | the shop's own counts |
//! | [`telemetry`] | metrics for Prometheus and OpenTelemetry: the other part to copy |
//! | [`trouble`] | what goes wrong on purpose |
//! | [`settings`], [`server`] | from settings to a running shop and its orderly end |
//! | [`cli`] | the command line |
//! | [`load`] | the load generator, which knows the shop by HTTP only |

pub mod catalog;
pub mod cli;
pub mod db;
pub mod http;
pub mod load;
pub mod product;
pub mod server;
pub mod settings;
pub mod stats;
pub mod telemetry;
pub mod trouble;

pub use server::{Shop, StartError};
pub use settings::{Protection, Settings, Sharing};

/// The program that the page shows is compiled as one of this crate's documentation tests.
#[cfg(all(doctest, feature = "otlp"))]
#[doc = include_str!("../../../docs/opentelemetry.md")]
struct Page;
