//! R1: background refreshes. One per key, under the refresh share, never parked.

use std::borrow::Borrow;
use std::hash::Hash;
use std::sync::Arc;

use herdfeed::{FlightTrigger, Measure, PermitClass, RefreshResult, RejectReason, StaleReason};

use super::Core;
use super::aboard::{Aboard, Bound};
use super::fly::Pilot;
use super::share::Next;
use crate::clock;
use crate::entry::Stored;
use crate::flight::Flight;
use crate::flight::table::Seat;
use crate::graveyard::Vigil;
use crate::key::Key;
use crate::measures::{Policy, Switch};
use crate::origin::call::{Call, Ticket};
use crate::origin::{LoadContext, LoadFuture};
use crate::runtime;
use crate::store::Store;

/// What became of the registration of a refresh.
enum Opened<K, V: Send + Sync + 'static, E> {
    Flight(Arc<Flight<K, V, E>>),
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

/// What a refresh is to replace.
#[derive(Clone, Copy)]
enum Old<'a, V: Send + Sync + 'static> {
    /// Whatever is there.
    Any,
    /// What a reader saw, if it is still there.
    Only(&'a Stored<V>),
    /// The same; or nothing, since a store that is full need not have taken what came from the shared tier, and its readers
    /// would be answered with the stale value there until its end.
    OnlyOrNone(&'a Stored<V>),
}

impl<V: Send + Sync + 'static> Old<'_, V> {
    fn allows(self, there: Option<&Stored<V>>) -> bool {
        match (self, there) {
            (Self::Any, _) | (Self::OnlyOrNone(_), None) => true,
            (Self::Only(_), None) => false,
            (Self::Only(seen) | Self::OnlyOrNone(seen), Some(there)) => there.is(seen),
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
        let trip = if self.shared.is_some() { self.trip(&key.to_owned(), clock::exact()) } else { None };
        // What the shared tier may have needs no permit: it is asked for when it comes to a load.
        let ticket = match &trip {
            Some(trip) if trip.is_clear() => None,
            Some(_) | None if !policy.has(Measure::Permits) => Some(Ticket::Free(None)),
            Some(_) | None => {
                let Some(permit) = self.gate.enter_background(PermitClass::Refresh) else {
                    self.account.refreshes.add(RefreshResult::SkippedNoPermit);
                    return Refreshing::NoPermit;
                };
                Some(Ticket::Permit { permit })
            }
        };
        let refused = match self.open_refresh(key, stored.map_or(Old::Any, Old::Only), trigger, policy) {
            Opened::Flight(flight) => {
                // From here on the flight gives the claim back, when it lands.
                if let Some(claim) = claim {
                    claim.hand_over();
                }
                // Nobody's nested load: the reader that noticed it may well be a loader.
                let mut pilot = self.pilot(&flight, None);
                pilot.trip = trip;
                pilot.fly_behind(ticket, start);
                return Refreshing::Started;
            }
            Opened::Busy => Refreshing::UnderWay,
            Opened::Full(reason) => {
                self.account.refresh_rejections.add(reason);
                self.count_rejection(reason);
                Refreshing::Full
            }
        };
        if let Some(ticket) = ticket {
            ticket.unused();
        }
        refused
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
        old: Old<'_, V>,
        trigger: FlightTrigger,
        policy: Policy,
    ) -> Opened<K, V, E>
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
            let same = old.allows(there.as_ref());
            flight.set_previous(there);
            let free = same && !self.is_closed() && shard.current(hash, key).is_none() && !shard.must_hold(hash, key);
            if free {
                shard.open(&flight, Seat::Current);
            }
            free
        };
        if !opened {
            self.trace.unopened(&flight.trace);
            return Opened::Busy;
        }
        place.taken();
        self.account.flight_starts.add(trigger);
        self.sample_start(&flight, flight.started);
        Opened::Flight(flight)
    }

    /// T1: a flight was answered with a stale value of the shared tier; opens the refresh that goes on with its call.
    pub(super) fn refresh_behind(
        self: &Arc<Self>,
        answered: &Arc<Flight<K, V, E>>,
        stored: &Stored<V>,
        call: &Arc<Call>,
    ) -> Option<Pilot<K, V, E, S>> {
        let claim = stored.stamps().claim_refresh()?;
        match self.open_refresh(&answered.key, Old::OnlyOrNone(stored), FlightTrigger::Stale, answered.policy) {
            Opened::Flight(flight) => {
                claim.hand_over();
                Some(self.pilot_on(flight, Arc::clone(call)))
            }
            Opened::Busy => None,
            Opened::Full(reason) => {
                self.account.refresh_rejections.add(reason);
                self.count_rejection(reason);
                None
            }
        }
    }
}

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> Pilot<K, V, E, S> {
    /// Flies a refresh or a warm-up: always spawned, so that whoever asked for it never does its work.
    ///
    /// Without a ticket, it is one that asks the shared tier first.
    pub(super) fn fly_behind(self, ticket: Option<Ticket>, start: impl FnOnce(LoadContext<K, V>) -> LoadFuture<V, E>) {
        let ticket = match ticket {
            Some(ticket) if !self.asks_first() => ticket,
            ticket => {
                return self
                    .spawn_with(start, |pilot, load| Self::fly_shared(Bound { load, ticket, pilot }, Next::Read));
            }
        };
        let part = self.begin(ticket, clock::exact());
        match self.make(start) {
            Ok(load) => self.spawn(load, move |pilot, load| Self::fly_on(Aboard { load, part, pilot })),
            Err(failure) => self.land_failure(failure, part),
        }
    }
}
