//! Spans of the database, under OpenTelemetry's names for those of a client.
//!
//! They belong to whoever took the connection: a request, or the flight whose load it is, so that a trace shows the query
//! within the load. What belongs to no trace makes none. The text of an error stays out: only its class is told.

use herdfeed::ClosedSet;
use tracing::field::Empty;
use tracing::{Span, info_span};

use super::DbError;
use crate::stats::QueryKind;

/// The wait for a connection.
pub(super) fn wait() -> Span {
    if Span::current().is_none() {
        return Span::none();
    }
    info_span!("wait for a connection", db.client.connection.pool.name = "shop")
}

/// A query on behalf of `asked_by`.
pub(super) fn query(kind: QueryKind, asked_by: &Span) -> Span {
    if asked_by.is_none() {
        return Span::none();
    }
    info_span!(
        parent: asked_by,
        "query",
        otel.name = format_args!("query {}", kind.label()),
        otel.kind = "client",
        otel.status_code = Empty,
        db.system.name = "sqlite",
        db.operation.name = if kind == QueryKind::PriceChange { "UPDATE" } else { "SELECT" },
        db.query.summary = kind.label(),
        error.type = Empty,
    )
}

/// The query brought no answer.
pub(super) fn failed(span: &Span, error: &DbError) {
    span.record("error.type", error.class());
    span.record("otel.status_code", "error");
}
