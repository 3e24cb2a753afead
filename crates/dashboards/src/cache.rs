//! One cache in detail: every word of its account, for whoever looks for the cause or tunes a setting.
//!
//! The rows are those of the overview, so that one finds one's way down. Where processes can differ, series are by
//! instance: one sick process among forty vanishes in a sum.

mod flights;
mod store;
mod tier;

use crate::board::{Board, Chosen, Row, Variable};
use crate::database::{DATABASE, DATABASE_JOB};
use crate::overview::PROCESSES;

/// The dashboard of one cache and its gate.
pub fn board() -> Board {
    let cache = Variable {
        name: "cache",
        label: "Cache",
        values: "label_values(herdcache_requests_total{job=~\"$job\",instance=~\"$instance\"}, herdcache_name)",
    };
    let gate = Variable {
        name: "gate",
        label: "Gate",
        values: "label_values(herdcache_permit_limit{job=~\"$job\",instance=~\"$instance\"}, herdcache_gate_name)",
    };
    Board {
        file: "cache.json",
        uid: "herdcache-cache",
        title: "herdcache: one cache",
        about: "The whole account of one cache and its gate, by process where processes can differ.",
        variables: vec![PROCESSES[0], PROCESSES[1], cache, gate, DATABASE_JOB],
        rows: vec![
            Row::new(100, "Overview", flights::OVERVIEW),
            Row::new(200, "Traffic", flights::TRAFFIC),
            Row::new(300, "Herd", flights::HERD),
            Row::new(400, "Origin", store::ORIGIN),
            Row::new(500, "Freshness", store::FRESHNESS),
            Row::new(600, "Shared tier", tier::SHARED),
            Row::new(700, "Capacity", store::CAPACITY),
            DATABASE,
        ],
        other: ("All caches", "herdcache-overview"),
        chosen: Chosen {
            cache: r#"job=~"$job",instance=~"$instance",herdcache_name=~"$cache""#,
            gate: r#"job=~"$job",instance=~"$instance",herdcache_gate_name=~"$gate""#,
        },
    }
}
