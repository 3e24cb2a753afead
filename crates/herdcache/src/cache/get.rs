//! The corridor of a request: looked up, judged, joined to a flight, answered.
//!
//! A future written by hand: a hit is answered at the first poll, allocates
//! nothing and takes no lock of ours; a waiter is about a hundred bytes. A batch is many
//! of these (`many.rs`), so that there is one judge.

pub(super) mod part;

use std::borrow::Borrow;
use std::future::Future;
use std::hash::Hash;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use herdfeed::{FlightRole, FlightTrigger, Measure, Outcome, StaleReason};

use super::loader::Loader;
use super::wait::{Ended, Limits, Wait};
use crate::account::{self, Quick, Sample, Tick};
use crate::answer::Answer;
use crate::clock::{self, Moment};
use crate::core::Core;
use crate::core::instead::{Asked, Lacked, Older};
use crate::core::join::{Turn, Want};
use crate::entry::{Entry, Stored};
use crate::error::{Failure, GetError, Got};
use crate::flight::{Flight, Landing};
use crate::freshness::{Freshness, refresh_early};
use crate::hotkeys::Seen;
use crate::key::Key;
use crate::measures::Policy;
use crate::request::Request;
use crate::runtime;
use crate::tags::Epoch;

/// One read.
pub(super) struct Get<'a, K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, Q: ?Sized, L> {
    core: &'a Arc<Core<K, V, E>>,
    key: &'a Q,
    limit: Option<Duration>,
    load: Option<L>,
    /// O1: the measures that are on, read once, when the request leaves the hit path.
    policy: Policy,
    lacked: Lacked,
    stage: Stage<'a, K, V, E>,
}

enum Stage<'a, K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static> {
    Start,
    Waiting(Wait<'a, K, V, E>, Attempt),
    Done,
}

/// S8: a flight whose runtime ended may be taken over once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Attempt {
    First,
    Second,
}

/// When a request was looked up, and what is done with it beyond counting it.
type At = (Moment, Tick);

/// How a caller stands to the flight that it waited for.
#[derive(Clone, Copy, Debug)]
struct Standing {
    role: FlightRole,
    attempt: Attempt,
    epoch: Epoch,
}

impl<'a, K, V, E, Q, L> Get<'a, K, V, E, Q, L>
where
    K: Key + Borrow<Q>,
    V: Send + Sync + 'static,
    E: Send + Sync + 'static,
    Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    L: Loader<K, V, E>,
{
    pub(super) fn new(core: &'a Arc<Core<K, V, E>>, limit: Option<Duration>, key: &'a Q, load: L) -> Self {
        Self { core, key, limit, load: Some(load), policy: Policy::FULL, lacked: Lacked::Nothing, stage: Stage::Start }
    }

    /// Looks up and judges: everything that needs no flight ends here.
    #[inline]
    fn start(&mut self, cx: &mut Context<'_>) -> Poll<Got<V, E>> {
        let (now, tick) = (clock::coarse(), account::tick());
        match self.core.store.get(self.key) {
            Some(Stored::Value(entry)) => {
                if entry.stamps.is_fresh(now) {
                    return self.fresh(entry, now, tick);
                }
                self.late(entry, (now, tick), cx)
            }
            Some(absent @ Stored::Absent(_)) => {
                if !absent.stamps().is_fresh(now) {
                    return self.missing(Some(&absent), (now, tick), cx);
                }
                self.core.sample(tick, self.key, (Seen::Fresh, Some(Outcome::Negative)), now);
                self.core.account.quick(tick.shard, Quick::Negative);
                Poll::Ready(Ok(None))
            }
            None => self.missing(None, (now, tick), cx),
        }
    }

    #[inline]
    fn fresh(&mut self, entry: Arc<Entry<V>>, now: Moment, tick: Tick) -> Poll<Got<V, E>> {
        self.core.sample(tick, self.key, (Seen::Fresh, Some(Outcome::Hit)), now);
        self.core.account.quick(tick.shard, Quick::Hit);
        // F4: the coarse comparison keeps a cache without early refresh free of it.
        if self.core.settings.early_refresh > 0.0 {
            self.refresh_ahead(&entry);
        }
        Poll::Ready(Ok(Some(Answer::new(entry, Outcome::Hit, now))))
    }

    /// F4: answers, and perhaps starts a refresh before expiry.
    #[cold]
    fn refresh_ahead(&mut self, entry: &Arc<Entry<V>>) {
        let policy = self.core.measures.read();
        let stamps = &entry.stamps;
        // 1 − [0, 1) lies in (0, 1].
        let unit = 1.0 - fastrand::f64();
        let (soft, beta) = (stamps.soft(), self.core.settings.early_refresh);
        if policy.has(Measure::Early) && refresh_early(clock::exact(), soft, stamps.load_ns, beta, unit) {
            if let Some(load) = self.load.take() {
                let (stored, start) = (Stored::Value(Arc::clone(entry)), |cx| load.start(cx));
                let _ = self.core.refresh(self.key, Some(&stored), FlightTrigger::Early, policy, start);
            }
        }
    }

    /// Past freshness: only here it is asked which bounds are in force.
    #[cold]
    fn late(&mut self, entry: Arc<Entry<V>>, (now, tick): At, cx: &mut Context<'_>) -> Poll<Got<V, E>> {
        let policy = self.core.measures.read();
        let bounds = self.core.in_force.bounds(&entry.stamps);
        if !policy.has(Measure::Jitter) {
            self.core.expired_together(&entry.stamps, now);
        }
        if bounds.judge(now) <= Freshness::Stale {
            if policy.has(Measure::Stale) {
                return self.stale((entry, bounds, now), policy, tick);
            }
            self.core.account.savings.stale();
            self.lacked = Lacked::Stale;
        }
        self.missing_under(policy, Some(&Stored::Value(entry)), (now, tick), cx)
    }

    /// F3: a stale value is answered at once; its refresh waits for nothing of this caller.
    fn stale(&mut self, (entry, bounds, now): Older<V>, policy: Policy, tick: Tick) -> Poll<Got<V, E>> {
        self.core.sample(tick, self.key, (Seen::Stale, None), now);
        let stored = Stored::Value(Arc::clone(&entry));
        let reason = match self.load.take() {
            Some(load) => {
                let start = |cx| load.start(cx);
                self.core.refresh(self.key, Some(&stored), FlightTrigger::Stale, policy, start).reason()
            }
            None => StaleReason::Revalidating,
        };
        // L1: both at once, after what may panic: the application's code names the key's group and clones the key.
        self.core.account.quick(tick.shard, Quick::Stale);
        if let Sample::Take(began @ 1..) = tick.sample {
            self.core.account.timed(Outcome::Stale, began, clock::exact());
        }
        self.core.count_stale(self.key, &entry.stamps, bounds, reason, now);
        Poll::Ready(Ok(Some(Answer::new(entry, Outcome::Stale, now))))
    }

    /// Nothing can be answered yet: a flight it is.
    #[cold]
    #[inline(never)]
    fn missing(&mut self, found: Option<&Stored<V>>, at: At, cx: &mut Context<'_>) -> Poll<Got<V, E>> {
        self.missing_under(self.core.measures.read(), found, at, cx)
    }

    fn missing_under(
        &mut self,
        policy: Policy,
        found: Option<&Stored<V>>,
        (now, tick): At,
        cx: &mut Context<'_>,
    ) -> Poll<Got<V, E>> {
        self.policy = policy;
        self.core.sample(tick, self.key, (Seen::Missing, None), now);
        let request = Request::begin(&self.core.account);
        self.board(request, found, Attempt::First, cx)
    }

    fn board(
        &mut self,
        mut request: Request<'a>,
        found: Option<&Stored<V>>,
        attempt: Attempt,
        cx: &mut Context<'_>,
    ) -> Poll<Got<V, E>> {
        let core = self.core;
        let hash = core.hash(self.key);
        let policy = self.policy;
        let cause = core.cause(hash, found);
        let asked = Want { key: self.key, hash, trigger: L::TRIGGER, policy, cause };
        let turn = core.join(&asked, cx.waker());
        if let Turn::Recheck { stored, at } = turn {
            return Poll::Ready(Ok(Self::rechecked(request, stored, at)));
        }
        if attempt == Attempt::First {
            core.account.misses.add(cause);
        }
        match turn {
            Turn::Lead(flight, slot) => {
                let limits = self.limits(&mut request, flight.started);
                let wait = Wait::new(core, (request, Arc::clone(&flight)), slot, FlightRole::Leader, limits);
                L::lead(&mut self.load, core, &flight);
                self.wait(wait, attempt, cx)
            }
            Turn::Wait { flight, slot, began, .. } => {
                let limits = self.limits(&mut request, began);
                let wait = Wait::new(core, (request, flight), slot, FlightRole::Waiter, limits);
                self.wait(wait, attempt, cx)
            }
            Turn::Cooling { last, retry_in } => {
                let error = GetError::Cooling { last, retry_in };
                Poll::Ready(self.core.instead(request, &self.asked(), found, StaleReason::Cooling, error))
            }
            Turn::Rejected(reason) => {
                core.count_rejection(reason);
                let error = GetError::Rejected { reason, retry_in: core.gate.retry_in(reason) };
                Poll::Ready(self.core.instead(request, &self.asked(), found, StaleReason::Rejected, error))
            }
            Turn::Reentrant => Poll::Ready(core.refuse(request, self.key, GetError::Reentrant)),
            Turn::Closed => {
                Poll::Ready(self.core.instead(request, &self.asked(), found, StaleReason::Rejected, GetError::Closed))
            }
            Turn::Recheck { stored, at } => Poll::Ready(Ok(Self::rechecked(request, stored, at))),
        }
    }

    fn asked(&self) -> Asked<'a, Q> {
        Asked { key: self.key, policy: self.policy, lacked: self.lacked }
    }

    /// The request waits from `now` on, and this is what for at most. A second wait goes on where the first one ended.
    fn limits(&self, request: &mut Request<'_>, now: Moment) -> Limits {
        let since = request.wait_begins(now);
        let left = |limit: Duration| limit.saturating_sub(Duration::from_nanos(now.saturating_sub(since)));
        let soft = self.core.settings.soft_timeout.filter(|_| self.policy.has(Measure::Stale));
        Limits { soft: soft.map(left), give_up: self.limit.map(|limit| (limit, left(limit))) }
    }

    /// S3: another flight landed between this caller's look and its turn.
    fn rechecked(request: Request<'_>, stored: Stored<V>, at: Moment) -> Option<Answer<V>> {
        match stored {
            Stored::Value(entry) => {
                request.end(Outcome::Hit);
                Some(Answer::new(entry, Outcome::Hit, at))
            }
            Stored::Absent(_) => {
                request.end(Outcome::Negative);
                None
            }
        }
    }

    fn wait(&mut self, wait: Wait<'a, K, V, E>, attempt: Attempt, cx: &mut Context<'_>) -> Poll<Got<V, E>> {
        self.stage = Stage::Waiting(wait, attempt);
        self.poll_wait(cx)
    }

    fn poll_wait(&mut self, cx: &mut Context<'_>) -> Poll<Got<V, E>> {
        let Stage::Waiting(wait, attempt) = &mut self.stage else {
            return Poll::Pending;
        };
        let attempt = *attempt;
        let Poll::Ready(ended) = wait.poll(cx) else {
            return Poll::Pending;
        };
        let seen = Standing { role: wait.role(), attempt, epoch: wait.epoch() };
        let Stage::Waiting(wait, _) = std::mem::replace(&mut self.stage, Stage::Done) else {
            return Poll::Pending;
        };
        let now = clock::exact();
        let Some((request, flight)) = wait.leave(now) else {
            return Poll::Pending;
        };
        match ended {
            Ended::Landed => self.landed(request, &flight, seen, now, cx),
            Ended::Soft(older) => {
                Poll::Ready(Ok(Some(self.core.serve_older(request, self.key, older, StaleReason::SoftTimeout))))
            }
            Ended::Limit(limit) => Poll::Ready(self.core.refuse(request, self.key, GetError::WaitTimeout { limit })),
            Ended::NoTimers => {
                let failure = Failure::Contract { what: runtime::NEEDED };
                Poll::Ready(self.core.instead(
                    request,
                    &self.asked(),
                    self.core.older_for(&flight, seen.epoch),
                    StaleReason::Error,
                    GetError::Failed(failure),
                ))
            }
        }
    }

    /// The flight has landed: its result in this caller's words.
    fn landed(
        &mut self,
        request: Request<'a>,
        flight: &Flight<K, V, E>,
        seen: Standing,
        now: Moment,
        cx: &mut Context<'_>,
    ) -> Poll<Got<V, E>> {
        // W2: a tag of what was loaded was invalidated before this caller joined: it is not the answer.
        if flight.fate.is_cut_off_for(seen.epoch) && self.load.is_some() {
            return self.board(request, None, Attempt::Second, cx);
        }
        let outcome = match seen.role {
            FlightRole::Leader => Outcome::Loaded,
            FlightRole::Waiter => Outcome::Coalesced,
        };
        let previous = || self.core.older_for(flight, seen.epoch);
        Poll::Ready(match flight.landing() {
            Some(Landing::Value(entry)) => {
                request.end(outcome);
                Ok(Some(Answer::new(Arc::clone(entry), outcome, now)))
            }
            Some(Landing::Absent) => {
                request.end(outcome);
                Ok(None)
            }
            Some(Landing::Shared { stored, reason, at }) => {
                Ok(self.core.answer_shared(request, self.key, (stored, *at), (seen.role, *reason)))
            }
            Some(Landing::Failed(failure)) => self.core.instead(
                request,
                &self.asked(),
                previous(),
                StaleReason::Error,
                GetError::Failed(failure.clone()),
            ),
            Some(Landing::Rejected { reason, retry_in }) => {
                self.core.count_rejection(*reason);
                let error = GetError::Rejected { reason: *reason, retry_in: *retry_in };
                self.core.instead(request, &self.asked(), previous(), StaleReason::Rejected, error)
            }
            Some(Landing::Closed) => {
                self.core.instead(request, &self.asked(), previous(), StaleReason::Rejected, GetError::Closed)
            }
            Some(Landing::Orphaned) | None => {
                // S8: the runtime that carried the flight ended. One more try, by whoever still has a loader.
                if seen.attempt == Attempt::First && self.load.is_some() {
                    let previous = previous();
                    return self.board(request, previous, Attempt::Second, cx);
                }
                let failure = Failure::Contract { what: "the runtime that carried this load has ended" };
                self.core.instead(request, &self.asked(), previous(), StaleReason::Error, GetError::Failed(failure))
            }
        })
    }
}

impl<K, V, E, Q, L> Future for Get<'_, K, V, E, Q, L>
where
    K: Key + Borrow<Q>,
    V: Send + Sync + 'static,
    E: Send + Sync + 'static,
    Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    L: Loader<K, V, E>,
{
    type Output = Got<V, E>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Got<V, E>> {
        let this = self.get_mut();
        match this.stage {
            Stage::Start => {
                // Replaced only by a wait; a second poll after the answer waits for ever, as futures may.
                this.stage = Stage::Done;
                this.start(cx)
            }
            Stage::Waiting(..) => this.poll_wait(cx),
            Stage::Done => Poll::Pending,
        }
    }
}

/// Nothing in it is pinned: the loader is moved out before it is called.
impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, Q: ?Sized, L> Unpin for Get<'_, K, V, E, Q, L> {}
