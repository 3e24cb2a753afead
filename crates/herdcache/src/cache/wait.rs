//! A caller's wait for a flight, and the limits of that wait.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use herdfeed::FlightRole;

use crate::clock::{self, Moment};
use crate::core::Core;
use crate::core::instead::Older;
use crate::entry::Stored;
use crate::flight::{Flight, Slot};
use crate::key::Key;
use crate::request::Request;
use crate::runtime;
use crate::sync::time::{self, Sleep};
use crate::tags::Epoch;
use crate::trace::{Left, Waiting};

/// One caller among the waiters of a flight. Dropped, it gives up its place.
pub(super) struct Wait<'a, K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static> {
    core: &'a Arc<Core<K, V, E>>,
    /// `None` once left.
    seat: Option<Seat<'a, K, V, E>>,
    slot: Slot,
    role: FlightRole,
    waker: Known,
    /// How many invalidations of tags there had been when it joined.
    epoch: Epoch,
    /// Absent for most waiters.
    rare: Option<Box<Rare>>,
}

/// What few waiters have. One pointer for all of it, since a waiting task is as large as its future.
struct Rare {
    /// Absent where the flight's own limits suffice.
    timers: Option<Timers>,
    trace: Waiting,
}

/// Which of the caller's wakers the flight knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    /// The one of this very poll.
    Newest,
    /// One of an earlier poll, or none.
    Older,
}

/// What a waiter holds on to until it leaves.
pub(super) type Seat<'a, K, V, E> = (Request<'a>, Arc<Flight<K, V, E>>);

/// How long a caller waits at most.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// F5: then an older permitted value is answered.
    pub(super) soft: Option<Duration>,
    /// The caller's whole limit, and what is left of it: then it gives up.
    pub(super) give_up: Option<(Duration, Duration)>,
}

/// Limits of the caller's own, running.
struct Timers {
    /// F5: then an older permitted value is answered.
    soft: Option<Pin<Box<Sleep>>>,
    /// Then the caller gives up.
    limit: Option<(Duration, Pin<Box<Sleep>>)>,
    /// Whether there are any where this caller waits.
    clock: Clock,
}

/// What a caller's limits are kept by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clock {
    Runtime,
    Missing,
}

/// How a wait ended.
pub(super) enum Ended<V: Send + Sync + 'static> {
    /// The flight has landed.
    Landed,
    /// F5: the soft timeout passed, and this older value may be answered.
    Soft(Older<V>),
    /// The caller's own limit passed.
    Limit(Duration),
    /// The caller has a limit and nothing here can keep it.
    NoTimers,
}

impl<'a, K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static> Wait<'a, K, V, E> {
    #[expect(clippy::inline_always, reason = "as a call it moves all that it is made of: 50 instructions of each miss")]
    #[inline(always)]
    pub(super) fn new(
        core: &'a Arc<Core<K, V, E>>,
        seat: Seat<'a, K, V, E>,
        slot: Slot,
        role: FlightRole,
        limits: Limits,
    ) -> Self {
        let soft = limits.soft.filter(|_| seat.1.previous_entry().is_some());
        // A waiter has just left the waker of this very poll; the leader has left none yet.
        let waker = match role {
            FlightRole::Leader => Known::Older,
            FlightRole::Waiter => Known::Newest,
        };
        let (epoch, trace) = (core.epoch(), seat.1.trace.joined(role));
        let limits = Limits { soft, ..limits };
        let rare = Rare::of(limits, trace);
        Self { core, seat: Some(seat), slot, role, waker, epoch, rare }
    }

    pub(super) fn role(&self) -> FlightRole {
        self.role
    }

    /// Whether a poll may find it over, seen from outside: cheap, and takes no lock.
    pub(super) fn may_be_over(&self) -> bool {
        let landed = self.seat.as_ref().is_none_or(|(_, flight)| flight.landing().is_some());
        landed || self.rare.as_ref().is_some_and(|rare| rare.timers.is_some())
    }

    pub(super) fn epoch(&self) -> Epoch {
        match self.role {
            // The load began after its leader came.
            FlightRole::Leader => Epoch::default(),
            FlightRole::Waiter => self.epoch,
        }
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Ended<V>> {
        let epoch = self.epoch();
        let Some((_, flight)) = &self.seat else {
            return Poll::Pending;
        };
        let landing = match std::mem::replace(&mut self.waker, Known::Older) {
            Known::Newest => flight.landing(),
            Known::Older => flight.poll(self.slot, cx.waker()),
        };
        if landing.is_some() {
            return Poll::Ready(Ended::Landed);
        }
        if let Some(timers) = self.rare.as_mut().and_then(|rare| rare.timers.as_mut()) {
            let older = || match self.core.older_for(flight, epoch)? {
                Stored::Value(entry) => self.core.usable(entry),
                Stored::Absent(_) => None,
            };
            if let Some(ended) = timers.poll(cx, older) {
                if let Ended::Soft(_) = ended {
                    flight.want();
                }
                return Poll::Ready(ended);
            }
        }
        // S7: a load that is polled in place, or on a runtime that nobody drives, has no watch that
        // works; whoever waits for it sets one.
        if let Some((runtime, here)) = runtime::with_timers() {
            if flight.wants_watch(here) {
                self.core.watch(flight, &runtime);
            }
        }
        Poll::Pending
    }

    /// Gives up the place; the request has yet to be ended.
    pub(super) fn leave(mut self, now: Moment) -> Option<Seat<'a, K, V, E>> {
        self.stand_up(now)
    }

    fn stand_up(&mut self, now: Moment) -> Option<Seat<'a, K, V, E>> {
        let mut seat = self.seat.take()?;
        // A flight that has landed has taken every waker out.
        let left = if seat.1.landing().is_some() { Left::Landed } else { Left::Early };
        if left == Left::Early {
            seat.1.leave(self.slot);
            self.core.left(&seat.1);
        }
        seat.0.wait_ends(now);
        let trace = self.rare.take().map(|rare| rare.trace).unwrap_or_default();
        trace.ends(&seat.1.trace, (self.role, left), || seat.0.waited());
        Some(seat)
    }
}

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static> Drop for Wait<'_, K, V, E> {
    fn drop(&mut self) {
        // The request in the seat counts itself as cancelled.
        if self.seat.is_some() {
            self.stand_up(clock::exact());
        }
    }
}

impl Limits {
    #[inline]
    fn are_any(&self) -> bool {
        self.soft.is_some() || self.give_up.is_some()
    }
}

impl Rare {
    #[inline]
    fn of(limits: Limits, trace: Waiting) -> Option<Box<Self>> {
        if !limits.are_any() && !trace.is_told() {
            return None;
        }
        Some(Box::new(Self { timers: limits.are_any().then(|| Timers::new(limits)), trace }))
    }
}

impl Timers {
    fn new(limits: Limits) -> Self {
        let Limits { soft, give_up } = limits;
        if runtime::with_timers().is_none() {
            return Self { soft: None, limit: None, clock: Clock::Missing };
        }
        let sleep = |duration| Box::pin(time::sleep(duration));
        let limit = give_up.map(|(limit, left)| (limit, sleep(left)));
        Self { soft: soft.map(sleep), limit, clock: Clock::Runtime }
    }

    fn poll<V: Send + Sync + 'static>(
        &mut self,
        cx: &mut Context<'_>,
        older: impl FnOnce() -> Option<Older<V>>,
    ) -> Option<Ended<V>> {
        if self.clock == Clock::Missing {
            return Some(Ended::NoTimers);
        }
        if self.soft.as_mut().is_some_and(|soft| soft.as_mut().poll(cx).is_ready()) {
            self.soft = None;
            if let Some(older) = older() {
                return Some(Ended::Soft(older));
            }
        }
        let (limit, sleep) = self.limit.as_mut()?;
        sleep.as_mut().poll(cx).is_ready().then(|| Ended::Limit(*limit))
    }
}
