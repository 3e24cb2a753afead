//! A flight's way by the shared tier: read, follow, permit, lease; then the origin as ever.
//!
//! T1: one read for each flight, whatever waits for it. Z1: a permit is never held while
//! another process is waited for, nor a lease while a permit is. T4: after the first
//! operation that failed, a flight sends no other and goes on as if there were no tier.

use std::sync::Arc;
use std::time::Duration;

use herdfeed::{
    FlightEnd, FlightTrigger, LeasePoll, LeaseResult, Measure, PermitClass, RejectReason, SharedOperation, SharedRead,
    Stage, StaleReason,
};
use parking_lot::Mutex;
use tokio::runtime::Handle;

use super::fly::{Pass, Pilot};
use super::lease::{Held, Teller, release};
use super::promote::Weighed;
use super::write::Written;
use super::{Core, SharedOf};
use crate::clock::{self, Moment, nanos};
use crate::entry::Stored;
use crate::flight::{Landing, Serves};
use crate::key::Key;
use crate::loaded::Keep;
use crate::measures::Switch;
use crate::origin::LoadFuture;
use crate::origin::call::Ticket;
use crate::shared::follow::Pauses;
use crate::shared::link::Fault;
use crate::shared::{Acquired, LeaseSight, Reading, SharedKey, Token, WriteFailure};
use crate::store::Store;

/// What one flight has to do with the shared tier.
pub(super) struct Trip<V: Send + Sync + 'static> {
    pub(super) tiers: Arc<SharedOf<V>>,
    /// `None` if the key has no text.
    pub(super) key: Option<SharedKey>,
    pub(super) state: Mutex<TripState<V>>,
}

pub(super) struct TripState<V: Send + Sync + 'static> {
    pub(super) way: Way,
    /// The token under the key when it was read.
    pub(super) seen: u64,
    pub(super) held: Option<Arc<Held>>,
    /// What the load brought and the tier is to have.
    pub(super) brought: Option<Stored<V>>,
    /// When another process's lease is over, where the tier itself cannot tell.
    lease_over: Moment,
}

/// Whether a flight may ask the tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Clear,
    /// T4: an operation of this flight has failed.
    Faulty,
    /// T4: the circuit is open.
    Shut,
    /// W2: a change of the key waits that the tier has not heard of.
    Bypass,
    /// The key has no text.
    Nameless,
}

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
enum Look<V: Send + Sync + 'static> {
    Answer(Stored<V>),
    Stale(Stored<V>, Next),
    Next(Next),
}

impl<V: Send + Sync + 'static> Trip<V> {
    pub(super) fn is_clear(&self) -> bool {
        self.state.lock().way == Way::Clear
    }

    /// T4: an operation has failed; no other is sent.
    pub(super) fn faulted(&self) {
        let mut state = self.state.lock();
        state.way = Way::Faulty;
        if let Some(held) = &state.held {
            held.has_failed();
        }
    }

    pub(super) fn way(&self) -> Way {
        let state = self.state.lock();
        if state.held.as_ref().is_some_and(|held| held.is_faulty()) { Way::Faulty } else { state.way }
    }
}

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> Core<K, V, E, S> {
    /// What a flight of this key has to do with the shared tier; `None` where there is none.
    pub(super) fn trip(&self, key: &K, now: Moment) -> Option<Box<Trip<V>>> {
        let tiers = self.shared.as_ref()?;
        let key = tiers.key(key);
        let way = match &key {
            None => Way::Nameless,
            Some(key) if tiers.outbox.holds(key) => Way::Bypass,
            Some(_) if tiers.link.shut_until().is_some_and(|until| now < until) => {
                tiers.link.account.reads.add(SharedRead::BreakerOpen);
                Way::Shut
            }
            Some(_) => Way::Clear,
        };
        let state = Mutex::new(TripState { way, seen: 0, held: None, brought: None, lease_over: 0 });
        Some(Box::new(Trip { tiers: Arc::clone(tiers), key, state }))
    }
}

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> Pilot<K, V, E, S> {
    /// Whether this flight asks the shared tier first.
    pub(super) fn asks_first(&self) -> bool {
        let fails = |trip: &Trip<V>| trip.tiers.settings.write_failure == WriteFailure::Fail;
        self.trip.as_ref().is_some_and(|trip| trip.is_clear() || fails(trip))
    }

    /// The whole way, from `next` on. `ticket` is one that the flight has already.
    pub(super) async fn fly_shared(self, mut ticket: Option<Ticket>, load: LoadFuture<V, E>, mut next: Next) {
        if self.flight.is_held() && !self.has_been_let_go().await {
            return self.core.expire(&self.flight);
        }
        let began = clock::exact();
        let mut pauses = self.pauses();
        loop {
            if self.flight.has_ended() {
                return;
            }
            if clock::exact() >= self.flight.deadline {
                return self.core.expire(&self.flight);
            }
            let look = match next {
                Next::Read => self.look(SharedOperation::Read).await,
                Next::Follow => {
                    // Z1: no permit is held while another process is waited for.
                    drop(ticket.take());
                    self.follow(&mut pauses, began).await
                }
                Next::Load | Next::LoadAlone => {
                    let pass = match ticket.take() {
                        Some(ticket) => ticket,
                        None => match self.let_in().await {
                            Ok(ticket) => ticket,
                            Err(reason) => return self.turn_back(reason),
                        },
                    };
                    let look = if next == Next::LoadAlone { Look::Next(next) } else { self.take_lease().await };
                    if let Look::Next(Next::Load | Next::LoadAlone) = look {
                        return self.fly_watched(pass, load).await;
                    }
                    look
                }
            };
            match look {
                Look::Answer(stored) => return self.land_shared(stored, end_of(next)),
                Look::Stale(stored, then) => return self.land_stale(stored, (end_of(next), then), load),
                Look::Next(then) => next = then,
            }
        }
    }

    /// One read, and what follows from it.
    async fn look(&self, operation: SharedOperation) -> Look<V> {
        let Some((trip, key)) = self.trip_and_key() else { return Look::Next(Next::LoadAlone) };
        if !trip.is_clear() {
            return Look::Next(Next::LoadAlone);
        }
        self.flight.set_stage(Stage::Shared);
        let link = &trip.tiers.link;
        let reading = match link.send(operation, self.flight.deadline, link.tier.read(key)).await {
            Ok(reading) => reading,
            Err(fault) => return self.not_read(fault),
        };
        self.weigh_reading(&reading)
    }

    /// T4: the tier did not answer: the flight goes on without it.
    fn not_read(&self, fault: Fault) -> Look<V> {
        if let Some(trip) = &self.trip {
            trip.tiers.link.account.reads.add(read_of(fault));
            trip.faulted();
        }
        Look::Next(Next::LoadAlone)
    }

    /// What a reading leads to.
    fn weigh_reading(&self, reading: &Reading) -> Look<V> {
        let Some((trip, key)) = self.trip_and_key() else { return Look::Next(Next::LoadAlone) };
        trip.state.lock().seen = reading.fence;
        let now = clock::exact();
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

    /// Z2: waits for a moment, then looks again.
    async fn follow(&self, pauses: &mut Pauses, began: Moment) -> Look<V> {
        let Some((trip, _)) = self.trip_and_key() else { return Look::Next(Next::LoadAlone) };
        self.flight.set_stage(Stage::Following);
        let mut following = Following::new(&trip.tiers);
        let limit = trip.tiers.leasing.as_ref().and_then(|(settings, _)| settings.follow_for).map_or(u64::MAX, nanos);
        let until = began.saturating_add(limit).min(self.flight.deadline);
        let now = clock::exact();
        if now >= until {
            return Look::Next(Next::LoadAlone);
        }
        let pause = pauses.next(fastrand::f64()).min(Duration::from_nanos(until - now));
        tokio::time::sleep(pause).await;
        if clock::exact() >= self.flight.deadline {
            return Look::Next(Next::Follow);
        }
        let look = self.look(SharedOperation::Read).await;
        self.flight.set_stage(Stage::Following);
        let over = { trip.state.lock().lease_over };
        let (poll, look) = match look {
            Look::Answer(stored) | Look::Stale(stored, _) => (LeasePoll::Found, Look::Answer(stored)),
            // The tier cannot tell: the lease's own time does.
            Look::Next(Next::Load) if over > clock::exact() => (LeasePoll::Waiting, Look::Next(Next::Follow)),
            Look::Next(Next::Load) => (LeasePoll::Successor, Look::Next(Next::Load)),
            Look::Next(Next::Follow) => (LeasePoll::Waiting, Look::Next(Next::Follow)),
            other @ Look::Next(Next::Read | Next::LoadAlone) => (LeasePoll::GaveUp, other),
        };
        following.found(poll);
        look
    }

    /// One try for the lease, with a permit in hand.
    async fn take_lease(&self) -> Look<V> {
        let Some((trip, key)) = self.trip_and_key() else { return Look::Next(Next::LoadAlone) };
        let (link, Some((_, time))) = (&trip.tiers.link, &trip.tiers.leasing) else {
            return Look::Next(Next::LoadAlone);
        };
        let Some(lease) = &link.lease else { return Look::Next(Next::LoadAlone) };
        self.flight.set_stage(Stage::Shared);
        let token = Token::random();
        let mut attempt = Attempt { trip, key, token, time: *time, open: true };
        let acquired =
            link.send(SharedOperation::Acquire, self.flight.deadline, lease.acquire(key, &token, *time)).await;
        attempt.open = false;
        match acquired {
            Ok(Acquired::Yes { fence, under }) => {
                self.count_lease(LeaseResult::Acquired);
                let is_newer = under > trip.state.lock().seen;
                self.hold(&attempt, fence);
                // S3, over processes: something was stored between the look and the lease.
                if is_newer { self.look_with_lease().await } else { Look::Next(Next::Load) }
            }
            Ok(Acquired::Held { left }) => {
                self.count_lease(LeaseResult::Held);
                let left = left.unwrap_or(*time);
                trip.state.lock().lease_over = clock::exact().saturating_add(nanos(left));
                Look::Next(if self.leases() == Leases::Yes { Next::Follow } else { Next::LoadAlone })
            }
            Err(fault) => {
                // It may have been taken all the same, and nobody would know: given back as the attempt ends.
                attempt.open = fault != Fault::BreakerOpen;
                self.count_lease(LeaseResult::Unavailable);
                trip.faulted();
                Look::Next(Next::LoadAlone)
            }
        }
    }

    /// The lease is this flight's: it is renewed, and given back when the flight ends.
    fn hold(&self, attempt: &Attempt<'_, V>, fence: u64) {
        let Attempt { trip, key, token, time, .. } = *attempt;
        let held = Held::new(&trip.tiers.link, (key, token), (time, fence), trip.tiers.tail(), Handle::current());
        trip.state.lock().held = Some(Arc::clone(&held));
        let most = trip.tiers.leasing.as_ref().map_or(0, |(settings, _)| settings.renewals);
        let teller = Teller { subject: self.core.name.clone(), key: self.core.names.show(&self.flight.key) };
        let keeper = tokio::spawn(Arc::clone(&held).keep_alive(most, teller));
        self.flight.adopt(keeper.abort_handle());
        self.flight.enlist(Serves::Held(Box::new(move || held.let_go())));
    }

    async fn look_with_lease(&self) -> Look<V> {
        match self.look(SharedOperation::Read).await {
            // The lease that was seen is this flight's own.
            Look::Next(_) => Look::Next(Next::Load),
            found => found,
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
            Pass::Queue(place) => self.call.let_through(place.wait(self.flight.deadline)).await,
            Pass::Refused(reason) => Err(reason),
            // It has been let go, and nothing holds it back a second time.
            Pass::Held => Err(RejectReason::Deadline),
        }
    }

    fn turn_back(self, reason: RejectReason) {
        // A skipped refresh has ended already; this finds nothing left to end.
        self.reject(reason);
    }

    fn trip_and_key(&self) -> Option<(&Trip<V>, &SharedKey)> {
        let trip = self.trip.as_deref()?;
        Some((trip, trip.key.as_ref()?))
    }

    fn pauses(&self) -> Pauses {
        let leasing = self.trip.as_ref().and_then(|trip| trip.tiers.leasing.as_ref());
        leasing.map_or(Pauses::new(Duration::ZERO, Duration::ZERO), |(settings, _)| {
            Pauses::new(settings.poll, settings.poll_most)
        })
    }

    fn leases(&self) -> Leases {
        let Some(trip) = &self.trip else { return Leases::No };
        if trip.tiers.leasing.is_none() || !self.flight.policy.has(Measure::SingleFlight) {
            return Leases::No;
        }
        if self.call.has_parent() { Leases::Nested } else { Leases::Yes }
    }

    fn count_lease(&self, result: LeaseResult) {
        if let Some(trip) = &self.trip {
            trip.tiers.link.account.acquisitions.add(result);
        }
    }

    /// The tier's value answers everyone.
    pub(super) fn land_shared(self, stored: Stored<V>, end: FlightEnd) {
        let Some(claim) = self.core.claim(&self.flight) else { return };
        let stored = self.adopt_shared(stored);
        let reason = reason_of(end);
        self.leave();
        claim.with(Landing::Shared(stored, reason), end).deliver();
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
    fn land_stale(mut self, stored: Stored<V>, (end, then): (FlightEnd, Next), load: LoadFuture<V, E>) {
        let trip = self.trip.take();
        let Some(claim) = self.core.claim(&self.flight) else { return };
        let stored = self.adopt_shared(stored);
        self.leave();
        let refresh = match self.core.in_force.refresh() {
            Switch::On => self.core.refresh_behind(&self.flight, &stored, &self.call),
            Switch::Off => None,
        };
        let reason = if then == Next::Follow { StaleReason::LeaseHeld } else { StaleReason::Revalidating };
        claim.with(Landing::Shared(stored, reason), end).deliver();
        if let Some(mut pilot) = refresh {
            pilot.trip = trip;
            pilot.spawn(load, move |pilot, load| pilot.fly_shared(None, load, then));
        }
    }
}

/// What a flight has to do with leases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leases {
    No,
    Yes,
    /// It may take one, and waits for none.
    Nested,
}

/// A try for a lease whose answer has not come. Dropped before, it gives back what may have been taken.
struct Attempt<'a, V: Send + Sync + 'static> {
    trip: &'a Trip<V>,
    key: &'a SharedKey,
    token: Token,
    time: Duration,
    open: bool,
}

impl<V: Send + Sync + 'static> Drop for Attempt<'_, V> {
    fn drop(&mut self) {
        let runtime = if self.open { Handle::try_current().ok() } else { None };
        if let Some(runtime) = runtime {
            let (tail, link) = (self.trip.tiers.tail(), Arc::clone(&self.trip.tiers.link));
            let release = release(link, self.key.clone(), self.token);
            runtime.spawn(async move {
                release.await;
                drop(tail);
            });
        }
    }
}

/// A flight that follows, for the account.
struct Following<'a, V: Send + Sync + 'static> {
    tiers: &'a SharedOf<V>,
    found: LeasePoll,
}

impl<'a, V: Send + Sync + 'static> Following<'a, V> {
    fn new(tiers: &'a SharedOf<V>) -> Self {
        tiers.link.account.following.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Self { tiers, found: LeasePoll::GaveUp }
    }

    fn found(&mut self, poll: LeasePoll) {
        self.found = poll;
    }
}

impl<V: Send + Sync + 'static> Drop for Following<'_, V> {
    fn drop(&mut self) {
        let account = &self.tiers.link.account;
        account.following.fetch_sub(1, std::sync::atomic::Ordering::Relaxed);
        account.polls.add(self.found);
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

pub(super) fn read_of(fault: Fault) -> SharedRead {
    match fault {
        Fault::Timeout => SharedRead::Timeout,
        Fault::Connection | Fault::Refused => SharedRead::ConnectionError,
        Fault::BreakerOpen => SharedRead::BreakerOpen,
    }
}
