//! Rows of the hot-key panel: the same key of several processes is one row.

use std::collections::HashMap;

use super::{RowId, SortKey};
use crate::filter::Facets;
use crate::model::{Model, Panel};

/// One key of one cache over all processes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// The cache.
    pub cache: String,
    /// The key as it came.
    pub key: String,
    /// Requests per second over the window, estimated.
    pub rate: f64,
    /// Part of the requests of the cache in these processes, 0..=1.
    pub share: f64,
    /// Loads.
    pub loads: u64,
    /// Answers by another caller's load.
    pub coalesced: u64,
    /// Stale answers.
    pub stale: u64,
    /// Longest of the last loads.
    pub load_us: u64,
    /// Age of the oldest stored value.
    pub age_us: Option<u64>,
    /// Least time until a value is no longer fresh; negative once stale.
    pub fresh_left_us: Option<i64>,
    /// Least time until a value's hard bound.
    pub stale_left_us: Option<i64>,
    /// Processes in which it is hot.
    pub processes: usize,
    /// Requests of the cache in these processes, as far as the shares tell.
    all: f64,
    requests: f64,
}

impl Row {
    /// Its identity.
    pub fn id(&self) -> RowId {
        RowId::Key { cache: self.cache.clone(), key: self.key.clone() }
    }
}

/// The hot keys that the filter shows, sorted.
pub fn rows(model: &Model) -> Vec<Row> {
    let mut rows: Vec<Row> = merged(model).into_values().filter(|row| row.rate > 0.0 && shows(model, row)).collect();
    let cursor = model.cursor(Panel::Keys);
    super::arrange(&mut rows, &cursor, Row::id, |a, b| {
        let figures = match cursor.sort {
            SortKey::Usual | SortKey::Rate => b.rate.total_cmp(&a.rate),
            SortKey::Loads => b.loads.cmp(&a.loads),
            SortKey::Stale => b.stale.cmp(&a.stale),
            SortKey::Age => b.load_us.cmp(&a.load_us),
            SortKey::Name => a.key.cmp(&b.key),
        };
        figures.then_with(|| (&a.cache, &a.key).cmp(&(&b.cache, &b.key)))
    });
    rows
}

fn merged(model: &Model) -> HashMap<(String, String), Row> {
    let now = model.shown_now();
    let mut merged: HashMap<(String, String), Row> = HashMap::new();
    for target in &model.world().targets {
        let heard_ago = i64::try_from(target.lag_us(now).unwrap_or(0)).unwrap_or(i64::MAX);
        for cache in target.caches() {
            for hot in cache.hot.iter().filter(|hot| hot.window_us > 0) {
                let row = merged.entry((cache.name.clone(), hot.key.clone())).or_insert_with(|| Row {
                    cache: cache.name.clone(),
                    key: hot.key.clone(),
                    ..Row::default()
                });
                row.rate += hot.requests as f64 * 1e6 / hot.window_us as f64;
                row.requests += hot.requests as f64;
                row.all += if hot.share > 0.0 { hot.requests as f64 / hot.share } else { 0.0 };
                row.share = if row.all > 0.0 { (row.requests / row.all).min(1.0) } else { 0.0 };
                row.loads = row.loads.saturating_add(hot.loads);
                row.coalesced = row.coalesced.saturating_add(hot.coalesced);
                row.stale = row.stale.saturating_add(hot.stale);
                row.load_us = row.load_us.max(hot.load_us);
                row.age_us = row.age_us.max(hot.age_us.map(|age| age.saturating_add(heard_ago.unsigned_abs())));
                let left = |us: Option<i64>| us.map(|us| us.saturating_sub(heard_ago));
                row.fresh_left_us = least(row.fresh_left_us, left(hot.fresh_left_us));
                row.stale_left_us = least(row.stale_left_us, left(hot.stale_left_us));
                row.processes += 1;
            }
        }
    }
    merged
}

fn least(a: Option<i64>, b: Option<i64>) -> Option<i64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

fn shows(model: &Model, row: &Row) -> bool {
    let key = model.key_text(&row.key);
    model.filter.shows(&Facets { key: &key, cache: &row.cache, ..Facets::default() })
}
