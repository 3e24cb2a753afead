//! What a team uses beyond `get`, each in a few lines: `cargo run -p herdcache --example tour`.
//!
//! A batch call, a warm-up with the hot keys of the process before, changes that reach readers gently, a query that
//! bypasses the cache, and an outage in which an operator tunes. `embed.rs` is the shortest whole program; the
//! service to copy from is `examples/shop`.
#![expect(clippy::print_stdout, reason = "an example speaks on standard output")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::Mutex;
use std::time::Duration;

use herdcache::{
    Answer, Cache, ConfigError, Gate, GetError, LoadContext, Loaded, Origin, ReadThrough, Switch, Ttl, Tuning,
};

type Error = Box<dyn std::error::Error>;

/// Everything that a row depends on: a key without the tenant would show one tenant's stock to another.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
struct Sku {
    tenant: String,
    id: u64,
}

#[derive(Clone, Debug)]
struct Row {
    left: u64,
    version: u64,
}

/// A stand-in for a database: rows begin with 10 pieces at version 1.
#[derive(Default)]
struct Database {
    sold: Mutex<BTreeMap<u64, u64>>,
    is_down: Mutex<bool>,
}

impl Database {
    async fn select(&self, ids: &[u64], limit: Duration) -> Result<Vec<Option<Row>>, &'static str> {
        let answer = tokio::time::timeout(limit, tokio::time::sleep(Duration::from_millis(5))).await;
        answer.map_err(|_| "the query took too long")?;
        if *self.is_down.lock().map_err(|_| "poisoned")? {
            return Err("the database is down");
        }
        let sold = self.sold.lock().map_err(|_| "poisoned")?;
        let row = |id: &u64| {
            let sold = sold.get(id).copied().unwrap_or(0);
            (*id < 1_000).then(|| Row { left: 10 - sold, version: 1 + sold })
        };
        Ok(ids.iter().map(row).collect())
    }
}

/// The origin of the cache.
struct Stock(Arc<Database>);

impl Origin<Sku, Row> for Stock {
    type Error = &'static str;
    const MAX_BATCH: usize = 100;

    async fn load(&self, cx: LoadContext<Sku, Row>) -> Result<Loaded<Row>, &'static str> {
        let rows = self.0.select(&[cx.key().id], cx.remaining()).await?;
        Ok(loaded(cx.key(), rows.into_iter().next().flatten()))
    }

    async fn load_many(&self, keys: Vec<LoadContext<Sku, Row>>) -> Result<Vec<(Sku, Loaded<Row>)>, &'static str> {
        let ids: Vec<u64> = keys.iter().map(|cx| cx.key().id).collect();
        // All keys of a call share its limit.
        let limit = keys.first().map_or(Duration::ZERO, LoadContext::remaining);
        let rows = self.0.select(&ids, limit).await?;
        Ok(keys.iter().map(LoadContext::key).zip(rows).map(|(key, row)| (key.clone(), loaded(key, row))).collect())
    }
}

/// A row with its version, so that an older one never replaces it, and its tags, so that a tenant's can be forgotten.
fn loaded(key: &Sku, row: Option<Row>) -> Loaded<Row> {
    let Some(row) = row else { return Loaded::absent() };
    let version = row.version;
    Loaded::value(row).version(version).tags([format!("tenant:{}", key.tenant)])
}

type Stocks = ReadThrough<Sku, Row, &'static str>;

fn build(database: &Arc<Database>, gate: &Gate) -> Result<Stocks, ConfigError> {
    let ttl = Ttl::fresh_for(Duration::from_secs(30)).stale_for(Duration::from_secs(60));
    Cache::builder("stock", ttl, gate)
        .group_share(0.5, |sku: &Sku| sku.tenant.clone())
        .tunable_stale_if_error_for(Duration::from_secs(3_600))
        // "Not known" is better than an error, unless this process is about to end anyway.
        .fallback(|_, error| (!matches!(error, GetError::Closed)).then_some(Row { left: 0, version: 0 }))
        // .observe_only() measures what all this would save, before it is switched on.
        .build_over(Stock(Arc::clone(database)))
}

/// Before the traffic: the keys that were hot in the process before, which the application has saved.
async fn warm(stocks: &Stocks, saved: &str) -> Result<(), Error> {
    let keys: Vec<Sku> = serde_json::from_str(saved)?;
    let warm = tokio::time::timeout(Duration::from_secs(10), stocks.warm_up(keys)).await?;
    println!("warm: {} loaded, {} failed", warm.loaded, warm.failed);
    Ok(())
}

/// One query for all keys that are missing; each has its own result.
async fn basket(stocks: &Stocks, ids: [u64; 4]) {
    let keys = ids.map(|id| Sku { tenant: "acme".into(), id });
    for (key, got) in keys.iter().zip(stocks.get_many(&keys).await) {
        match got {
            Ok(Some(row)) => println!("{}: {} left ({})", key.id, row.left, Answer::outcome(&row)),
            Ok(None) => println!("{}: no such product", key.id),
            Err(error) => println!("{}: {}", key.id, error.kind()),
        }
    }
}

/// A write passes the same gate, so that the limit of the database holds, and tells the cache afterwards.
async fn sell(stocks: &Stocks, database: &Database, id: u64) -> Result<(), Error> {
    let permit = stocks.gate().acquire().await?;
    *database.sold.lock().map_err(|_| "poisoned")?.entry(id).or_default() += 1;
    permit.answered();
    // Readers go on with the old value for the moment that a refresh takes; `invalidate` would make them wait.
    stocks.mark_stale(&Sku { tenant: "acme".into(), id });
    Ok(())
}

/// The database fails: an operator lets old values live for longer, and tells the refreshes to leave it alone.
async fn outage(stocks: &Stocks, database: &Database) -> Result<(), Error> {
    *database.is_down.lock().map_err(|_| "poisoned")? = true;
    stocks.tune(Tuning::new().stale_if_error_for(Duration::from_secs(3_600)).refresh(Switch::Off))?;
    println!("in the outage:");
    basket(stocks, [1, 2, 500, 501]).await;
    *database.is_down.lock().map_err(|_| "poisoned")? = false;
    stocks.tune(Tuning::as_built())?;
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let database = Arc::new(Database::default());
    let gate = Gate::builder(8).name("stock-db").origin_capacity(40).build()?;
    let stocks = build(&database, &gate)?;
    warm(&stocks, r#"[{"tenant":"acme","id":1},{"tenant":"acme","id":2}]"#).await?;
    basket(&stocks, [1, 2, 3, 9_999]).await;
    sell(&stocks, &database, 1).await?;
    basket(&stocks, [1, 2, 3, 9_999]).await;
    // The first reader of a stale value has started the refresh that brings the new one.
    tokio::time::sleep(Duration::from_millis(20)).await;
    outage(&stocks, &database).await?;
    // Everything of one tenant, whatever keys it has.
    stocks.invalidate_tag("tenant:acme").await;
    // What the next process warms up with.
    let saved = serde_json::to_string(&stocks.hot_keys())?;
    println!("saved: {} bytes of hot keys; {} origin calls in all", saved.len(), stocks.snapshot().origin_calls);
    stocks.shutdown(Duration::from_secs(5)).await;
    Ok(())
}
