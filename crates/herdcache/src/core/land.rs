//! Landing: a flight's one end is counted, told, and handed to those who wait.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use herdfeed::{FlightEnd, FlightTrigger, OriginResult, RefreshResult, RejectReason, Stage};

use super::Core;
use super::landed::LandedFlight;
use crate::clock;
use crate::error::Failure;
use crate::flight::{Flight, Landing};
use crate::graveyard::Vigil;
use crate::herd::Landed;
use crate::key::Key;
use crate::runtime;
use crate::store::Store;
use crate::sync::atomic::Ordering::Relaxed;
use crate::sync::runtime::Handle;
use crate::sync::time;
use crate::trace;

/// The right to end a flight, and the duty: dropped unused, it lands the flight as panicked, or as orphaned if nothing
/// panics.
///
/// S2: whatever the application's code does between the end of a load and its
/// landing, nobody waits for ever.
pub(super) struct Claim<'a, K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> {
    core: &'a Core<K, V, E, S>,
    flight: &'a Arc<Flight<K, V, E>>,
}

/// A flight's end that has yet to be told.
pub(super) struct Ending<'a, K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> {
    claim: Claim<'a, K, V, E, S>,
    landing: Landing<V, E>,
    end: FlightEnd,
}

impl<'a, K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> Claim<'a, K, V, E, S> {
    pub(super) fn with(self, landing: Landing<V, E>, end: FlightEnd) -> Ending<'a, K, V, E, S> {
        Ending { claim: self, landing, end }
    }
}

impl<'a, K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> Ending<'a, K, V, E, S> {
    /// The end is another one after all.
    pub(super) fn withdraw(self) -> Claim<'a, K, V, E, S> {
        self.claim
    }

    /// Counts and tells the end, then wakes everyone.
    pub(super) fn deliver(self) {
        let Self { claim, landing, end } = self;
        let (core, flight) = (claim.core, claim.flight);
        std::mem::forget(claim);
        core.deliver(flight, landing, end);
    }
}

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> Drop for Claim<'_, K, V, E, S> {
    fn drop(&mut self) {
        // S8: its task went with its runtime while the shared write was waited for.
        if !std::thread::panicking() {
            return self.core.deliver(self.flight, Landing::Orphaned, FlightEnd::Abandoned);
        }
        let message = "the application's code panicked while a load was written back".into();
        self.core.deliver(self.flight, Landing::Failed(Failure::Panicked { message }), FlightEnd::Panicked);
    }
}

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> Core<K, V, E, S> {
    /// Claims the one end of a flight; `None` if somebody else has.
    pub(super) fn claim<'a>(&'a self, flight: &'a Arc<Flight<K, V, E>>) -> Option<Claim<'a, K, V, E, S>> {
        flight.claim_end().then(|| Claim { core: self, flight })
    }

    /// E1: the flight failed; its key cools. `None` if the flight had ended before.
    pub(super) fn fail<'a>(
        &'a self,
        flight: &'a Arc<Flight<K, V, E>>,
        failure: Failure<E>,
        end: FlightEnd,
    ) -> Option<Ending<'a, K, V, E, S>> {
        Some(self.fail_claimed(self.claim(flight)?, failure, end))
    }

    /// The same for who has claimed the flight's end already.
    pub(super) fn fail_claimed<'a>(
        &'a self,
        claim: Claim<'a, K, V, E, S>,
        failure: Failure<E>,
        end: FlightEnd,
    ) -> Ending<'a, K, V, E, S> {
        let flight = claim.flight;
        let key = flight.key.clone();
        let now = clock::exact();
        let _vigil = Vigil::open();
        let mut shard = self.table.lock(flight.hash);
        // A superseded load says nothing about the key as it is now, and one that would have been spared not how often
        // the key has failed.
        if flight.fate.doomed().is_none() && flight.spared().is_none() {
            let until = shard.cooling.failed(key, flight.hash, failure.clone(), now);
            if let Some(previous) = flight.previous() {
                previous.stamps().cool_until(until);
            }
        }
        // Callers from now on find the key cooling, not a flight that is over.
        shard.set_aside(flight);
        claim.with(Landing::Failed(failure), end)
    }

    /// S7: the flight's limit has passed. Its key is free from here on; its load may still run.
    pub(super) fn expire(&self, flight: &Arc<Flight<K, V, E>>) {
        let limit = flight.call_deadline.load(Relaxed);
        let (failure, end) = if limit > 0 && limit < flight.deadline {
            (Failure::OriginTimeout { limit: self.settings.origin_timeout }, FlightEnd::Failed)
        } else {
            (Failure::Deadline { limit: self.settings.flight_deadline }, FlightEnd::Deadline)
        };
        let Some(ending) = self.fail(flight, failure, end) else {
            return;
        };
        if let Some(call) = flight.call() {
            call.ended(OriginResult::Timeout);
            call.abandon();
        }
        ending.deliver();
    }

    /// S7: sees to it, from outside the load's task, that the flight ends in time. For who has the duty.
    pub(crate) fn watch(self: &Arc<Self>, flight: &Arc<Flight<K, V, E>>, runtime: &Handle) {
        let (core, watched) = (Arc::clone(self), Arc::clone(flight));
        let task = runtime.spawn(async move {
            loop {
                let left = watched.limit().saturating_sub(clock::exact());
                if left == 0 {
                    break;
                }
                time::sleep(Duration::from_nanos(left)).await;
            }
            core.expire(&watched);
        });
        flight.adopt(task.abort_handle());
    }

    /// S7: the call has begun and is about to be polled in place. Who joined before that found nothing to watch over
    /// yet, and is not polled again; who comes from now on sees to it.
    pub(super) fn watch_for_the_early(self: &Arc<Self>, flight: &Arc<Flight<K, V, E>>) {
        let leader = u64::from(flight.has_leader());
        if flight.waiting() <= leader {
            return;
        }
        if let Some((runtime, _)) = runtime::with_timers() {
            if flight.claim_watch() {
                self.watch(flight, &runtime);
            }
        }
    }

    /// L2: lets a held flight begin if fewer than two older loads of its key run.
    ///
    /// Under the lock under which keys change: from here on a change supersedes it.
    pub(super) fn let_go(&self, flight: &Arc<Flight<K, V, E>>) -> bool {
        let shard = self.table.lock(flight.hash);
        let free = !shard.must_hold(flight.hash, &flight.key);
        if free {
            flight.set_stage(Stage::Queued);
            // L5: among them those of the tags of what it might fall back to.
            let tags = flight.previous().map_or(&[][..], |previous| previous.stamps().tags());
            if self.leavings.tags.invalidated(tags) > flight.fate.epoch() {
                flight.fate.outdate();
            }
            // Its load begins now, after every invalidation so far.
            flight.fate.begin_at(self.epoch());
        }
        free
    }

    /// S2: the load has really ended; its registration goes, and the key's next load may start.
    pub(super) fn retire(&self, flight: &Arc<Flight<K, V, E>>) {
        let removed = self.table.lock(flight.hash).remove(flight);
        if removed.gone.is_some() {
            self.table.release(flight.group);
        }
        if let Some(held) = &removed.held {
            held.may_start.notify_one();
        }
        self.tell_quiet();
    }

    /// Counts and tells an end, then wakes everyone.
    fn deliver(&self, flight: &Arc<Flight<K, V, E>>, landing: Landing<V, E>, end: FlightEnd) {
        // S2: what is told below meets the application's code (clones and drops of keys); if that panics,
        // the landing happens as the stack unwinds.
        let _lander = Lander { core: self, flight, landing: Some(landing), end };
        let now = clock::exact();
        let took_ns = now.saturating_sub(flight.started);
        let waiters = flight.waiting();
        if let Some(result) = refresh_result(flight.trigger, end) {
            self.account.refreshes.add(result);
        }
        if let Some(previous) = flight.previous() {
            previous.stamps().release_refresh();
        }
        // The leader is no coalesced request.
        let joined = waiters.saturating_sub(u64::from(flight.has_leader()));
        self.account.flight_lands(end, took_ns, joined);
        self.hot.loaded(flight.hash, joined, if origin_answered(end) { took_ns } else { 0 });
        self.note_landed(flight, took_ns, waiters, end);
        self.sample_end(flight, end, waiters, now);
        if is_renewed(end) {
            self.herds.refreshed(&self.name, flight.hash, now);
        }
        if self.herds.is_flying(flight.hash) {
            let landed =
                Landed { started: flight.started, deadline: flight.deadline, most_waiting: flight.most_waiting(), end };
            let left = self.loads_of(flight);
            self.herds.landed(&self.about(flight, now, &|| self.names.show(&flight.key)), &landed, left);
        }
        self.look_around(now);
    }

    /// Remembers a flight that was slow or waited for, for display.
    fn note_landed(&self, flight: &Flight<K, V, E>, took_ns: u64, waiters: u64, end: FlightEnd) {
        if !LandedFlight::<K>::is_notable(waiters, took_ns) {
            return;
        }
        // A key whose clone panics is not shown; its flight lands all the same.
        let Ok(key) = catch_unwind(AssertUnwindSafe(|| flight.key.clone())) else { return };
        let (id, trigger, cause, started) = (flight.id, flight.trigger, flight.cause, flight.started);
        self.landed.push(LandedFlight { id, key, trigger, cause, started, took_ns, waiters, end });
    }

    /// Loads of this flight's key that go on. By hash, so that none of the application's code runs here.
    fn loads_of(&self, flight: &Flight<K, V, E>) -> u64 {
        self.table.lock(flight.hash).loads(flight.hash) as u64
    }

    /// Counts a refusal under its reason.
    pub(crate) fn count_rejection(&self, reason: RejectReason) {
        self.account.rejections.add(reason);
        self.look_around(clock::exact());
        trace::say();
    }
}

/// Counts its flight's end when dropped, and lands it.
///
/// X1: the count is the last that is written of an end, so that a shutdown which sees it leaves nothing untold.
struct Lander<'a, K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> {
    core: &'a Core<K, V, E, S>,
    flight: &'a Flight<K, V, E>,
    landing: Option<Landing<V, E>>,
    end: FlightEnd,
}

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> Drop for Lander<'_, K, V, E, S> {
    fn drop(&mut self) {
        // Before anybody is woken: waiters will want to know the span of a herd.
        let ended = self.core.trace_ends(self.flight, self.landing.as_ref(), self.end);
        self.core.account.flights.add(self.end);
        if let Some(landing) = self.landing.take() {
            self.flight.land(landing);
        }
        self.flight.trace.landed(ended.as_ref());
        trace::say();
        self.core.tell_quiet();
    }
}

/// What a background refresh came to, if the flight was one.
fn refresh_result(trigger: FlightTrigger, end: FlightEnd) -> Option<RefreshResult> {
    match trigger {
        FlightTrigger::Miss | FlightTrigger::Batch | FlightTrigger::Warmup => return None,
        FlightTrigger::Stale | FlightTrigger::Early | FlightTrigger::Forced => {}
    }
    Some(match end {
        FlightEnd::Loaded | FlightEnd::Absent | FlightEnd::SharedHit | FlightEnd::Followed => RefreshResult::Stored,
        FlightEnd::NotModified => RefreshResult::NotModified,
        FlightEnd::Discarded => RefreshResult::Discarded,
        FlightEnd::Deadline => RefreshResult::Deadline,
        FlightEnd::Rejected => RefreshResult::SkippedNoPermit,
        FlightEnd::Failed | FlightEnd::Panicked | FlightEnd::Abandoned | FlightEnd::Closed => RefreshResult::Failed,
    })
}

/// Whether the load got an answer from the origin.
fn origin_answered(end: FlightEnd) -> bool {
    match end {
        FlightEnd::Loaded | FlightEnd::NotModified | FlightEnd::Absent | FlightEnd::Discarded => true,
        FlightEnd::SharedHit
        | FlightEnd::Followed
        | FlightEnd::Failed
        | FlightEnd::Deadline
        | FlightEnd::Panicked
        | FlightEnd::Rejected
        | FlightEnd::Abandoned
        | FlightEnd::Closed => false,
    }
}

/// Whether the key has a value with new bounds.
fn is_renewed(end: FlightEnd) -> bool {
    match end {
        FlightEnd::Loaded | FlightEnd::NotModified | FlightEnd::SharedHit | FlightEnd::Followed => true,
        FlightEnd::Absent
        | FlightEnd::Discarded
        | FlightEnd::Failed
        | FlightEnd::Deadline
        | FlightEnd::Panicked
        | FlightEnd::Rejected
        | FlightEnd::Abandoned
        | FlightEnd::Closed => false,
    }
}
