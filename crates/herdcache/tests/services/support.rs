//! A small service over a cache, whose database says what no client may read.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, Request, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use herdcache::axum::Age;
pub(crate) use herdcache::testing::settle as turns;
use herdcache::{Builder, Cache, Gate, GetError, LoadContext, ReadThrough, Ttl};
use http_body_util::BodyExt;
use tower::ServiceExt;

pub(crate) const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// In every error, panic and broken rule of these tests, and never in a response.
pub(crate) const SECRET: &str = "hunter2";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DbError;

impl std::fmt::Display for DbError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "password {SECRET} refused")
    }
}

impl std::error::Error for DbError {}

pub(crate) type Products = ReadThrough<u64, String, DbError>;

/// Keys with a meaning of their own; all others load at once.
pub(crate) const FAILS: u64 = 901;
pub(crate) const PANICS: u64 = 902;
pub(crate) const SLOW: u64 = 903;
pub(crate) const ABSENT: u64 = 904;

/// How long [`SLOW`] takes.
pub(crate) const LATENCY: Duration = ms(400);

pub(crate) async fn load(cx: LoadContext<u64, String>) -> Result<Option<String>, DbError> {
    match *cx.key() {
        FAILS => Err(DbError),
        PANICS => panic!("{SECRET}"),
        ABSENT => Ok(None),
        SLOW => {
            tokio::time::sleep(LATENCY).await;
            Ok(Some("slow".to_owned()))
        }
        key => Ok(Some(format!("product {key}"))),
    }
}

pub(crate) fn builder(gate: &Gate) -> Builder<u64, String, DbError> {
    Cache::builder("products", Ttl::fresh_for(ms(60_000)), gate).jitter(0.0)
}

pub(crate) fn products() -> Products {
    builder(&Gate::new(8)).build_over(load).unwrap()
}

/// What a user of the crate writes.
async fn product(State(products): State<Products>, Path(id): Path<u64>) -> Result<Response, GetError<DbError>> {
    Ok(match products.get(&id).await? {
        Some(product) => (Age::of(&product), Json(&*product)).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    })
}

pub(crate) fn app(products: &Products) -> Router {
    Router::new().route("/products/{id}", get(product)).with_state(products.clone())
}

/// A response, read to its end.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
    pub(crate) error: Option<GetError<DbError>>,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

/// Asks the service in place.
pub(crate) async fn ask(products: &Products, id: u64) -> Reply {
    let request = Request::get(format!("/products/{id}")).body(Body::empty()).unwrap();
    read(app(products).oneshot(request).await.unwrap()).await
}

pub(crate) async fn read(response: Response) -> Reply {
    let (head, body) = response.into_parts();
    let body = String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap();
    Reply { status: head.status.as_u16(), headers: head.headers, body, error: head.extensions.get().cloned() }
}

/// A counter that its owner and a service share.
#[derive(Clone, Debug, Default)]
pub(crate) struct Count(Arc<AtomicU64>);

impl Count {
    pub(crate) fn add(&self) -> u64 {
        self.0.fetch_add(1, SeqCst) + 1
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(SeqCst)
    }
}
