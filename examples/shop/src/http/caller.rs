//! The trace that a request comes with, by W3C's header `traceparent`: the request's span is a part of it.
//!
//! So what began at a gateway or at another service leads on to the load that it waited for here. Whether the trace is
//! kept is decided where it began; a header that makes no sense is as none.

use axum::http::HeaderMap;
use opentelemetry::Context;
use opentelemetry::propagation::{Extractor, TextMapPropagator};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

struct Headers<'a>(&'a HeaderMap);

impl Extractor for Headers<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.to_str().ok()
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().map(axum::http::HeaderName::as_str).collect()
    }
}

/// Makes `span` a part of the trace that the request comes with, if it comes with one and anybody listens.
pub(super) fn continues(span: &Span, headers: &HeaderMap) {
    if span.is_disabled() || !headers.contains_key("traceparent") {
        return;
    }
    let caller = TraceContextPropagator::new().extract_with_context(&Context::new(), &Headers(headers));
    // Fails only where no layer for OpenTelemetry listens, and then there is no trace.
    let _ = span.set_parent(caller);
}
