//! A span for each request, under OpenTelemetry's names for those of an HTTP server.
//!
//! It is named by the route, never by the path: there are as many paths as products.

use axum::extract::{MatchedPath, Request};
use axum::middleware::Next;
use axum::response::Response;
use tracing::field::Empty;
use tracing::{Instrument, info_span};

pub(super) async fn traced(path: Option<MatchedPath>, request: Request, next: Next) -> Response {
    let span = {
        let route = path.as_ref().map_or("", MatchedPath::as_str);
        let method = request.method().as_str();
        info_span!(
            "request",
            otel.name = format_args!("{method} {route}"),
            otel.kind = "server",
            otel.status_code = Empty,
            http.request.method = method,
            http.route = route,
            http.response.status_code = Empty,
        )
    };
    #[cfg(feature = "otlp")]
    super::caller::continues(&span, request.headers());
    let response = next.run(request).instrument(span.clone()).await;
    span.record("http.response.status_code", response.status().as_u16());
    if response.status().is_server_error() {
        span.record("otel.status_code", "error");
    }
    response
}
