//! Requests as they came, kept before anybody understands them.

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::LARGEST;
use crate::inbox::Inbox;

pub(super) async fn keep(State(inbox): State<Arc<Inbox>>, request: Request, next: Next) -> Response {
    let (head, body) = request.into_parts();
    let Ok(body) = to_bytes(body, LARGEST).await else { return StatusCode::PAYLOAD_TOO_LARGE.into_response() };
    let mut raw = format!("{} {} {:?}\n", head.method, head.uri, head.headers).into_bytes();
    raw.extend_from_slice(&body);
    inbox.put_raw(raw);
    next.run(Request::from_parts(head, Body::from(body))).await
}
