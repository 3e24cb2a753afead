//! One connection, and the storage that it pretends to wait for.
//!
//! A local `SQLite` file answers in microseconds, while the databases that need a
//! cache sit behind a network. Each row of the shop's queries therefore calls
//! the SQL function `storage_wait(µs)`, which sleeps inside the query with the
//! connection held. It sleeps instead of computing because the database of the
//! story has processors of its own: burning this machine's would starve the web
//! server too, and hide that it is the *connections* that run out.

use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use rusqlite::functions::FunctionFlags;
use rusqlite::{Connection, OpenFlags};

/// What one row of an ordinary product or an order costs, in microseconds.
pub(crate) const ROW_US: u32 = 1_000;
/// What one part of a bundle costs, in microseconds: 60 parts make 300 ms.
pub(crate) const PART_US: u32 = 5_000;

/// Opens one connection of the pool. It never creates the file.
pub(crate) fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    // With a write-ahead log a price change does not stop the readers.
    connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    connection.execute_batch("PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON")?;
    // Not deterministic: SQLite must call it for each row and not once per query.
    connection.create_scalar_function("storage_wait", 1, FunctionFlags::SQLITE_UTF8, |call| {
        sleep(Duration::from_micros(call.get::<u32>(0)?.into()));
        Ok(0_i64)
    })?;
    Ok(connection)
}
