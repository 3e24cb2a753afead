//! Z1: a lease that this process holds: renewed while its load runs, given back once, never another's.

use std::sync::Arc;
use std::time::Duration;

use herdfeed::{Fact, LeaseLoss, LeaseResult, Measure, Severity, SharedOperation, Stage};

use super::fly::Pilot;
use super::share::{Look, Next};
use super::trip::Trip;
use crate::clock::{self, nanos};
use crate::events;
use crate::flight::Serves;
use crate::key::Key;
use crate::shared::link::{Fault, Link, NO_DEADLINE};
use crate::shared::{Acquired, Holding, LeaseSight, SharedKey, Tail, Token};
use crate::store::Store;
use crate::sync::atomic::{AtomicBool, Ordering::Relaxed, Ordering::SeqCst};
use crate::sync::runtime::Handle;
use crate::sync::{Mutex, plain, task, time};
use crate::trace::TraceStep;

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> Pilot<K, V, E, S> {
    /// One try for the lease, with a permit in hand.
    pub(super) async fn take_lease(&self) -> Look<V> {
        let Some((trip, key)) = self.trip_and_key() else { return Look::Next(Next::LoadAlone) };
        let (link, Some((_, time))) = (&trip.tiers.link, &trip.tiers.leasing) else {
            return Look::Next(Next::LoadAlone);
        };
        let Some(lease) = &link.lease else { return Look::Next(Next::LoadAlone) };
        self.flight.set_stage(Stage::Shared);
        let token = Token::random();
        let mut attempt = Attempt { trip, key, token, time: *time, open: true, tail: Some(trip.tiers.tail()) };
        let step = self.flight.trace.step(TraceStep::Lease);
        let acquired =
            link.send(SharedOperation::Acquire, self.flight.deadline, || lease.acquire(key, &token, *time)).await;
        step.ends();
        attempt.open = false;
        match acquired {
            Ok(Acquired::Yes { fence, under }) => {
                self.count_lease(LeaseResult::Acquired);
                let is_newer = {
                    let state = trip.state.lock();
                    state.sight != LeaseSight::Unknown && under > state.seen
                };
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
        let keeper = task::spawn(Arc::clone(&held).keep_alive(most, teller));
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

    pub(super) fn leases(&self) -> Leases {
        let Some(trip) = &self.trip else { return Leases::No };
        if trip.tiers.leasing.is_none() || !self.flight.policy.has(Measure::SingleFlight) {
            return Leases::No;
        }
        if self.call.has_parent() { Leases::Nested } else { Leases::Yes }
    }

    pub(super) fn count_lease(&self, result: LeaseResult) {
        if let Some(trip) = &self.trip {
            trip.tiers.link.account.acquisitions.add(result);
        }
    }
}

/// What a flight has to do with leases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leases {
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
    /// X1: a shutdown waits from the asking on, since what was taken is known to nobody else.
    tail: Option<Tail>,
}

impl<V: Send + Sync + 'static> Drop for Attempt<'_, V> {
    fn drop(&mut self) {
        let runtime = if self.open { Handle::try_current().ok() } else { None };
        if let Some(runtime) = runtime {
            let (tail, link) = (self.tail.take(), Arc::clone(&self.trip.tiers.link));
            let release = release(link, self.key.clone(), self.token);
            runtime.spawn(async move {
                release.await;
                drop(tail);
            });
        }
    }
}

/// A lease that is held. Let go when it is dropped.
pub(super) struct Held {
    link: Arc<Link>,
    key: SharedKey,
    token: Token,
    time: Duration,
    /// The token by which its load may be stored.
    pub(super) fence: u64,
    state: Mutex<State>,
    /// Z3: it is not this process's any more, as far as is known.
    lost: AtomicBool,
    /// T4: an operation of its flight has failed; no other is sent.
    faulty: AtomicBool,
    /// Where to send the release from, should nothing better be at hand.
    runtime: Handle,
}

enum State {
    /// With what a shutdown waits by.
    Held(Tail),
    /// Its load has brought something that is written first: who writes it gives it back.
    Kept(Tail),
    GivenBack,
}

/// What a keeper tells of a loss.
struct Teller {
    subject: String,
    key: String,
}

impl Held {
    pub(super) fn new(
        link: &Arc<Link>,
        (key, token): (&SharedKey, Token),
        (time, fence): (Duration, u64),
        tail: Tail,
        runtime: Handle,
    ) -> Arc<Self> {
        link.account.held.fetch_add(1, plain::atomic::Ordering::Relaxed);
        Arc::new(Self {
            link: Arc::clone(link),
            key: key.clone(),
            token,
            time,
            fence,
            state: Mutex::new(State::Held(tail)),
            lost: AtomicBool::new(false),
            faulty: AtomicBool::new(false),
            runtime,
        })
    }

    /// The load has brought something: the lease stays until it is written.
    pub(super) fn keep(&self) {
        let mut state = self.state.lock();
        if let State::Held(_) = &*state {
            if let State::Held(tail) = std::mem::replace(&mut *state, State::GivenBack) {
                *state = State::Kept(tail);
            }
        }
    }

    /// Whether it was lost, as far as is known.
    pub(super) fn is_lost(&self) -> bool {
        self.lost.load(Relaxed)
    }

    /// T4: nothing more is sent while the flight lasts. The lease is given back after it all the same: others would
    /// follow a value that never comes.
    pub(super) fn has_failed(&self) {
        self.faulty.store(true, Relaxed);
    }

    pub(super) fn is_faulty(&self) -> bool {
        self.faulty.load(Relaxed)
    }

    /// The flight has ended: gives the lease back in the background, unless something is to be written first.
    pub(super) fn let_go(&self) {
        if let Some(tail) = self.take(Take::Held) {
            self.release_behind(tail);
        }
    }

    fn release_behind(&self, tail: Tail) {
        let release = release(Arc::clone(&self.link), self.key.clone(), self.token);
        let runtime = Handle::try_current().unwrap_or_else(|_| self.runtime.clone());
        runtime.spawn(async move {
            release.await;
            drop(tail);
        });
    }

    /// Gives it back, after what it was kept for.
    pub(super) async fn give_back(&self) {
        let Some(tail) = self.take(Take::Any) else { return };
        release(Arc::clone(&self.link), self.key.clone(), self.token).await;
        drop(tail);
    }

    fn take(&self, which: Take) -> Option<Tail> {
        let mut state = self.state.lock();
        if let (State::Kept(_), Take::Held) = (&*state, which) {
            return None;
        }
        match std::mem::replace(&mut *state, State::GivenBack) {
            State::Held(tail) | State::Kept(tail) => {
                self.link.account.held.fetch_sub(1, plain::atomic::Ordering::Relaxed);
                Some(tail)
            }
            State::GivenBack => None,
        }
    }

    /// Renews it whenever a third of its time has passed, `most` times. Runs until the flight ends.
    async fn keep_alive(self: Arc<Self>, most: u32, teller: Teller) {
        let third = self.time / 3;
        for _ in 0..most {
            time::sleep(third).await;
            match self.renew().await {
                Ok(Holding::Yes) => _ = self.link.account.renewals.fetch_add(1, plain::atomic::Ordering::Relaxed),
                Ok(Holding::Lost) => return self.lose(LeaseLoss::Expired, teller),
                // Whether it is still held will be seen at the write, if the tier is back by then; nothing is sent until
                // then.
                Err(_) => return self.has_failed(),
            }
        }
        // The last renewal lasts for its whole time.
        time::sleep(self.time).await;
        self.lose(LeaseLoss::RenewLimit, teller);
    }

    async fn renew(&self) -> Result<Holding, Fault> {
        let Some(lease) = &self.link.lease else { return Ok(Holding::Lost) };
        let renewal = || lease.renew(&self.key, &self.token, self.time);
        self.link.send(SharedOperation::Renew, NO_DEADLINE, renewal).await
    }

    fn lose(&self, loss: LeaseLoss, teller: Teller) {
        if self.lost.swap(true, SeqCst) {
            return;
        }
        self.link.account.losses.add(loss);
        let fact = Fact::LeaseLost { key: teller.key, loss };
        events::tell(&teller.subject, Severity::Warn, clock::exact(), fact);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Take {
    /// Only if nothing is to be written first.
    Held,
    Any,
}

impl Drop for Held {
    fn drop(&mut self) {
        // Never let go: its task ended with its runtime, or what it was kept for was never written.
        if let Some(tail) = self.take(Take::Any) {
            self.release_behind(tail);
        }
    }
}

/// Gives a lease back. One that is over by itself needs none of it, so that a failure here costs nothing but time.
pub(super) async fn release(link: Arc<Link>, key: SharedKey, token: Token) {
    if let Some(lease) = &link.lease {
        let operation = || lease.release(&key, &token);
        let _ = link.send(SharedOperation::Release, NO_DEADLINE, operation).await;
    }
}
