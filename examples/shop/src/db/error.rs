//! What can go wrong with the database, at start and at a query.

use std::path::{Path, PathBuf};
use std::time::Duration;

/// A query that brought no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DbError {
    /// Every connection was in use for the whole wait.
    #[error("no connection became free within {limit:?}")]
    NoConnection {
        /// How long it waited.
        limit: Duration,
    },
    /// The query was still running at its deadline and was stopped.
    #[error("the query was stopped at its deadline")]
    Interrupted,
    /// `SQLite` refused.
    #[error("sqlite: {0}")]
    Sqlite(rusqlite::Error),
    /// The thread that ran the query ended without an answer.
    #[error("the query's thread ended early")]
    Thread,
    /// It was told to fail.
    #[error("failed on purpose (--failing-origin)")]
    OnPurpose,
}

impl DbError {
    /// Every class of errors, as metrics name them.
    pub const CLASSES: &[&str] = &["no_connection", "interrupted", "sqlite", "thread", "on_purpose"];

    /// Which class it is of.
    pub fn class(&self) -> &'static str {
        match self {
            Self::NoConnection { .. } => "no_connection",
            Self::Interrupted => "interrupted",
            Self::Sqlite(_) => "sqlite",
            Self::Thread => "thread",
            Self::OnPurpose => "on_purpose",
        }
    }
}

impl From<rusqlite::Error> for DbError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::OperationInterrupted) => Self::Interrupted,
            _ => Self::Sqlite(error),
        }
    }
}

/// A database that cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The folder or file cannot be written or read.
    #[error("cannot use {path:?} as the shop's database: {source}; give another file with --db")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Not a `SQLite` file.
    #[error("{path:?} is not a SQLite database and was left alone: move it away, or give another file with --db")]
    NotSqlite {
        /// The file.
        path: PathBuf,
    },
    /// A `SQLite` file of another program, or of another version of the shop.
    #[error(
        "{path:?} is a database, but not one of this shop (application id {found:#x}, schema {schema}), and was left alone: give another file with --db"
    )]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The application id found in it.
        found: i32,
        /// The schema version found in it.
        schema: i32,
    },
    /// Damaged.
    #[error("{path:?} is damaged ({what}): remove it and start again, and the shop creates a new one")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What `SQLite` found.
        what: String,
    },
    /// Too few products asked for.
    #[error("a shop needs at least {least} products, not {asked}: raise --products")]
    TooSmall {
        /// What was asked for.
        asked: u32,
        /// The fewest.
        least: u32,
    },
    /// `SQLite` refused.
    #[error("sqlite cannot open {path:?}: {source}")]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// What `SQLite` said.
        source: rusqlite::Error,
    },
}

impl OpenError {
    /// The error that `SQLite`'s answer means for the file at `path`.
    pub(crate) fn from_sqlite(path: &Path, source: rusqlite::Error) -> Self {
        let path = path.to_owned();
        match source.sqlite_error_code() {
            Some(rusqlite::ErrorCode::NotADatabase) => Self::NotSqlite { path },
            Some(rusqlite::ErrorCode::DatabaseCorrupt) => Self::Damaged { path, what: source.to_string() },
            _ => Self::Sqlite { path, source },
        }
    }
}
