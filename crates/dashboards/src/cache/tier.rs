//! The shared tier and the lease of one cache.

use crate::board::{Panel, Unit, ask};
use crate::questions::{LEASES, SHARED_READS, SHARED_TIMES, SHARED_WRITES};

pub(super) const SHARED: &[Panel] = &[
    Panel::stacked(601, Unit::PerSecond, 8, "Reads by result", "A connection error is never a miss.", &[SHARED_READS]),
    Panel::stacked(
        602,
        Unit::PerSecond,
        8,
        "Writes by result",
        "What became of values that were to be shared.",
        &[SHARED_WRITES],
    ),
    Panel::lines(
        603,
        Unit::PerSecond,
        8,
        "Connection errors by process",
        "Timeouts and connection errors. One process alone: its network; all: the tier.",
        &[ask(
            "{{instance}} {{error_type}}",
            "sum by (instance, error_type) (rate(herdcache_connection_errors_total{CACHE}[$__rate_interval]))",
        )],
    ),
    Panel::lines(
        604,
        Unit::Seconds,
        8,
        "Operations, p99",
        "Duration by operation, failed ones included.",
        &[SHARED_TIMES],
    ),
    Panel::lines(
        605,
        Unit::Count,
        8,
        "Circuit by state",
        "Processes by the state of the circuit before the tier.",
        &[ask(
            "{{herdcache_circuit_state}}",
            "sum by (herdcache_circuit_state) (herdcache_circuit_state{CACHE,herdcache_name!=\"\"})",
        )],
    ),
    Panel::lines(
        606,
        Unit::PerSecond,
        8,
        "Circuit transitions",
        "How often circuits came into each state. open and closed in turn: the tier flaps, or the limit of its \
             operations is too short.",
        &[ask(
            "{{herdcache_circuit_state}}",
            "sum by (herdcache_circuit_state) \
                 (rate(herdcache_circuit_transitions_total{CACHE,herdcache_name!=\"\"}[$__rate_interval]))",
        )],
    ),
    Panel::stacked(
        607,
        Unit::PerSecond,
        6,
        "Tries for a lease",
        "acquired: this process loads. held: another one does, and this one follows. unavailable: nobody could \
             say, and protection is only within the process.",
        &[LEASES],
    ),
    Panel::lines(
        608,
        Unit::PerSecond,
        6,
        "Leases lost",
        "expired and renew_limit: loads outlast the lease. fenced: somebody newer has written.",
        &[ask(
            "{{herdcache_lease_loss}}",
            "sum by (herdcache_lease_loss) (rate(herdcache_lease_losses_total{CACHE}[$__rate_interval]))",
        )],
    ),
    Panel::stacked(
        609,
        Unit::PerSecond,
        6,
        "What followers find",
        "found: another process's load was enough. successor: its holder vanished. gave_up: it took too long.",
        &[ask(
            "{{herdcache_lease_poll}}",
            "sum by (herdcache_lease_poll) (rate(herdcache_lease_polls_total{CACHE}[$__rate_interval]))",
        )],
    ),
    Panel::lines(
        610,
        Unit::PerSecond,
        6,
        "Leases renewed",
        "Loads that lasted a third of the lease or more.",
        &[ask("renewals", "sum(rate(herdcache_lease_renewals_total{CACHE}[$__rate_interval]))")],
    ),
];
