//! The connection pool, under OpenTelemetry's names for one: what the dashboards' row Database asks for.

use opentelemetry::KeyValue;
use opentelemetry::metrics::Meter;

use crate::db::{Pool, PoolFigures};

/// Observes the pool until it is gone. Callbacks cannot be taken back, so they hold no connection open.
pub(super) fn observe(meter: &Meter, pool: &Pool) {
    let name = || KeyValue::new("db.client.connection.pool.name", "shop");
    let state = move |state: &'static str| [name(), KeyValue::new("db.client.connection.state", state)];
    let figures = pool.watch();
    let _ = meter
        .i64_observable_up_down_counter("db.client.connection.count")
        .with_unit("{connection}")
        .with_description("Connections by state")
        .with_callback(move |to| {
            if let Some(PoolFigures { size, in_use, .. }) = figures() {
                to.observe(whole(in_use), &state("used"));
                to.observe(whole(size.saturating_sub(in_use)), &state("idle"));
            }
        })
        .build();
    let figures = pool.watch();
    let _ = meter
        .i64_observable_up_down_counter("db.client.connection.max")
        .with_unit("{connection}")
        .with_description("Connections of the pool")
        .with_callback(move |to| {
            if let Some(figures) = figures() {
                to.observe(whole(figures.size), &[name()]);
            }
        })
        .build();
    let figures = pool.watch();
    let _ = meter
        .u64_observable_counter("db.client.connection.timeouts")
        .with_unit("{timeout}")
        .with_description("Waits for a connection that ended by their timeout")
        .with_callback(move |to| {
            if let Some(figures) = figures() {
                to.observe(figures.wait_timeouts, &[name()]);
            }
        })
        .build();
}

fn whole(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
