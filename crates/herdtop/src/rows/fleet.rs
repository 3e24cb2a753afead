//! Rows of the fleet panel.

use herdfeed::words::ClosedSet;
use herdfeed::{Measure, ProtectionLevel};

use super::{RowId, SortKey};
use crate::clock::Now;
use crate::filter::Facets;
use crate::model::deploy::{self, Usual};
use crate::model::{Link, Model, Panel, Target};
use crate::msg::TargetId;

/// Rates are taken over about this span.
pub const RATE_US: u64 = 2_000_000;

/// One process.
#[derive(Clone, Debug)]
pub struct Row {
    /// Which.
    pub id: TargetId,
    /// Its name.
    pub name: String,
    /// How it stands.
    pub link: Link,
    /// Age of its newest snapshot.
    pub lag_us: Option<u64>,
    /// Requests per second now.
    pub rate: Option<f64>,
    /// The least protection among its caches.
    pub protection: Option<ProtectionLevel>,
    /// Measures that are off in any of its caches.
    pub off: Vec<Measure>,
    /// Restarts seen.
    pub restarts: u32,
    /// Settings in which it differs from its peers.
    pub drift: Vec<String>,
    /// Events and lines lost on the way.
    pub lost: u64,
}

/// The processes that the filter shows.
pub fn rows(model: &Model) -> Vec<Row> {
    let world = model.world();
    let now = model.shown_now();
    let usual = deploy::usual(world);
    let shown = |target: &&Target| {
        let service = target.service().unwrap_or("");
        // Words about keys do not hide the fleet: only text and target: apply here.
        let facets = Facets { target: &target.name, words: service, ..Facets::default() };
        model.filter.is_empty() || model.filter.shows(&facets) || !names_a_target(model)
    };
    let mut rows: Vec<Row> = world.targets.iter().filter(shown).map(|target| row(target, &usual, now)).collect();
    let cursor = model.cursor(Panel::Fleet);
    super::arrange(
        &mut rows,
        &cursor,
        |row| RowId::Target(row.id),
        |a, b| match cursor.sort {
            SortKey::Rate => {
                b.rate.unwrap_or(-1.0).total_cmp(&a.rate.unwrap_or(-1.0)).then_with(|| a.name.cmp(&b.name))
            }
            SortKey::Usual | SortKey::Name | SortKey::Age | SortKey::Loads | SortKey::Stale => a.name.cmp(&b.name),
        },
    );
    rows
}

fn names_a_target(model: &Model) -> bool {
    model.filter.text().split_whitespace().any(|word| word.starts_with("target:"))
}

fn row(target: &Target, usual: &Usual, now: Now) -> Row {
    let window = target.window(RATE_US);
    let mut off: Vec<Measure> = Vec::new();
    for measure in Measure::all() {
        if target.caches().iter().any(|cache| cache.off.contains(measure)) {
            off.push(*measure);
        }
    }
    Row {
        id: target.id,
        name: target.name.clone(),
        link: target.link.clone(),
        lag_us: target.lag_us(now),
        rate: window.map(|window| window.rate(window.outcomes.total())),
        protection: target.caches().iter().filter_map(|cache| cache.protection).max(),
        off,
        restarts: target.restarts,
        drift: deploy::drift(usual, target),
        lost: target.missed_events.saturating_add(target.bad_lines),
    }
}
