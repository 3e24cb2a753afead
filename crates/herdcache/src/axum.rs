//! Feature `axum`: a [`GetError`] as a response of axum 0.8, and the header `Age` of an [`Answer`].
//!
//! A handler that returns `Result<_, GetError<E>>` may use `?`: rejected, cooling and closed become 503 (with
//! `Retry-After` in whole seconds, but for closed), every kind of timeout 504, an origin error 502, a panic or
//! a broken rule 500. See [`ErrorKind`](crate::ErrorKind).
//!
//! **The body** is a problem document (RFC 9457, `application/problem+json`): its media type alone tells a
//! client of a JSON service that this is not what it asked for, where plain text would be a parse error. It
//! holds a fixed sentence and never what the origin said, nor the reason of a refusal: those are for the
//! operator. For a middleware that logs, the error itself lies in the response's extensions (as
//! `GetError<E>`), which never leave the process.
//!
//! ```
//! use std::time::Duration;
//! use axum::{Json, Router, extract::{Path, State}, http::StatusCode, response::{IntoResponse, Response}, routing::get};
//! use herdcache::{Cache, Gate, GetError, LoadContext, ReadThrough, Ttl, axum::Age};
//!
//! type Products = ReadThrough<u64, String, std::io::Error>;
//!
//! async fn product(State(products): State<Products>, Path(id): Path<u64>) -> Result<Response, GetError<std::io::Error>> {
//!     Ok(match products.get(&id).await? {
//!         Some(product) => (Age::of(&product), Json(&*product)).into_response(),
//!         None => StatusCode::NOT_FOUND.into_response(),
//!     })
//! }
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let load = |cx: LoadContext<u64, String>| async move {
//!     if *cx.key() == 9 { Err(std::io::Error::other("password of db1 refused")) } else { Ok(format!("product {}", cx.key())) }
//! };
//! let products = Cache::builder("products", Ttl::fresh_for(Duration::from_secs(60)), &Gate::new(8)).build_over(load)?;
//! let app: Router = Router::new().route("/products/{id}", get(product)).with_state(products);
//! # use tower::ServiceExt;
//! # let ask = |id: u64| app.clone().oneshot(axum::http::Request::get(format!("/products/{id}")).body(axum::body::Body::empty()).unwrap());
//! # let found = ask(1).await?;
//! # assert_eq!((found.status().as_u16(), &found.headers()["age"]), (200, &axum::http::HeaderValue::from(0)));
//! # let failed = ask(9).await?;
//! # assert_eq!((failed.status().as_u16(), failed.headers().get("retry-after")), (502, None));
//! # let cooling = ask(9).await?;
//! # assert_eq!((cooling.status().as_u16(), cooling.headers()["retry-after"].to_str()?), (503, "1"));
//! # Ok(()) }
//! ```
//!
//! **A body of your own** needs nothing of this module but is as short: `StatusCode::from_u16` of
//! [`ErrorKind::http_status`](crate::ErrorKind::http_status) and [`GetError::retry_after_seconds`].
//!
//! **Not here:** `Cache-Control`. Whether clients and proxies may keep a response, and for whom, follows from
//! who may see it; a cache behind the handler does not know that.

use std::convert::Infallible;

use axum_core::response::{IntoResponse, IntoResponseParts, Response, ResponseParts};
use http::header::{AGE, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, StatusCode};

use crate::answer::Answer;
use crate::error::GetError;

impl<E: Send + Sync + 'static> IntoResponse for GetError<E> {
    fn into_response(self) -> Response {
        let kind = self.kind();
        let status = StatusCode::from_u16(kind.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        // Without a `type` a problem's title is the status in words.
        let problem = serde_json::json!({
            "title": status.canonical_reason(),
            "status": status.as_u16(),
            "detail": kind.to_string(),
        });
        let about = [(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"))];
        let retry = self.retry_after_seconds().map(|seconds| [(RETRY_AFTER, HeaderValue::from(seconds))]);
        let mut response = (status, about, retry, problem.to_string()).into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// The header `Age` (RFC 9111): how old the value is, in whole seconds, counted from the origin's answer.
///
/// A stale value is told by its age alone; HTTP has no header for that any more. Put it before the body:
/// `(Age::of(&answer), Json(&*answer))`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Age(u64);

impl Age {
    /// The age of this answer.
    pub fn of<V: Send + Sync + 'static>(answer: &Answer<V>) -> Self {
        Self(Answer::age(answer).as_secs())
    }
}

impl IntoResponseParts for Age {
    type Error = Infallible;

    fn into_response_parts(self, mut parts: ResponseParts) -> Result<ResponseParts, Infallible> {
        parts.headers_mut().insert(AGE, HeaderValue::from(self.0));
        Ok(parts)
    }
}
