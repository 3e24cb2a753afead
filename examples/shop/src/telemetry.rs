//! Metrics and traces of the shop: herdcache's whole account, its connection pool, its requests and queries.
//!
//! This is the part to copy. One meter provider with one or two readers (a page for Prometheus to scrape, an exporter that
//! pushes OTLP), three lines for herdcache, and for OTLP a tracer provider. What matters is the end: [`Telemetry::shutdown`].

mod delivery;
#[cfg(feature = "otlp")]
pub mod destination;
mod end;
mod page;
mod pool;
#[cfg(not(feature = "otlp"))]
#[path = "telemetry/no_push.rs"]
mod push;
#[cfg(feature = "otlp")]
mod push;
mod resource;

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use herdcache_otel::Observing;
use opentelemetry::metrics::MeterProvider;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use tracing::Dispatch;

pub use delivery::Delivered;

use crate::Shop;
use crate::catalog::Products;
use crate::cli::TelemetryArgs;
use end::Limit;
use page::Page;
use push::Push;

/// The longest that the end may take, the last spans and the last metrics together.
const END: Duration = Duration::from_secs(5);

/// Why there is no telemetry.
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
    #[error("cannot export: {0}")]
    Exporter(String),
    /// Somebody else observes already, and that many times.
    #[error(transparent)]
    Observers(#[from] herdcache::TooManyRecorders),
    /// Somebody else traces herds already.
    #[cfg(feature = "otlp")]
    #[error(transparent)]
    Traced(#[from] herdcache::AlreadyTraced),
}

/// What became of what was pushed, when nothing more will be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Deliveries {
    /// Collections of metrics. Totals are cumulative: a later collection makes good for those that were lost.
    pub metrics: Delivered,
    /// Spans.
    pub spans: Delivered,
}

/// Metrics that are being read, pushed or both, and traces.
#[must_use = "metrics end when this is dropped; `shutdown` sends the last of them"]
pub struct Telemetry {
    meters: SdkMeterProvider,
    /// Instruments report until it is dropped.
    observing: Observing,
    /// A cache that is gone reports nothing: this handle keeps it for the last collection.
    products: Products,
    page: Option<Page>,
    push: Option<Push>,
}

impl Telemetry {
    /// Observes `shop` as `args` ask. `None` if they ask for nothing.
    ///
    /// It starts threads of its own: a shop whose runtime is busy still answers Prometheus and still pushes.
    ///
    /// # Errors
    ///
    /// [`TelemetryError`], whose text says what to do.
    pub fn start(shop: &Shop, args: &TelemetryArgs) -> Result<Option<Self>, TelemetryError> {
        let resource = resource::of_this_process();
        let (mut builder, push) = Push::start(args, &resource, SdkMeterProvider::builder())?;
        if push.is_none() && args.prometheus.is_none() {
            return Ok(None);
        }
        let registry = prometheus::Registry::new();
        if args.prometheus.is_some() {
            let reader = opentelemetry_prometheus::exporter().with_registry(registry.clone()).build();
            builder = builder.with_reader(reader.map_err(|error| TelemetryError::Exporter(error.to_string()))?);
        }
        let meters = builder.with_resource(resource).build();
        // Three lines for herdcache: a meter, the call, and a handle to keep.
        let meter = meters.meter("shop");
        let observing = herdcache_otel::observe(&meter)?;
        pool::observe(&meter, shop.pool());
        let page = match args.prometheus {
            Some(addr) => Some(Page::open(addr, registry).map_err(|source| TelemetryError::Page { addr, source })?),
            None => None,
        };
        Ok(Some(Self { meters, observing, products: shop.products(), page, push }))
    }

    /// Where Prometheus is answered, if it is.
    pub fn page(&self) -> Option<SocketAddr> {
        self.page.as_ref().map(Page::address)
    }

    /// Where `tracing` spans go to become traces, if they do. The program makes it its default.
    pub fn dispatch(&self) -> Option<&Dispatch> {
        self.push.as_ref().and_then(Push::dispatch)
    }

    /// Sends what has not been sent, and ends. Takes at most 5 s, also where the collector is gone or does not answer.
    ///
    /// The order matters. It comes after the last request and after the caches' own shutdown, so that their last outcomes
    /// are counted. Then:
    ///
    /// 1. the tracer provider sends the last spans (at most 2 s);
    /// 2. the meter provider collects once more and sends (in what is left). The cache is still there, since one that is
    ///    gone reports nothing;
    /// 3. only then the handle of herdcache's metrics goes: dropped earlier it would leave that collection empty;
    /// 4. last the runtime that the exporters use.
    ///
    /// It blocks its thread. That may be one of any async runtime, also the only one of a current-thread runtime: what it
    /// waits for has threads of its own.
    pub fn shutdown(self) -> Deliveries {
        let Self { meters, observing, products, page, mut push } = self;
        let limit = Limit::of(END);
        if let Some(push) = &mut push {
            push.end_traces(limit);
        }
        // Its own limit cannot be set and would be 5 s more. A collector that is not there is no reason not to end well.
        limit.step(END, move || drop(meters.shutdown()));
        drop((observing, products, page));
        push.map(Push::end).unwrap_or_default()
    }
}
