//! The overview: every cache of the chosen services, for whoever has just been woken.
//!
//! The first row answers "are users hurt, by what, since when". Each row after it is one suspect, in the order in
//! which they are usually cleared: traffic, herds, the origin, freshness, the shared tier, capacity, the database.

mod herd;
mod tiers;
mod users;

use crate::board::{Board, Chosen, PROCESS, Row, Variable};
use crate::database::{DATABASE, DATABASE_JOB};

/// Which processes.
pub(crate) const PROCESSES: [Variable; 2] = [
    Variable { name: "job", label: "Service", values: "label_values(herdcache_requests_total, job)" },
    Variable {
        name: "instance",
        label: "Process",
        values: "label_values(herdcache_requests_total{job=~\"$job\"}, instance)",
    },
];

/// The dashboard of all caches.
pub fn board() -> Board {
    Board {
        file: "overview.json",
        uid: "herdcache-overview",
        title: "herdcache: overview",
        about: "Every cache of the chosen services: are users hurt, by what, since when.",
        variables: vec![PROCESSES[0], PROCESSES[1], DATABASE_JOB],
        rows: vec![
            Row::new(100, "Overview", users::OVERVIEW),
            Row::new(200, "Traffic", users::TRAFFIC),
            Row::new(300, "Herd", herd::HERD),
            Row::new(400, "Origin", herd::ORIGIN),
            Row::new(500, "Freshness", tiers::FRESHNESS),
            Row::new(600, "Shared tier", tiers::SHARED),
            Row::new(700, "Capacity", tiers::CAPACITY),
            DATABASE,
        ],
        other: ("One cache in detail", "herdcache-cache"),
        chosen: Chosen { cache: PROCESS, gate: PROCESS },
    }
}
