//! What the account says of itself.

use herdcache::herdfeed::words::{ClosedSet, Law};

use super::Kind::Counter;
use super::{Metric, Source, row};
use crate::labels::LAW;
use crate::values::{CacheView, GateView, Values};

pub(super) const ROWS: &[Metric] = &[
    row(
        ("herdcache.law.violations", Counter, "{violation}"),
        &[LAW],
        Source::Both(broken_by_cache, broken_by_gate),
        ["Laws that the run-time checks found broken; must stay 0", "it is not 0: a defect of herdcache"],
    ),
    row(
        ("herdcache.events.dropped", Counter, "{event}"),
        &[],
        Source::Process(|process, out| out.count(process.now.events_dropped)),
        ["Events of the live feed that were overwritten or left out by a rate limit", "the feed's past has gaps"],
    ),
    row(
        ("herdcache.label.overflow", Counter, "{name}"),
        &[],
        Source::Process(|process, out| out.count(process.overflow)),
        [
            "Caches and gates beyond the limit of names, folded into `~other`",
            "a cache is built for each request, or the limit is too low",
        ],
    ),
    row(
        ("herdcache.collection.failures", Counter, "{instrument}"),
        &[],
        Source::Process(|process, out| out.count(process.failed)),
        ["Instruments that said nothing in a collection since something panicked", "series have gaps"],
    ),
    row(
        ("herdcache.recorder.panics", Counter, "{sample}"),
        &[],
        Source::Process(|_, out| out.count(herdcache::recorder_panics())),
        ["Samples of histograms lost since a recorder panicked", "histograms have fewer samples than their counters"],
    ),
];

/// Permits are the gate's law, the others the cache's.
fn broken_by_cache(cache: &CacheView<'_>, out: &mut Values) {
    for law in Law::all() {
        match law {
            Law::L3 => out.maybe(None),
            Law::L4 | Law::L5 => out.count(cache.now.laws[*law]),
        }
    }
}

fn broken_by_gate(gate: &GateView<'_>, out: &mut Values) {
    for law in Law::all() {
        match law {
            Law::L3 => out.count(gate.now.law_violations),
            Law::L4 | Law::L5 => out.maybe(None),
        }
    }
}
