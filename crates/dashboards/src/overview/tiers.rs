//! What is stored, where, and how old: the rows Freshness, Shared tier and Capacity.

use crate::board::{Panel, Unit, ask};
use crate::questions::{LEASES, REFRESHES, REMOVALS, SHARED_READS, SHARED_TIMES, SHARED_WRITES, STALE};

pub(super) const FRESHNESS: &[Panel] = &[
    Panel::stacked(
        501,
        Unit::RequestsPerSecond,
        6,
        "Stale answers by reason",
        "Answers past freshness. revalidating is stale-while-revalidate at work; error, rejected and cooling \
             mean that old values hide a failing origin from users.",
        &[STALE],
    ),
    Panel::lines(
        502,
        Unit::Seconds,
        6,
        "Age of stale answers past freshness",
        "How far past freshness values were that were answered nevertheless.",
        &[
            ask(
                "p50",
                "histogram_quantile(0.5, sum by (le) \
                 (rate(herdcache_stale_age_seconds_bucket{CACHE}[$__rate_interval])))",
            ),
            ask(
                "p99",
                "histogram_quantile(0.99, sum by (le) \
                 (rate(herdcache_stale_age_seconds_bucket{CACHE}[$__rate_interval])))",
            ),
        ],
    ),
    Panel::lines(
        503,
        Unit::Part,
        6,
        "Stale answers near their bound",
        "Part of the stale answers that had used more than 90 % of the time they may be answered for, after a \
             load that was refused or failed. They become errors next: there is that much time left to act.",
        &[ask(
            "{{job}} {{herdcache_name}}",
            "(sum by (job, herdcache_name) \
                 (rate(herdcache_stale_bound_ratio_count{CACHE,herdcache_stale_reason=~\"cooling|rejected|error\"}[$__rate_interval])) \
                 - sum by (job, herdcache_name) \
                 (rate(herdcache_stale_bound_ratio_bucket{CACHE,herdcache_stale_reason=~\"cooling|rejected|error\",le=\"0.9\"}[$__rate_interval]))) \
                 / (sum by (job, herdcache_name) (rate(herdcache_stale_bound_ratio_count{CACHE}[$__rate_interval])) \
                 > 0)",
        )],
    ),
    Panel::stacked(
        504,
        Unit::PerSecond,
        6,
        "Background refreshes by result",
        "How refreshes behind stale answers ended. failed and deadline use up the stale bound; skipped_no_permit \
             means that the gate's refresh share is too small.",
        &[REFRESHES],
    ),
];

pub(super) const SHARED: &[Panel] = &[
    Panel::stacked(
        601,
        Unit::PerSecond,
        8,
        "Shared reads by result",
        "A connection error is never a miss. timeout, connection_error and breaker_open: the tier is in trouble \
             and every process loads for itself.",
        &[SHARED_READS],
    ),
    Panel::stacked(
        602,
        Unit::PerSecond,
        8,
        "Shared writes by result",
        "refused_version and refused_fence: another process was newer, which is right. skipped_after_fault: not \
             tried, since the read before had failed.",
        &[SHARED_WRITES],
    ),
    Panel::stacked(
        603,
        Unit::PerSecond,
        8,
        "Connection errors by operation",
        "Timeouts and connection errors over all operations on the shared tier and the lease.",
        &[ask(
            "{{herdcache_shared_operation}} {{error_type}}",
            "sum by (herdcache_shared_operation, error_type) \
                 (rate(herdcache_connection_errors_total{CACHE}[$__rate_interval]))",
        )],
    ),
    Panel::lines(
        604,
        Unit::Seconds,
        8,
        "Shared operations, p99",
        "Duration of operations on the shared tier, failed ones included. At the operation's limit: they time \
             out, and each miss pays it.",
        &[SHARED_TIMES],
    ),
    Panel::lines(
        605,
        Unit::Count,
        8,
        "Circuits of shared tiers that are not closed",
        "Processes that leave the shared tier alone because it fails, by state.",
        &[ask(
            "{{job}} {{herdcache_name}} {{herdcache_circuit_state}}",
            "sum by (job, herdcache_name, herdcache_circuit_state) \
                 (herdcache_circuit_state{CACHE,herdcache_name!=\"\",herdcache_circuit_state!=\"closed\"})",
        )],
    ),
    Panel::lines(
        606,
        Unit::PerSecond,
        8,
        "Leases",
        "Leases acquired and lost. Losses: loads outlast their lease, or its holder was cut off; two processes \
             may then have loaded one key.",
        &[
            LEASES,
            ask(
                "lost: {{herdcache_lease_loss}}",
                "sum by (herdcache_lease_loss) (rate(herdcache_lease_losses_total{CACHE}[$__rate_interval]))",
            ),
        ],
    ),
];

pub(super) const CAPACITY: &[Panel] = &[
    Panel::stacked(
        701,
        Unit::PerSecond,
        8,
        "Removals by cause",
        "Entries that left the local tier, each once. Evicted while the working set still asks for them: \
             capacity is too small. Expired together: too little jitter.",
        &[REMOVALS],
    ),
    Panel::lines(
        702,
        Unit::Part,
        8,
        "Local tier, used",
        "Entries' weight ÷ the limit; the fullest process. Full is usual; what matters is what is evicted.",
        &[ask(
            "{{job}} {{herdcache_name}}",
            "max by (job, herdcache_name) (herdcache_entry_weight{CACHE} / (herdcache_entry_weight_limit{CACHE} \
                 > 0))",
        )],
    ),
    Panel::lines(
        703,
        Unit::Part,
        8,
        "Permits, used",
        "Permits in use at most within the last 60 seconds ÷ the limit; the fullest process. Near 1 with waits: \
             the gate is the bottleneck, as it should be before the database is.",
        &[ask(
            "{{job}} {{herdcache_gate_name}}",
            "max by (job, herdcache_gate_name) (herdcache_permit_usage_peak{GATE} / \
                 (herdcache_permit_limit{GATE} > 0))",
        )],
    ),
    Panel::lines(
        704,
        Unit::Count,
        8,
        "Loads that wait for a permit, at most",
        "The largest number within the last 60 seconds, and now.",
        &[
            ask(
                "{{job}} {{herdcache_gate_name}} peak",
                "max by (job, herdcache_gate_name) (herdcache_permit_pending_peak{GATE})",
            ),
            ask(
                "{{job}} {{herdcache_gate_name}} now",
                "sum by (job, herdcache_gate_name) (herdcache_permit_pending{GATE})",
            ),
        ],
    ),
    Panel::lines(
        705,
        Unit::Seconds,
        8,
        "Wait for a permit, p99",
        "How long loads waited for their permit, by gate, those that waited in vain included. Left out are those that \
             never queue: refreshes and warm-ups, and loads that were refused at once, which would hide the rest.",
        &[ask(
            "{{job}} {{herdcache_gate_name}}",
            "histogram_quantile(0.99, sum by (job, herdcache_gate_name, le) \
                 (rate(herdcache_permit_wait_duration_seconds_bucket{GATE,herdcache_permit_class=\"foreground\",herdcache_permit_result=~\"granted|queue_timeout|deadline\"}[$__rate_interval])))",
        )],
    ),
    Panel::lines(
        706,
        Unit::Count,
        8,
        "Permits of all processes and what the origin can bear",
        "The sum of the limits over all processes against origin.capacity, where the application says it. More \
             permits than capacity: a deployment with more processes can overrun the database.",
        &[
            ask(
                "{{job}} {{herdcache_gate_name}} permits",
                "sum by (job, herdcache_gate_name) (herdcache_permit_limit{GATE})",
            ),
            ask(
                "{{job}} {{herdcache_gate_name}} capacity",
                "max by (job, herdcache_gate_name) (herdcache_origin_capacity{GATE})",
            ),
        ],
    ),
];
