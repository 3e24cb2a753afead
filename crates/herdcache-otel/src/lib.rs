//! OpenTelemetry metrics of herdcache: the whole account of every cache and gate of a process. And traces of what is hot.
//!
//! Each request in exactly one outcome, expiry apart from eviction, a connection error apart from a miss, leaders apart
//! from waiters, stale answers with their age, waits for permits, rejections (load shedding) by reason: what the engine
//! counts, as instruments of a [`Meter`](opentelemetry::metrics::Meter). [`metrics`] is the table of them all; the same table is the
//! page `docs/reference/metrics.md`.
//!
//! # Three lines
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # // The application's own, with the exporter of its choice.
//! # let provider = opentelemetry_sdk::metrics::SdkMeterProvider::builder().build();
//! use opentelemetry::metrics::MeterProvider;
//! let meter = provider.meter("herdcache");
//! let metrics = herdcache_otel::observe(&meter)?; // every cache and gate, also those built later
//!
//! // … the service runs …
//!
//! // users.shutdown(limit).await: the caches end first, so that their last outcomes are counted;
//! provider.shutdown()?; // then the last collection and the last export;
//! drop(metrics); // then the handle. Dropped earlier, it would leave that collection empty.
//! # Ok(()) }
//! ```
//!
//! The meter is to come from the application's provider: one from `opentelemetry::global::meter` that was taken before the
//! provider was set stays without effect. One call for a provider is enough. [`Observer`] has settings: fewer names, only some
//! caches or gates.
//!
//! # What to know
//!
//! - **No key is ever an attribute**, nor the text of an error: attributes are the closed sets of the account, the names of
//!   caches and gates, and the at most 16 classes of errors that the application names
//!   ([`Builder::error_classes`](herdcache::Builder::error_classes)).
//! - **Counters are exact**: one collection is one look at the process, so the sums between its counters hold. They never fall
//!   while the handle lives, also when a cache is dropped or built anew under its name. Each known value of an attribute is
//!   there from 0 on. What a cache counts after the last collection before it is dropped is in no counter; histograms have it.
//! - **Histograms are told each sample**, since OpenTelemetry has none that can be observed. Their buckets are coarser than
//!   those of the live feed, and the same for every cache. Of requests that are answered at once one in
//!   [`QUICK_SAMPLED`](herdcache::QUICK_SAMPLED) is timed; the counter beside says how many there were. Their series begin with their first sample.
//! - **Names are bounded**: [`NAMES`] caches and as many gates have series of their own, the others share [`OTHER`] with exact
//!   sums. That keeps every instrument below the 2,000 series at which the SDK folds by itself.
//! - **A collection looks at every cache once** and does the pending maintenance of its store, on the reader's thread. Hits pay
//!   nothing for it.
//! - Callbacks cannot be unregistered; after the handle is dropped they say nothing. They do not panic.
//! - In Prometheus a metric's name has underscores for dots and ends in its unit (`_seconds`, `_ratio`) and, for a counter, in
//!   `_total`: [`Metric::prometheus`].
//! - Beside herdcache this crate depends on the API `opentelemetry` alone. SDK and exporters are the application's.
//!
//! # Traces
//!
//! With the feature `traces`, [`traces()`] leads from one slow request to the one load that it and 800 others waited for.
//!
//! Not provided: logs, and what only a crate for Redis can measure (the server's evictions and memory,
//! invalidations from other processes).

mod fold;
mod histograms;
mod labels;
mod names;
mod observer;
mod observing;
mod reading;
mod series;
mod table;
#[cfg(feature = "traces")]
mod traces;
mod values;

pub use labels::{Attribute, CACHE, GATE, OTHER};
pub use observer::{NAMES, Observer, Observing, observe};
pub use table::{Kind, Metric, Subject, metrics};
#[cfg(feature = "traces")]
pub use traces::{InOrder, InOrderSpan, Tracing, traces};
#[cfg(feature = "traces")]
pub use tracing_opentelemetry;
