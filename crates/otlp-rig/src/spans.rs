//! Traces as plain values: one [`Span`] for each span, with its parent and links.

use std::collections::BTreeMap;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, Span as Sent, span::SpanKind, status::StatusCode};

use crate::values::attributes;

/// Which span of which trace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Context {
    /// The trace, 16 bytes.
    pub trace: Vec<u8>,
    /// The span in it, 8 bytes.
    pub span: Vec<u8>,
}

/// A span that has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// Who sent it.
    pub resource: BTreeMap<String, String>,
    /// Its name.
    pub name: String,
    /// What it is.
    pub context: Context,
    /// Which span of the same trace it is a part of; `None` for the first of a trace.
    pub parent: Option<Context>,
    /// Which other spans it names.
    pub links: Vec<Context>,
    /// `internal`, `server`, `client`, `producer`, `consumer` or `unspecified`.
    pub kind: &'static str,
    /// Whether it says that it failed.
    pub failed: bool,
    /// What it says.
    pub attributes: BTreeMap<String, String>,
    /// Beginning and end in nanoseconds since 1970.
    pub lasted: (u64, u64),
}

impl Span {
    /// Whether it is a part of the other one, directly.
    pub fn is_child_of(&self, other: &Self) -> bool {
        self.parent.as_ref() == Some(&other.context)
    }
}

/// The spans of one request.
pub(crate) fn spans(request: &ExportTraceServiceRequest) -> Vec<Span> {
    request.resource_spans.iter().flat_map(of_resource).collect()
}

fn of_resource(sent: &ResourceSpans) -> Vec<Span> {
    let resource = sent.resource.as_ref().map(|resource| attributes(&resource.attributes)).unwrap_or_default();
    let spans = sent.scope_spans.iter().flat_map(|scope| &scope.spans);
    spans.map(|span| plain(span, resource.clone())).collect()
}

fn plain(sent: &Sent, resource: BTreeMap<String, String>) -> Span {
    let context = |trace: &[u8], span: &[u8]| Context { trace: trace.to_vec(), span: span.to_vec() };
    Span {
        resource,
        name: sent.name.clone(),
        context: context(&sent.trace_id, &sent.span_id),
        parent: (!sent.parent_span_id.is_empty()).then(|| context(&sent.trace_id, &sent.parent_span_id)),
        links: sent.links.iter().map(|link| context(&link.trace_id, &link.span_id)).collect(),
        kind: kind(sent.kind),
        failed: sent.status.as_ref().is_some_and(|status| status.code() == StatusCode::Error),
        attributes: attributes(&sent.attributes),
        lasted: (sent.start_time_unix_nano, sent.end_time_unix_nano),
    }
}

fn kind(number: i32) -> &'static str {
    match SpanKind::try_from(number) {
        Ok(SpanKind::Internal) => "internal",
        Ok(SpanKind::Server) => "server",
        Ok(SpanKind::Client) => "client",
        Ok(SpanKind::Producer) => "producer",
        Ok(SpanKind::Consumer) => "consumer",
        Ok(SpanKind::Unspecified) | Err(_) => "unspecified",
    }
}
