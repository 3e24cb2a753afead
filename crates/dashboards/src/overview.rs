//! The overview: every cache of the chosen services, for whoever has just been woken.
//!
//! The first row answers "are users hurt, by what, since when". Each row after it is one suspect, in the order in
//! which they are usually cleared: traffic, herds, the origin, freshness, the shared tier, capacity, the database.

mod herd;
mod tiers;
mod users;

use crate::board::{Board, Chosen, PROCESS, Panel, Row, Unit, Variable};

/// Which processes.
pub(crate) const PROCESSES: [Variable; 2] = [
    Variable { name: "job", label: "Service", values: "label_values(herdcache_requests_total, job)" },
    Variable {
        name: "instance",
        label: "Process",
        values: "label_values(herdcache_requests_total{job=~\"$job\"}, instance)",
    },
];

/// Whose exporters tell of the database.
pub(crate) const DATABASE_JOB: Variable =
    Variable { name: "database_job", label: "Database exporters", values: "label_values(up, job)" };

/// The dashboard of all caches.
pub fn board() -> Board {
    Board {
        file: "overview.json",
        uid: "herdcache-overview",
        title: "herdcache: overview",
        about: "Every cache of the chosen services: are users hurt, by what, since when.",
        variables: vec![PROCESSES[0], PROCESSES[1], DATABASE_JOB],
        rows: vec![
            Row::new(100, "Overview", users::overview()),
            Row::new(200, "Traffic", users::traffic()),
            Row::new(300, "Herd", herd::herd()),
            Row::new(400, "Origin", herd::origin()),
            Row::new(500, "Freshness", tiers::freshness()),
            Row::new(600, "Shared tier", tiers::shared()),
            Row::new(700, "Capacity", tiers::capacity()),
            database(800),
        ],
        other: ("One cache in detail", "herdcache-cache"),
        chosen: Chosen { cache: PROCESS, gate: PROCESS },
    }
}

/// The database's own account, where there is one: folded, since herdcache does not export it.
pub(crate) fn database(id: u16) -> Row {
    let panels = vec![
        Panel::lines(id + 1, Unit::Count, "Connections by state",
            "OpenTelemetry's db.client.connection.count of the application's pools, against their size. Used at the size while permits are free: somebody else empties the pool.")
            .ask("{{job}} {{db_client_connection_state}}", r"sum by (job, db_client_connection_state) (db_client_connection_count{PROCESS})")
            .ask("{{job}} size", r"sum by (job) (db_client_connection_max{PROCESS})"),
        Panel::lines(id + 2, Unit::PerSecond, "Waits for a connection that timed out",
            "OpenTelemetry's db.client.connection.timeouts. More than none: requests that have nothing to do with the cache fail too.")
            .ask("{{job}}", r"sum by (job) (rate(db_client_connection_timeouts_total{PROCESS}[$__rate_interval]))"),
        Panel::lines(id + 3, Unit::Part, "CPU of the database's machine",
            "From a node exporter under the chosen database job. High while origin calls rise: the database works; low while latency rises: it waits, or nobody gets through to it.")
            .ask("{{instance}}", r#"1 - avg by (instance) (rate(node_cpu_seconds_total{job=~"$database_job",mode="idle"}[$__rate_interval]))"#),
        Panel::lines(id + 4, Unit::BytesPerSecond, "I/O of the database's machine",
            "From a node exporter under the chosen database job. A jump together with misses by eviction or a cold start is the working set being read from disk.")
            .ask("{{instance}} read", r#"sum by (instance) (rate(node_disk_read_bytes_total{job=~"$database_job"}[$__rate_interval]))"#)
            .ask("{{instance}} written", r#"sum by (instance) (rate(node_disk_written_bytes_total{job=~"$database_job"}[$__rate_interval]))"#),
    ];
    let panels = panels.into_iter().map(|panel| panel.wide(6)).collect();
    Row { id, title: "Database", folded: true, panels }
}
