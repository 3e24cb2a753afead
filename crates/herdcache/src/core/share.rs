//! A flight's way by the shared tier: read, follow, permit, lease; then the origin as ever.
//!
//! T1: one read for each flight, whatever waits for it. Z1: a permit is never held while
//! another process is waited for, nor a lease while a permit is. T4: after the first
//! operation that failed, a flight sends no other and goes on as if there were no tier.

use herdfeed::{
    FlightEnd, FlightTrigger, LeaseResult, Measure, PermitClass, RejectReason, SharedOperation, SharedRead, Stage,
    StaleReason,
};

use super::aboard::Bound;
use super::fly::{Pass, Pilot};
use super::lease::Leases;
use super::promote::Weighed;
use super::trip::Trip;
use super::write::Written;
use crate::clock::{self, Moment};
use crate::entry::Stored;
use crate::flight::Landing;
use crate::key::Key;
use crate::loaded::Keep;
use crate::measures::Switch;
use crate::origin::LoadFuture;
use crate::origin::call::Ticket;
use crate::shared::link::Fault;
use crate::shared::{LeaseSight, Reading, SharedKey, WriteFailure};
use crate::store::Store;
use crate::trace::TraceStep;

/// Where a flight goes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Read,
    /// Another process loads the key.
    Follow,
    /// To the origin, with the lease if it can be had.
    Load,
    /// To the origin without asking for the lease.
    LoadAlone,
}

/// What a look at the tier leads to.
pub(super) enum Look<V: Send + Sync + 'static> {
    Answer(Stored<V>),
    Stale(Stored<V>, Next),
    Next(Next),
}

/// What came of the way to a load.
enum Before<V: Send + Sync + 'static> {
    Go(Ticket),
    Refused(RejectReason),
    /// It need not load, or not now.
    Elsewhere(Look<V>),
}

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> Pilot<K, V, E, S> {
    /// Whether this flight asks the shared tier first.
    pub(super) fn asks_first(&self) -> bool {
        let fails = |trip: &Trip<V>| trip.tiers.settings.write_failure == WriteFailure::Fail;
        self.trip.as_ref().is_some_and(|trip| trip.is_clear() || fails(trip))
    }

    /// The whole way, from `next` on.
    pub(super) async fn fly_shared(mut bound: Bound<LoadFuture<V, E>, Self>, mut next: Next) {
        if bound.pilot.flight.is_held() && !bound.pilot.has_been_let_go().await {
            return bound.pilot.core.expire(&bound.pilot.flight);
        }
        let began = clock::exact();
        let mut pauses = bound.pilot.pauses();
        loop {
            if bound.pilot.is_too_late() {
                return;
            }
            let look = match next {
                Next::Read => bound.pilot.look(SharedOperation::Read).await,
                Next::Follow => {
                    // Z1: no permit is held while another process is waited for.
                    bound.give_back();
                    bound.pilot.follow(&mut pauses, began).await
                }
                Next::Load | Next::LoadAlone => match bound.pilot.before_load(&mut bound.ticket, next).await {
                    Before::Go(ticket) => return bound.pilot.fly_watched(ticket, bound.load).await,
                    Before::Refused(reason) => return bound.pilot.reject(reason),
                    Before::Elsewhere(look) => look,
                },
            };
            match look {
                Look::Next(then) => next = then,
                Look::Answer(stored) => {
                    bound.give_back();
                    return bound.pilot.land_shared(stored, end_of(next));
                }
                Look::Stale(stored, then) => {
                    bound.give_back();
                    return bound.pilot.land_stale(stored, (end_of(next), then), bound.load);
                }
            }
        }
    }

    /// Whether the flight has ended, or its time is over: then it ends here.
    fn is_too_late(&self) -> bool {
        let late = clock::exact() >= self.flight.deadline;
        if late {
            self.core.expire(&self.flight);
        }
        late || self.flight.has_ended()
    }

    /// Permit, then lease: what a load needs.
    async fn before_load(&self, ticket: &mut Option<Ticket>, next: Next) -> Before<V> {
        if ticket.is_none() {
            match self.let_in().await {
                Ok(granted) => *ticket = Some(granted),
                // A skipped refresh has ended by then; whoever lands it finds nothing left to end.
                Err(reason) => return Before::Refused(reason),
            }
        }
        let look = if next == Next::LoadAlone { Look::Next(next) } else { self.take_lease().await };
        match (look, ticket.take()) {
            (Look::Next(Next::Load | Next::LoadAlone), Some(granted)) => Before::Go(granted),
            (look, granted) => {
                *ticket = granted;
                Before::Elsewhere(look)
            }
        }
    }

    /// One read, and what follows from it.
    pub(super) async fn look(&self, operation: SharedOperation) -> Look<V> {
        let Some((trip, key)) = self.trip_and_key() else { return Look::Next(Next::LoadAlone) };
        if !trip.is_clear() {
            return Look::Next(Next::LoadAlone);
        }
        self.flight.set_stage(Stage::Shared);
        let link = &trip.tiers.link;
        let _step = self.flight.trace.step(TraceStep::SharedRead);
        let reading = match link.send(operation, self.flight.deadline, || link.tier.read(key)).await {
            Ok(reading) => reading,
            Err(fault) => return self.not_read(fault),
        };
        self.weigh_reading(&reading)
    }

    /// T4: the tier did not answer: the flight goes on without it.
    pub(super) fn not_read(&self, fault: Fault) -> Look<V> {
        if let Some(trip) = &self.trip {
            trip.tiers.link.account.reads.add(read_of(fault));
            trip.faulted();
        }
        Look::Next(Next::LoadAlone)
    }

    /// What a reading leads to.
    pub(super) fn weigh_reading(&self, reading: &Reading) -> Look<V> {
        let Some((trip, key)) = self.trip_and_key() else { return Look::Next(Next::LoadAlone) };
        let now = clock::exact();
        {
            let mut state = trip.state.lock();
            (state.seen, state.sight, state.looked) = (reading.fence, reading.lease, now);
        }
        let weighed = self.core.weigh(&trip.tiers, &self.flight, (key, reading.found.as_ref()), now);
        let then = self.after_reading(reading.lease);
        match weighed {
            Weighed::Fresh(stored) => Look::Answer(stored),
            Weighed::Stale(stored) => Look::Stale(stored, then),
            Weighed::Reserve(stored) => {
                self.reserve(stored, now);
                Look::Next(then)
            }
            Weighed::Nothing => Look::Next(then),
        }
    }

    fn after_reading(&self, sight: LeaseSight) -> Next {
        match (sight, self.leases()) {
            (LeaseSight::Held, Leases::Yes) => Next::Follow,
            // A load around this one holds a permit, and perhaps a lease: it does not wait for another process.
            (LeaseSight::Held, Leases::Nested) => {
                self.count_lease(LeaseResult::Skipped);
                Next::LoadAlone
            }
            (LeaseSight::Free | LeaseSight::Unknown, Leases::Yes | Leases::Nested) => Next::Load,
            (_, Leases::No) => Next::LoadAlone,
        }
    }

    /// T2: a value in reserve is kept here, for those whom the load fails.
    fn reserve(&self, stored: Stored<V>, now: Moment) {
        if self.flight.previous().is_none() {
            if let Written::Stored = self.core.write_back(&self.flight, &stored, Keep::Store, now) {
                self.flight.set_previous(Some(stored));
            }
        }
    }

    /// Permit by class: a foreground load may queue, a background load is let in now or turned back.
    async fn let_in(&self) -> Result<Ticket, RejectReason> {
        self.flight.set_stage(Stage::Queued);
        let class = match self.flight.trigger {
            FlightTrigger::Miss | FlightTrigger::Batch => None,
            FlightTrigger::Stale | FlightTrigger::Early | FlightTrigger::Forced => Some(PermitClass::Refresh),
            FlightTrigger::Warmup => Some(PermitClass::Warmup),
        };
        if let Some(class) = class.filter(|_| self.flight.policy.has(Measure::Permits)) {
            if let Some(permit) = self.core.gate.enter_background(class) {
                return Ok(Ticket::Permit { permit });
            }
            // G2: skipped, unless a caller has joined meanwhile and waits.
            if self.core.end_unwatched(self) {
                return Err(RejectReason::QueueFull);
            }
        }
        match self.pass(clock::exact()) {
            Pass::Now(ticket) => Ok(ticket),
            Pass::Queue(place) => self.queue(place).await,
            Pass::Refused(reason) => Err(reason),
            // It has been let go, and nothing holds it back a second time.
            Pass::Held => Err(RejectReason::Deadline),
        }
    }

    pub(super) fn trip_and_key(&self) -> Option<(&Trip<V>, &SharedKey)> {
        let trip = self.trip.as_deref()?;
        Some((trip, trip.key.as_ref()?))
    }

    /// The tier's value answers everyone.
    pub(super) fn land_shared(self, stored: Stored<V>, end: FlightEnd) {
        let Some(claim) = self.core.claim(&self.flight) else { return };
        let at = self.trip.as_ref().map_or_else(clock::exact, |trip| trip.looked());
        let stored = self.adopt_shared(stored);
        self.leave();
        claim.with(Landing::Shared { stored, reason: reason_of(end), at }, end).deliver();
    }

    /// Stores it here too; gives what callers are to get.
    fn adopt_shared(&self, stored: Stored<V>) -> Stored<V> {
        match self.core.write_back(&self.flight, &stored, Keep::Store, clock::exact()) {
            Written::Stored => stored,
            Written::Discarded(reason) => {
                self.core.account.discards.add(reason);
                stored
            }
            Written::Older(newer) => newer,
        }
    }

    /// T1: a stale value is published at once, and a refresh goes on from here: same load, same call.
    pub(super) fn land_stale(mut self, stored: Stored<V>, (end, then): (FlightEnd, Next), load: LoadFuture<V, E>) {
        let trip = self.trip.take();
        let at = trip.as_ref().map_or_else(clock::exact, |trip| trip.looked());
        let Some(claim) = self.core.claim(&self.flight) else { return };
        let stored = self.adopt_shared(stored);
        self.leave();
        let refresh = match self.core.in_force.refresh() {
            Switch::On => self.core.refresh_behind(&self.flight, &stored, &self.call),
            Switch::Off => None,
        };
        let reason = if then == Next::Follow { StaleReason::LeaseHeld } else { StaleReason::Revalidating };
        claim.with(Landing::Shared { stored, reason, at }, end).deliver();
        if let Some(mut pilot) = refresh {
            pilot.trip = trip;
            pilot.spawn(load, move |pilot, load| Self::fly_shared(Bound { load, ticket: None, pilot }, then));
        }
    }
}

fn end_of(next: Next) -> FlightEnd {
    match next {
        Next::Follow => FlightEnd::Followed,
        Next::Read | Next::Load | Next::LoadAlone => FlightEnd::SharedHit,
    }
}

fn reason_of(end: FlightEnd) -> StaleReason {
    if end == FlightEnd::Followed { StaleReason::LeaseHeld } else { StaleReason::Revalidating }
}

fn read_of(fault: Fault) -> SharedRead {
    match fault {
        Fault::Timeout => SharedRead::Timeout,
        Fault::Connection | Fault::Refused => SharedRead::ConnectionError,
        Fault::BreakerOpen => SharedRead::BreakerOpen,
    }
}
