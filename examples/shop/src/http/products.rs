//! `GET /products/{id}` through the cache, and `POST /products/{id}/price` around it.

use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Response};
use herdcache::axum::Age;
use herdcache::{Answer, Got};
use herdfeed::Outcome;
use serde::{Deserialize, Serialize};

use super::App;
use super::reply::{ABSENT, Refusal, X_OUTCOME, with_outcome};
use crate::db::{DbError, query};
use crate::product::{Audience, Locale, PriceTier, Product, ProductKey, Tenant};
use crate::stats::Stats;

/// Highest price in cents: a million.
const HIGHEST_PRICE: u64 = 100_000_000;

/// Limit of a price change in the database, its wait for another writer included.
const WRITE_LIMIT: Duration = Duration::from_secs(5);

/// The query of a product request. The tenant has no default: whoever forgets it
/// must not see somebody else's prices.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct View {
    tenant: Tenant,
    #[serde(default)]
    locale: Locale,
    #[serde(default)]
    tier: PriceTier,
    #[serde(default)]
    audience: Audience,
}

/// Answers one product.
pub(crate) async fn show(
    State(app): State<App>,
    id: Result<Path<u32>, PathRejection>,
    view: Result<Query<View>, QueryRejection>,
) -> Result<Response, Response> {
    let key = key(&id, view).map_err(IntoResponse::into_response)?;
    let request = InProgress { stats: &app.stats };
    let got = app.products.get(&key).await;
    request.end(&got);
    match got {
        Ok(Some(product)) => Ok(with_outcome(Answer::outcome(&product), (Age::of(&product), Json(&*product)))),
        Ok(None) => Err(([(X_OUTCOME, ABSENT)], Refusal::NotFound).into_response()),
        Err(error) => Err(with_outcome(error.outcome(), Refusal::of_cache(&error))),
    }
}

fn key(
    id: &Result<Path<u32>, PathRejection>,
    view: Result<Query<View>, QueryRejection>,
) -> Result<ProductKey, Refusal> {
    let id = number(id)?;
    let Query(view) = view.map_err(|error| Refusal::bad_input(&error.body_text()))?;
    Ok(ProductKey { tenant: view.tenant, id, locale: view.locale, tier: view.tier, audience: view.audience })
}

/// The number in a path.
pub(crate) fn number(id: &Result<Path<u32>, PathRejection>) -> Result<u32, Refusal> {
    match id {
        Ok(Path(id)) if *id > 0 => Ok(*id),
        Ok(_) | Err(_) => Err(Refusal::BadInput(format!("the number in the path must be from 1 to {}", u32::MAX))),
    }
}

/// One product request that has not ended. Dropped before its end, as when the
/// client goes away, it counts as cancelled, just as the cache counts it.
struct InProgress<'a> {
    stats: &'a Stats,
}

impl InProgress<'_> {
    fn end(self, got: &Got<Product, DbError>) {
        match got {
            Ok(Some(answer)) => self.stats.outcome(Answer::outcome(answer)),
            Ok(None) => self.stats.absent(),
            Err(error) => self.stats.outcome(error.outcome()),
        }
        // It holds a reference only, so nothing leaks by leaving its drop out.
        std::mem::forget(self);
    }
}

impl Drop for InProgress<'_> {
    fn drop(&mut self) {
        self.stats.outcome(Outcome::Cancelled);
    }
}

/// Body of a price change.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewPrice {
    /// List price in cents, 1 to [`HIGHEST_PRICE`].
    price_cents: u64,
}

/// Answer to a price change.
#[derive(Debug, Serialize)]
pub(crate) struct Changed {
    id: u32,
    price_cents: u64,
    /// The products whose cached answers were invalidated: this one, and the bundles that hold it.
    invalidated: Vec<u32>,
}

/// Changes a list price and invalidates what depends on it.
pub(crate) async fn change_price(
    State(app): State<App>,
    id: Result<Path<u32>, PathRejection>,
    body: Result<Json<NewPrice>, JsonRejection>,
) -> Result<Json<Changed>, Refusal> {
    let id = number(&id)?;
    let Json(NewPrice { price_cents }) = body.map_err(|error| Refusal::bad_input(&error.body_text()))?;
    if !(1..=HIGHEST_PRICE).contains(&price_cents) {
        return Err(Refusal::BadInput(format!("price_cents must be from 1 to {HIGHEST_PRICE}")));
    }
    let mut link = app.pool.acquire(app.acquire_timeout).await.map_err(|error| Refusal::of_query(&error))?;
    let deadline = Instant::now() + WRITE_LIMIT;
    let products = app.products.clone();
    // Write first, invalidate after: a load that read the old row is then discarded. Both happen in one
    // blocking task, which runs to its end even if the client goes away between them.
    let work = move || {
        let changed = query::set_price(&mut link, id, price_cents, deadline)?;
        for key in changed.iter().copied().flat_map(ProductKey::variants) {
            products.invalidate(&key);
        }
        Ok(changed)
    };
    let invalidated = tokio::task::spawn_blocking(work)
        .await
        .unwrap_or(Err(DbError::Thread))
        .map_err(|error| Refusal::of_query(&error))?;
    if invalidated.is_empty() {
        return Err(Refusal::NotFound);
    }
    Ok(Json(Changed { id, price_cents, invalidated }))
}
