//! Looks at a database before it is used: is it ours, and is it whole?

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::OpenError;
use super::create::{APPLICATION_ID, SCHEMA};

/// Checks the file at `path` and gives its number of products.
///
/// The file is opened for reading only, so that somebody else's database is
/// never touched.
pub(crate) fn verify(path: &Path) -> Result<u32, OpenError> {
    let sqlite = |source| OpenError::from_sqlite(path, source);
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(sqlite)?;
    let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i32>(0));
    let found = number("PRAGMA application_id").map_err(sqlite)?;
    let schema = number("PRAGMA user_version").map_err(sqlite)?;
    if (found, schema) != (APPLICATION_ID, SCHEMA) {
        return Err(OpenError::Foreign { path: path.to_owned(), found, schema });
    }
    let what: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(sqlite)?;
    if what != "ok" {
        return Err(OpenError::Damaged { path: path.to_owned(), what });
    }
    connection.query_row("SELECT max(id) FROM products", [], |row| row.get(0)).map_err(sqlite)
}
