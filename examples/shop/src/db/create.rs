//! Creates the shop's database, whole or not at all.
//!
//! The rows are written to a temporary file beside the target, which gets its
//! name only when it is complete and on disk. A start that is cut leaves no half
//! database, and of two processes that start together one wins and both use its file.

use std::io;
use std::path::Path;

use rusqlite::{Connection, params};

use super::{FEWEST_PRODUCTS, OpenError};
use crate::product::{BUNDLE_PARTS, BUNDLES, FIRST_ORDINARY, Tenant};

/// Marks a `SQLite` file as the shop's: "shop" in ASCII.
pub(crate) const APPLICATION_ID: i32 = 0x7368_6f70;
/// Version of the tables below.
pub(crate) const SCHEMA: i32 = 1;
/// Orders in a new database, numbered from 1.
pub(crate) const ORDERS: u32 = 10_000;

const TABLES: &str = "
CREATE TABLE tenants(name TEXT PRIMARY KEY, percent INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE kinds(kind INTEGER, locale TEXT, name TEXT NOT NULL, PRIMARY KEY(kind, locale)) WITHOUT ROWID;
CREATE TABLE products(
    id INTEGER PRIMARY KEY, kind INTEGER NOT NULL, price_cents INTEGER NOT NULL, cost_cents INTEGER NOT NULL);
CREATE TABLE bundle_parts(
    bundle_id INTEGER NOT NULL REFERENCES products(id), product_id INTEGER NOT NULL REFERENCES products(id),
    quantity INTEGER NOT NULL, PRIMARY KEY(bundle_id, product_id)) WITHOUT ROWID;
CREATE INDEX bundles_of ON bundle_parts(product_id);
CREATE TABLE orders(id INTEGER PRIMARY KEY, product_id INTEGER NOT NULL REFERENCES products(id), quantity INTEGER NOT NULL);
";

/// Names of the kinds of products in English, German and Japanese; kind 0 is the bundle.
const KINDS: [[&str; 3]; 5] = [
    ["Bundle", "Paket", "セット"],
    ["Lamp", "Lampe", "ランプ"],
    ["Chair", "Stuhl", "椅子"],
    ["Kettle", "Kessel", "やかん"],
    ["Rug", "Teppich", "敷物"],
];

/// Creates the database at `path` with `products` products.
pub(crate) fn create(path: &Path, products: u32) -> Result<(), OpenError> {
    if products < FEWEST_PRODUCTS {
        return Err(OpenError::TooSmall { asked: products, least: FEWEST_PRODUCTS });
    }
    let io = |source| OpenError::Io { path: path.to_owned(), source };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Dropping the temporary file removes it, so that no failure leaves one behind.
    let file = tempfile::Builder::new().prefix(".shop-").tempfile_in(folder).map_err(io)?;
    fill(file.path(), products).map_err(|source| OpenError::from_sqlite(path, source))?;
    file.as_file().sync_all().map_err(io)?;
    match file.persist_noclobber(path) {
        Ok(_) => Ok(()),
        Err(lost) if lost.error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(failed) => Err(io(failed.error)),
    }
}

/// Writes all tables and rows in one transaction.
fn fill(path: &Path, products: u32) -> rusqlite::Result<()> {
    let mut connection = Connection::open(path)?;
    // No journal: if this is cut, the file is thrown away whole.
    connection.query_row("PRAGMA journal_mode = OFF", [], |_| Ok(()))?;
    let transaction = connection.transaction()?;
    transaction.execute_batch(TABLES)?;
    for tenant in Tenant::ALL {
        transaction.execute("INSERT INTO tenants VALUES (?1, ?2)", params![tenant.name(), tenant.percent()])?;
    }
    for (kind, names) in (0_u32..).zip(KINDS) {
        for (locale, name) in crate::product::Locale::ALL.into_iter().zip(names) {
            transaction.execute("INSERT INTO kinds VALUES (?1, ?2, ?3)", params![kind, locale.tag(), name])?;
        }
    }
    insert_rows(&transaction, products)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", SCHEMA)?;
    transaction.commit()
}

/// The rows that are many are made by SQL itself, which is quicker than binding each.
fn insert_rows(connection: &Connection, products: u32) -> rusqlite::Result<()> {
    let last_bundle = *BUNDLES.end();
    connection.execute(
        "WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < ?1)
         INSERT INTO products SELECT id, iif(id <= ?2, 0, 1 + id % 4), 1000 + id * 37 % 9000, 400 + id * 17 % 5000 FROM n",
        params![products, last_bundle],
    )?;
    connection.execute(
        "WITH RECURSIVE b(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM b WHERE id < ?1),
                        p(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM p WHERE n < ?2 - 1)
         INSERT INTO bundle_parts SELECT b.id, ?3 + (b.id - 1) * ?2 + p.n, 1 + p.n % 3 FROM b, p",
        params![last_bundle, BUNDLE_PARTS, FIRST_ORDINARY],
    )?;
    connection.execute(
        "WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < ?1)
         INSERT INTO orders SELECT id, 1 + id * 7 % ?2, 1 + id % 4 FROM n",
        params![ORDERS, products],
    )?;
    Ok(())
}
