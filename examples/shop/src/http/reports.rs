//! `/`, `/health` and `/stats`: what the shop says of itself.

use axum::Json;
use axum::extract::State;
use herdfeed::{Measure, ProtectionLevel};
use serde::{Deserialize, Serialize};

use super::App;
use crate::stats::StatsPage;

const HELP: &str = "\
shop: products over SQLite, read through herdcache

GET  /products/{id}?tenant=acme|globex|initech[&locale=en-GB|de-DE|ja-JP]
                   [&tier=standard|silver|gold][&audience=public|staff]
                             1 to 5 are bundles: slow queries that are fresh for a short time
POST /products/{id}/price    {\"price_cents\": 1299}
GET  /orders/{id}            not cached, on the same connections
GET  /health                 protection and gate
GET  /stats                  what the shop itself counted
";

/// Answers a short help.
pub(crate) async fn help() -> &'static str {
    HELP
}

/// What `GET /health` answers.
#[derive(Debug, Serialize, Deserialize)]
pub struct Health {
    /// How far the protection of the cache reaches now.
    pub protection: Option<ProtectionLevel>,
    /// Measures that are switched off now.
    pub off: Vec<Measure>,
    /// Most concurrent loads.
    pub gate_limit: u64,
    /// Loads in progress.
    pub gate_used: u64,
    /// Most loads that may wait.
    pub queue_limit: u64,
    /// Loads waiting now.
    pub queued: u64,
}

/// Answers how well the database is protected. It asks the database nothing, so
/// that it answers while all connections are in use.
pub(crate) async fn health(State(app): State<App>) -> Json<Health> {
    let cache = app.products.snapshot();
    let gate = app.products.gate().snapshot();
    Json(Health {
        protection: cache.protection,
        off: cache.off,
        gate_limit: gate.limit,
        gate_used: gate.used(),
        queue_limit: gate.queue,
        queued: gate.pending,
    })
}

/// Answers the shop's own counts.
pub(crate) async fn stats(State(app): State<App>) -> Json<StatsPage> {
    Json(app.stats.read(app.pool.figures(), app.pool.products()))
}
