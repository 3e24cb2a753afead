//! What users notice: the rows Overview and Traffic.

use crate::board::{Look, Panel, Unit, ask};
use crate::questions::{AVAILABILITY, EXPOSURE, FAILURES, MISSES};

pub(super) const OVERVIEW: &[Panel] = &[
    Panel::new(
        101,
        Look::Falling { bad: 0.99, warn: 0.999 },
        Unit::Part,
        6,
        "Availability",
        "Successful requests ÷ all that ended and were not cancelled. Hit, stale, reserve, negative, loaded and \
             coalesced are successes; a fallback value is degraded and counts as a failure. Below 99.9 % users \
             notice.",
        &[AVAILABILITY],
    ),
    Panel::new(
        102,
        Look::Rising { warn: 0.1, bad: 10.0 },
        Unit::RequestsPerSecond,
        6,
        "Unsuccessful requests",
        "Requests per second that ended rejected, cooling, failed, timed_out, as a fallback, or closed. How many \
             users, where availability says which part.",
        &[ask("unsuccessful", "sum(rate(herdcache_requests_total{CACHE,FAILURE}[$__rate_interval]))")],
    ),
    Panel::new(
        103,
        Look::Figure,
        Unit::Times,
        6,
        "Exposure",
        "Requests ÷ origin calls: if these caches vanished now, the origin would see this many times its load. A \
             fall means that the cache protects less; a high figure means that it must not fail.",
        &[EXPOSURE],
    ),
    Panel::new(
        104,
        Look::Rising { warn: 1.0, bad: 3.0 },
        Unit::Count,
        6,
        "Alerts",
        "herdcache's alerts that are pending or fire now. 0 also where the shipped rules are not loaded.",
        &[ask("alerts", r#"count(ALERTS{alertname=~"Herdcache.+",job=~"$job"}) or vector(0)"#)],
    ),
    Panel::stacked(
        105,
        Unit::RequestsPerSecond,
        12,
        "Unsuccessful requests by outcome",
        "By what users are hurt, and since when. rejected (load shedding): permits or queue are full, or the \
             origin is taken for down. cooling: the key's last load failed a moment ago. failed: the load failed and \
             nothing older could be answered. timed_out: the caller's own limit.",
        &[FAILURES],
    ),
    Panel::new(
        106,
        Look::NearOne,
        Unit::Part,
        12,
        "Availability by cache",
        "Which cache it is. One that falls alone has a sick origin or a herd; all together have a gate, a \
             database or a deployment in common.",
        &[ask(
            "{{job}} {{herdcache_name}}",
            "sum by (job, herdcache_name) (rate(herdcache_requests_total{CACHE,SUCCESS}[$__rate_interval])) / \
                 (sum by (job, herdcache_name) (rate(herdcache_requests_total{CACHE,COUNTED}[$__rate_interval])) > \
                 0)",
        )],
    ),
    Panel::new(
        107,
        Look::Table,
        Unit::Count,
        8,
        "Alerts, pending and firing",
        "Each has a page in docs/runbooks that says what to look at and what to do. Empty where the shipped \
             rules are not loaded.",
        &[ask(
            "",
            "count by (alertstate, alertname, severity, job, herdcache_name, herdcache_gate_name) \
                 (ALERTS{alertname=~\"Herdcache.+\",job=~\"$job\"})",
        )],
    ),
    Panel::lines(
        108,
        Unit::Seconds,
        8,
        "Latency of requests that waited, p99",
        "How long callers have waited that could not be answered from what was there: leaders, waiters and those \
             that were refused. Hit, stale and negative are left out; they take microseconds and would hide the \
             rest.",
        &[ask(
            "{{job}} {{herdcache_name}}",
            "histogram_quantile(0.99, sum by (job, herdcache_name, le) \
                 (rate(herdcache_request_duration_seconds_bucket{CACHE,herdcache_request_outcome!~\"hit|stale|negative|cancelled\"}[$__rate_interval])))",
        )],
    ),
    Panel::lines(
        109,
        Unit::Part,
        8,
        "Slow requests",
        "The part of all requests, hits included, that took longer. Exact where the percentiles are not: every \
             request that waited is measured, and those that were answered at once are never slow.",
        &[
            ask(
                "longer than 250 ms",
                "(sum(rate(herdcache_request_duration_seconds_count{CACHE}[$__rate_interval])) - \
                 sum(rate(herdcache_request_duration_seconds_bucket{CACHE,le=\"0.25\"}[$__rate_interval]))) / \
                 (sum(rate(herdcache_requests_total{CACHE}[$__rate_interval])) > 0)",
            ),
            ask(
                "longer than 2.5 s",
                "(sum(rate(herdcache_request_duration_seconds_count{CACHE}[$__rate_interval])) - \
                 sum(rate(herdcache_request_duration_seconds_bucket{CACHE,le=\"2.5\"}[$__rate_interval]))) / \
                 (sum(rate(herdcache_requests_total{CACHE}[$__rate_interval])) > 0)",
            ),
        ],
    ),
];

pub(super) const TRAFFIC: &[Panel] = &[
    Panel::stacked(
        201,
        Unit::RequestsPerSecond,
        8,
        "Requests by outcome",
        "Every request is in exactly one outcome, so the height is the traffic. Loaded are leaders, coalesced \
             are waiters.",
        &[ask(
            "{{herdcache_request_outcome}}",
            "sum by (herdcache_request_outcome) (rate(herdcache_requests_total{CACHE}[$__rate_interval]))",
        )],
    ),
    Panel::lines(
        202,
        Unit::Part,
        8,
        "Hit ratio",
        "Requests that were answered from what was there (hit, stale, negative) ÷ all. It hides herds: one \
             expired hot key changes it by nothing and can still empty the pool. See the row Herd.",
        &[ask(
            "{{job}} {{herdcache_name}}",
            "sum by (job, herdcache_name) \
                 (rate(herdcache_requests_total{CACHE,herdcache_request_outcome=~\"hit|stale|negative\"}[$__rate_interval])) \
                 / (sum by (job, herdcache_name) (rate(herdcache_requests_total{CACHE}[$__rate_interval])) > 0)",
        )],
    ),
    Panel::stacked(
        203,
        Unit::RequestsPerSecond,
        8,
        "Misses by cause",
        "Why nothing servable was there. expired: TTL, jitter, stale-while-revalidate. evicted: capacity, no TTL \
             helps. invalidated: the application's own doing. cold: a new key, or a young process.",
        &[MISSES],
    ),
];
