//! R1: background refreshes. One per key, under the refresh share, never parked.

use std::borrow::Borrow;
use std::hash::Hash;
use std::sync::Arc;

use herdfeed::{FlightTrigger, Measure, PermitClass, RefreshResult, RejectReason, StaleReason};

use super::Core;
use super::aboard::Aboard;
use super::fly::Pilot;
use crate::clock;
use crate::entry::Stored;
use crate::flight::table::Seat;
use crate::graveyard::Vigil;
use crate::key::Key;
use crate::measures::{Policy, Switch};
use crate::origin::call::Ticket;
use crate::origin::{LoadContext, LoadFuture};
use crate::runtime;
use crate::store::Store;

/// What became of the registration of a refresh.
enum Opened<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> {
    Pilot(Pilot<K, V, E, S>),
    /// The key is being loaded already.
    Busy,
    /// There are as many flights as there may be.
    Full(RejectReason),
}

/// What a request to refresh led to. See [`ReadThrough::refresh`](crate::ReadThrough::refresh).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a refresh that was skipped is nobody else's duty"]
pub enum Refreshing {
    /// A load has been started in the background.
    Started,
    /// A refresh, or another load of the key, is under way.
    UnderWay,
    /// The key's last load failed a moment ago; skipped.
    Cooling,
    /// No permit of the gate's refresh share was free; skipped.
    NoPermit,
    /// S6: the cache has as many flights as it may have; skipped.
    Full,
    /// There is no tokio runtime with timers here; skipped.
    NoRuntime,
    /// The cache was shut down.
    Closed,
    /// A6: an operator has switched refreshes off.
    Off,
}

impl Refreshing {
    /// Why the stale value that asked for it is answered.
    pub(crate) fn reason(self) -> StaleReason {
        match self {
            Self::Started | Self::UnderWay => StaleReason::Revalidating,
            Self::Cooling => StaleReason::Cooling,
            Self::NoPermit | Self::Full | Self::NoRuntime | Self::Closed | Self::Off => StaleReason::Rejected,
        }
    }
}

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> Core<K, V, E, S> {
    /// Starts a refresh of what is stored under a key, unless one is under way. Never waits.
    pub(crate) fn refresh<Q>(
        self: &Arc<Self>,
        key: &Q,
        stored: Option<&Stored<V>>,
        trigger: FlightTrigger,
        policy: Policy,
        start: impl FnOnce(LoadContext<K, V>) -> LoadFuture<V, E>,
    ) -> Refreshing
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        // What the application itself asks to be refreshed is its own decision.
        let unasked = matches!(trigger, FlightTrigger::Stale | FlightTrigger::Early);
        if unasked && self.in_force.refresh() == Switch::Off {
            return Refreshing::Off;
        }
        // S8: the load would have to be spawned.
        if runtime::with_timers().is_none() {
            return Refreshing::NoRuntime;
        }
        if self.cools(key, stored, trigger) {
            self.account.refreshes.add(RefreshResult::SkippedCooling);
            return Refreshing::Cooling;
        }
        if self.is_closed() {
            return Refreshing::Closed;
        }
        let claim = match stored {
            Some(stored) => match stored.stamps().claim_refresh() {
                None => return Refreshing::UnderWay,
                claim => claim,
            },
            None => None,
        };
        let ticket = if policy.has(Measure::Permits) {
            self.gate.enter_background(PermitClass::Refresh).map(|permit| Ticket::Permit { permit })
        } else {
            Some(Ticket::Free(None))
        };
        let Some(ticket) = ticket else {
            self.account.refreshes.add(RefreshResult::SkippedNoPermit);
            return Refreshing::NoPermit;
        };
        match self.open_refresh(key, stored, trigger, policy) {
            Opened::Pilot(pilot) => {
                // From here on the flight gives the claim back, when it lands.
                if let Some(claim) = claim {
                    claim.hand_over();
                }
                pilot.fly_behind(ticket, start);
                Refreshing::Started
            }
            Opened::Busy => {
                ticket.unused();
                Refreshing::UnderWay
            }
            Opened::Full(reason) => {
                ticket.unused();
                self.count_rejection(reason);
                Refreshing::Full
            }
        }
    }

    /// E1: whether a load of the key has to wait for its cooling to end.
    ///
    /// For a reader the value itself knows, without a lock. Who asks by name is not held up by a value that merely
    /// arrived stale.
    fn cools<Q>(&self, key: &Q, stored: Option<&Stored<V>>, trigger: FlightTrigger) -> bool
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        if let Some(stored) = stored.filter(|_| trigger != FlightTrigger::Forced) {
            return stored.stamps().is_cooling(clock::coarse());
        }
        let hash = self.hash(key);
        self.table.lock(hash).cooling.check(hash, key, clock::exact()).is_some()
    }

    /// Registers the refresh, unless the key is being loaded already or the table is full.
    fn open_refresh<Q>(
        self: &Arc<Self>,
        key: &Q,
        stored: Option<&Stored<V>>,
        trigger: FlightTrigger,
        policy: Policy,
    ) -> Opened<K, V, E, S>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let owned = key.to_owned();
        let (hash, group) = (self.hash(key), self.group(&owned, policy));
        let place = match self.reserve(group) {
            Ok(place) => place,
            Err(reason) => return Opened::Full(reason),
        };
        let flight = self.flight(owned, (hash, group), (trigger, None), policy, clock::exact());
        let opened = {
            let _vigil = Vigil::open();
            let mut shard = self.table.lock(hash);
            // One refresh at a time, also with single-flight off: it is one background task per key, not per read.
            // X1: asked again now that the place is taken; a shutdown sees either this flight or no load of it.
            // L5: the key may have been changed since the caller looked: what is there now is the previous value, and a
            // claim on another one starts nothing.
            let there = self.store.get(key);
            let same = stored.is_none_or(|seen| there.as_ref().is_some_and(|there| there.is(seen)));
            flight.set_previous(there);
            let free = same && !self.is_closed() && shard.current(hash, key).is_none() && !shard.must_hold(hash, key);
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
            Ok(load) => self.spawn(load, move |pilot, load| Self::fly_on(Aboard { load, part, pilot })),
            Err(failure) => self.land_failure(failure, part),
        }
    }
}
