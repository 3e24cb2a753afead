//! A flight's corridor: permit, origin, write back, landing, leaving the table.
//!
//! A load is polled once in place; only a load that has to wait is spawned. From
//! then on its limits are watched by a task of their own, so that a loader that
//! blocks its thread still frees its key in time (S7).

use std::future::{Future, poll_fn};
use std::iter;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use herdfeed::{DiscardReason, FlightEnd, Measure, OriginResult, RejectReason, Stage};

use super::Core;
use super::aboard::{Aboard, Bound};
use super::land::Ending;
use super::share::Next;
use super::trip::Trip;
use super::write::{LoadedBy, Written};
use crate::clock::{self, Moment, nanos};
use crate::error::Failure;
use crate::flight::Flight;
use crate::gate::{Admission, Place};
use crate::key::Key;
use crate::loaded::{Loaded, What};
use crate::origin::call::{self, Call, Part, Ticket, Within, may_poll_in_place};
use crate::origin::{LoadContext, LoadFuture};
use crate::runtime;
use crate::store::Store;
use crate::sync::atomic::{AtomicBool, Ordering::Relaxed};
use crate::sync::runtime::Handle;
use crate::sync::{task, time};
use crate::trace::{Carrier, TraceStep};

/// The registration of a load: dropped, it leaves the table, and lands the flight if nothing else has.
///
/// S2: every exit goes through here, a panic and the end of a runtime included.
pub(super) struct Pilot<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> {
    pub(super) core: Arc<Core<K, V, E, S>>,
    pub(super) flight: Arc<Flight<K, V, E>>,
    pub(super) call: Arc<Call>,
    /// What it has to do with the shared tier; `None` where there is none.
    pub(super) trip: Option<Box<Trip<V>>>,
    /// Whether it has left the table.
    pub(super) left: AtomicBool,
}

/// How a load that was polled ended.
pub(super) type LoadEnd<V, E> = Result<Loaded<V>, Failure<E>>;

/// What a foreground load is let through by.
pub(super) enum Pass {
    Now(Ticket),
    Queue(Place),
    Held,
    Refused(RejectReason),
}

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> Core<K, V, E, S> {
    /// Flies a flight that this caller opened. Lands it before returning if the load is ready at its first poll.
    pub(crate) fn launch(
        self: &Arc<Self>,
        flight: &Arc<Flight<K, V, E>>,
        start: impl FnOnce(LoadContext<K, V>) -> LoadFuture<V, E>,
    ) {
        let mut pilot = self.pilot(flight, call::current());
        // X1: a shutdown may have landed it already.
        if flight.has_ended() {
            return;
        }
        if pilot.call.is_too_deep() {
            return pilot.end_early(Failure::Contract { what: "loads are nested more than 64 deep" });
        }
        pilot.trip = self.trip(&flight.key, flight.started);
        if self.waits() {
            self.drain();
        }
        if pilot.asks_first() {
            return pilot
                .spawn_with(start, |pilot, load| Pilot::fly_shared(Bound { load, ticket: None, pilot }, Next::Read));
        }
        // The flight was opened just now.
        match pilot.pass(flight.started) {
            Pass::Now(ticket) => pilot.fly_in_place(ticket, flight.started, start),
            Pass::Queue(place) => pilot.spawn_with(start, |pilot, load| pilot.fly_queued(place, load)),
            Pass::Held => pilot.spawn_with(start, Pilot::fly_held),
            Pass::Refused(reason) => pilot.reject(reason),
        }
    }

    pub(super) fn pilot(
        self: &Arc<Self>,
        flight: &Arc<Flight<K, V, E>>,
        above: Option<Arc<Call>>,
    ) -> Pilot<K, V, E, S> {
        let call = Call::new(self.gate.address(), &self.account, flight.deadline, above);
        self.pilot_on(Arc::clone(flight), call)
    }

    /// The pilot of a flight that makes this call, alone or with others.
    pub(super) fn pilot_on(self: &Arc<Self>, flight: Arc<Flight<K, V, E>>, call: Arc<Call>) -> Pilot<K, V, E, S> {
        flight.set_call(&call);
        Pilot { core: Arc::clone(self), flight, call, trip: None, left: AtomicBool::new(false) }
    }
}

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> Pilot<K, V, E, S> {
    pub(super) fn pass(&self, now: Moment) -> Pass {
        if self.flight.is_held() {
            return Pass::Held;
        }
        if !self.flight.policy.has(Measure::Permits) {
            return Pass::Now(Ticket::Free(None));
        }
        if let Some(ticket) = self.call.parents_ticket() {
            return Pass::Now(ticket);
        }
        match self.core.gate.enter(self.flight.group, now) {
            Admission::Granted(permit) => Pass::Now(Ticket::Permit { permit }),
            Admission::Queued(place) => Pass::Queue(place),
            Admission::Refused(reason) => Pass::Refused(reason),
        }
    }

    /// The flight makes a call of its own, instead of one with others.
    pub(super) fn call_alone(&mut self, above: Option<Arc<Call>>) {
        let core = &self.core;
        self.call_by(&Call::new(core.gate.address(), &core.account, self.flight.deadline, above));
    }

    /// The flight makes this call, instead of the one that it was to make.
    pub(super) fn call_by(&mut self, call: &Arc<Call>) {
        self.flight.set_call(call);
        self.call = Arc::clone(call);
    }

    /// Makes the load's future; a panic in that lands the flight.
    pub(super) fn make(
        &self,
        start: impl FnOnce(LoadContext<K, V>) -> LoadFuture<V, E>,
    ) -> Result<LoadFuture<V, E>, Failure<E>> {
        let _current = self.flight.trace.enter();
        let made = catch_unwind(AssertUnwindSafe(|| start(self.context())));
        made.map_err(|panic| panicked(&*panic))
    }

    /// What the loader is told. Clones the key.
    pub(super) fn context(&self) -> LoadContext<K, V> {
        let flight = &self.flight;
        // A held flight begins after a change of its key: what was there before is nothing to compare with.
        let previous = if flight.is_held() { None } else { flight.previous_entry() };
        if previous.is_some() {
            flight.fate.offer();
        }
        LoadContext::new(flight.key.clone(), flight.trigger, flight.cause, previous, Arc::clone(&self.call))
    }

    fn fly_in_place(self, ticket: Ticket, now: Moment, start: impl FnOnce(LoadContext<K, V>) -> LoadFuture<V, E>) {
        let part = self.begin(ticket, now);
        self.core.watch_for_the_early(&self.flight);
        let mut load = match self.make(start) {
            Ok(load) => load,
            Err(failure) => return self.land_failure(failure, part),
        };
        if may_poll_in_place() {
            // The waker is never needed: a load that waits is polled again at once where it is spawned.
            let mut unconstrained = task::unconstrained(load.as_mut());
            let mut cx = Context::from_waker(Waker::noop());
            if let Poll::Ready(end) = self.poll(Pin::new(&mut unconstrained), &mut cx) {
                return self.finish(end, load, part);
            }
        }
        self.spawn(load, move |pilot, load| Self::fly_on(Aboard { load, part, pilot }));
    }

    /// Begins the origin call under its ticket.
    pub(super) fn begin(&self, ticket: Ticket, now: Moment) -> Part {
        let limit = self.set_out(now);
        let ticket = self.core.call_without(&self.flight, &self.call, ticket);
        self.call.begin(ticket, now, limit)
    }

    /// The flight goes to the origin; gives when it must be back.
    pub(super) fn set_out(&self, now: Moment) -> Moment {
        let limit = now.saturating_add(nanos(self.core.settings.origin_timeout)).min(self.flight.deadline);
        self.flight.set_stage(Stage::Origin);
        self.flight.call_deadline.store(limit, Relaxed);
        self.flight.trace.origin_begins(now);
        limit
    }

    /// One poll of the load, with its call current and its panics caught.
    fn poll(
        &self,
        load: Pin<&mut (impl Future<Output = Result<Loaded<V>, E>> + ?Sized)>,
        cx: &mut Context<'_>,
    ) -> Poll<LoadEnd<V, E>> {
        let _within = Within::enter(&self.call);
        let _current = self.flight.trace.enter();
        self.flight.begins();
        match catch_unwind(AssertUnwindSafe(|| load.poll(cx))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(result)) => Poll::Ready(result.map_err(|error| Failure::Origin(Arc::new(error)))),
            Err(panic) => Poll::Ready(Err(panicked(&*panic))),
        }
    }

    pub(super) fn spawn_with<F>(
        self,
        start: impl FnOnce(LoadContext<K, V>) -> LoadFuture<V, E>,
        fly: impl FnOnce(Self, LoadFuture<V, E>) -> F,
    ) where
        F: Future<Output = ()> + Send + 'static,
    {
        match self.make(start) {
            Ok(load) => self.spawn(load, fly),
            Err(failure) => self.end_early(failure),
        }
    }

    /// S1: from here on the load belongs to the runtime, not to its caller.
    pub(super) fn spawn<F>(self, load: LoadFuture<V, E>, fly: impl FnOnce(Self, LoadFuture<V, E>) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let Some((runtime, _)) = runtime::with_timers() else {
            // L3: before its permit, which `fly` may hold.
            drop(load);
            return self.end_early(Failure::Contract { what: runtime::NEEDED });
        };
        let flight = Arc::clone(&self.flight);
        let core = Arc::clone(&self.core);
        let flying = fly(self, load);
        let task = match Carrier::of(iter::once(&flight.trace)) {
            Some(carrier) => runtime.spawn(carrier.carry(flying)),
            None => runtime.spawn(flying),
        };
        flight.adopt(task.abort_handle());
        // A queued or held flight limits itself until its call begins.
        if flight.call_deadline.load(Relaxed) > 0 && flight.claim_watch() {
            core.watch(&flight, &runtime);
        }
    }

    /// The load goes on from its second poll.
    pub(super) async fn fly_on(mut aboard: Aboard<LoadFuture<V, E>, Self>) {
        // X1: a flight that was ended before this task first ran begins nothing.
        if aboard.pilot.flight.has_ended() {
            return;
        }
        let end = poll_fn(|cx| aboard.pilot.poll(aboard.load.as_mut(), cx)).await;
        let Aboard { load, part, pilot } = aboard;
        if pilot.waits_for_write() {
            return pilot.finish_written(end, load, part).await;
        }
        pilot.finish(end, load, part);
    }

    /// G1: waits in the gate's queue first.
    async fn fly_queued(self, place: Place, load: LoadFuture<V, E>) {
        match self.queue(place).await {
            Ok(ticket) => self.fly_watched(ticket, load).await,
            Err(reason) => self.reject(reason),
        }
    }

    /// Waits in the gate's queue.
    pub(super) async fn queue(&self, place: Place) -> Result<Ticket, RejectReason> {
        let _step = self.flight.trace.step(TraceStep::PermitWait);
        self.call.let_through(place.wait(self.flight.deadline)).await
    }

    /// L2: waits first until fewer than two older loads of the key run.
    async fn fly_held(self, load: LoadFuture<V, E>) {
        if !self.has_been_let_go().await {
            return self.core.expire(&self.flight);
        }
        match self.pass(clock::exact()) {
            Pass::Now(ticket) => self.fly_watched(ticket, load).await,
            Pass::Queue(place) => self.fly_queued(place, load).await,
            Pass::Refused(reason) => self.reject(reason),
            // It has just been let go, and nothing holds it back a second time.
            Pass::Held => self.end_early(Failure::Contract { what: "a flight was held back twice" }),
        }
    }

    /// L2: returns when fewer than two older loads of the key run; false if that takes too long.
    pub(super) async fn has_been_let_go(&self) -> bool {
        loop {
            let told = self.flight.may_start.notified();
            if self.core.let_go(&self.flight) {
                return true;
            }
            let left = self.flight.deadline.saturating_sub(clock::exact());
            if time::timeout(Duration::from_nanos(left), told).await.is_err() {
                return false;
            }
        }
    }

    pub(super) async fn fly_watched(self, ticket: Ticket, load: LoadFuture<V, E>) {
        let part = self.begin(ticket, clock::exact());
        // Also if somebody watches already: that watch may sleep until the flight's later limit.
        self.flight.claim_watch();
        self.core.watch(&self.flight, &Handle::current());
        Self::fly_on(Aboard { load, part, pilot: self }).await;
    }

    /// The load has ended: write back, land, leave.
    fn finish(self, end: LoadEnd<V, E>, load: LoadFuture<V, E>, part: Part) {
        self.come_home(end, load, part);
        self.share();
    }

    fn come_home(&self, end: LoadEnd<V, E>, load: LoadFuture<V, E>, part: Part) {
        let ending = self.settle(end);
        // The load's own Drop may panic, and may take its time: it is over before the permit comes back.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(load)));
        drop(part);
        self.keep_lease();
        self.leave();
        if let Some(ending) = ending {
            ending.deliver();
        }
    }

    /// What the load's end means for the flight; `None` if the flight ended before its load.
    pub(super) fn settle(&self, end: LoadEnd<V, E>) -> Option<Ending<'_, K, V, E, S>> {
        let now = clock::exact();
        self.flight.trace.origin_ends(now);
        // S7: a load that blocked its thread past its limit is late, whether or not anybody watched.
        if now > self.flight.limit() {
            self.core.expire(&self.flight);
        }
        let loaded = match end {
            Ok(loaded) => loaded,
            Err(failure @ Failure::Panicked { .. }) => {
                self.call.ended(OriginResult::Panicked);
                return self.core.fail(&self.flight, failure, FlightEnd::Panicked);
            }
            Err(failure) => {
                self.call.failed(self.core.classes.of(&failure));
                return self.core.fail(&self.flight, failure, FlightEnd::Failed);
            }
        };
        let (result, fine) = match loaded.what {
            What::Value(_) => (OriginResult::Value, FlightEnd::Loaded),
            What::Absent => (OriginResult::Absent, FlightEnd::Absent),
            What::NotModified => (OriginResult::NotModified, FlightEnd::NotModified),
        };
        self.call.ended(result);
        let Some(claim) = self.core.claim(&self.flight) else {
            // Came after the flight's end: counted, never stored.
            self.core.account.discards.add(DiscardReason::TooOld);
            return None;
        };
        let keep = loaded.keep;
        let took_ns = now.saturating_sub(self.call.started());
        let load =
            LoadedBy { took_ns, previous: self.flight.previous_entry().filter(|_| self.flight.fate.was_offered()) };
        let Some(stored) = self.core.stored(loaded, self.flight.policy, now, &load) else {
            let failure = Failure::Contract { what: "a loader answered not modified, but had been given no value" };
            return Some(self.core.fail_claimed(claim, failure, FlightEnd::Failed));
        };
        Some(match self.core.write_back(&self.flight, &stored, keep, now) {
            Written::Stored => {
                self.bring(&stored, keep);
                claim.with(stored.into(), fine)
            }
            Written::Discarded(reason) => {
                self.core.account.discards.add(reason);
                claim.with(stored.into(), FlightEnd::Discarded)
            }
            Written::Older(newer) => {
                self.core.account.discards.add(DiscardReason::OlderVersion);
                claim.with(newer.into(), FlightEnd::Discarded)
            }
        })
    }
}

pub(super) fn panicked<E>(panic: &(dyn std::any::Any + Send)) -> Failure<E> {
    let text = panic.downcast_ref::<&str>().copied().or(panic.downcast_ref::<String>().map(String::as_str));
    Failure::Panicked { message: text.unwrap_or("(no message)").into() }
}
