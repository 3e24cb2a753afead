//! From `tracing` spans to traces: the provider, who is sampled, and where spans go.
//!
//! Requests and queries make spans everywhere in the shop ([`tracing`] alone, which costs nothing while nobody listens).
//! Ended spans wait in a bounded queue and are sent in batches; a full queue drops the span, never the request.

use std::env;
use std::sync::Arc;
use std::time::Duration;

use herdcache_otel::Tracing;
use opentelemetry::trace::{Link, SpanKind, TraceContextExt, TraceId};
use opentelemetry::{Context, KeyValue};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{
    BatchSpanProcessor, Sampler, SamplingDecision, SamplingResult, SdkTracerProvider, ShouldSample, Span, SpanData,
    SpanExporter, SpanProcessor,
};
use tracing::Dispatch;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Layer, SubscriberExt};

use super::delivery::Delivery;

/// A provider that sends through `exporter`. Of the traces of requests it keeps this share, of flights every one.
pub(super) fn provider<E: SpanExporter + 'static>(
    exporter: E,
    delivery: Arc<Delivery>,
    resource: Resource,
    share: f64,
) -> SdkTracerProvider {
    // 2,048 spans may wait, 512 are sent at once, every 5 s at the latest; OTEL_BSP_* change that.
    let inner = BatchSpanProcessor::builder(exporter).build();
    let builder =
        SdkTracerProvider::builder().with_resource(resource).with_span_processor(Counting { inner, delivery });
    // Whoever sets a sampler in the environment gets that one, which the builder reads by itself.
    if env::var_os("OTEL_TRACES_SAMPLER").is_some() {
        return builder.build();
    }
    builder.with_sampler(Sampler::ParentBased(Box::new(Chosen { requests: Sampler::TraceIdRatioBased(share) }))).build()
}

/// Where spans of the shop and of herdcache go. Those of the HTTP and gRPC libraries would tell of the sending itself.
pub(super) fn dispatch(traces: &Tracing<SdkTracerProvider>) -> Dispatch {
    let ours = Targets::new().with_target("shop", LevelFilter::INFO).with_target("herdcache", LevelFilter::INFO);
    Dispatch::new(tracing_subscriber::registry().with(traces.layer("shop").with_filter(ours)))
}

/// Which traces are kept: those of flights, which herdcache has chosen already, and a share of the others.
#[derive(Clone, Debug)]
struct Chosen {
    requests: Sampler,
}

impl ShouldSample for Chosen {
    fn should_sample(
        &self,
        parent: Option<&Context>,
        trace: TraceId,
        name: &str,
        kind: &SpanKind,
        attributes: &[KeyValue],
        links: &[Link],
    ) -> SamplingResult {
        if name.starts_with("herdcache.") {
            let trace_state =
                parent.map(|context| context.span().span_context().trace_state().clone()).unwrap_or_default();
            return SamplingResult { decision: SamplingDecision::RecordAndSample, attributes: Vec::new(), trace_state };
        }
        self.requests.should_sample(parent, trace, name, kind, attributes, links)
    }
}

/// Counts what ends, so that what is dropped before it reaches the exporter is known too.
#[derive(Debug)]
struct Counting<P> {
    inner: P,
    delivery: Arc<Delivery>,
}

impl<P: SpanProcessor> SpanProcessor for Counting<P> {
    fn on_start(&self, span: &mut Span, context: &Context) {
        self.inner.on_start(span, context);
    }

    fn on_end(&self, span: SpanData) {
        self.delivery.hand_over(1);
        self.inner.on_end(span);
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.inner.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.inner.set_resource(resource);
    }
}
