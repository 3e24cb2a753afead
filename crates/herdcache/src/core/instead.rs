//! What a request gets when no load helped: an older value, a degraded one, or the error.
//!
//! Runs in the caller, under no lock: the fallback is the application's code.

use std::borrow::Borrow;
use std::hash::Hash;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use herdfeed::{FlightRole, Measure, Outcome, StaleReason};

use super::Core;
use crate::answer::Answer;
use crate::clock::{self, Moment};
use crate::entry::{Entry, Stamps, Stored, Word};
use crate::error::{GetError, Got};
use crate::flight::Flight;
use crate::freshness::{Bounds, Freshness};
use crate::key::Key;
use crate::measures::Policy;
use crate::request::Request;
use crate::store::Store;
use crate::tags::Epoch;

/// An older value, with the bounds under which it may be answered, and the moment at which that was judged.
///
/// It is answered as of that moment: a thread that is held up in between makes nothing older.
pub(crate) type Older<V> = (Arc<Entry<V>>, Bounds, Moment);

/// What a request that needs something else asked for.
pub(crate) struct Asked<'a, Q: ?Sized> {
    pub(crate) key: &'a Q,
    pub(crate) policy: Policy,
    pub(crate) lacked: Lacked,
}

/// O1: what a request is counted for already among what protection would have saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lacked {
    Nothing,
    /// A stale value could have answered it at once.
    Stale,
}

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> Core<K, V, E, S> {
    /// No load helped: an older value if one may be answered, else what the fallback gives, else the error.
    pub(crate) fn instead<Q>(
        &self,
        request: Request<'_>,
        asked: &Asked<'_, Q>,
        previous: Option<&Stored<V>>,
        reason: StaleReason,
        error: GetError<E>,
    ) -> Got<V, E>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        if let Some(Stored::Value(entry)) = previous {
            match (self.usable(entry), asked.lacked) {
                (Some(older), _) if asked.policy.has(Measure::Stale) => {
                    return Ok(Some(self.serve_older(request, asked.key, older, reason)));
                }
                (Some(_), Lacked::Nothing) => self.account.savings.reserve(),
                (Some(_), Lacked::Stale) | (None, _) => {}
            }
        }
        self.refuse(request, asked.key, error)
    }

    /// What a caller who joined a flight at `epoch` may fall back to.
    ///
    /// L5: a value that was evicted meanwhile is on its tags' lists no more, so that what invalidates them passes the
    /// flight by. Who joined after any such invalidation does without it.
    pub(crate) fn older_for<'a>(&self, flight: &'a Flight<K, V, E>, epoch: Epoch) -> Option<&'a Stored<V>> {
        let opened = flight.fate.epoch();
        let outdated = |older: &Stored<V>| self.leavings.tags.invalidated(older.stamps().tags()) > opened;
        flight.reserve().filter(|older| epoch <= opened || !outdated(older))
    }

    /// L4: a value that may be answered if a load fails, with the bounds in force now.
    pub(crate) fn usable(&self, entry: &Arc<Entry<V>>) -> Option<Older<V>> {
        let (bounds, now) = (self.in_force.bounds(&entry.stamps), clock::exact());
        (bounds.judge(now) < Freshness::Expired).then(|| (Arc::clone(entry), bounds, now))
    }

    /// Answers an older value.
    pub(crate) fn serve_older<Q>(
        &self,
        request: Request<'_>,
        key: &Q,
        (entry, bounds, now): Older<V>,
        reason: StaleReason,
    ) -> Answer<V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let outcome = match bounds.judge(now) {
            Freshness::Fresh => Outcome::Hit,
            Freshness::Stale => Outcome::Stale,
            Freshness::Reserve | Freshness::Expired => Outcome::Reserve,
        };
        if outcome != Outcome::Hit {
            self.count_stale(key, &entry.stamps, bounds, reason, now);
        }
        request.end(outcome);
        Answer::new(entry, outcome, now)
    }

    /// What the shared tier had for the flight, in this caller's words.
    pub(crate) fn answer_shared<Q>(
        &self,
        request: Request<'_>,
        key: &Q,
        (stored, now): (&Stored<V>, Moment),
        (role, reason): (FlightRole, StaleReason),
    ) -> Option<Answer<V>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let (outcome, answer) = match stored {
            Stored::Value(entry) if !entry.stamps.is_fresh(now) => {
                let older = (Arc::clone(entry), self.in_force.bounds(&entry.stamps), now);
                let answer = self.serve_older(request, key, older, reason);
                self.count_shared(Answer::outcome(&answer));
                return Some(answer.shared());
            }
            Stored::Value(entry) => (by_role(role, Outcome::Hit), Some(entry)),
            Stored::Absent(_) => (by_role(role, Outcome::Negative), None),
        };
        request.end(outcome);
        self.count_shared(outcome);
        answer.map(|entry| Answer::new(Arc::clone(entry), outcome, now).shared())
    }

    /// Nothing that was loaded may be answered: what the fallback gives, else the error.
    pub(crate) fn refuse<Q>(&self, request: Request<'_>, key: &Q, error: GetError<E>) -> Got<V, E>
    where
        K: Borrow<Q>,
        Q: ToOwned<Owned = K> + ?Sized,
    {
        if let Some(value) = self.fallback(key, &error) {
            let now = clock::exact();
            let stamps = Stamps::new(now, 0, Bounds { soft: now, hard: now, last: now }, Word::Fixed, None);
            request.end(Outcome::Fallback);
            let entry = Arc::new(Entry { value: Arc::new(value), stamps });
            return Ok(Some(Answer::new(entry, Outcome::Fallback, now)));
        }
        request.end(error.outcome());
        Err(error)
    }

    /// S2: the application's degraded value. If its code panics, the error stands.
    fn fallback<Q>(&self, key: &Q, error: &GetError<E>) -> Option<V>
    where
        K: Borrow<Q>,
        Q: ToOwned<Owned = K> + ?Sized,
    {
        let fallback = self.fallback.get()?;
        match error {
            // A loader's mistake, to be seen and mended.
            GetError::Reentrant => None,
            GetError::Failed(_)
            | GetError::Cooling { .. }
            | GetError::Rejected { .. }
            | GetError::WaitTimeout { .. }
            | GetError::Closed => catch_unwind(AssertUnwindSafe(|| fallback(&key.to_owned(), error))).unwrap_or(None),
        }
    }
}

/// A leader found it in a tier; a waiter was answered by another's flight.
fn by_role(role: FlightRole, found: Outcome) -> Outcome {
    match role {
        FlightRole::Leader => found,
        FlightRole::Waiter => Outcome::Coalesced,
    }
}
