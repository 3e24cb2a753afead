//! A stand-in for a database driver, for the examples of the guide.
//!
//! It has rows below 1,000 and keeps nothing: what is renamed is told as done.

use std::fmt;
use std::future;
use std::time::Duration;

/// A pool of connections.
#[derive(Debug)]
pub struct Pool {
    connections: usize,
}

/// A row of the table of users.
#[derive(Clone, Debug)]
pub struct Row {
    /// What the user is called.
    pub name: String,
}

/// What the driver says when a query fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DbError;

impl fmt::Display for DbError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the database failed")
    }
}

impl std::error::Error for DbError {}

impl Pool {
    /// A pool of this size.
    pub fn of(connections: usize) -> Self {
        Self { connections }
    }

    /// How many connections it has.
    pub fn size(&self) -> usize {
        self.connections
    }

    /// The row of this user, if there is one.
    ///
    /// # Errors
    /// Without time left.
    ///
    /// # Cancel safety
    /// Nothing is lost.
    pub async fn find(&self, id: u64, limit: Duration) -> Result<Option<Row>, DbError> {
        future::ready(()).await;
        if limit.is_zero() {
            return Err(DbError);
        }
        Ok((id < 1_000).then(|| Row { name: format!("user {id}") }))
    }

    /// Changes a name.
    ///
    /// # Errors
    /// If there is no such row, or the name is empty.
    ///
    /// # Cancel safety
    /// Nothing is lost.
    pub async fn rename(&self, id: u64, name: &str) -> Result<(), DbError> {
        future::ready(()).await;
        if id < 1_000 && !name.is_empty() { Ok(()) } else { Err(DbError) }
    }
}
