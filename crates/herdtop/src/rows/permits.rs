//! Rows of the permit panel: one for each gate of each process.

use herdfeed::{CacheSnapshot, GateSnapshot, Histogram, Measure};

use super::RowId;
use crate::filter::Facets;
use crate::model::{Model, Target};
use crate::msg::TargetId;

/// Quantiles are taken over about this span.
const QUANTILES_US: u64 = 10_000_000;
/// Rates are taken over about this span.
const RATE_US: u64 = 2_000_000;

/// One gate.
#[derive(Clone, Debug)]
pub struct Row {
    /// In which process.
    pub target: TargetId,
    /// The name of that process.
    pub target_name: String,
    /// The gate's account.
    pub gate: GateSnapshot,
    /// Refusals per second now.
    pub refused_per_s: f64,
    /// Waits for a permit of the last seconds.
    pub wait: Histogram,
    /// Origin calls of the last seconds of all caches behind the gate.
    pub call: Histogram,
    /// Waits for a connection of the last seconds, as loaders reported them.
    pub connection_wait: Histogram,
    /// Origin calls that go on after their flight ended.
    pub abandoned: u64,
    /// Whether its limit holds.
    pub limit: Limit,
}

/// Whether the limit of a gate holds for the caches behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Limit {
    /// For all.
    Holds,
    /// Permits are switched off.
    Off {
        /// In which caches; empty for all.
        caches: Vec<String>,
        /// Origin calls of these caches in progress.
        running: u64,
    },
}

impl Limit {
    fn of<'a>(caches: impl Iterator<Item = &'a CacheSnapshot>) -> Self {
        let (off, on): (Vec<_>, Vec<_>) = caches.partition(|cache| cache.off.contains(&Measure::Permits));
        if off.is_empty() {
            return Self::Holds;
        }
        let running = crate::figures::sum(off.iter().map(|cache| cache.origin_active));
        let named = if on.is_empty() { Vec::new() } else { off.iter().map(|cache| cache.name.clone()).collect() };
        Self::Off { caches: named, running }
    }
}

impl Row {
    /// Its identity.
    pub fn id(&self) -> RowId {
        RowId::Gate { target: self.target, gate: self.gate.name.clone() }
    }
}

/// The gates that the filter shows, fullest first by name and process.
pub fn rows(model: &Model) -> Vec<Row> {
    let mut rows: Vec<Row> = model.world().targets.iter().flat_map(of_target).filter(|row| shows(model, row)).collect();
    rows.sort_by(|a, b| (&a.gate.name, &a.target_name).cmp(&(&b.gate.name, &b.target_name)));
    rows
}

fn of_target(target: &Target) -> Vec<Row> {
    target.gates().iter().map(|gate| of_gate(target, gate)).collect()
}

fn of_gate(target: &Target, gate: &GateSnapshot) -> Row {
    let mut row = Row {
        target: target.id,
        target_name: target.name.clone(),
        gate: gate.clone(),
        refused_per_s: target.gate_window(&gate.name, RATE_US).map_or(0.0, |window| window.refused_per_s()),
        wait: target.gate_window(&gate.name, QUANTILES_US).map(|window| window.wait).unwrap_or_default(),
        call: Histogram::default(),
        connection_wait: Histogram::default(),
        abandoned: 0,
        limit: Limit::of(behind(target, &gate.name)),
    };
    for cache in behind(target, &gate.name) {
        row.abandoned = row.abandoned.saturating_add(cache.origin_abandoned);
        if let Some(window) = target.cache_window(&cache.name, QUANTILES_US) {
            row.call.add(&window.origin_call);
            row.connection_wait.add(&window.connection_wait);
        }
    }
    row
}

/// The caches behind a gate.
fn behind<'a>(target: &'a Target, gate: &'a str) -> impl Iterator<Item = &'a CacheSnapshot> {
    target.caches().iter().filter(move |cache| cache.gate == gate)
}

/// Origin calls that run past a limit that is off, over all gates; `None` while every limit holds.
pub fn unlimited(model: &Model) -> Option<u64> {
    let limits = model
        .world()
        .targets
        .iter()
        .flat_map(|target| target.gates().iter().map(|gate| Limit::of(behind(target, &gate.name))));
    let running = limits.filter_map(|limit| match limit {
        Limit::Holds => None,
        Limit::Off { running, .. } => Some(running),
    });
    running.reduce(u64::saturating_add)
}

fn shows(model: &Model, row: &Row) -> bool {
    // Gates have no keys: a filter that is only about rows with keys leaves them alone.
    let targets: Vec<&str> =
        model.filter.text().split_whitespace().filter_map(|word| word.strip_prefix("target:")).collect();
    let facets = Facets { target: &row.target_name, cache: &row.gate.name, ..Facets::default() };
    targets.is_empty() || model.filter.shows(&facets)
}
