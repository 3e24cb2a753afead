//! Gates: permits, the queue for them, and refusals.

use herdcache::herdfeed::words::{ClosedSet, PermitClass, PermitResult};

use super::Kind::{Counter, Gauge, Histogram, UpDown};
use super::{Metric, SECONDS, Source, row};
use crate::labels::{CLASS, PERMIT_RESULT};
use crate::values::{GateView, Values};

pub(super) const ROWS: &[Metric] = &[
    row(
        ("herdcache.permit.results", Counter, "{permit}"),
        &[CLASS, PERMIT_RESULT],
        Source::Gate(results),
        [
            "Permits asked for, by how that ended; background classes never wait, and count what they are granted",
            "loads are refused at the gate",
        ],
    ),
    row(
        ("herdcache.permit.wait.duration", Histogram, "s"),
        &[CLASS, PERMIT_RESULT],
        Source::OfGates(SECONDS),
        [
            "How long loads waited for a permit; 0 for those that were granted or refused at once",
            "readers wait although the origin is quick",
        ],
    ),
    row(
        ("herdcache.permit.usage", UpDown, "{permit}"),
        &[CLASS],
        Source::Gate(|gate, out| out.tally(&gate.now.in_use)),
        ["Permits in use, by class", "beside the limit: all in use means that loads queue"],
    ),
    row(
        ("herdcache.permit.limit", UpDown, "{permit}"),
        &[],
        Source::Gate(|gate, out| out.count(gate.now.limit)),
        [
            "The most origin calls at once, now",
            "beside `herdcache.permit.usage`; summed over processes, beside `herdcache.origin.capacity`",
        ],
    ),
    row(
        ("herdcache.permit.pending", UpDown, "{load}"),
        &[],
        Source::Gate(|gate, out| out.count(gate.now.pending)),
        ["Loads that wait for a permit", "the origin is saturated"],
    ),
    row(
        ("herdcache.permit.usage.peak", Gauge, "{permit}"),
        &[],
        Source::Gate(|gate, out| out.level(gate.now.usage_peak)),
        ["Most permits in use at once within 60 s", "saturation shorter than the time between two scrapes"],
    ),
    row(
        ("herdcache.permit.pending.peak", Gauge, "{load}"),
        &[],
        Source::Gate(|gate, out| out.level(gate.now.pending_peak)),
        ["Most loads that waited for a permit at once within 60 s", "the same"],
    ),
    row(
        ("herdcache.refresh.limit", UpDown, "{permit}"),
        &[],
        Source::Gate(|gate, out| out.maybe(gate.config.map(|config| config.refresh_permits))),
        ["The most permits that background refreshes may hold", "refreshes are skipped for want of a permit"],
    ),
    row(
        ("herdcache.origin.capacity", UpDown, "{call}"),
        &[],
        Source::Gate(|gate, out| out.maybe(gate.now.origin_capacity)),
        [
            "Calls that the origin can bear over all processes, where the application said so",
            "processes are added: the sum of the limits must stay below",
        ],
    ),
];

fn results(gate: &GateView<'_>, out: &mut Values) {
    for class in PermitClass::all() {
        for result in PermitResult::all() {
            match (class, result) {
                (PermitClass::Foreground, _) => out.count(gate.now.results[*result]),
                (PermitClass::Refresh | PermitClass::Warmup, PermitResult::Granted) => {
                    out.count(gate.now.granted[*class]);
                }
                (PermitClass::Refresh | PermitClass::Warmup, _) => out.maybe(None),
            }
        }
    }
}
