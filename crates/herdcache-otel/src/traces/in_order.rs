//! Spans that end no earlier than they begin, though the system's clock be set back meanwhile.
//!
//! A span of `tracing` is timed by the layer, at both of its ends by the system's clock. One that lasts from before a step
//! back until after it would end before it began: stores refuse it, or take the difference for centuries.

use std::borrow::Cow;
use std::time::SystemTime;

use opentelemetry::trace::{Span, SpanBuilder, SpanContext, Status, Tracer};
use opentelemetry::{Context, KeyValue};

/// A tracer whose spans end no earlier than they begin. The layer of [`Tracing::layer`](super::Tracing::layer) has it.
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use opentelemetry::trace::{Span as _, Tracer as _, TracerProvider as _};
/// use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider};
///
/// let exporter = InMemorySpanExporter::default();
/// let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
/// let tracer = herdcache_otel::InOrder::new(provider.tracer("shop"));
/// let began = SystemTime::now();
/// let mut span: herdcache_otel::InOrderSpan<_> = tracer.build(tracer.span_builder("request").with_start_time(began));
/// // Meanwhile the clock was set back by an hour.
/// span.end_with_timestamp(began - Duration::from_secs(3_600));
/// let exported = &exporter.get_finished_spans()?[0];
/// assert_eq!((exported.start_time, exported.end_time), (began, began));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct InOrder<T>(T);

impl<T> InOrder<T> {
    /// Over another tracer.
    pub const fn new(tracer: T) -> Self {
        Self(tracer)
    }
}

impl<T: Tracer> Tracer for InOrder<T> {
    type Span = InOrderSpan<T::Span>;

    fn build_with_context(&self, builder: SpanBuilder, parent: &Context) -> Self::Span {
        let began = builder.start_time.unwrap_or_else(opentelemetry::time::now);
        InOrderSpan { span: self.0.build_with_context(builder.with_start_time(began), parent), began }
    }
}

/// A span of [`InOrder`].
#[derive(Debug)]
pub struct InOrderSpan<S> {
    span: S,
    began: SystemTime,
}

impl<S: Span> Span for InOrderSpan<S> {
    fn add_event_with_timestamp<N>(&mut self, name: N, at: SystemTime, attributes: Vec<KeyValue>)
    where
        N: Into<Cow<'static, str>>,
    {
        self.span.add_event_with_timestamp(name, at, attributes);
    }

    fn span_context(&self) -> &SpanContext {
        self.span.span_context()
    }

    fn is_recording(&self) -> bool {
        self.span.is_recording()
    }

    fn set_attribute(&mut self, attribute: KeyValue) {
        self.span.set_attribute(attribute);
    }

    fn set_status(&mut self, status: Status) {
        self.span.set_status(status);
    }

    fn update_name<N>(&mut self, name: N)
    where
        N: Into<Cow<'static, str>>,
    {
        self.span.update_name(name);
    }

    fn add_link(&mut self, to: SpanContext, attributes: Vec<KeyValue>) {
        self.span.add_link(to, attributes);
    }

    fn end_with_timestamp(&mut self, at: SystemTime) {
        self.span.end_with_timestamp(at.max(self.began));
    }
}
