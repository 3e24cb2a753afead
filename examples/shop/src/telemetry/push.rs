//! Pushing OTLP: exporters, the runtime that they need, and the providers' parts that send.
//!
//! Three things that are easy to get wrong are settled here. gRPC needs a runtime where it is built and as long as it sends:
//! it gets one of its own, with a thread of its own, so that it works for services on any runtime and while that is busy. A
//! connection that is neither made nor refused would hold an export for minutes: every export has a limit. And what is not
//! sent is counted ([`Delivery`]).

mod counted;
mod delivery;
mod traces;

use std::sync::Arc;
use std::time::Duration;

use herdcache_otel::Tracing;
use opentelemetry_otlp::{ExporterBuildError, MetricExporter, Protocol as Wire, SpanExporter, WithExportConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::MeterProviderBuilder;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tokio::runtime::Runtime;
use tracing::Dispatch;

use self::counted::Counted;
use self::delivery::Delivery;
use super::destination::{Destination, Protocol, Signal};
use super::end::Limit;
use super::{Deliveries, TelemetryArgs, TelemetryError};

/// The longest that the last spans may take to be sent.
const LAST_SPANS: Duration = Duration::from_secs(2);

/// What pushes.
pub(super) struct Push {
    tracer: Option<SdkTracerProvider>,
    /// Herds are traced until it is dropped.
    herds: Option<Tracing<SdkTracerProvider>>,
    dispatch: Option<Dispatch>,
    metrics: Arc<Delivery>,
    spans: Arc<Delivery>,
    /// What gRPC runs on. Taken out when it ends.
    runtime: Option<Runtime>,
}

impl Push {
    /// Adds a reader that pushes to `meters`, and starts traces, as `args` ask. `None` if they ask for nothing.
    pub(super) fn start(
        args: &TelemetryArgs,
        resource: &Resource,
        meters: MeterProviderBuilder,
    ) -> Result<(MeterProviderBuilder, Option<Self>), TelemetryError> {
        let Some(to) = &args.otlp else { return Ok((meters, None)) };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("otlp")
            .enable_all()
            .build()
            .map_err(|error| TelemetryError::Exporter(error.to_string()))?;
        let mut this = Self {
            tracer: None,
            herds: None,
            dispatch: None,
            metrics: Arc::new(Delivery::of("metrics")),
            spans: Arc::new(Delivery::of("spans")),
            runtime: Some(runtime),
        };
        let meters = if Signal::Metrics.is_wanted() { this.push_metrics(to, meters)? } else { meters };
        if Signal::Traces.is_wanted() {
            this.push_spans(to, resource, args.trace_share.unwrap_or(1.0))?;
        }
        Ok((meters, Some(this)))
    }

    fn push_metrics(
        &self,
        to: &Destination,
        meters: MeterProviderBuilder,
    ) -> Result<MeterProviderBuilder, TelemetryError> {
        let exporter = self.build(|| metrics(to))?;
        // Sent every 60 s, or as OTEL_METRIC_EXPORT_INTERVAL says.
        Ok(meters.with_periodic_exporter(self.counted(exporter, Signal::Metrics, &self.metrics)))
    }

    fn push_spans(&mut self, to: &Destination, resource: &Resource, share: f64) -> Result<(), TelemetryError> {
        let exporter = self.build(|| spans(to))?;
        let exporter = self.counted(exporter, Signal::Traces, &self.spans);
        let tracer = traces::provider(exporter, Arc::clone(&self.spans), resource.clone(), share);
        let herds = herdcache_otel::traces(&tracer)?;
        self.dispatch = Some(traces::dispatch(&herds));
        (self.tracer, self.herds) = (Some(tracer), Some(herds));
        Ok(())
    }

    /// Builds an exporter where gRPC finds its runtime: elsewhere it panics.
    fn build<E>(&self, build: impl FnOnce() -> Result<E, String>) -> Result<E, TelemetryError> {
        let _within = self.runtime.as_ref().map(Runtime::enter);
        build().map_err(TelemetryError::Exporter)
    }

    fn counted<E>(&self, exporter: E, signal: Signal, delivery: &Arc<Delivery>) -> Counted<E> {
        let handle = self.runtime.as_ref().map(|runtime| runtime.handle().clone());
        Counted::new(exporter, signal.timeout(), handle, Arc::clone(delivery))
    }

    /// Where spans go to become traces.
    pub(super) fn dispatch(&self) -> Option<&Dispatch> {
        self.dispatch.as_ref()
    }

    /// Sends the spans that have not been sent. Those that end later are lost, and counted.
    pub(super) fn end_traces(&mut self, limit: Limit) {
        if let Some(tracer) = self.tracer.take() {
            limit.step(LAST_SPANS, move || drop(tracer.shutdown_with_timeout(LAST_SPANS)));
        }
        self.herds = None;
    }

    /// What became of all of it. Last of all: nothing is sent after it.
    pub(super) fn end(mut self) -> Deliveries {
        let sent = Deliveries { metrics: self.metrics.close(), spans: self.spans.close() };
        if let Some(runtime) = self.runtime.take() {
            // It may still wait for a collector; nobody waits for it.
            runtime.shutdown_background();
        }
        sent
    }
}

impl Drop for Push {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Dropped within another runtime it would panic; this may be dropped anywhere.
            runtime.shutdown_background();
        }
    }
}

fn metrics(to: &Destination) -> Result<MetricExporter, String> {
    let builder = MetricExporter::builder();
    let built = match to.protocol(Signal::Metrics)? {
        Protocol::Grpc => limited(builder.with_tonic(), to, Signal::Metrics).build(),
        Protocol::Http => limited(builder.with_http().with_protocol(Wire::HttpBinary), to, Signal::Metrics).build(),
    };
    built.map_err(|error| said(&error))
}

fn spans(to: &Destination) -> Result<SpanExporter, String> {
    let builder = SpanExporter::builder();
    let built = match to.protocol(Signal::Traces)? {
        Protocol::Grpc => limited(builder.with_tonic(), to, Signal::Traces).build(),
        Protocol::Http => limited(builder.with_http().with_protocol(Wire::HttpBinary), to, Signal::Traces).build(),
    };
    built.map_err(|error| said(&error))
}

/// The same with its address and its limit.
fn limited<B: WithExportConfig>(builder: B, to: &Destination, signal: Signal) -> B {
    let builder = builder.with_timeout(signal.timeout());
    match to.endpoint(signal) {
        Some(endpoint) => builder.with_endpoint(endpoint),
        None => builder,
    }
}

fn said(error: &ExporterBuildError) -> String {
    error.to_string()
}
