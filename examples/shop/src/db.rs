//! The shop's database: a `SQLite` file behind a pool of real connections.
//!
//! [`open`] creates the file on first start, refuses a foreign or corrupt one,
//! and hands out a [`Pool`]. What is asked of the database lives in [`query`].
//! Nothing here knows of caching: the counters of [`Stats`] say what really
//! reached the database, apart from what the cache believes.

mod create;
mod error;
mod link;
mod pool;
pub mod query;
mod spans;
mod verify;

use std::path::Path;
use std::sync::Arc;

pub use error::{DbError, OpenError};
pub use pool::{Pool, PoolFigures, Pooled};

use crate::stats::Stats;

/// Fewest products a shop can have: each bundle needs parts of its own.
pub const FEWEST_PRODUCTS: u32 = 500;

/// How to open the database.
#[derive(Clone, Debug)]
pub struct OpenOptions<'a> {
    /// The file.
    pub path: &'a Path,
    /// How many products a new file gets, at least [`FEWEST_PRODUCTS`].
    pub products: u32,
    /// Connections of the pool, at least 1.
    pub connections: u32,
}

/// Opens the shop's database, and creates it if there is none.
///
/// # Errors
///
/// [`OpenError`] when the file cannot be created, is not a database, is the
/// database of another program, or is damaged.
pub fn open(options: &OpenOptions<'_>, stats: Arc<Stats>) -> Result<Pool, OpenError> {
    if !options.path.exists() {
        create::create(options.path, options.products)?;
    }
    let products = verify::verify(options.path)?;
    let connections = (0..options.connections)
        .map(|_| link::connect(options.path))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|source| OpenError::from_sqlite(options.path, source))?;
    Ok(Pool::new(connections, products, stats))
}
