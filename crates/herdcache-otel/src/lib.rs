//! OpenTelemetry metrics of herdcache: the whole account of every cache and gate of a process.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let provider = opentelemetry_sdk::metrics::SdkMeterProvider::builder().build();
//! use opentelemetry::metrics::MeterProvider;
//! let meter = provider.meter("herdcache");
//! let metrics = herdcache_otel::observe(&meter)?;        // keep it as long as the service runs
//! # provider.shutdown()?;
//! # drop(metrics);
//! # Ok(()) }
//! ```

mod fold;
mod histograms;
mod labels;
mod names;
mod observer;
mod observing;
mod reading;
mod series;
mod table;
mod values;

pub use labels::{Attribute, CACHE, GATE, OTHER};
pub use observer::{NAMES, Observer, Observing, observe};
pub use table::{Kind, Metric, Subject, metrics};
