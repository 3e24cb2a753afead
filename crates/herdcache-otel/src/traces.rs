//! [`traces`]: from a tracer provider to spans of flights, herds and waits.
//!
//! What was chosen before it began is told by the engine as spans of `tracing`, which a layer
//! turns into those of OpenTelemetry. What became a herd later cannot be: its spans are made of
//! the noted times ([`herd`]). Which flights are chosen, and how many, is the cache's setting.

mod herd;
mod in_order;

use std::fmt;
use std::sync::Arc;

use herdcache::{AlreadyTraced, trace_herds};
use opentelemetry::trace::{Tracer, TracerProvider};
use tracing::Subscriber;
use tracing_opentelemetry::OpenTelemetryLayer;
use tracing_subscriber::registry::LookupSpan;

use herd::Herds;
pub use in_order::{InOrder, InOrderSpan};

/// The name of the scope that herds' spans are of.
const SCOPE: &str = "herdcache";

/// Exports traces of flights of every cache of this process through `provider`, until the handle is dropped.
///
/// Three lines, of which the second is for services that have no layer of `tracing_opentelemetry` yet:
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # // The application's own, with the exporter of its choice.
/// # let provider = opentelemetry_sdk::trace::SdkTracerProvider::builder().build();
/// use tracing_subscriber::prelude::*;
/// let traces = herdcache_otel::traces(&provider)?; // herds, with links to their loads
/// let spans = tracing_subscriber::registry().with(traces.layer("shop")); // hot keys, and the service's own spans
/// tracing::subscriber::set_global_default(spans)?; // or `spans.init()`
///
/// // … the service runs; its caches are built with `.traces(…)` if the defaults do not fit …
///
/// // users.shutdown(limit).await: the caches end first, so that the last flights have ended;
/// provider.shutdown()?; // then the last export.
/// drop(traces);
/// # Ok(()) }
/// ```
///
/// # What is exported
///
/// | span | in which trace | when |
/// |---|---|---|
/// | `herdcache.flight` | its own: a load belongs to none of its callers | the key is hot, the flight fell into the uniform share, or it drew a herd |
/// | `herdcache.shared_read`, `.permit_wait`, `.lease`, `.origin`, `.write_back` | its children | for each such step that took time |
/// | spans of the database's driver | its children | while the loader is polled, unless the flight was chosen as a herd |
/// | `herdcache.wait` | the caller's, with a **link** to the flight | for so many callers of each such flight |
///
/// [`herdcache::Traces`] says how many. Keys are shown as in the feed: as a hash, unless the cache was built otherwise.
///
/// A herd that nobody could have chosen before is built as it lands, with the times that were noted. It lacks what ran
/// within its loader, and the write to the shared tier.
///
/// # Sampling
///
/// A flight is the root of its trace, so the provider's sampler judges it by itself. One that keeps a part of all traces
/// keeps that part of what was chosen already, and links lead nowhere for the rest. Let it keep all flights, of which
/// there are few:
///
/// ```
/// use opentelemetry::trace::{Link, SpanKind, TraceId};
/// use opentelemetry::{Context, KeyValue};
/// use opentelemetry_sdk::trace::{Sampler, SamplingDecision, SamplingResult, ShouldSample};
///
/// /// One in a hundred of the service's own traces, and every flight that was chosen.
/// #[derive(Clone, Debug)]
/// struct Flights;
///
/// impl ShouldSample for Flights {
///     fn should_sample(&self, parent: Option<&Context>, id: TraceId, name: &str, kind: &SpanKind, attributes: &[KeyValue], links: &[Link]) -> SamplingResult {
///         let rest = Sampler::TraceIdRatioBased(0.01).should_sample(parent, id, name, kind, attributes, links);
///         let is_flight = name == "herdcache.flight";
///         SamplingResult { decision: if is_flight { SamplingDecision::RecordAndSample } else { rest.decision }, ..rest }
///     }
/// }
///
/// let sampler = Sampler::ParentBased(Box::new(Flights));
/// # let flight = sampler.should_sample(None, TraceId::from_bytes([255; 16]), "herdcache.flight", &SpanKind::Internal, &[], &[]);
/// # assert_eq!(flight.decision, SamplingDecision::RecordAndSample);
/// # let other = sampler.should_sample(None, TraceId::from_bytes([255; 16]), "request", &SpanKind::Internal, &[], &[]);
/// # assert_eq!(other.decision, SamplingDecision::Drop);
/// ```
///
/// # Errors
/// [`AlreadyTraced`] while another handle lives: one for a process is enough.
pub fn traces<P>(provider: &P) -> Result<Tracing<P>, AlreadyTraced>
where
    P: TracerProvider + Clone,
    P::Tracer: Send + Sync + 'static,
    <P::Tracer as Tracer>::Span: Send + Sync + 'static,
{
    let herds = Arc::new(Herds::new(provider.tracer(SCOPE)));
    trace_herds(&herds)?;
    Ok(Tracing { provider: provider.clone(), _herds: herds })
}

/// Traces of herds are exported while this lives. See [`traces`].
///
/// ```
/// use herdcache_otel::{Tracing, traces};
/// use opentelemetry_sdk::trace::SdkTracerProvider;
/// use tracing_subscriber::prelude::*;
///
/// /// What `main` holds until the end.
/// struct Telemetry { provider: SdkTracerProvider, herds: Tracing<SdkTracerProvider> }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let provider = SdkTracerProvider::builder().build();
/// let telemetry = Telemetry { herds: traces(&provider)?, provider };
/// assert!(traces(&telemetry.provider).is_err()); // one for a process
/// let spans = tracing_subscriber::registry().with(telemetry.herds.layer("shop"));
/// tracing::subscriber::with_default(spans, || {
///     let request = tracing::info_span!("request"); // exported as the service's own
///     assert!(!request.is_disabled());
/// });
/// # Ok(()) }
/// ```
#[must_use = "herds are traced until this is dropped"]
pub struct Tracing<P: TracerProvider> {
    provider: P,
    _herds: Arc<Herds<P::Tracer>>,
}

impl<P: TracerProvider> Tracing<P> {
    /// The layer that exports spans of `tracing`, those of herdcache and the service's own, under the name `scope`.
    ///
    /// A service that has a layer of [`tracing_opentelemetry`] already needs none: that one exports them too. This one
    /// leaves out what spans do not say themselves: threads, places in the source, busy and idle time; and its spans end no
    /// earlier than they begin, whatever becomes of the system's clock ([`InOrder`]). Once two layers listen, each exports
    /// everything.
    pub fn layer<S>(&self, scope: &'static str) -> OpenTelemetryLayer<S, InOrder<P::Tracer>>
    where
        S: Subscriber + for<'span> LookupSpan<'span>,
        P::Tracer: 'static,
        <P::Tracer as Tracer>::Span: Send + Sync,
    {
        let layer = tracing_opentelemetry::layer().with_tracer(InOrder::new(self.provider.tracer(scope)));
        layer.with_location(false).with_threads(false).with_tracked_inactivity(false).with_target(false)
    }
}

impl<P: TracerProvider> fmt::Debug for Tracing<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tracing").finish_non_exhaustive()
    }
}
