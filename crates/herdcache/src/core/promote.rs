//! Between what is stored here and what travels: sealing a value for the shared tier, and judging one from there.
//!
//! Codecs are the application's code: they run under no lock, and their panics cost
//! the write or are a miss.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use herdfeed::{FlightTrigger, Measure, SharedRead, SharedWrite};

use super::{Core, SharedOf};
use crate::clock::{Moment, nanos};
use crate::entry::{Entry, Stamps, Stored, Word};
use crate::flight::Flight;
use crate::freshness::{Bounds, Freshness};
use crate::key::Key;
use crate::marks::Marks;
use crate::shared::envelope::{Envelope, Payload};
use crate::shared::{Found, SharedKey};
use crate::store::Store;
use crate::sync::atomic::Ordering::Relaxed;

/// What the shared tier had for a flight.
pub(super) enum Weighed<V: Send + Sync + 'static> {
    /// The answer.
    Fresh(Stored<V>),
    /// An answer, while the flight goes on as a refresh.
    Stale(Stored<V>),
    /// For those whom the load fails.
    Reserve(Stored<V>),
    Nothing,
}

/// A value that is ready to travel.
pub(super) struct Sealed {
    pub(super) bytes: Vec<u8>,
    pub(super) keep_for: Duration,
    pub(super) version: Option<u64>,
}

/// A tier keeps whole milliseconds.
const MS: u64 = 1_000_000;

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> Core<K, V, E, S> {
    /// What stored state looks like on its way to the tier.
    pub(super) fn seal(
        &self,
        tiers: &SharedOf<V>,
        key: &SharedKey,
        stored: &Stored<V>,
        (fence, now): (u64, Moment),
    ) -> Result<Sealed, SharedWrite> {
        let stamps = stored.stamps();
        let bounds = self.in_force.bounds(stamps);
        let last = bounds.last.saturating_sub(now);
        let mut bytes = Vec::new();
        let payload = match stored {
            Stored::Absent(_) => Payload::Absent,
            Stored::Value(entry) => {
                let encode = || tiers.codec.encode(&entry.value, &mut bytes);
                let encoded = catch_unwind(AssertUnwindSafe(encode));
                if !matches!(encoded, Ok(Ok(()))) {
                    return Err(SharedWrite::EncodeError);
                }
                if bytes.len() > tiers.settings.largest_value {
                    return Err(SharedWrite::TooLarge);
                }
                Payload::Value(&bytes)
            }
        };
        let marks = stamps.marks();
        // T5: its token must outlast every load that began before it, or one of them would be stored in its place.
        let stay = if last == 0 { 0 } else { last.max(nanos(tiers.tombstone)) };
        let keep_for = stay.div_ceil(MS).saturating_mul(MS);
        let envelope = Envelope {
            key: key.hash(),
            codec: tiers.codec.id(),
            payload,
            // L4: what is left of a freshness that is over cannot be said, so that a reader could not count from its end.
            word: if bounds.soft <= now { Word::Fixed } else { stamps.word() } as u8,
            keep_for,
            age: now.saturating_sub(stamps.born),
            soft: bounds.soft.saturating_sub(now),
            hard: bounds.hard.saturating_sub(now),
            last,
            load_ns: stamps.load_ns,
            version: marks.and_then(|marks| marks.version),
            fence,
            validator: marks.and_then(|marks| marks.validator.as_deref()),
            tags: stamps.tags().iter().map(|tag| &**tag).collect(),
        };
        let bytes = envelope.encode().ok_or(SharedWrite::TooLarge)?;
        Ok(Sealed { bytes, keep_for: Duration::from_nanos(keep_for), version: envelope.version })
    }

    /// T3: the value in these bytes, and what it is counted as. Nothing of them is believed unseen.
    pub(super) fn weigh(
        &self,
        tiers: &SharedOf<V>,
        flight: &Flight<K, V, E>,
        (key, found): (&SharedKey, Option<&Found>),
        now: Moment,
    ) -> Weighed<V> {
        let (read, weighed) = match found.map(|found| self.unseal(tiers, flight, (key, found), now)) {
            None => (SharedRead::Miss, Weighed::Nothing),
            Some(Err(read)) => (read, Weighed::Nothing),
            Some(Ok(stored)) => {
                let stale = flight.policy.has(Measure::Stale);
                match (&stored, self.in_force.judge(stored.stamps(), now)) {
                    _ if !self.is_news(tiers, flight, &stored) => (SharedRead::Miss, Weighed::Nothing),
                    (Stored::Value(_), Freshness::Fresh) => (SharedRead::Hit, Weighed::Fresh(stored)),
                    (Stored::Absent(_), Freshness::Fresh) => (SharedRead::Negative, Weighed::Fresh(stored)),
                    (Stored::Value(_), Freshness::Stale) if stale => (SharedRead::Stale, Weighed::Stale(stored)),
                    (Stored::Value(_), Freshness::Stale | Freshness::Reserve) => {
                        (SharedRead::Stale, Weighed::Reserve(stored))
                    }
                    (_, _) => (SharedRead::Miss, Weighed::Nothing),
                }
            }
        };
        tiers.link.account.reads.add(read);
        weighed
    }

    /// Whether a value from the tier tells this flight anything: it is younger than all that is known to be outdated, and
    /// than what is here already.
    ///
    /// F2: a refresh that found the very value which it is to replace would only undo this process's jitter.
    fn is_news(&self, tiers: &SharedOf<V>, flight: &Flight<K, V, E>, stored: &Stored<V>) -> bool {
        let stamps = stored.stamps();
        let mut floor = tiers.floor().max(self.leavings.tags.invalidated_at(stamps.tags()));
        if flight.trigger == FlightTrigger::Forced {
            floor = floor.max(flight.started);
        }
        if let Some(previous) = flight.previous() {
            let previous = previous.stamps();
            floor = floor.max(previous.marked_stale().unwrap_or(0));
            // Two loads hardly ever take the same time to the nanosecond: what took another time is another value.
            let haze = if stamps.load_ns == previous.load_ns { tiers.haze() } else { 0 };
            if stamps.born <= previous.born.saturating_add(haze) {
                return false;
            }
        }
        floor == 0 || stamps.born > floor.saturating_add(tiers.haze())
    }

    /// The state in these bytes, with stamps of our own.
    fn unseal(
        &self,
        tiers: &SharedOf<V>,
        flight: &Flight<K, V, E>,
        (key, found): (&SharedKey, &Found),
        now: Moment,
    ) -> Result<Stored<V>, SharedRead> {
        let envelope = Envelope::decode(&found.bytes).map_err(|_| SharedRead::DecodeError)?;
        if envelope.key != key.hash() {
            return Err(SharedRead::KeyMismatch);
        }
        // T2: more time than it was given (by two ways, since a clock may be set right meanwhile): how old it is cannot
        // be known.
        if nanos(found.left) > envelope.keep_for.saturating_add(tiers.haze()) {
            return Err(SharedRead::DecodeError);
        }
        let stamps = self.stamps_of(&envelope, found.left, flight, now);
        let bytes = match envelope.payload {
            Payload::Absent => return Ok(Stored::Absent(Arc::new(stamps))),
            Payload::Value(_) if envelope.codec != tiers.codec.id() => return Err(SharedRead::DecodeError),
            Payload::Value(bytes) => bytes,
        };
        let decoded = catch_unwind(AssertUnwindSafe(|| tiers.codec.decode(bytes)));
        match decoded {
            Ok(Ok(value)) => Ok(Stored::Value(Arc::new(Entry { value: Arc::new(value), stamps }))),
            Ok(Err(_)) | Err(_) => Err(SharedRead::DecodeError),
        }
    }

    /// T2: age and bounds from durations alone; the copy is never younger than the original, nor answered for longer.
    fn stamps_of(&self, envelope: &Envelope<'_>, left: Duration, flight: &Flight<K, V, E>, now: Moment) -> Stamps {
        let left = nanos(left);
        let written = now.saturating_sub(envelope.keep_for.saturating_sub(left));
        let at_most = now.saturating_add(left);
        let bound = |part: u64| written.saturating_add(part).min(at_most);
        let bounds = Bounds { soft: bound(envelope.soft), hard: bound(envelope.hard), last: bound(envelope.last) };
        let jitter = if flight.policy.has(Measure::Jitter) { self.settings.jitter } else { 0.0 };
        let bounds = bounds.jittered(now, jitter, fastrand::f64());
        let born = written.saturating_sub(envelope.age);
        let said = envelope.version.is_some() || envelope.validator.is_some() || !envelope.tags.is_empty();
        let marks = said.then(|| {
            let tags = envelope.tags.iter().map(|tag| Arc::from(*tag)).collect();
            let mut marks =
                Marks { version: envelope.version, validator: envelope.validator.map(Arc::from), tags, entry: 0 };
            marks.number();
            Box::new(marks)
        });
        Stamps::new(born, envelope.load_ns, bounds, Word::from_code(envelope.word), marks)
    }

    /// L5: the tier has something newer than this state: it is forgotten, if it is still what is stored.
    pub(super) fn forget_this(&self, key: &K, hash: u64, stored: &Stored<V>) {
        let _vigil = crate::graveyard::Vigil::open();
        let shard = self.table.lock(hash);
        if self.store.get(key).is_some_and(|there| there.is(stored)) {
            self.store.remove(key);
        }
        drop(shard);
    }

    /// Counts the answers that the tier gave, by outcome.
    pub(crate) fn count_shared(&self, outcome: herdfeed::Outcome) {
        if let Some(tiers) = &self.shared {
            tiers.link.account.outcomes.add(outcome);
        }
    }

    /// Whether something may wait that the tier has not heard of.
    pub(super) fn waits(&self) -> bool {
        self.shared.as_ref().is_some_and(|tiers| tiers.outbox.len() > 0 && !tiers.draining.load(Relaxed))
    }
}
