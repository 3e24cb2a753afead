//! U1: one load of a warm-up. Under the warm-up share, never parked, never beside another load of its key.

use std::sync::Arc;

use herdfeed::{FlightTrigger, Measure, PermitClass};

use super::Core;
use super::berth::Berth;
use super::fly::Pilot;
use crate::clock::{self, Moment};
use crate::entry::Stored;
use crate::flight::table::{Seat, Shard};
use crate::flight::{Flight, Serves};
use crate::freshness::Freshness;
use crate::graveyard::Vigil;
use crate::key::Key;
use crate::origin::call::Ticket;
use crate::origin::{LoadContext, LoadFuture};
use crate::store::Store;
use crate::sync::Notify;

/// What became of the wish to have a key warm.
pub(crate) enum Warming<K, V: Send + Sync + 'static, E> {
    /// Its load is under way; whoever asked is told when it lands.
    Flying(Arc<Flight<K, V, E>>),
    /// It is there, or somebody is loading it.
    Present,
    /// E1: it cools after a failure.
    Cooling,
    /// No permit of the share is free: to be tried again.
    NoPermit,
    /// The cache, or the key's group, has as many flights as it may have: to be tried again.
    Full,
    /// The cache was shut down.
    Closed,
}

/// A load that may begin, or why there is none.
type Opened<K, V, E, S> = Result<Pilot<K, V, E, S>, Warming<K, V, E>>;

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> Core<K, V, E, S> {
    /// Loads a key unless it is warm. Never waits.
    pub(crate) fn warm(
        self: &Arc<Self>,
        key: &K,
        told: &Arc<Notify>,
        start: impl FnOnce(LoadContext<K, V>) -> LoadFuture<V, E>,
    ) -> Warming<K, V, E> {
        let (hash, now) = (self.hash(key), clock::exact());
        // What is there is known without a permit, nor a lock.
        if self.store.get(key).is_some_and(|stored| self.is_warm(&stored, now)) {
            return Warming::Present;
        }
        if let Some(cold) = self.unlike_cold(&self.table.lock(hash), (hash, key), now) {
            return cold;
        }
        let policy = self.measures.read();
        let owned = key.clone();
        let group = self.group(&owned, policy);
        // Before the permit: one that is given back unused would tell every warm-up behind the gate to try again at once.
        let Ok(place) = self.reserve(group) else { return Warming::Full };
        let ticket = if policy.has(Measure::Permits) {
            self.gate.enter_background(PermitClass::Warmup).map(|permit| Ticket::Permit { permit })
        } else {
            Some(Ticket::Free(None))
        };
        let Some(ticket) = ticket else { return Warming::NoPermit };
        let flight = self.flight(owned, (hash, group), (FlightTrigger::Warmup, None), policy, now);
        match self.open_warm(key, &flight, place) {
            Ok(mut pilot) => {
                pilot.trip = self.trip(key, now);
                flight.enlist(Serves::Told(Arc::clone(told)));
                pilot.fly_behind(Some(ticket), start);
                Warming::Flying(flight)
            }
            Err(other) => {
                self.trace.unopened(&flight.trace);
                ticket.unused();
                other
            }
        }
    }

    /// Registers the load, unless the key has become warm or busy meanwhile.
    fn open_warm(
        self: &Arc<Self>,
        key: &K,
        flight: &Arc<Flight<K, V, E>>,
        place: Berth<'_, K, V, E, S>,
    ) -> Opened<K, V, E, S> {
        let (hash, now) = (flight.hash, flight.started);
        {
            let _vigil = Vigil::open();
            let mut shard = self.table.lock(hash);
            if let Some(other) = self.unlike_cold(&shard, (hash, key), now) {
                return Err(other);
            }
            // S3: landings store under this lock, so one that came just before is seen here.
            match self.store.get(key) {
                Some(stored) if self.is_warm(&stored, now) => return Err(Warming::Present),
                older => flight.set_previous(older),
            }
            shard.open(flight, Seat::Current);
        }
        place.taken();
        self.account.flight_starts.add(flight.trigger);
        self.sample_start(flight, now);
        // Nobody's nested load, whoever polls the warm-up.
        Ok(self.pilot(flight, None))
    }

    /// Why a key that is not in the store is not loaded now, if so.
    fn unlike_cold(&self, shard: &Shard<K, V, E>, (hash, key): (u64, &K), now: Moment) -> Option<Warming<K, V, E>> {
        // X1: asked again when the place is taken; a shutdown sees either the flight or no load of it.
        if self.is_closed() {
            return Some(Warming::Closed);
        }
        if shard.current(hash, key).is_some() || shard.must_hold(hash, key) {
            return Some(Warming::Present);
        }
        shard.cooling.check(hash, key, now).map(|_| Warming::Cooling)
    }

    /// Whether a reader would be answered with it at once. A stale value is the next reader's to refresh.
    fn is_warm(&self, stored: &Stored<V>, now: Moment) -> bool {
        match (stored, self.in_force.judge(stored.stamps(), now)) {
            (_, Freshness::Fresh) | (Stored::Value(_), Freshness::Stale) => true,
            (_, Freshness::Reserve | Freshness::Expired) | (Stored::Absent(_), Freshness::Stale) => false,
        }
    }
}
