//! Queries that both dashboards ask: of every cache in one, of a single cache in the other.

use crate::board::{Query, Unit, ask, ask_right};

pub(crate) const AVAILABILITY: Query = ask(
    "availability",
    "sum(rate(herdcache_requests_total{CACHE,SUCCESS}[$__rate_interval])) / \
                 (sum(rate(herdcache_requests_total{CACHE,COUNTED}[$__rate_interval])) > 0)",
);
pub(crate) const EXPOSURE: Query = ask(
    "exposure",
    "sum(rate(herdcache_requests_total{CACHE}[$__rate_interval])) / \
                 (sum(rate(herdcache_origin_calls_total{CACHE}[$__rate_interval])) > 0)",
);
pub(crate) const FAILURES: Query = ask(
    "{{herdcache_request_outcome}}",
    "sum by (herdcache_request_outcome) \
                 (rate(herdcache_requests_total{CACHE,FAILURE}[$__rate_interval]))",
);
pub(crate) const MISSES: Query = ask(
    "{{herdcache_miss_cause}}",
    "sum by (herdcache_miss_cause) (rate(herdcache_misses_total{CACHE}[$__rate_interval]))",
);
pub(crate) const ENTRIES_EXPIRED: Query = ask(
    "entries expired",
    "sum(rate(herdcache_removals_total{CACHE,herdcache_removal_cause=\"expired\"}[$__rate_interval]))",
);
pub(crate) const FLIGHTS_STARTED: Query =
    ask("flights started", "sum(rate(herdcache_flight_starts_total{CACHE}[$__rate_interval]))");
pub(crate) const PERMIT_WAIT: Query = ask_right(
    Unit::Seconds,
    "permit wait p99",
    "histogram_quantile(0.99, sum by (le) \
                 (rate(herdcache_permit_wait_duration_seconds_bucket{GATE,herdcache_permit_class=\"foreground\",herdcache_permit_result=~\"granted|queue_timeout|deadline\"}[$__rate_interval])))",
);
pub(crate) const ORIGIN_LATENCY: Query = ask_right(
    Unit::Seconds,
    "origin latency p99",
    "histogram_quantile(0.99, sum by (le) \
                 (rate(herdcache_origin_call_duration_seconds_bucket{CACHE}[$__rate_interval])))",
);
pub(crate) const BY_ROLE: Query = ask(
    "{{herdcache_flight_role}}",
    "sum by (herdcache_flight_role) (rate(herdcache_flight_participants_total{CACHE}[$__rate_interval]))",
);
pub(crate) const STALE: Query = ask(
    "{{herdcache_stale_reason}}",
    "sum by (herdcache_stale_reason) (rate(herdcache_stale_serves_total{CACHE}[$__rate_interval]))",
);
pub(crate) const REFRESHES: Query = ask(
    "{{herdcache_refresh_result}}",
    "sum by (herdcache_refresh_result) (rate(herdcache_refreshes_total{CACHE}[$__rate_interval]))",
);
pub(crate) const REMOVALS: Query = ask(
    "{{herdcache_removal_cause}}",
    "sum by (herdcache_removal_cause) (rate(herdcache_removals_total{CACHE}[$__rate_interval]))",
);
pub(crate) const SHARED_READS: Query = ask(
    "{{herdcache_shared_read}}",
    "sum by (herdcache_shared_read) (rate(herdcache_shared_reads_total{CACHE}[$__rate_interval]))",
);
pub(crate) const SHARED_WRITES: Query = ask(
    "{{herdcache_shared_write}}",
    "sum by (herdcache_shared_write) (rate(herdcache_shared_writes_total{CACHE}[$__rate_interval]))",
);
pub(crate) const SHARED_TIMES: Query = ask(
    "{{herdcache_shared_operation}}",
    "histogram_quantile(0.99, sum by (herdcache_shared_operation, le) \
                 (rate(herdcache_shared_operation_duration_seconds_bucket{CACHE}[$__rate_interval])))",
);
pub(crate) const LEASES: Query = ask(
    "{{herdcache_lease_result}}",
    "sum by (herdcache_lease_result) (rate(herdcache_lease_acquisitions_total{CACHE}[$__rate_interval]))",
);
