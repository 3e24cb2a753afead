//! The scenes, in the order of the table's rows.

pub(crate) mod database;
pub(crate) mod service;
pub(crate) mod tiers;
pub(crate) mod traffic;

use std::time::Duration;

use herdcache::{Builder, Cache, Gate, LocalStore, Ttl};

use crate::origin::{Db, DbError};
use crate::says::FRESH;
use crate::seen::{Rows, Seen};

/// A fault's name on the page, and what makes it happen to caches on such a store.
pub(crate) type Scene = (&'static str, fn(LocalStore) -> Seen);

/// All of them.
pub(crate) fn all() -> impl Iterator<Item = Scene> {
    [traffic::ALL, database::ALL, service::ALL, tiers::ALL].into_iter().flatten().copied()
}

/// No age is permitted beyond freshness.
const SHORT: Ttl = Ttl::fresh_for(FRESH);
/// An hour more while a refresh is on its way, and if a load fails.
const STALE: Ttl = SHORT.stale_for(HOUR);
/// An hour more if a load fails.
const RESERVE: Ttl = SHORT.stale_if_error_for(HOUR);
const HOUR: Duration = Duration::from_secs(3_600);

/// The defaults, but for jitter: expiries are where the scenes expect them.
fn settings(store: LocalStore, ttl: Ttl, gate: &Gate) -> Builder<u64, u64, DbError> {
    Cache::builder("rows", ttl, gate).store(store).jitter(0.0)
}

/// A cache of its own gate of eight, and the database behind it.
fn simple(store: LocalStore, ttl: Ttl) -> (Rows, Db) {
    let db = Db::default();
    (built(settings(store, ttl, &Gate::new(8)), &db), db)
}

fn built(builder: Builder<u64, u64, DbError>, db: &Db) -> Rows {
    builder.build_over(db.clone()).expect("settings are in range")
}
