//! R1: background refreshes. One per key, under the refresh share, never parked.

use std::borrow::Borrow;
use std::hash::Hash;
use std::sync::Arc;

use herdfeed::{FlightTrigger, Measure, PermitClass, RefreshResult, RejectReason, StaleReason};

use super::Core;
use super::fly::Pilot;
use crate::clock;
use crate::entry::Stored;
use crate::flight::table::Seat;
use crate::graveyard::Vigil;
use crate::key::Key;
use crate::measures::Policy;
use crate::origin::call::Ticket;
use crate::origin::{LoadContext, LoadFuture};
use crate::store::Store;

/// What became of the registration of a refresh.
enum Opened<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> {
    Pilot(Pilot<K, V, E, S>),
    /// The key is being loaded already.
    Busy,
    /// There are as many flights as there may be.
    Full,
}

/// What a request to refresh led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refreshing {
    /// A refresh, or another load of the key, is under way.
    UnderWay,
    /// E1: the key cools; skipped.
    Cooling,
    /// G2: no permit of the refresh share was free; skipped, the next read tries again.
    NoPermit,
    /// S6: the cache has its largest number of flights.
    Full,
    /// The cache was shut down.
    Closed,
}

impl Refreshing {
    /// Why the stale value that asked for it is answered.
    pub(crate) fn reason(self) -> StaleReason {
        match self {
            Self::UnderWay => StaleReason::Revalidating,
            Self::Cooling => StaleReason::Cooling,
            Self::NoPermit | Self::Full | Self::Closed => StaleReason::Rejected,
        }
    }
}

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> Core<K, V, E, S> {
    /// Starts a refresh of what is stored under a key, unless one is under way. Never waits.
    pub(crate) fn refresh<Q>(
        self: &Arc<Self>,
        key: &Q,
        stored: &Stored<V>,
        trigger: FlightTrigger,
        policy: Policy,
        start: impl FnOnce(LoadContext<K, V>) -> LoadFuture<V, E>,
    ) -> Refreshing
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let stamps = stored.stamps();
        if stamps.is_cooling(clock::coarse()) {
            self.account.refreshes.add(RefreshResult::SkippedCooling);
            return Refreshing::Cooling;
        }
        if self.is_closed() {
            return Refreshing::Closed;
        }
        let Some(claim) = stamps.claim_refresh() else { return Refreshing::UnderWay };
        let ticket = if policy.has(Measure::Permits) {
            self.gate.enter_background(PermitClass::Refresh).map(|permit| Ticket::Permit { _permit: permit })
        } else {
            Some(Ticket::Free)
        };
        let Some(ticket) = ticket else {
            self.account.refreshes.add(RefreshResult::SkippedNoPermit);
            return Refreshing::NoPermit;
        };
        match self.open_refresh(key, stored, trigger, policy) {
            Opened::Pilot(pilot) => {
                // From here on the flight gives the claim back, when it lands.
                claim.hand_over();
                pilot.fly_behind(ticket, start);
                Refreshing::UnderWay
            }
            Opened::Busy => Refreshing::UnderWay,
            Opened::Full => {
                self.count_rejection(RejectReason::FlightsFull);
                Refreshing::Full
            }
        }
    }

    /// Registers the refresh, unless the key is being loaded already or the table is full.
    fn open_refresh<Q>(
        self: &Arc<Self>,
        key: &Q,
        stored: &Stored<V>,
        trigger: FlightTrigger,
        policy: Policy,
    ) -> Opened<K, V, E, S>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let Some(place) = self.table.reserve(self.settings.max_flights) else { return Opened::Full };
        let hash = self.hash(key);
        let flight = self.flight(key.to_owned(), hash, (trigger, None), policy, clock::exact());
        flight.set_previous(Some(stored.clone()));
        let opened = {
            let _vigil = Vigil::open();
            let mut shard = self.table.lock(hash);
            // One refresh at a time, also with single-flight off: it is one background task per key, not per read.
            // X1: asked again now that the place is taken; a shutdown sees either this flight or no load of it.
            let free = !self.is_closed() && shard.current(hash, key).is_none() && !shard.must_hold(hash, key);
            if free {
                shard.open(&flight, Seat::Current);
            }
            free
        };
        if !opened {
            return Opened::Busy;
        }
        place.taken();
        self.account.flight_starts.add(trigger);
        self.sample_start(&flight, flight.started);
        // Nobody's nested load: the reader that noticed it may well be a loader.
        Opened::Pilot(self.pilot(&flight, None))
    }
}

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> Pilot<K, V, E, S> {
    /// Flies a refresh or a warm-up: always spawned, so that whoever asked for it never does its work.
    pub(super) fn fly_behind(self, ticket: Ticket, start: impl FnOnce(LoadContext<K, V>) -> LoadFuture<V, E>) {
        let part = self.begin(ticket, clock::exact());
        match self.make(start) {
            Ok(load) => self.spawn(load, move |pilot, load| pilot.fly_on(part, load)),
            Err(failure) => self.land_failure(failure, part),
        }
    }
}
