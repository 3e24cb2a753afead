//! Requests and flights of one cache: the rows Overview, Traffic and Herd.

use crate::board::{Look, Panel, Unit, ask};
use crate::questions::{
    AVAILABILITY, BY_ROLE, ENTRIES_EXPIRED, EXPOSURE, FAILURES, FLIGHTS_STARTED, MISSES, ORIGIN_LATENCY, PERMIT_WAIT,
};

pub(super) const OVERVIEW: &[Panel] = &[
    Panel::new(
        101,
        Look::Falling { bad: 0.99, warn: 0.999 },
        Unit::Part,
        6,
        "Availability",
        "Successful requests ÷ all that ended and were not cancelled. A fallback value is degraded and counts as \
             a failure.",
        &[AVAILABILITY],
    ),
    Panel::new(
        102,
        Look::Figure,
        Unit::Times,
        6,
        "Exposure",
        "Requests ÷ origin calls: what the origin would see if this cache vanished now, as a multiple.",
        &[EXPOSURE],
    ),
    Panel::new(
        103,
        Look::Rising { warn: 1.0, bad: 1.0 },
        Unit::Count,
        6,
        "Laws broken",
        "Laws of the engine that its own checks found broken since the processes began. Must be 0; anything else \
             is a defect of herdcache. Of all caches and gates of the chosen processes.",
        &[ask("{{herdcache_law}}", "sum by (herdcache_law) (herdcache_law_violations_total{PROCESS})")],
    ),
    Panel::new(
        104,
        Look::Table,
        Unit::Count,
        6,
        "Protection by process",
        "How far the protection reaches now. cluster: one load per key in the fleet. process: in each process. \
             degraded: a lease is configured and cannot be reached. observe: measures are off.",
        &[ask(
            "",
            "max by (instance, herdcache_name, herdcache_protection_level) (herdcache_protection_level{CACHE} == \
                 1)",
        )],
    ),
    Panel::stacked(
        105,
        Unit::RequestsPerSecond,
        12,
        "Unsuccessful requests by outcome",
        "By what users of this cache are hurt, and since when.",
        &[FAILURES],
    ),
    Panel::lines(
        106,
        Unit::RequestsPerSecond,
        12,
        "Unsuccessful requests by process",
        "Whether one process is sick or all are.",
        &[ask("{{instance}}", "sum by (instance) (rate(herdcache_requests_total{CACHE,FAILURE}[$__rate_interval]))")],
    ),
];

pub(super) const TRAFFIC: &[Panel] = &[
    Panel::stacked(
        201,
        Unit::RequestsPerSecond,
        6,
        "Requests by outcome and tier",
        "Every request in exactly one outcome, and where its answer came from.",
        &[ask(
            "{{herdcache_request_outcome}} {{herdcache_tier}}",
            "sum by (herdcache_request_outcome, herdcache_tier) \
                 (rate(herdcache_requests_total{CACHE}[$__rate_interval]))",
        )],
    ),
    Panel::lines(
        202,
        Unit::Count,
        6,
        "Requests in progress",
        "Requests that have begun and not ended. It grows without end where an origin hangs and nobody gives up.",
        &[ask("{{instance}}", "sum by (instance) (herdcache_request_active{CACHE})")],
    ),
    Panel::stacked(
        203,
        Unit::RequestsPerSecond,
        6,
        "Misses by cause",
        "Why nothing servable was there. expired and evicted want different cures.",
        &[MISSES],
    ),
    Panel::lines(
        204,
        Unit::Seconds,
        6,
        "Latency by outcome, p99",
        "Requests that waited, by how they ended, and hits, of which one in 1,024 is measured.",
        &[ask(
            "{{herdcache_request_outcome}}",
            "histogram_quantile(0.99, sum by (herdcache_request_outcome, le) \
                 (rate(herdcache_request_duration_seconds_bucket{CACHE}[$__rate_interval])))",
        )],
    ),
];

pub(super) const HERD: &[Panel] = &[
    Panel::lines(
        301,
        Unit::PerSecond,
        24,
        "Overlay: expiry, flights, permits, origin",
        "Entries expire (solid) and flights start; then the wait for a permit and the origin's latency (dashed, \
             right axis) rise. If latency rises first, the origin is the cause and not the herd.",
        &[ENTRIES_EXPIRED, FLIGHTS_STARTED, PERMIT_WAIT, ORIGIN_LATENCY],
    ),
    Panel::lines(
        302,
        Unit::RequestsPerSecond,
        8,
        "Leaders and waiters",
        "Leaders open a flight, waiters join one that runs.",
        &[BY_ROLE],
    ),
    Panel::lines(
        303,
        Unit::Count,
        8,
        "Waiters of one flight at its landing",
        "How large the herds are: the average flight, and the largest in a hundred.",
        &[
            ask(
                "mean",
                "sum(rate(herdcache_flight_waiters_sum{CACHE}[$__rate_interval])) / \
                 (sum(rate(herdcache_flight_waiters_count{CACHE}[$__rate_interval])) > 0)",
            ),
            ask(
                "p99",
                "histogram_quantile(0.99, sum by (le) \
                 (rate(herdcache_flight_waiters_bucket{CACHE}[$__rate_interval])))",
            ),
        ],
    ),
    Panel::lines(
        304,
        Unit::Seconds,
        8,
        "Wait for a flight, p99",
        "How long requests waited for a flight, by how they ended.",
        &[ask(
            "{{herdcache_request_outcome}}",
            "histogram_quantile(0.99, sum by (herdcache_request_outcome, le) \
                 (rate(herdcache_flight_wait_duration_seconds_bucket{CACHE}[$__rate_interval])))",
        )],
    ),
    Panel::lines(
        305,
        Unit::Count,
        8,
        "Waiting, now and at most",
        "Requests that wait for a flight, by process, and the largest number within the last 60 seconds.",
        &[
            ask("{{instance}} now", "sum by (instance) (herdcache_flight_waiting{CACHE})"),
            ask("{{instance}} peak", "max by (instance) (herdcache_flight_waiting_peak{CACHE})"),
        ],
    ),
    Panel::stacked(
        306,
        Unit::PerSecond,
        8,
        "Flights by trigger",
        "What started them. miss: somebody waits. stale and early: in the background.",
        &[ask(
            "{{herdcache_flight_trigger}}",
            "sum by (herdcache_flight_trigger) (rate(herdcache_flight_starts_total{CACHE}[$__rate_interval]))",
        )],
    ),
    Panel::stacked(
        307,
        Unit::PerSecond,
        8,
        "Flights by end",
        "How they ended, each in exactly one end.",
        &[ask(
            "{{herdcache_flight_end}}",
            "sum by (herdcache_flight_end) (rate(herdcache_flights_total{CACHE}[$__rate_interval]))",
        )],
    ),
    Panel::lines(
        308,
        Unit::Seconds,
        6,
        "Flight duration, p99",
        "From the miss to the landing: shared read, queue, lease and origin together.",
        &[ask(
            "{{herdcache_flight_end}}",
            "histogram_quantile(0.99, sum by (herdcache_flight_end, le) \
                 (rate(herdcache_flight_duration_seconds_bucket{CACHE}[$__rate_interval])))",
        )],
    ),
    Panel::lines(
        309,
        Unit::Count,
        6,
        "Flights in progress",
        "Flights that run, and of them those that nobody waits for.",
        &[
            ask("in progress", "sum(herdcache_flight_active{CACHE})"),
            ask("unwatched", "sum(herdcache_flight_unwatched{CACHE})"),
        ],
    ),
    Panel::lines(
        310,
        Unit::Seconds,
        6,
        "Oldest flight and the deadline",
        "A flight that comes near its deadline is a hung origin call: its key is dead until then.",
        &[
            ask("oldest {{instance}}", "max by (instance) (herdcache_flight_oldest_age_seconds{CACHE})"),
            ask("deadline", "min(herdcache_flight_deadline_seconds{CACHE})"),
        ],
    ),
    Panel::lines(
        311,
        Unit::Part,
        6,
        "Hot keys' share of requests",
        "The five keys asked for most, by rank, in the process where the share is largest. herdtop and the feed \
             show which keys they are.",
        &[ask(
            "rank {{herdcache_hot_key_rank}}",
            "max by (herdcache_hot_key_rank) (herdcache_hot_key_share_ratio{CACHE})",
        )],
    ),
];
