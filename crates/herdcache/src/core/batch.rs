//! B1: several flights that make one origin call. The corridor of a batch: permit, call, write back, landings.
//!
//! Each flight keeps its own row, deadline, doom and end; what they share is the call with its permit, its
//! task and its watch. The reply is taken apart here, and each flight settles its part as if it had flown alone.

mod home;
mod shared;

use std::collections::{HashMap, HashSet};
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use herdfeed::{DiscardReason, FlightEnd, Measure, RejectReason};

use super::Core;
use super::aboard::Aboard;
use super::fly::{Pass, Pilot, panicked};
use crate::clock::{self, Moment};
use crate::error::Failure;
use crate::flight::{Flight, Landing, Leash, Serves};
use crate::gate::Place;
use crate::key::Key;
use crate::loaded::Loaded;
use crate::origin::call::{self, Call, Part, Ticket, Within, may_poll_in_place};
use crate::origin::{AnyOrigin, BatchFuture};
use crate::runtime;
use crate::store::{Store, StoreOf};
use crate::sync::runtime::Handle;
use crate::sync::task::AbortHandle;
use crate::sync::time;
use crate::trace::{self, Carrier, Current, TraceStep};

/// What a flight whose key the reply left out is told.
const LEFT_OUT: &str = "the reply of load_many left this key out: say Loaded::absent for what does not exist";

/// A flight that was opened and is not flown yet. Dropped, it lands as orphaned, so that nobody waits for it.
pub(crate) struct Led<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V> = StoreOf<K, V>> {
    core: Arc<Core<K, V, E, S>>,
    /// `None` once it is on its way.
    flight: Option<Arc<Flight<K, V, E>>>,
}

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> Led<K, V, E, S> {
    pub(crate) fn new(core: &Arc<Core<K, V, E, S>>, flight: &Arc<Flight<K, V, E>>) -> Self {
        Self { core: Arc::clone(core), flight: Some(Arc::clone(flight)) }
    }
}

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> Drop for Led<K, V, E, S> {
    fn drop(&mut self) {
        let Some(flight) = self.flight.take() else { return };
        self.core.retire(&flight);
        if let Some(claim) = self.core.claim(&flight) {
            claim.with(Landing::Orphaned, FlightEnd::Abandoned).deliver();
        }
    }
}

/// How many flights of a batch may be on their way at once: as many calls as the gate lets through, one where they run
/// under the permit of a load that asks.
pub(crate) fn room<K, V, E, S>(core: &Core<K, V, E, S>, origin: &Arc<dyn AnyOrigin<K, V, E>>) -> usize
where
    K: Key,
    V: Send + Sync + 'static,
    E: Send + Sync + 'static,
    S: Store<K, V>,
{
    let calls = match (core.measures.read().has(Measure::Permits), call::is_any()) {
        (false, _) => usize::MAX,
        (true, true) => 1,
        (true, false) => core.gate.limit().max(1),
    };
    calls.saturating_mul(origin.max_batch().max(1))
}

/// Flies all of them: in chunks, by one origin call each. Returns when each call is ready, runs by itself or queues.
pub(crate) fn launch<K, V, E, S>(led: Vec<Led<K, V, E, S>>, origin: &Arc<dyn AnyOrigin<K, V, E>>)
where
    K: Key,
    V: Send + Sync + 'static,
    E: Send + Sync + 'static,
    S: Store<K, V>,
{
    let most = origin.max_batch();
    let mut keys = HashSet::with_hasher(FixedState::default());
    let (mut chunks, mut alone) = (Vec::new(), Vec::new());
    // S6: a call takes one place in the queue, which is its group's. The last chunk of each group.
    let mut last = HashMap::with_hasher(FixedState::default());
    for led in led {
        let Some(flight) = &led.flight else { continue };
        // X1: a shutdown has landed it already; dropped, it leaves the table.
        if flight.has_ended() {
            continue;
        }
        // L2: what has to wait for older loads of its key holds up nobody else. Without single-flight a key may
        // come twice, and a call names each of its keys once.
        if most < 2 || flight.is_held() || !keys.insert(flight.hash) {
            alone.push(led);
            continue;
        }
        let group = flight.group.map(|group| group.id);
        let chunk = last.get(&group).and_then(|place: &usize| chunks.get_mut(*place));
        if let Some(chunk) = chunk.filter(|chunk: &&mut Vec<_>| chunk.len() < most) {
            chunk.push(led);
            continue;
        }
        last.insert(group, chunks.len());
        chunks.push(vec![led]);
    }
    for chunk in chunks {
        fly(chunk, origin);
    }
    // After the calls, so that of two loads of one key the one that was opened first begins first.
    for mut led in alone {
        if let Some(flight) = led.flight.take() {
            led.core.launch(&flight, |cx| Arc::clone(origin).start(cx));
        }
    }
}

/// Flies one chunk.
fn fly<K, V, E, S>(chunk: Vec<Led<K, V, E, S>>, origin: &Arc<dyn AnyOrigin<K, V, E>>)
where
    K: Key,
    V: Send + Sync + 'static,
    E: Send + Sync + 'static,
    S: Store<K, V>,
{
    if chunk.first().is_some_and(|led| led.core.shared.is_some()) {
        return shared::fly(chunk, origin);
    }
    let Some(batch) = Batch::of(chunk) else { return };
    let Some(first) = batch.pilots.first() else { return };
    let now = clock::exact();
    match first.pass(now) {
        Pass::Now(ticket) => batch.fly_in_place(ticket, now, origin),
        Pass::Queue(place) => match batch.make(origin) {
            Ok(load) => batch.spawn(load, |batch, load| batch.fly_queued(place, load)),
            Err(failure) => batch.end_early(&failure),
        },
        Pass::Refused(reason) => batch.each(|pilot| pilot.reject(reason)),
        Pass::Held => batch.end_early(&Failure::Contract { what: "a held flight came into a batch" }),
    }
}

/// The flights of one origin call.
struct Batch<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> {
    core: Arc<Core<K, V, E, S>>,
    pilots: Vec<Pilot<K, V, E, S>>,
    call: Arc<Call>,
}

/// How a batch call ended: the reply, by the flights in their order, or what failed for all of them.
type BatchEnd<V, E> = Result<Vec<Option<Loaded<V>>>, Failure<E>>;

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> Batch<K, V, E, S> {
    fn of(mut chunk: Vec<Led<K, V, E, S>>) -> Option<Self> {
        let core = Arc::clone(&chunk.first()?.core);
        let flights = || chunk.iter().filter_map(|led| led.flight.as_ref());
        // The call has one limit to tell its loader: that of the flight which must be over first.
        let deadline = flights().map(|flight| flight.deadline).min()?;
        let (gate, above) = (core.gate.address(), call::current());
        let call = Call::new(gate, &core.account, deadline, above);
        let flights = chunk.iter_mut().filter_map(|led| led.flight.take());
        let pilots = flights.map(|flight| core.pilot_on(flight, Arc::clone(&call))).collect();
        Some(Self { core, pilots, call })
    }

    fn flights(&self) -> impl Iterator<Item = &Arc<Flight<K, V, E>>> {
        self.pilots.iter().map(|pilot| &pilot.flight)
    }

    /// The same for every flight. S2: what panics for one key is no concern of the others.
    fn each(self, act: impl Fn(Pilot<K, V, E, S>)) {
        for pilot in self.pilots {
            shielded(|| act(pilot));
        }
    }

    /// Ends flights whose call never began.
    fn end_early(self, failure: &Failure<E>) {
        self.each(|pilot| pilot.end_early(failure.clone()));
    }

    /// Makes the call's future.
    fn make(&self, origin: &Arc<dyn AnyOrigin<K, V, E>>) -> Result<BatchFuture<K, V, E>, Failure<E>> {
        let made = catch_unwind(AssertUnwindSafe(|| {
            Arc::clone(origin).start_many(self.pilots.iter().map(Pilot::context).collect())
        }));
        made.map_err(|panic| panicked(&*panic))
    }

    fn fly_in_place(self, ticket: Ticket, now: Moment, origin: &Arc<dyn AnyOrigin<K, V, E>>) {
        let part = self.begin(ticket, now);
        self.flights().for_each(|flight| self.core.watch_for_the_early(flight));
        let mut load = match self.make(origin) {
            Ok(load) => load,
            Err(failure) => return self.finish(Err(failure), None, part),
        };
        if may_poll_in_place() {
            // As for a single load: one that waits is polled again where it is spawned.
            let polled = self.poll(&mut load, &mut Context::from_waker(Waker::noop()));
            if let Poll::Ready(end) = polled {
                return self.finish(end, Some(load), part);
            }
        }
        self.spawn(load, move |pilot, load| Self::fly_on(Aboard { load, part, pilot }));
    }

    /// Begins the one origin call.
    fn begin(&self, ticket: Ticket, now: Moment) -> Part {
        trace::together(self.flights().map(|flight| &flight.trace));
        let limits = self.pilots.iter().map(|pilot| pilot.set_out(now));
        let first = limits.min().unwrap_or(now);
        // O1: protection would have spared the call if it had spared each of its flights.
        let one = self.flights().find(|flight| flight.spared().is_none()).or(self.flights().next());
        let ticket = match one {
            Some(flight) => self.core.call_without(flight, &self.call, ticket),
            None => ticket,
        };
        self.call.begin(ticket, now, first)
    }

    /// One poll of the call, with its panics caught; a reply is sorted by the flights.
    fn poll(&self, load: &mut BatchFuture<K, V, E>, cx: &mut Context<'_>) -> Poll<BatchEnd<V, E>> {
        let _within = Within::enter(&self.call);
        let _current = Current::first(self.flights().map(|flight| &flight.trace));
        self.flights().for_each(|flight| flight.begins());
        let polled = catch_unwind(AssertUnwindSafe(|| match load.as_mut().poll(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Ok(reply)) => Poll::Ready(Ok(self.sort(reply))),
            // One error for all of them.
            Poll::Ready(Err(error)) => Poll::Ready(Err(Failure::Origin(Arc::new(error)))),
        }));
        polled.unwrap_or_else(|panic| Poll::Ready(Err(panicked(&*panic))))
    }

    /// Finds each flight its part of the reply. What was not asked for, or comes twice, is left over and counted.
    fn sort(&self, reply: Vec<(K, Loaded<V>)>) -> Vec<Option<Loaded<V>>> {
        let mut places = HashTable::with_capacity(self.pilots.len());
        let hash = |place: &usize| self.pilots[*place].flight.hash;
        (0..self.pilots.len()).for_each(|place| _ = places.insert_unique(hash(&place), place, hash));
        let mut sorted: Vec<_> = self.pilots.iter().map(|_| None).collect();
        for (key, loaded) in reply {
            let place = places.find(self.core.hash(&key), |place| self.pilots[*place].flight.key == key);
            match place.and_then(|place| sorted.get_mut(*place)) {
                Some(empty @ None) => *empty = Some(loaded),
                Some(Some(_)) | None => self.core.account.discards.add(DiscardReason::NotAsked),
            }
        }
        sorted
    }

    /// S1: from here on the call belongs to the runtime.
    fn spawn<F>(self, load: BatchFuture<K, V, E>, fly: impl FnOnce(Self, BatchFuture<K, V, E>) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let Some((runtime, _)) = runtime::with_timers() else {
            // L3: before its permit, which `fly` may hold.
            drop(load);
            return self.end_early(&Failure::Contract { what: runtime::NEEDED });
        };
        let core = Arc::clone(&self.core);
        let flights: Vec<_> = self.flights().cloned().collect();
        // A call that queues is limited by the queue until it begins.
        let begun = self.call.started() > 0;
        let flying = fly(self, load);
        let task = match Carrier::of(flights.iter().map(|flight| &flight.trace)) {
            Some(carrier) => runtime.spawn(carrier.carry(flying)),
            None => runtime.spawn(flying),
        };
        serve(&flights, task.abort_handle());
        if begun {
            core.watch_all(&flights, &runtime);
        }
    }

    /// The call goes on from its second poll.
    async fn fly_on(mut aboard: Aboard<BatchFuture<K, V, E>, Self>) {
        // X1: flights that were ended before this task first ran begin nothing.
        if aboard.pilot.flights().all(|flight| flight.has_ended()) {
            return;
        }
        let end = poll_fn(|cx| aboard.pilot.poll(&mut aboard.load, cx)).await;
        let Aboard { load, part, pilot } = aboard;
        if pilot.pilots.iter().any(Pilot::waits_for_write) {
            return pilot.finish_written(end, load, part).await;
        }
        pilot.finish(end, Some(load), part);
    }

    /// Waits in the gate's queue, all of them in one place.
    async fn queue(&self, place: Place) -> Result<Ticket, RejectReason> {
        let _steps: Vec<_> = self.flights().map(|flight| flight.trace.step(TraceStep::PermitWait)).collect();
        self.call.let_through(place.wait(self.call.deadline())).await
    }

    /// G1: waits in the gate's queue first, all of them in one place.
    async fn fly_queued(self, place: Place, load: BatchFuture<K, V, E>) {
        match self.queue(place).await {
            Ok(ticket) => {
                let part = self.begin(ticket, clock::exact());
                let flights: Vec<_> = self.flights().cloned().collect();
                self.core.watch_all(&flights, &Handle::current());
                drop(flights);
                Self::fly_on(Aboard { load, part, pilot: self }).await;
            }
            Err(reason) => self.each(|pilot| pilot.reject(reason)),
        }
    }
}

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> Core<K, V, E, S> {
    /// S7: watches over the limits of several flights from outside their task.
    fn watch_all(self: &Arc<Self>, flights: &[Arc<Flight<K, V, E>>], runtime: &Handle) {
        for flight in flights {
            flight.claim_watch();
        }
        let (core, watched) = (Arc::clone(self), flights.to_vec());
        let task = runtime.spawn(async move {
            loop {
                let flying = || watched.iter().filter(|flight| !flight.has_ended());
                let Some(limit) = flying().map(|flight| flight.limit()).min() else { return };
                let now = clock::exact();
                if limit > now {
                    time::sleep(Duration::from_nanos(limit - now)).await;
                    continue;
                }
                for flight in flying().filter(|flight| flight.limit() <= now) {
                    shielded(|| core.expire(flight));
                }
            }
        });
        serve(flights, task.abort_handle());
    }
}

/// The task serves all of these flights, and is stopped when the last of them has ended.
fn serve<K, V: Send + Sync + 'static, E>(flights: &[Arc<Flight<K, V, E>>], task: AbortHandle) {
    let leash = Leash::new(task);
    for flight in flights {
        flight.enlist(Serves::Together(Arc::clone(&leash)));
    }
}

/// Keeps a panic of the application's code from those whom it does not concern.
fn shielded(act: impl FnOnce()) {
    let _ = catch_unwind(AssertUnwindSafe(act));
}
