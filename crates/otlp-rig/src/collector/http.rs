//! OTLP over HTTP with protobuf: `POST /v1/metrics` and `POST /v1/traces`, plain or gzip.

use std::io::{self, Read};
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use flate2::read::GzDecoder;
use prost::Message;
use tokio::net::TcpListener;

use super::{LARGEST, raw};
use crate::inbox::{Inbox, Refusal};

const PROTOBUF: &str = "application/x-protobuf";

pub(super) async fn serve(listener: TcpListener, inbox: Arc<Inbox>) -> io::Result<()> {
    let router = Router::new()
        .route("/v1/metrics", post(metrics))
        .route("/v1/traces", post(traces))
        .layer(from_fn_with_state(Arc::clone(&inbox), raw::keep))
        .layer(DefaultBodyLimit::max(LARGEST))
        .with_state(inbox);
    axum::serve(listener, router).await
}

async fn metrics(State(inbox): State<Arc<Inbox>>, head: HeaderMap, body: Bytes) -> Response {
    answer(decoded(&head, &body).map(|request| inbox.put_metrics(request)))
}

async fn traces(State(inbox): State<Arc<Inbox>>, head: HeaderMap, body: Bytes) -> Response {
    answer(decoded(&head, &body).map(|request| inbox.put_spans(request)))
}

fn answer(put: Result<Result<(), Refusal>, StatusCode>) -> Response {
    match put {
        // An empty message of protobuf: all was taken.
        Ok(Ok(())) => ([(header::CONTENT_TYPE, PROTOBUF)], Bytes::new()).into_response(),
        // One that an SDK tries again.
        Ok(Err(Refusal::Full)) => StatusCode::SERVICE_UNAVAILABLE.into_response(),
        Ok(Err(Refusal::Exhausted)) => StatusCode::TOO_MANY_REQUESTS.into_response(),
        Ok(Err(Refusal::Broken)) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        Err(status) => status.into_response(),
    }
}

fn decoded<M: Message + Default>(head: &HeaderMap, body: &Bytes) -> Result<M, StatusCode> {
    let text = |name| head.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if text(header::CONTENT_TYPE) != PROTOBUF {
        return Err(StatusCode::UNSUPPORTED_MEDIA_TYPE);
    }
    let mut plain = Vec::new();
    match text(header::CONTENT_ENCODING) {
        "" => plain.extend_from_slice(body),
        "gzip" => {
            let most = LARGEST as u64 + 1;
            GzDecoder::new(&body[..]).take(most).read_to_end(&mut plain).map_err(|_| StatusCode::BAD_REQUEST)?;
        }
        _ => return Err(StatusCode::UNSUPPORTED_MEDIA_TYPE),
    }
    if plain.len() > LARGEST {
        return Err(StatusCode::PAYLOAD_TOO_LARGE);
    }
    M::decode(&plain[..]).map_err(|_| StatusCode::BAD_REQUEST)
}
