//! From a miss to a place in a flight: joined, opened, or refused.
//!
//! The key's shard lock is held for each look; the key is cloned and the flight
//! made between two looks, so that a waiter allocates nothing and nothing of the
//! application but `Eq` runs under the lock.

use std::borrow::Borrow;
use std::hash::Hash;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use herdfeed::{FlightRole, FlightTrigger, Measure, MissCause, RejectReason, Stage};

use super::Core;
use crate::clock::{self, Moment, nanos};
use crate::entry::Stored;
use crate::error::Failure;
use crate::flight::table::{Seat, Shard};
use crate::flight::{Flight, Joined, Opening, Slot};
use crate::graveyard::Vigil;
use crate::group::Group;
use crate::herd::{About, Crowd};
use crate::key::Key;
use crate::measures::Policy;
use crate::origin::call;
use crate::runtime;
use crate::store::Store;
use crate::sync::atomic::Ordering::Relaxed;

/// What a miss leads to.
pub(crate) enum Turn<K, V: Send + Sync + 'static, E> {
    /// S3: a flight landed just before; this is what it stored, fresh at this moment.
    Recheck { stored: Stored<V>, at: Moment },
    /// A place among the waiters of another caller's flight.
    Wait { flight: Arc<Flight<K, V, E>>, slot: Slot, began: Moment, waiters: u64 },
    /// The flight is this caller's to fly; it has a place among the waiters too.
    Lead(Arc<Flight<K, V, E>>, Slot),
    /// E1: no load before this has passed.
    Cooling { last: Failure<E>, retry_in: Duration },
    /// S6: refused.
    Rejected(RejectReason),
    /// S5: this very load asks for its own key.
    Reentrant,
    /// The cache was shut down.
    Closed,
}

/// What a caller asks for.
pub(crate) struct Want<'a, Q: ?Sized> {
    pub(crate) key: &'a Q,
    pub(crate) hash: u64,
    /// What a flight that this caller opens is started by.
    pub(crate) trigger: FlightTrigger,
    pub(crate) policy: Policy,
    pub(crate) cause: MissCause,
}

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> Core<K, V, E, S> {
    /// Finds this miss its flight.
    pub(crate) fn join<Q>(&self, want: &Want<'_, Q>, waker: &Waker) -> Turn<K, V, E>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let now = clock::exact();
        // A waker's clone and drop are foreign code: both happen outside the lock.
        let mut spare = Some(waker.clone());
        let turn = self.look(&self.table.lock(want.hash), want, &mut spare, now);
        if let Some(turn) = turn {
            self.crowd(&turn);
            return turn;
        }
        let key = want.key.to_owned();
        self.open(want, key, spare, now)
    }

    /// One look under the lock: everything but opening a flight.
    ///
    /// Sharing flights and sharing their failures (cooling) are one measure: without it every miss loads.
    fn look<Q>(
        &self,
        shard: &Shard<K, V, E>,
        want: &Want<'_, Q>,
        waker: &mut Option<Waker>,
        now: Moment,
    ) -> Option<Turn<K, V, E>>
    where
        K: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        if self.is_closed() {
            return Some(Turn::Closed);
        }
        if call::is_any() && shard.any_call(want.hash, want.key, call::is_within) {
            return Some(Turn::Reentrant);
        }
        if !want.policy.has(Measure::SingleFlight) {
            return None;
        }
        if let Some(flight) = shard.current(want.hash, want.key) {
            return self.board(flight, waker.take()?, now);
        }
        let cold = shard.cooling.check(want.hash, want.key, now)?;
        Some(Turn::Cooling { last: cold.last, retry_in: Duration::from_nanos(cold.until - now) })
    }

    /// Joins a flight that another caller opened.
    fn board(&self, flight: &Arc<Flight<K, V, E>>, waker: Waker, now: Moment) -> Option<Turn<K, V, E>> {
        // A leader has its own place.
        let leader = usize::from(flight.has_leader());
        match flight.join(waker, self.settings.max_waiters.saturating_add(leader)) {
            Joined::Waiting { slot, waiters } => {
                self.account.participants.add(FlightRole::Waiter);
                self.account.wait_begins(now, waiters);
                Some(Turn::Wait { flight: Arc::clone(flight), slot, began: now, waiters })
            }
            Joined::Full => Some(Turn::Rejected(RejectReason::WaitersFull)),
            // Over, and about to be set aside: this caller opens the next.
            Joined::Landed => None,
        }
    }

    /// Opens a flight, unless somebody else has meanwhile.
    fn open<Q>(&self, want: &Want<'_, Q>, key: K, mut spare: Option<Waker>, now: Moment) -> Turn<K, V, E>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let group = self.group(&key, want.policy);
        let place = match self.reserve(group) {
            Ok(place) => place,
            Err(reason) => return Turn::Rejected(reason),
        };
        let origin = (want.trigger, Some(want.cause));
        let flight = self.flight(key, (want.hash, group), origin, want.policy, now);
        // The leader waits like everyone else. Only this thread knows the flight, so there is room. The leader's own
        // waker takes the place of this one when it finds the load pending.
        let Joined::Waiting { slot, .. } = flight.join(Waker::noop().clone(), usize::MAX) else {
            return Turn::Closed;
        };
        let loads = match self.register(want, &flight, &mut spare, now) {
            Ok(loads) => loads,
            Err(turn) => {
                self.trace.unopened(&flight.trace);
                self.crowd(&turn);
                return turn;
            }
        };
        place.taken();
        self.account.flight_starts.add(want.trigger);
        self.sample_start(&flight, now);
        if loads == 1 && matches!(want.cause, MissCause::Expired | MissCause::Invalidated) {
            self.account.keys_loading.fetch_add(1, Relaxed);
        }
        self.account.participants.add(FlightRole::Leader);
        self.account.wait_begins(now, 1);
        self.grown(&flight, Crowd { waiters: 1, loads: loads as u64 }, now);
        Turn::Lead(flight, slot)
    }

    /// A waiter more may make a herd, and lend its permit. Outside the table's lock.
    fn crowd(&self, turn: &Turn<K, V, E>) {
        if let Turn::Wait { flight, began, waiters, .. } = turn {
            // S5: a loader that waits for a load which waits for a permit would wait for itself.
            let may_queue = matches!(flight.stage(), Stage::Held | Stage::Queued | Stage::Shared | Stage::Following);
            if let (true, Some(patron)) = (may_queue, call::current()) {
                flight.take_patron(patron);
            }
            self.grown(flight, Crowd { waiters: *waiters, loads: 1 }, *began);
        }
    }

    fn grown(&self, flight: &Flight<K, V, E>, crowd: Crowd, now: Moment) {
        self.herds.grown(&self.about(flight, now, &|| self.names.show(&flight.key)), crowd);
        self.trace_crowd(flight, crowd, now);
    }

    /// What detection is told of a flight.
    pub(super) fn about<'a>(&'a self, flight: &Flight<K, V, E>, now: Moment, key: &'a dyn Fn() -> String) -> About<'a> {
        About {
            subject: &self.name,
            permits: self.gate.permits(),
            flight: flight.id,
            hash: flight.hash,
            trigger: flight.trigger,
            cause: flight.cause,
            now,
            key,
        }
    }

    /// Enters the flight into the table and gives how many loads of its key run; a better turn if there is one by now.
    fn register<Q>(
        &self,
        want: &Want<'_, Q>,
        flight: &Arc<Flight<K, V, E>>,
        waker: &mut Option<Waker>,
        now: Moment,
    ) -> Result<usize, Turn<K, V, E>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let _vigil = Vigil::open();
        let mut shard = self.table.lock(want.hash);
        if let Some(turn) = self.look(&shard, want, waker, now) {
            return Err(turn);
        }
        let stored = self.store.get(want.key);
        if !want.policy.has(Measure::SingleFlight) {
            if let Some(why) = Self::would_spare(&shard, want, stored.as_ref(), now) {
                flight.spare(why);
            }
            flight.set_previous(stored);
            shard.open(flight, Seat::Beside);
            return Ok(shard.loads(want.hash));
        }
        // S3: landings store under this lock, so one that this caller missed is seen here.
        if let Some(stored) = stored {
            // A key's clone, and the wait for the lock, may have taken longer than the value is fresh.
            let at = clock::exact();
            if stored.stamps().is_fresh(at) {
                return Err(Turn::Recheck { stored, at });
            }
            flight.set_previous(Some(stored));
        }
        if shard.must_hold(want.hash, want.key) {
            flight.set_stage(Stage::Held);
        }
        shard.open(flight, Seat::Current);
        Ok(1)
    }

    pub(super) fn flight(
        &self,
        key: K,
        (hash, group): (u64, Option<Group>),
        (trigger, cause): (FlightTrigger, Option<MissCause>),
        policy: Policy,
        now: Moment,
    ) -> Arc<Flight<K, V, E>> {
        let id = Self::next_flight();
        Arc::new(Flight::new(Opening {
            id,
            key,
            hash,
            trigger,
            cause,
            group,
            started: now,
            deadline: now.saturating_add(nanos(self.settings.flight_deadline)),
            policy,
            home: runtime::here().map_or(0, |(_, number)| number),
            epoch: self.leavings.tags.now(),
            trace: self.trace.choose((id, hash), now, |most| self.hot.hottest(most, now)),
        }))
    }
}
