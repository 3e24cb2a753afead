//! The row Database: the same on every dashboard, and folded, since herdcache exports nothing of it.

use crate::board::{Panel, Row, Unit, Variable, ask};

/// Whose exporters tell of the database.
pub(crate) const DATABASE_JOB: Variable =
    Variable { name: "database_job", label: "Database exporters", values: "label_values(up, job)" };

/// The row.
pub(crate) const DATABASE: Row = Row { id: 800, title: "Database", folded: true, panels: PANELS };

const PANELS: &[Panel] = &[
    Panel::lines(
        801,
        Unit::Count,
        6,
        "Connections by state",
        "OpenTelemetry's db.client.connection.count of the application's pools, against their size. Used at the size \
         while permits are free: somebody else empties the pool.",
        &[
            ask(
                "{{job}} {{db_client_connection_state}}",
                "sum by (job, db_client_connection_state) (db_client_connection_count{PROCESS})",
            ),
            ask("{{job}} size", "sum by (job) (db_client_connection_max{PROCESS})"),
        ],
    ),
    Panel::lines(
        802,
        Unit::PerSecond,
        6,
        "Waits for a connection that timed out",
        "OpenTelemetry's db.client.connection.timeouts. More than none: requests that have nothing to do with the \
         cache fail too.",
        &[ask("{{job}}", "sum by (job) (rate(db_client_connection_timeouts_total{PROCESS}[$__rate_interval]))")],
    ),
    Panel::lines(
        803,
        Unit::Part,
        6,
        "CPU of the database's machine",
        "From a node exporter under the chosen database job. High while origin calls rise: the database works; low \
         while latency rises: it waits, or nobody gets through to it.",
        &[ask(
            "{{instance}}",
            "1 - avg by (instance) \
             (rate(node_cpu_seconds_total{job=~\"$database_job\",mode=\"idle\"}[$__rate_interval]))",
        )],
    ),
    Panel::lines(
        804,
        Unit::BytesPerSecond,
        6,
        "I/O of the database's machine",
        "From a node exporter under the chosen database job. A jump together with misses by eviction or a cold start \
         is the working set being read from disk.",
        &[
            ask(
                "{{instance}} read",
                "sum by (instance) (rate(node_disk_read_bytes_total{job=~\"$database_job\"}[$__rate_interval]))",
            ),
            ask(
                "{{instance}} written",
                "sum by (instance) (rate(node_disk_written_bytes_total{job=~\"$database_job\"}[$__rate_interval]))",
            ),
        ],
    ),
];
