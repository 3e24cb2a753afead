//! Herds and what they do to the origin: the rows Herd and Origin.

use crate::board::{Panel, Unit, ask};
use crate::questions::{BY_ROLE, ENTRIES_EXPIRED, FLIGHTS_STARTED, ORIGIN_LATENCY, PERMIT_WAIT};

pub(super) const HERD: &[Panel] = &[
    Panel::lines(
        301,
        Unit::PerSecond,
        24,
        "Overlay: expiry, flights, permits, origin",
        "One axis of time for the whole story. Entries expire (solid) and flights start; then the wait for a \
             permit and the origin's latency (dashed, right axis) rise. If latency rises first, the origin is the \
             cause and not the herd.",
        &[ENTRIES_EXPIRED, FLIGHTS_STARTED, PERMIT_WAIT, ORIGIN_LATENCY],
    ),
    Panel::lines(
        302,
        Unit::RequestsPerSecond,
        6,
        "Leaders and waiters",
        "Leaders open a flight, waiters join one that runs. Waiters that rise over leaders are a herd that \
             single-flight holds back; leaders that rise alone are many different keys (avalanche, eviction, cold \
             start), where only permits help.",
        &[BY_ROLE],
    ),
    Panel::lines(
        303,
        Unit::Times,
        6,
        "Waiters per leader",
        "How many callers each load of a caller answered besides its own. Above 50 a single key would take a \
             usual gate by itself if its waiters were not coalesced.",
        &[ask(
            "{{job}} {{herdcache_name}}",
            "sum by (job, herdcache_name) \
                 (rate(herdcache_flight_participants_total{CACHE,herdcache_flight_role=\"waiter\"}[$__rate_interval])) \
                 / (sum by (job, herdcache_name) \
                 (rate(herdcache_flight_participants_total{CACHE,herdcache_flight_role=\"leader\"}[$__rate_interval])) \
                 > 0)",
        )],
    ),
    Panel::lines(
        304,
        Unit::Count,
        6,
        "Waiting, now and at most",
        "Requests that wait for a flight now, and the largest number within the last 60 seconds: a herd of half \
             a second falls between two scrapes, its peak does not.",
        &[
            ask("{{job}} {{herdcache_name}} now", "sum by (job, herdcache_name) (herdcache_flight_waiting{CACHE})"),
            ask(
                "{{job}} {{herdcache_name}} peak",
                "max by (job, herdcache_name) (herdcache_flight_waiting_peak{CACHE})",
            ),
        ],
    ),
    Panel::lines(
        305,
        Unit::Part,
        6,
        "Hottest key's share of requests",
        "How much of each cache's traffic asks for its first key; the largest of all processes. No key is ever a \
             label: herdtop and the feed show which it is. Above 25 % its expiry is an event of its own.",
        &[ask(
            "{{job}} {{herdcache_name}}",
            "max by (job, herdcache_name) (herdcache_hot_key_share_ratio{CACHE,herdcache_hot_key_rank=\"1\"})",
        )],
    ),
];

pub(super) const ORIGIN: &[Panel] = &[
    Panel::stacked(
        401,
        Unit::PerSecond,
        8,
        "Origin calls by result",
        "Calls that ended. error, timeout and panicked are the origin's trouble; abandoned is none of it.",
        &[ask(
            "{{herdcache_origin_result}}",
            "sum by (herdcache_origin_result) (rate(herdcache_origin_results_total{CACHE}[$__rate_interval]))",
        )],
    ),
    Panel::lines(
        402,
        Unit::Seconds,
        8,
        "Origin latency",
        "Duration of origin calls. Compare p50 and p99: both rise when the origin is slow, p99 alone when single \
             keys are heavy.",
        &[
            ask(
                "p50",
                "histogram_quantile(0.5, sum by (le) \
                 (rate(herdcache_origin_call_duration_seconds_bucket{CACHE}[$__rate_interval])))",
            ),
            ask(
                "p99",
                "histogram_quantile(0.99, sum by (le) \
                 (rate(herdcache_origin_call_duration_seconds_bucket{CACHE}[$__rate_interval])))",
            ),
        ],
    ),
    Panel::lines(
        403,
        Unit::Times,
        8,
        "Calls per load",
        "Origin calls ÷ flights that ended with the origin's answer. 1 is ideal. More: failed loads are tried \
             again, or loads are overtaken by invalidations. Less: batches.",
        &[ask(
            "{{job}} {{herdcache_name}}",
            "sum by (job, herdcache_name) (rate(herdcache_origin_calls_total{CACHE}[$__rate_interval])) / (sum \
                 by (job, herdcache_name) \
                 (rate(herdcache_flights_total{CACHE,herdcache_flight_end=~\"loaded|not_modified|absent|discarded\"}[$__rate_interval])) \
                 > 0)",
        )],
    ),
    Panel::stacked(
        404,
        Unit::RequestsPerSecond,
        8,
        "Rejected (load shedding) by reason",
        "queue_full and queue_timeout: more loads than permits. origin_down: the gate's fail-fast is open. \
             group_share: one tenant has used its part. flights_full, waiters_full: the cache's own bounds.",
        &[ask(
            "{{herdcache_reject_reason}}",
            "sum by (herdcache_reject_reason) (rate(herdcache_rejections_total{CACHE}[$__rate_interval]))",
        )],
    ),
    Panel::lines(
        405,
        Unit::Seconds,
        8,
        "Wait for a connection, p99",
        "What loaders report of their wait for a connection of the pool. High while the origin answers quickly: \
             connections are exhausted, by somebody else or by too many permits.",
        &[ask(
            "{{job}} {{herdcache_name}}",
            "histogram_quantile(0.99, sum by (job, herdcache_name, le) \
                 (rate(herdcache_origin_connection_wait_duration_seconds_bucket{CACHE}[$__rate_interval])))",
        )],
    ),
    Panel::lines(
        406,
        Unit::Count,
        8,
        "Circuits of gates that are not closed",
        "Processes whose gate refuses loads because too many fail, by state. The origin is down, or is taken for \
             it.",
        &[ask(
            "{{job}} {{herdcache_gate_name}} {{herdcache_circuit_state}}",
            "sum by (job, herdcache_gate_name, herdcache_circuit_state) \
                 (herdcache_circuit_state{GATE,herdcache_gate_name!=\"\",herdcache_circuit_state!=\"closed\"})",
        )],
    ),
];
