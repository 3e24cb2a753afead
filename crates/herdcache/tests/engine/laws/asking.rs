//! Callers: how they ask, when they are polled, and what they are told.

use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use herdcache::herdfeed::Measure;
use herdcache::{Answer, Got, LoadContext, Outcome};

use super::caller::{Ask, Asking, Caller};
use super::history::{By, Script};
use super::judge::{self, At};
use super::load::{Down, Key, Load, Row, make};
use super::run::Run;
use super::world::{Who, World};

impl Run {
    /// The n-th of the pending callers, counted round.
    pub(super) fn nth(&self, nth: usize) -> Option<usize> {
        nth.checked_rem(self.pending.len())
    }

    /// One of the pending callers goes away.
    pub(super) fn cancel(&mut self, nth: usize) {
        let Some(nth) = self.nth(nth) else { return };
        let gone = self.pending.remove(nth);
        let mut world = self.world.lock();
        // Of several some may have ended by themselves.
        let outcome = (gone.asks.len() == 1).then_some(Outcome::Cancelled);
        gone.asks.iter().for_each(|ask| world.answered(ask.tag, outcome));
        drop(world);
        drop(gone);
    }

    /// A caller asks, and is polled once.
    pub(super) fn ask(&mut self, by: By, key: u64, wait: Option<Duration>, load: Script) -> Result<(), String> {
        let tag = self.world.lock().ask(key, Who::Caller(wait), load);
        let key = Key { number: key, tag };
        let before = self.before(&key);
        let cache = match wait {
            Some(limit) => self.cache.with_wait_timeout(limit),
            None => self.cache.clone(),
        };
        let asking: Asking = match by {
            By::Get => Box::pin(async move { vec![cache.get(&key).await] }),
            By::GetWith => {
                let world = Arc::clone(&self.world);
                let load = move |cx: LoadContext<Key, Row>| -> Load { make(&world, cx) };
                Box::pin(async move { vec![cache.get_with(&key, load).await] })
            }
        };
        let mut caller = Caller::new(vec![Ask { tag, before }], asking, &self.told);
        let outcome = match caller.poll() {
            Poll::Ready(got) => judge::judge(&self.world.lock(), tag, &got[0], At::First)?,
            Poll::Pending => None,
        };
        self.looked(before, outcome)?;
        match outcome {
            Some(outcome) => self.world.lock().answered(tag, Some(outcome)),
            None => self.pending.push(caller),
        }
        Ok(())
    }

    /// B1: a caller asks for several keys, and is polled once.
    pub(super) fn ask_many(&mut self, asks: &[(u64, Script)], wait: Option<Duration>) -> Result<(), String> {
        let mut keys = Vec::new();
        for (number, script) in asks {
            let tag = self.world.lock().ask(*number, Who::Member(wait), *script);
            keys.push(Key { number: *number, tag });
        }
        let asks = keys.iter().map(|key| Ask { tag: key.tag, before: self.before(key) }).collect();
        let cache = match wait {
            Some(limit) => self.cache.with_wait_timeout(limit),
            None => self.cache.clone(),
        };
        let asking = Box::pin(async move { cache.get_many(&keys).await });
        self.pending.push(Caller::new(asks, asking, &self.told));
        self.poll(self.pending.len() - 1).map(drop)
    }

    /// What a look shows that a caller must be answered with at once.
    fn before(&self, key: &Key) -> Option<Outcome> {
        let before = self.cache.peek(key).map(|answer| Answer::outcome(&answer));
        before.filter(|found| *found == Outcome::Hit || self.world.lock().has(Measure::Stale))
    }

    /// A batch has ended: one answer for each of its keys, in their order.
    fn ended(world: &mut World, asks: &[Ask], got: &[Got<Row, Down>]) -> Result<(), String> {
        if asks.len() != got.len() {
            return Err(format!("B1: {} keys, {} answers", asks.len(), got.len()));
        }
        for (ask, got) in asks.iter().zip(got) {
            let outcome = judge::judge(world, ask.tag, got, At::Batch)?;
            if ask.before.is_some() && outcome != ask.before {
                return Err(format!("F3: a look showed {:?}, the batch got {outcome:?}", ask.before));
            }
            world.answered(ask.tag, outcome);
            match outcome {
                // W2: at once, or when it looked a second time.
                Some(Outcome::Hit | Outcome::Negative) if !world.tagged.is_empty() => world.perhaps_misses += 1,
                // Evicted while it was refreshed, and what the failed refresh fell back to.
                Some(Outcome::Hit) if ask.before.is_none() => world.perhaps_misses += 1,
                None | Some(Outcome::Hit | Outcome::Negative) => {}
                // Answered at once, or instead of a load that failed.
                Some(Outcome::Stale) => world.perhaps_misses += 1,
                Some(_) => world.misses += 1,
            }
        }
        Ok(())
    }

    /// F3, F1: what a look shows is answered at once, and nothing else counts as found.
    fn looked(&self, before: Option<Outcome>, outcome: Option<Outcome>) -> Result<(), String> {
        let mut world = self.world.lock();
        if before.is_some() && outcome != before {
            return Err(format!("F3: a look showed {before:?}, the caller got {outcome:?}"));
        }
        if !matches!(outcome, Some(Outcome::Hit | Outcome::Stale | Outcome::Negative)) {
            world.misses += 1;
        }
        Ok(())
    }

    /// Polls a pending caller; ready if it has its answer now.
    pub(super) fn poll(&mut self, nth: usize) -> Result<Poll<()>, String> {
        let Poll::Ready(got) = self.pending[nth].poll() else { return Ok(Poll::Pending) };
        let caller = self.pending.remove(nth);
        let mut world = self.world.lock();
        match (&*caller.asks, &*got) {
            ([Ask { tag, .. }], [got]) => {
                let outcome = judge::judge(&world, *tag, got, At::Later)?;
                world.answered(*tag, outcome);
            }
            (asks, got) => Self::ended(&mut world, asks, got)?,
        }
        Ok(Poll::Ready(()))
    }

    /// Polls whoever was woken.
    pub(super) fn pump(&mut self) -> Result<(), String> {
        let mut nth = 0;
        while nth < self.pending.len() {
            if !self.pending[nth].is_woken() || self.poll(nth)?.is_pending() {
                nth += 1;
            }
        }
        self.pump_queries()
    }
}
