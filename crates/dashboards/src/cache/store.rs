//! The origin, and what is kept of it: the rows Origin, Freshness and Capacity.

use crate::board::{Panel, Unit, ask};
use crate::questions::{REFRESHES, REMOVALS, STALE};

pub(super) const ORIGIN: &[Panel] = &[
    Panel::stacked(
        401,
        Unit::PerSecond,
        6,
        "Origin calls by result",
        "Calls that ended, each under one result, errors with the class that the application gives them. error \
             and timeout are the origin's trouble; abandoned is none of it.",
        &[ask(
            "{{herdcache_origin_result}} {{error_type}}",
            "sum by (herdcache_origin_result, error_type) \
                 (rate(herdcache_origin_results_total{CACHE}[$__rate_interval]))",
        )],
    ),
    Panel::lines(
        402,
        Unit::Seconds,
        6,
        "Origin latency, p99",
        "By result: a timeout lasts as long as it may, an error may come at once.",
        &[ask(
            "{{herdcache_origin_result}}",
            "histogram_quantile(0.99, sum by (herdcache_origin_result, le) \
                 (rate(herdcache_origin_call_duration_seconds_bucket{CACHE}[$__rate_interval])))",
        )],
    ),
    Panel::lines(
        403,
        Unit::Count,
        6,
        "Origin calls in progress",
        "Calls that run, and those that go on after their flight ended: they hold a permit until they end.",
        &[
            ask("{{instance}} in progress", "sum by (instance) (herdcache_origin_active{CACHE})"),
            ask("{{instance}} abandoned", "sum by (instance) (herdcache_origin_abandoned{CACHE})"),
        ],
    ),
    Panel::lines(
        404,
        Unit::PerSecond,
        6,
        "Origin calls started, and the largest second",
        "The rate, and the most calls that started within one second of the last 60: an avalanche is a second, \
             not a minute.",
        &[
            ask("started", "sum(rate(herdcache_origin_calls_total{CACHE}[$__rate_interval]))"),
            ask("{{instance}} largest second", "max by (instance) (herdcache_origin_starts_peak{CACHE})"),
        ],
    ),
    Panel::stacked(
        405,
        Unit::RequestsPerSecond,
        6,
        "Rejected (load shedding) by reason and class",
        "Refusals to protect the origin. The request may still have been answered with an older value: what \
             users got is in the row Overview.",
        &[ask(
            "{{herdcache_reject_reason}} {{herdcache_permit_class}}",
            "sum by (herdcache_reject_reason, herdcache_permit_class) \
                 (rate(herdcache_rejections_total{CACHE}[$__rate_interval]))",
        )],
    ),
    Panel::stacked(
        408,
        Unit::PerSecond,
        6,
        "Permits asked for, by result",
        "What the gate said, by class. Foreground loads wait in the queue; refreshes and warm-ups never do, and \
             count what they are granted.",
        &[ask(
            "{{herdcache_permit_class}} {{herdcache_permit_result}}",
            "sum by (herdcache_permit_class, herdcache_permit_result) \
                 (rate(herdcache_permit_results_total{GATE}[$__rate_interval]))",
        )],
    ),
    Panel::lines(
        406,
        Unit::Seconds,
        6,
        "Wait for a permit, p99",
        "By class and by how the wait ended.",
        &[ask(
            "{{herdcache_permit_class}} {{herdcache_permit_result}}",
            "histogram_quantile(0.99, sum by (herdcache_permit_class, herdcache_permit_result, le) \
                 (rate(herdcache_permit_wait_duration_seconds_bucket{GATE}[$__rate_interval])))",
        )],
    ),
    Panel::lines(
        407,
        Unit::Seconds,
        6,
        "Wait for a connection, p99",
        "What loaders report. High while the origin answers quickly: the pool is empty.",
        &[ask(
            "wait",
            "histogram_quantile(0.99, sum by (le) \
                 (rate(herdcache_origin_connection_wait_duration_seconds_bucket{CACHE}[$__rate_interval])))",
        )],
    ),
];

pub(super) const FRESHNESS: &[Panel] = &[
    Panel::stacked(
        501,
        Unit::RequestsPerSecond,
        8,
        "Stale answers by reason",
        "revalidating is stale-while-revalidate at work; the others hide trouble from users.",
        &[STALE],
    ),
    Panel::lines(
        502,
        Unit::Seconds,
        8,
        "Age past freshness, p99, by reason",
        "How old what users got was, against the bounds in force.",
        &[
            ask(
                "{{herdcache_stale_reason}}",
                "histogram_quantile(0.99, sum by (herdcache_stale_reason, le) \
                 (rate(herdcache_stale_age_seconds_bucket{CACHE}[$__rate_interval])))",
            ),
            ask("fresh for", "max(herdcache_ttl_fresh_seconds{CACHE})"),
            ask("stale for", "max(herdcache_ttl_stale_seconds{CACHE})"),
        ],
    ),
    Panel::lines(
        503,
        Unit::RequestsPerSecond,
        8,
        "Stale answers by the part of their bound used",
        "Stale answers that had used up to this part of the time they may be answered for; each line holds those \
             below it. A gap between 0.9 and 1.0 becomes errors soon.",
        &[ask(
            "up to {{le}}",
            "sum by (le) (rate(herdcache_stale_bound_ratio_bucket{CACHE,le!=\"+Inf\"}[$__rate_interval]))",
        )],
    ),
    Panel::stacked(
        504,
        Unit::PerSecond,
        8,
        "Background refreshes by result",
        "How refreshes ended. failed and deadline use up the stale bound.",
        &[REFRESHES],
    ),
    Panel::lines(
        505,
        Unit::Count,
        8,
        "Refreshes in progress and their limit",
        "At the limit refreshes are skipped, and the next read tries again.",
        &[
            ask("in progress", "sum(herdcache_refresh_pending{CACHE})"),
            ask("limit", "sum(herdcache_refresh_limit{GATE})"),
        ],
    ),
    Panel::stacked(
        506,
        Unit::PerSecond,
        8,
        "Values loaded and not stored",
        "invalidated and newer_write are the cache being right; oversize and encode_error are settings or types \
             to mend.",
        &[ask(
            "{{herdcache_discard_reason}}",
            "sum by (herdcache_discard_reason) (rate(herdcache_discards_total{CACHE}[$__rate_interval]))",
        )],
    ),
];

pub(super) const CAPACITY: &[Panel] = &[
    Panel::stacked(
        701,
        Unit::PerSecond,
        6,
        "Removals by cause",
        "Why entries left the local tier, each under one cause.",
        &[REMOVALS],
    ),
    Panel::lines(
        702,
        Unit::Count,
        6,
        "Entries and weight",
        "What the local tier holds, by process, against its limit.",
        &[
            ask("{{instance}} entries", "sum by (instance) (herdcache_entry_count{CACHE})"),
            ask("{{instance}} weight", "sum by (instance) (herdcache_entry_weight{CACHE})"),
            ask("limit", "max(herdcache_entry_weight_limit{CACHE})"),
        ],
    ),
    Panel::lines(
        703,
        Unit::Count,
        6,
        "Permits by class",
        "Permits in use by class, the most within 60 seconds, and the limit. Foreground loads come first; \
             refresh and warmup have shares of their own.",
        &[
            ask("{{herdcache_permit_class}}", "sum by (herdcache_permit_class) (herdcache_permit_usage{GATE})"),
            ask("peak {{instance}}", "max by (instance) (herdcache_permit_usage_peak{GATE})"),
            ask("limit", "sum(herdcache_permit_limit{GATE})"),
        ],
    ),
    Panel::lines(
        704,
        Unit::Part,
        6,
        "Warm-up",
        "How far warm-ups have come, by process.",
        &[ask("{{instance}}", "max by (instance) (herdcache_warmup_progress_ratio{CACHE})")],
    ),
    Panel::lines(
        705,
        Unit::PerSecond,
        12,
        "Invalidations",
        "Keys invalidated by this process's application (local), told to the shared tier (sent), and forgotten \
             since too many waited to be told (lost). A burst of local ones is a stampede of the application's own \
             making; lost ones leave old values in other processes.",
        &[ask(
            "{{herdcache_direction}}",
            "sum by (herdcache_direction) (rate(herdcache_invalidations_total{CACHE}[$__rate_interval]))",
        )],
    ),
    Panel::lines(
        706,
        Unit::PerSecond,
        12,
        "Telling less than all",
        "Events that were overwritten or rate-limited, and caches or gates beyond the label limit, whose figures \
             stand under one name; samples that no histogram got; instruments that said nothing. The counters stay exact.",
        &[
            ask("events dropped", "sum(rate(herdcache_events_dropped_total{PROCESS}[$__rate_interval]))"),
            ask("samples lost", "sum(rate(herdcache_recorder_panics_total{PROCESS}[$__rate_interval]))"),
            ask("gaps in collections", "sum(rate(herdcache_collection_failures_total{PROCESS}[$__rate_interval]))"),
            ask("names folded", "sum(rate(herdcache_label_overflow_total{PROCESS}[$__rate_interval]))"),
        ],
    ),
];
