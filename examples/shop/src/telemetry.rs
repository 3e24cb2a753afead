//! Metrics of the shop: herdcache's whole account, and its connection pool.
//!
//! This is the part to copy. One meter provider, one or two readers (a page for Prometheus to scrape, an exporter that
//! pushes OTLP), three lines for herdcache. What matters is the end: see [`Telemetry::shutdown`].

mod page;
mod pool;

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use herdcache_otel::Observing;
use opentelemetry::KeyValue;
use opentelemetry::metrics::MeterProvider;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::{MeterProviderBuilder, SdkMeterProvider};

use crate::Shop;
use crate::catalog::Products;
use crate::cli::TelemetryArgs;
use page::Page;

/// The longest that the last metrics may take to be sent.
const LAST_EXPORT: Duration = Duration::from_secs(5);
/// The longest that any metrics may take to be sent.
#[cfg(feature = "otlp")]
const EXPORT: Duration = Duration::from_secs(3);

/// Why there are no metrics.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TelemetryError {
    /// The page cannot be had.
    #[error("cannot answer Prometheus at {addr}: {source}; choose another address with --prometheus")]
    Page {
        /// Where.
        addr: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The exporter does not like its settings.
    #[error("cannot export metrics: {0}")]
    Exporter(String),
    /// Somebody else observes already, and that many times.
    #[error(transparent)]
    Observers(#[from] herdcache::TooManyRecorders),
}

/// Metrics that are being read, pushed or both.
#[must_use = "metrics end when this is dropped; `shutdown` sends the last of them"]
pub struct Telemetry {
    provider: SdkMeterProvider,
    /// Instruments report until it is dropped.
    observing: Observing,
    /// A cache that is gone reports nothing: this handle keeps it for the last collection.
    products: Products,
    page: Option<Page>,
}

impl Telemetry {
    /// Observes `shop` as `args` ask. `None` if they ask for nothing.
    ///
    /// It starts threads of its own: a shop whose runtime is busy still answers Prometheus.
    ///
    /// # Errors
    ///
    /// [`TelemetryError`], whose text says what to do.
    pub fn start(shop: &Shop, args: &TelemetryArgs) -> Result<Option<Self>, TelemetryError> {
        let (builder, pushes) = pushing(SdkMeterProvider::builder(), args)?;
        if !pushes && args.prometheus.is_none() {
            return Ok(None);
        }
        // Two processes that push without an id of their own would write into each other's series.
        let id = KeyValue::new("service.instance.id", format!("{}-{:08x}", std::process::id(), fastrand::u32(..)));
        let resource = Resource::builder().with_service_name("shop").with_attribute(id).build();
        let registry = prometheus::Registry::new();
        let mut builder = builder.with_resource(resource);
        if args.prometheus.is_some() {
            let reader = opentelemetry_prometheus::exporter().with_registry(registry.clone()).build();
            builder = builder.with_reader(reader.map_err(|error| TelemetryError::Exporter(error.to_string()))?);
        }
        let provider = builder.build();
        // Three lines for herdcache: a meter, the call, and a handle to keep.
        let meter = provider.meter("shop");
        let observing = herdcache_otel::observe(&meter)?;
        pool::observe(&meter, shop.pool());
        let page = match args.prometheus {
            Some(addr) => Some(Page::open(addr, registry).map_err(|source| TelemetryError::Page { addr, source })?),
            None => None,
        };
        Ok(Some(Self { provider, observing, products: shop.products(), page }))
    }

    /// Where Prometheus is answered, if it is.
    pub fn page(&self) -> Option<SocketAddr> {
        self.page.as_ref().map(Page::address)
    }

    /// Sends what has not been sent, and ends. Takes at most 5 s, also where the collector does not answer.
    ///
    /// The order matters. It comes after the last request, so that its outcome is counted; the cache is still there,
    /// since one that is gone reports nothing; the provider collects once more and sends; only then the handle goes.
    /// Call it outside of an async runtime: it blocks.
    pub fn shutdown(self) {
        let Self { provider, observing, products, page } = self;
        // A collector that is not there is no reason for a shop not to end well.
        let _ = provider.shutdown_with_timeout(LAST_EXPORT);
        drop((observing, products, page));
    }
}

/// Adds an exporter that pushes OTLP, if one is asked for.
#[cfg(feature = "otlp")]
fn pushing(
    builder: MeterProviderBuilder,
    args: &TelemetryArgs,
) -> Result<(MeterProviderBuilder, bool), TelemetryError> {
    use opentelemetry_otlp::{MetricExporter, WithExportConfig};
    let Some(url) = &args.otlp else {
        return Ok((builder, false));
    };
    // What is set in code is taken as it is: the path of metrics belongs to it.
    let endpoint = format!("{}/v1/metrics", url.trim_end_matches('/'));
    let exporter = MetricExporter::builder().with_http().with_endpoint(endpoint).with_timeout(EXPORT).build();
    let exporter = exporter.map_err(|error| TelemetryError::Exporter(error.to_string()))?;
    // Sent every 60 s, or as OTEL_METRIC_EXPORT_INTERVAL says.
    Ok((builder.with_periodic_exporter(exporter), true))
}

/// This build cannot push.
#[cfg(not(feature = "otlp"))]
#[expect(clippy::unnecessary_wraps, reason = "one signature with and without the feature")]
fn pushing(
    builder: MeterProviderBuilder,
    _args: &TelemetryArgs,
) -> Result<(MeterProviderBuilder, bool), TelemetryError> {
    Ok((builder, false))
}
