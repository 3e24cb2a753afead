//! The shared tier, its lease, and circuits.

use herdcache::herdfeed::words::{ClosedSet, SharedOperation};

use super::Kind::{Counter, Gauge, Histogram};
use super::{Metric, SECONDS, Source, row};
use crate::labels::{CIRCUIT, LEASE_LOSS, LEASE_POLL, LEASE_RESULT, OPERATION, SHARED_READ, SHARED_WRITE, TIER_FAULT};
use crate::values::{CacheView, Values};

pub(super) const ROWS: &[Metric] = &[
    row(
        ("herdcache.shared.reads", Counter, "{operation}"),
        &[SHARED_READ],
        Source::Cache(|cache, out| out.maybe_tally(cache.now.shared.as_ref().map(|shared| &shared.reads))),
        [
            "Reads of the shared tier by what they found: a connection error is never a miss",
            "the shared tier answers little",
        ],
    ),
    row(
        ("herdcache.shared.writes", Counter, "{operation}"),
        &[SHARED_WRITE],
        Source::Cache(|cache, out| out.maybe_tally(cache.now.shared.as_ref().map(|shared| &shared.writes))),
        [
            "Values that were to be written to the shared tier, by what became of them",
            "other processes load what this one has loaded",
        ],
    ),
    row(
        ("herdcache.connection.errors", Counter, "{error}"),
        &[OPERATION, TIER_FAULT],
        Source::Cache(faults),
        [
            "Operations on the shared tier or the lease that failed: no answer in time, no way to it, or refused by it",
            "the shared tier is ill",
        ],
    ),
    row(
        ("herdcache.shared.operation.duration", Histogram, "s"),
        &[OPERATION],
        Source::OfCaches(SECONDS),
        ["Duration of operations on the shared tier or the lease, failed ones included", "misses are slow"],
    ),
    row(
        ("herdcache.circuit.state", Gauge, ""),
        &[CIRCUIT],
        Source::Both(
            |cache, out| out.one_of(cache.now.shared.as_ref().and_then(|shared| shared.circuit)),
            |gate, out| out.one_of(gate.now.circuit),
        ),
        [
            "What a circuit lets through, 1 for the state that holds: a cache's to its shared tier, a gate's to its origin",
            "reads bypass the shared tier, or loads are refused as `origin_down`",
        ],
    ),
    row(
        ("herdcache.circuit.transitions", Counter, "{transition}"),
        &[CIRCUIT],
        Source::Cache(|cache, out| out.maybe_tally(cache.now.shared.as_ref().map(|shared| &shared.transitions))),
        [
            "How often the circuit to the shared tier came into each state",
            "outages shorter than the time between two scrapes",
        ],
    ),
    row(
        ("herdcache.lease.acquisitions", Counter, "{lease}"),
        &[LEASE_RESULT],
        Source::Cache(|cache, out| out.maybe_tally(cache.now.lease.as_ref().map(|lease| &lease.acquisitions))),
        ["Tries for a lease by how they ended", "several processes load one key"],
    ),
    row(
        ("herdcache.lease.losses", Counter, "{lease}"),
        &[LEASE_LOSS],
        Source::Cache(|cache, out| out.maybe_tally(cache.now.lease.as_ref().map(|lease| &lease.losses))),
        ["Leases that were lost before their load had ended", "loads take longer than their lease"],
    ),
    row(
        ("herdcache.lease.polls", Counter, "{poll}"),
        &[LEASE_POLL],
        Source::Cache(|cache, out| out.maybe_tally(cache.now.lease.as_ref().map(|lease| &lease.polls))),
        ["What followers found when they looked again", "followers wait long, or give up"],
    ),
    row(
        ("herdcache.lease.renewals", Counter, "{renewal}"),
        &[],
        Source::Cache(|cache, out| out.maybe(cache.now.lease.as_ref().map(|lease| lease.renewals))),
        ["Renewals of leases that succeeded", "loads are longer than planned"],
    ),
];

fn faults(cache: &CacheView<'_>, out: &mut Values) {
    let shared = cache.now.shared.as_ref();
    for operation in SharedOperation::all() {
        out.maybe(shared.map(|shared| shared.timeouts[*operation]));
        out.maybe(shared.map(|shared| shared.connection_errors[*operation]));
        out.maybe(shared.map(|shared| shared.refusals[*operation]));
    }
}
