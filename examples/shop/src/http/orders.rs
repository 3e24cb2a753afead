//! `GET /orders/{id}`: a query that has nothing to do with the cache and shares
//! its pool. It is the bystander of the experiment: when a herd empties the pool,
//! this endpoint fails although nobody asked it anything unusual.

use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};

use super::App;
use super::products::number;
use super::reply::Refusal;
use crate::db::{DbError, query};
use crate::product::Order;

/// Limit of the query itself.
const QUERY_LIMIT: Duration = Duration::from_secs(5);

/// Answers one order, straight from the database.
pub(crate) async fn show(State(app): State<App>, id: Result<Path<u32>, PathRejection>) -> Result<Json<Order>, Refusal> {
    let id = number(&id)?;
    let refused = |error: DbError| Refusal::of_query(&error);
    let mut link = app.pool.acquire(app.acquire_timeout).await.map_err(refused)?;
    let deadline = Instant::now() + QUERY_LIMIT;
    let order = tokio::task::spawn_blocking(move || query::order(&mut link, id, deadline))
        .await
        .unwrap_or(Err(DbError::Thread))
        .map_err(refused)?;
    order.map(Json).ok_or(Refusal::NotFound)
}
