//! What tracing is told of a flight, by the corridors that know.

use std::time::Duration;

use herdfeed::thresholds::herd_waiters;
use herdfeed::{FlightEnd, Tier};

use super::Core;
use crate::classes;
use crate::clock::{self, Moment};
use crate::entry::Stored;
use crate::error::Failure;
use crate::flight::{Flight, Landing};
use crate::herd::Crowd;
use crate::key::Key;
use crate::store::Store;
use crate::trace::{Ended, Lighting, Opened};

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> Core<K, V, E, S> {
    /// A flight is in the table: it gets its span, if it was chosen. Under no lock.
    pub(super) fn light(&self, flight: &Flight<K, V, E>) {
        if flight.trace.light(|| self.opened(flight)) == Lighting::TooLate {
            self.tell_quiet();
        }
    }

    fn opened(&self, flight: &Flight<K, V, E>) -> Opened<'_> {
        Opened {
            cache: &self.name,
            key: self.names.show(&flight.key),
            flight: flight.id,
            trigger: flight.trigger,
            cause: flight.cause,
        }
    }

    /// Callers have joined. Asked at the crowd's doublings only, as detection does.
    pub(super) fn trace_crowd(&self, flight: &Flight<K, V, E>, crowd: Crowd, now: Moment) {
        let threshold = herd_waiters(self.gate.permits());
        if crowd.waiters == threshold || (crowd.waiters > threshold && crowd.waiters.is_power_of_two()) {
            self.trace.crowded(&flight.trace, now);
        }
    }

    /// A flight is about to land: what its span is to say, if it has one. A herd's span is begun.
    pub(super) fn trace_ends(
        &self,
        flight: &Flight<K, V, E>,
        landing: Option<&Landing<V, E>>,
        end: FlightEnd,
    ) -> Option<Ended> {
        if !flight.trace.is_traced() {
            return None;
        }
        let now = clock::exact();
        let since = |born: Moment| Duration::from_nanos(now.saturating_sub(born));
        let (tier, born, class) = match landing {
            Some(Landing::Value(entry)) => (None, Some(entry.stamps.born), None),
            Some(Landing::Shared { stored: Stored::Value(entry), .. }) => {
                (Some(Tier::Shared), Some(entry.stamps.born), None)
            }
            Some(Landing::Shared { stored: Stored::Absent(_), .. }) => (Some(Tier::Shared), None, None),
            Some(Landing::Failed(failure)) => (None, None, self.class_of(failure)),
            Some(Landing::Absent | Landing::Rejected { .. } | Landing::Closed | Landing::Orphaned) | None => {
                (None, None, None)
            }
        };
        let waiters = flight.waiting().saturating_sub(u64::from(flight.has_leader()));
        let ended = Ended { end, waiters, took: since(flight.started), tier, age: born.map(since), class };
        if flight.trace.is_herd() {
            flight.trace.herd_lands(&self.opened(flight), &ended, now);
        }
        Some(ended)
    }

    /// P3: what may be said of a failure. The origin's own errors have a class; others have their end.
    fn class_of(&self, failure: &Failure<E>) -> Option<&'static str> {
        let Failure::Origin(_) = failure else { return None };
        classes::all(self.classes.names()).nth(self.classes.of(failure))
    }
}
