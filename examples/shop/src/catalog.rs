//! The cached side of the shop: the gate, the cache, and the loader behind it.
//!
//! The cache is built once and read through. Its loader sees nothing but the key,
//! so no request can forget to name its tenant. Loads only read; a change of a
//! price is no load and goes to the database by itself (see `http::products`).

use std::time::{Duration, Instant};

use herdcache::{Cache, ConfigError, Gate, KeyView, LoadContext, Loaded, MemoryTier, Origin, ReadThrough, Ttl};

use crate::db::{DbError, Pool, query};
use crate::product::{Product, ProductKey};
use crate::settings::{Protection, Settings};
use crate::trouble::OriginTrouble;

/// The cache of product answers.
pub type Products = ReadThrough<ProductKey, Product, DbError>;

/// Loads products from the database.
#[derive(Debug)]
struct Catalog {
    pool: Pool,
    acquire_timeout: Duration,
    hot_fresh: Duration,
    trouble: OriginTrouble,
}

impl Origin<ProductKey, Product> for Catalog {
    type Error = DbError;

    async fn load(&self, cx: LoadContext<ProductKey, Product>) -> Result<Loaded<Product>, DbError> {
        // The cache gives up on this call after `remaining`. A query that nobody waits for must not go
        // on holding a connection, so the driver gets the same limit for both of its waits.
        let deadline = Instant::now() + cx.remaining();
        let began = Instant::now();
        let link = self.pool.acquire(cx.remaining().min(self.acquire_timeout)).await;
        cx.connection_wait(began.elapsed());
        let mut link = link?;

        let (key, trouble) = (*cx.key(), self.trouble);
        // `run_blocking` keeps the permit until the query has really ended, also when the cache has
        // stopped waiting: the gate never believes in a connection that is still busy.
        let query = move || {
            trouble.strike(deadline)?;
            query::product(&mut link, key, deadline)
        };
        let product = cx.run_blocking(query).await.map_err(|_| DbError::Thread)??;

        let loaded = Loaded::from(product);
        Ok(if key.is_bundle() { loaded.fresh_for(self.hot_fresh) } else { loaded })
    }
}

/// Builds the gate and the cache that passes through it, over `tier` if there is one.
///
/// # Errors
///
/// [`ConfigError`] when the settings contradict each other; its text says how to mend them.
pub fn build(settings: &Settings, pool: &Pool, tier: Option<&MemoryTier>) -> Result<Products, ConfigError> {
    let permits = settings.permits();
    // What one process says the database can bear is compared with the permits of all of them.
    let mut gate = Gate::builder(permits).name("shop-db").origin_capacity(settings.connections.into());
    if let Some(queue) = settings.queue {
        gate = gate.queue(queue);
    }
    let gate = gate.build()?;

    let ttl = Ttl::fresh_for(settings.fresh).stale_for(settings.stale_for);
    let mut cache = Cache::builder("products", ttl, &gate)
        .capacity(settings.capacity)
        .origin_timeout(settings.origin_timeout)
        .flight_deadline(settings.origin_timeout.saturating_mul(2))
        // "No connection" is another trouble than "sqlite refused", and metrics tell them apart by these names.
        .error_classes(DbError::CLASSES, DbError::class)
        // Product keys tell nothing of a person, so that the dashboard may show them readably.
        .show_keys(KeyView::With(|key| shown(*key)));
    if settings.protection == Protection::Off {
        cache = cache.observe_only();
    }
    if let Some(tier) = tier {
        cache = cache.shared(tier.clone()).lease(tier.clone());
    }
    cache.build_over(Catalog {
        pool: pool.clone(),
        acquire_timeout: settings.acquire_timeout,
        hot_fresh: settings.hot_fresh,
        trouble: settings.trouble.of_origin(),
    })
}

/// The key as the dashboard shows it, such as `product 1 acme en-GB Standard Public`.
fn shown(key: ProductKey) -> String {
    let ProductKey { tenant, id, locale, tier, audience } = key;
    format!("product {id} {} {} {tier:?} {audience:?}", tenant.name(), locale.tag())
}
