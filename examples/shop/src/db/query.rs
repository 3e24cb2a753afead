//! What the shop asks its database.
//!
//! Each function takes a connection that the caller holds, runs on the caller's
//! (blocking) thread and stops at the deadline given.

use std::time::Instant;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use super::link::{PART_US, ROW_US};
use super::{DbError, Pooled};
use crate::product::{Audience, Order, Parts, Product, ProductKey};
use crate::stats::QueryKind;

const PRODUCT: &str = "
SELECT k.name || ' ' || p.id, p.price_cents * t.percent * ?4 / 10000, p.cost_cents, storage_wait(?5)
FROM products p JOIN kinds k ON k.kind = p.kind AND k.locale = ?2 JOIN tenants t ON t.name = ?3
WHERE p.id = ?1";

const PARTS: &str = "
SELECT count(*), sum(b.quantity * p.price_cents), sum(storage_wait(?2))
FROM bundle_parts b JOIN products p ON p.id = b.product_id
WHERE b.bundle_id = ?1";

/// The product of `key` as its audience may see it; `None` if there is none.
///
/// An ordinary product takes about 1 ms, a bundle about 300 ms.
///
/// # Errors
///
/// See [`Pooled::run`].
pub fn product(link: &mut Pooled, key: ProductKey, deadline: Instant) -> Result<Option<Product>, DbError> {
    let kind = if key.is_bundle() { QueryKind::Bundle } else { QueryKind::Ordinary };
    link.run(kind, deadline, |connection| {
        let Some(mut product) = read_product(connection, key)? else {
            return Ok(None);
        };
        if key.is_bundle() {
            product.parts = Some(read_parts(connection, key.id)?);
        }
        Ok(Some(product))
    })
}

fn read_product(connection: &Connection, key: ProductKey) -> rusqlite::Result<Option<Product>> {
    let values = params![key.id, key.locale.tag(), key.tenant.name(), key.tier.percent(), ROW_US];
    let staff = key.audience == Audience::Staff;
    connection
        .prepare_cached(PRODUCT)?
        .query_row(values, |row| {
            let cost = row.get(2)?;
            Ok(Product {
                id: key.id,
                tenant: key.tenant,
                name: row.get(0)?,
                price_cents: row.get(1)?,
                cost_cents: staff.then_some(cost),
                parts: None,
            })
        })
        .optional()
}

fn read_parts(connection: &Connection, bundle: u32) -> rusqlite::Result<Parts> {
    connection
        .prepare_cached(PARTS)?
        .query_row(params![bundle, PART_US], |row| Ok(Parts { count: row.get(0)?, list_cents: row.get(1)? }))
}

/// Order `id`; `None` if there is none. Takes about 1 ms.
///
/// # Errors
///
/// See [`Pooled::run`].
pub fn order(link: &mut Pooled, id: u32, deadline: Instant) -> Result<Option<Order>, DbError> {
    link.run(QueryKind::Orders, deadline, |connection| {
        connection
            .prepare_cached("SELECT product_id, quantity, storage_wait(?2) FROM orders WHERE id = ?1")?
            .query_row(params![id, ROW_US], |row| Ok(Order { id, product_id: row.get(0)?, quantity: row.get(1)? }))
            .optional()
    })
}

/// Sets the list price of product `id`. Gives the products whose answers change
/// by that: the product and every bundle that holds it. Empty if there is no such product.
///
/// # Errors
///
/// See [`Pooled::run`].
pub fn set_price(link: &mut Pooled, id: u32, cents: u64, deadline: Instant) -> Result<Vec<u32>, DbError> {
    link.run(QueryKind::PriceChange, deadline, |connection| {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if transaction.execute("UPDATE products SET price_cents = ?2 WHERE id = ?1", params![id, cents])? == 0 {
            return Ok(Vec::new());
        }
        let mut changed = vec![id];
        {
            let mut bundles = transaction.prepare_cached("SELECT bundle_id FROM bundle_parts WHERE product_id = ?1")?;
            for bundle in bundles.query_map([id], |row| row.get(0))? {
                changed.push(bundle?);
            }
        }
        transaction.commit()?;
        Ok(changed)
    })
}
