//! A read as a part of a batch: what the batch asks of it beyond polling it.

use std::hash::Hash;
use std::time::Duration;

use herdfeed::{Measure, StaleReason};

use super::super::loader::Together;
use super::{Get, Stage};
use crate::clock;
use crate::core::batch::Led;
use crate::entry::Stored;
use crate::error::{GetError, Got};
use crate::freshness::Freshness;
use crate::key::Key;
use crate::request::Request;

/// One read of a batch.
pub(in crate::cache) type Part<'a, K, V, E> = Get<'a, K, V, E, K, Together<'a, K, V, E>>;

impl<K, V, E> Part<'_, K, V, E>
where
    K: Key + Hash,
    V: Send + Sync + 'static,
    E: Send + Sync + 'static,
{
    /// The flight that the last poll opened, if it did.
    pub(in crate::cache) fn take_led(&mut self) -> Option<Led<K, V, E>> {
        self.load.as_mut()?.led.take()
    }

    /// F3: whether its first poll would be answered by what is stored.
    pub(in crate::cache) fn is_there(&self) -> bool {
        let (core, now) = (self.core, clock::coarse());
        let stored = core.store.get(self.key);
        stored.is_some_and(|stored| match (&stored, core.in_force.judge(stored.stamps(), now)) {
            (_, Freshness::Fresh) => true,
            (Stored::Value(_), Freshness::Stale) => core.measures.read().has(Measure::Stale),
            (_, Freshness::Stale | Freshness::Reserve | Freshness::Expired) => false,
        })
    }

    /// It has found nothing, and there was no room for its load in time.
    pub(in crate::cache) fn turn_away(&mut self, error: GetError<E>) -> Got<V, E> {
        let core = self.core;
        self.policy = core.measures.read();
        let request = Request::begin(&core.account);
        let found = core.store.get(self.key);
        core.account.misses.add(core.cause(core.hash(self.key), found.as_ref()));
        match error {
            GetError::WaitTimeout { .. } => core.refuse(request, self.key, error),
            _ => core.instead(request, &self.asked(), found.as_ref(), StaleReason::Rejected, error),
        }
    }

    /// Whether a poll may bring its answer.
    pub(in crate::cache) fn is_ripe(&self) -> bool {
        match &self.stage {
            Stage::Waiting(wait, _) => wait.may_be_over(),
            Stage::Start | Stage::Done => true,
        }
    }

    /// S4: the batch waits no longer; `None` if this read does not wait.
    pub(in crate::cache) fn give_up(&mut self, limit: Duration) -> Option<Got<V, E>> {
        let Stage::Waiting(wait, _) = std::mem::replace(&mut self.stage, Stage::Done) else {
            return None;
        };
        let (request, _) = wait.leave(clock::exact())?;
        Some(self.core.refuse(request, self.key, GetError::WaitTimeout { limit }))
    }
}
