//! A batch on its way by the shared tier: all of its keys are read in one round trip.
//!
//! What the tier has is answered there and then. Keys that another process loads are
//! followed each by itself; the rest is loaded by one call, under one permit, with a
//! lease for each key that is to be had.

use std::sync::Arc;

use herdfeed::{FlightEnd, SharedOperation};

use super::{Batch, BatchEnd, Led, serve, shielded};
use crate::clock;
use crate::core::aboard::{Aboard, Bound};
use crate::core::fly::{Pass, Pilot};
use crate::core::post::together;
use crate::core::share::{Look, Next};
use crate::error::Failure;
use crate::key::Key;
use crate::origin::call::{self, Call, Part, Ticket};
use crate::origin::{AnyOrigin, BatchFuture};
use crate::runtime;
use crate::shared::link::Fault;
use crate::shared::{Reading, SharedKey};
use crate::store::Store;
use crate::sync::runtime::Handle;
use crate::trace::TraceStep;

type Origin<K, V, E> = Arc<dyn AnyOrigin<K, V, E>>;

/// Flies one chunk of a cache that has a shared tier.
pub(super) fn fly<K, V, E, S>(mut chunk: Vec<Led<K, V, E, S>>, origin: &Origin<K, V, E>)
where
    K: Key,
    V: Send + Sync + 'static,
    E: Send + Sync + 'static,
    S: Store<K, V>,
{
    let Some(core) = chunk.first().map(|led| Arc::clone(&led.core)) else { return };
    if core.waits() {
        core.drain();
    }
    let above = call::current();
    let flights: Vec<_> = chunk.iter_mut().filter_map(|led| led.flight.take()).collect();
    let pilots = flights.iter().map(|flight| {
        let mut pilot = core.pilot(flight, above.clone());
        pilot.trip = core.trip(&flight.key, flight.started);
        pilot
    });
    let pilots: Vec<_> = pilots.collect();
    let Some((runtime, _)) = runtime::with_timers() else {
        return pilots.into_iter().for_each(|pilot| pilot.end_early(Failure::Contract { what: runtime::NEEDED }));
    };
    let group = Group { pilots, origin: Arc::clone(origin), above };
    serve(&flights, runtime.spawn(group.go()).abort_handle());
}

/// The flights of one chunk, before it is known which of them have to load.
struct Group<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> {
    pilots: Vec<Pilot<K, V, E, S>>,
    origin: Origin<K, V, E>,
    above: Option<Arc<Call>>,
}

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> Group<K, V, E, S> {
    async fn go(mut self) {
        let looks = self.read().await;
        let mut rest = Vec::new();
        for (pilot, look) in std::mem::take(&mut self.pilots).into_iter().zip(looks) {
            match look {
                Look::Next(next @ (Next::Load | Next::LoadAlone)) => rest.push((pilot, next)),
                Look::Answer(stored) => shielded(|| pilot.land_shared(stored, FlightEnd::SharedHit)),
                Look::Stale(stored, then) => {
                    let load = pilot.make(|cx| Arc::clone(&self.origin).start(cx));
                    shielded(|| match load {
                        Ok(load) => pilot.land_stale(stored, (FlightEnd::SharedHit, then), load),
                        Err(failure) => pilot.end_early(failure),
                    });
                }
                Look::Next(next @ (Next::Read | Next::Follow)) => self.alone(pilot, next),
            }
        }
        self.load(rest).await;
    }

    /// A flight goes on by itself.
    fn alone(&self, pilot: Pilot<K, V, E, S>, next: Next) {
        let origin = Arc::clone(&self.origin);
        pilot.spawn_with(
            |cx| origin.start(cx),
            move |pilot, load| Pilot::fly_shared(Bound { load, ticket: None, pilot }, next),
        );
    }

    /// One read of all keys that may be asked for; where each flight goes from there.
    async fn read(&self) -> Vec<Look<V>> {
        let asks = |pilot: &Pilot<K, V, E, S>| {
            let (trip, key) = pilot.trip_and_key()?;
            trip.is_clear().then(|| key.clone())
        };
        let keys: Vec<SharedKey> = self.pilots.iter().filter_map(asks).collect();
        let readings = self.read_keys(&keys).await;
        let mut readings = readings.map(Vec::into_iter);
        let look = |pilot: &Pilot<K, V, E, S>| match (asks(pilot), &mut readings) {
            (None, _) => Look::Next(Next::LoadAlone),
            (Some(_), Ok(readings)) => readings.next().map_or(Look::Next(Next::LoadAlone), |r| pilot.weigh_reading(&r)),
            (Some(_), Err(fault)) => pilot.not_read(*fault),
        };
        self.pilots.iter().map(look).collect()
    }

    async fn read_keys(&self, keys: &[SharedKey]) -> Result<Vec<Reading>, Fault> {
        let Some(first) = self.pilots.first().filter(|_| !keys.is_empty()) else { return Ok(Vec::new()) };
        let Some(trip) = &first.trip else { return Ok(Vec::new()) };
        let deadline = self.pilots.iter().map(|pilot| pilot.flight.deadline).min().unwrap_or(0);
        let link = &trip.tiers.link;
        let asking = self.pilots.iter().filter(|pilot| pilot.trip.as_ref().is_some_and(|trip| trip.is_clear()));
        let _steps: Vec<_> = asking.map(|pilot| pilot.flight.trace.step(TraceStep::SharedRead)).collect();
        let readings = link.send(SharedOperation::Read, deadline, || link.tier.read_many(keys)).await?;
        // Readings that cannot be told apart are none.
        if readings.len() == keys.len() { Ok(readings) } else { Err(Fault::Refused) }
    }

    /// Permit, leases, one call.
    async fn load(self, rest: Vec<(Pilot<K, V, E, S>, Next)>) {
        let (pilots, nexts): (Vec<_>, Vec<_>) = rest.into_iter().unzip();
        let Some(mut batch) = Batch::join(pilots, self.above.clone()) else { return };
        let Some(first) = batch.pilots.first() else { return };
        let pass = first.pass(clock::exact());
        let ticket = match pass {
            Pass::Now(ticket) => Ok(ticket),
            Pass::Queue(place) => batch.queue(place).await,
            Pass::Refused(reason) => Err(reason),
            Pass::Held => return batch.end_early(&Failure::Contract { what: "a held flight came into a batch" }),
        };
        let ticket: Ticket = match ticket {
            Ok(ticket) => ticket,
            Err(reason) => return batch.each(|pilot| pilot.reject(reason)),
        };
        let looks = batch.take_leases(&nexts).await;
        let mut mine = Vec::new();
        for (mut pilot, look) in std::mem::take(&mut batch.pilots).into_iter().zip(looks) {
            match look {
                Look::Next(Next::Load | Next::LoadAlone) => mine.push(pilot),
                Look::Next(next) => {
                    pilot.call_alone(self.above.clone());
                    self.alone(pilot, next);
                }
                Look::Answer(stored) | Look::Stale(stored, _) => {
                    shielded(|| pilot.land_shared(stored, FlightEnd::SharedHit));
                }
            }
        }
        // The call is about the keys that are left.
        let Some(batch) = Batch::join(mine, self.above) else { return ticket.unused() };
        batch.fly(ticket, &self.origin).await;
    }
}

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> Batch<K, V, E, S> {
    /// The flights that make one call from here on; `None` if there are none.
    fn join(mut pilots: Vec<Pilot<K, V, E, S>>, above: Option<Arc<Call>>) -> Option<Self> {
        let core = Arc::clone(&pilots.first()?.core);
        let deadline = pilots.iter().map(|pilot| pilot.flight.deadline).min()?;
        let call = Call::new(core.gate.address(), &core.account, deadline, above);
        for pilot in &mut pilots {
            pilot.call_by(&call);
        }
        Some(Self { core, pilots, call })
    }

    /// One try for each key's lease, all at once.
    async fn take_leases(&self, nexts: &[Next]) -> Vec<Look<V>> {
        let tries = self.pilots.iter().zip(nexts).map(|(pilot, next)| async move {
            if *next == Next::Load { pilot.take_lease().await } else { Look::Next(*next) }
        });
        together(tries.map(Box::pin).collect()).await
    }

    async fn fly(self, ticket: Ticket, origin: &Origin<K, V, E>) {
        let part = self.begin(ticket, clock::exact());
        let load = match self.make(origin) {
            Ok(load) => load,
            Err(failure) => return self.finish(Err(failure), None, part),
        };
        let flights: Vec<_> = self.flights().cloned().collect();
        self.core.watch_all(&flights, &Handle::current());
        drop(flights);
        Self::fly_on(Aboard { load, part, pilot: self }).await;
    }

    /// The call has ended; the tier is told before the callers are.
    pub(super) async fn finish_written(self, end: BatchEnd<V, E>, load: BatchFuture<K, V, E>, part: Part) {
        let endings = self.settle(end);
        shielded(|| drop(load));
        drop(part);
        let writes = self.pilots.iter().zip(endings).map(|(pilot, ending)| async move {
            match ending {
                Some(ending) => Some(pilot.written(ending).await),
                None => None,
            }
        });
        let endings = together(writes.map(Box::pin).collect()).await;
        self.land(endings);
    }
}
