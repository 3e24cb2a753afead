//! The shop over HTTP: routes, and what every handler may use.
//!
//! Handlers turn a request into a key or a query and an answer into a response.
//! They hold no rule of the cache: what is fresh, shared or refused is decided
//! behind [`Products::get`](herdcache::ReadThrough::get).

#[cfg(feature = "otlp")]
mod caller;
mod orders;
mod products;
mod reply;
mod reports;
mod traced;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post};

pub use reports::Health;

use crate::catalog::Products;
use crate::db::Pool;
use crate::stats::Stats;

/// Largest request body in bytes; a price is far below.
const LARGEST_BODY: usize = 4_096;

/// What the handlers share. Cloning gives another handle to the same shop.
#[derive(Clone)]
pub struct App {
    pub(crate) products: Products,
    pub(crate) pool: Pool,
    pub(crate) stats: Arc<Stats>,
    pub(crate) acquire_timeout: Duration,
}

/// All routes of the shop.
pub fn router(app: App) -> Router {
    Router::new()
        .route("/", get(reports::help))
        .route("/health", get(reports::health))
        .route("/stats", get(reports::stats))
        .route("/products/{id}", get(products::show))
        .route("/products/{id}/price", post(products::change_price))
        .route("/orders/{id}", get(orders::show))
        .fallback(reply::no_such_page)
        .layer(DefaultBodyLimit::max(LARGEST_BODY))
        .layer(axum::middleware::from_fn(traced::traced))
        .with_state(app)
}
