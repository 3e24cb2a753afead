//! One of those who take the steps of a history at the same time.

use std::sync::Arc;
use std::time::Duration;

use herdcache::{Answer, GatePermit, Got, LoadContext, Outcome, Progress, Tuning};
use tokio::task::JoinHandle;

use super::{Stage, told};
use crate::laws::history::{By, End, Leave, Script, Step, TAGS, Told};
use crate::laws::load::{Down, Key, Load, Row, loaded, make};
use crate::laws::world::Who;
use crate::support::ms;

/// How long a caller who means to go away waits at most.
const BRIEFLY: Duration = ms(1);

/// One who acts.
pub(super) struct Actor {
    stage: Stage,
    permits: Vec<GatePermit>,
    warming: Vec<JoinHandle<Progress>>,
}

fn named(key: u64) -> Key {
    Key { number: key, tag: 0 }
}

impl Actor {
    pub(super) fn new(stage: &Stage) -> Self {
        Self { stage: stage.clone(), permits: Vec::new(), warming: Vec::new() }
    }

    /// Takes every `each`-th step from the `first` on.
    pub(super) async fn through(mut self, steps: Arc<Vec<Step>>, first: usize, each: usize) -> Result<(), String> {
        for (at, step) in steps.iter().enumerate().skip(first).step_by(each) {
            let taken = self.take(step).await.and_then(|()| told::always(&self.stage.cache.snapshot()));
            taken.map_err(|broken| format!("at step {at}: {broken}"))?;
        }
        while !self.permits.is_empty() {
            self.release(0, Told::Nothing);
        }
        for warming in self.warming {
            let Progress { total, loaded, skipped, failed, left, .. } =
                warming.await.map_err(|error| error.to_string())?;
            if total != loaded + skipped + failed + left {
                return Err(format!(
                    "U1: {total} keys: {loaded} loaded, {skipped} skipped, {failed} failed, {left} left"
                ));
            }
        }
        Ok(())
    }

    async fn take(&mut self, step: &Step) -> Result<(), String> {
        match *step {
            Step::Ask { by, key, wait, load } => self.ask(by, key, wait, load).await?,
            Step::AskMany { ref asks, wait } => self.ask_many(asks, wait).await?,
            Step::Pass { time, .. } => tokio::time::sleep(time).await,
            Step::Turn | Step::Poll { .. } | Step::Unblock => tokio::task::yield_now().await,
            Step::Cancel { nth } => self.go_away(nth as u64 % 4).await?,
            Step::Refresh { key, load } => {
                let tag = self.stage.world.lock().ask(key, Who::Refresher, load);
                let _ = self.stage.cache.refresh(&Key { number: key, tag });
            }
            Step::WarmUp { ref loads } => {
                let keys: Vec<_> = loads.iter().map(|(key, load)| self.wish(*key, *load)).collect();
                self.warming.push(tokio::spawn(self.stage.cache.warm_up(keys)));
            }
            Step::Chill { .. } => {
                if let Some(warming) = self.warming.pop() {
                    warming.abort();
                }
            }
            Step::Peek { key } => self.peek(key)?,
            Step::Acquire => self.acquire().await,
            Step::Release { nth, told } => self.release(nth, told),
            Step::Shutdown { limit } => {
                let closed = self.stage.world.lock().tick();
                self.stage.world.lock().closed.get_or_insert(closed);
                self.stage.cache.shutdown(limit).await;
            }
            _ => self.change(step)?,
        }
        Ok(())
    }

    fn wish(&self, key: u64, load: Script) -> Key {
        Key { number: key, tag: self.stage.world.lock().ask(key, Who::Warmer, load) }
    }

    /// Records the change, makes it, and records that it has taken effect.
    fn change(&self, step: &Step) -> Result<(), String> {
        let (cache, world) = (&self.stage.cache, &self.stage.world);
        let mine = match *step {
            Step::Invalidate { key } => {
                let seq = world.lock().invalidate(key);
                cache.invalidate(&named(key));
                vec![seq]
            }
            Step::InvalidateMany { ref keys } => {
                let mine = keys.iter().map(|key| world.lock().invalidate(*key)).collect();
                let keys: Vec<_> = keys.iter().map(|key| named(*key)).collect();
                cache.invalidate_many(&keys);
                mine
            }
            Step::InvalidateTag { tag } => {
                let seq = world.lock().invalidate_tag(tag);
                cache.invalidate_tag(TAGS[tag]);
                vec![seq]
            }
            Step::Clear => {
                let seq = world.lock().clear();
                cache.clear();
                vec![seq]
            }
            Step::Insert { key, made, terms } => {
                let mut locked = world.lock();
                let birth = locked.insert(key, made, terms);
                let seq = locked.births[birth].began;
                drop(locked);
                cache.insert(named(key), loaded(made, terms, Row { key, birth }));
                vec![seq]
            }
            Step::MarkStale { key } => {
                world.lock().mark_stale(key);
                cache.mark_stale(&named(key));
                Vec::new()
            }
            Step::Tune { stale_for, stale_if_error_for, refresh } => {
                world.lock().tune(stale_for, stale_if_error_for);
                let tuning = Tuning::new().stale_for(stale_for).stale_if_error_for(stale_if_error_for);
                cache.tune(tuning.refresh(refresh)).map_err(|error| format!("A6: {error}"))?;
                Vec::new()
            }
            _ => return Err("no change of keys".to_owned()),
        };
        world.lock().done(&mine);
        Ok(())
    }

    async fn ask(&self, by: By, key: u64, wait: Option<Duration>, load: Script) -> Result<(), String> {
        let tag = self.stage.world.lock().ask(key, Who::Caller(wait), load);
        let key = Key { number: key, tag };
        let cache = match wait {
            Some(limit) => self.stage.cache.with_wait_timeout(limit),
            None => self.stage.cache.clone(),
        };
        let got = match by {
            By::Get => cache.get(&key).await,
            By::GetWith => {
                let world = Arc::clone(&self.stage.world);
                let load = move |cx: LoadContext<Key, Row>| -> Load { make(&world, cx) };
                cache.get_with(&key, load).await
            }
        };
        self.told(tag, &got)
    }

    async fn ask_many(&self, asks: &[(u64, Script)], wait: Option<Duration>) -> Result<(), String> {
        let ask = |(key, load): &(u64, Script)| Key {
            number: *key,
            tag: self.stage.world.lock().ask(*key, Who::Caller(wait), *load),
        };
        let keys: Vec<_> = asks.iter().map(ask).collect();
        let cache = match wait {
            Some(limit) => self.stage.cache.with_wait_timeout(limit),
            None => self.stage.cache.clone(),
        };
        let got = cache.get_many(&keys).await;
        if got.len() != keys.len() {
            return Err(format!("B1: {} keys, {} answers", keys.len(), got.len()));
        }
        keys.iter().zip(&got).try_for_each(|(key, got)| self.told(key.tag, got))
    }

    /// A caller who may go away before its answer comes.
    async fn go_away(&self, key: u64) -> Result<(), String> {
        let load = Script { after: Some(BRIEFLY), end: End::Never, leave: Leave::Quietly };
        let tag = self.stage.world.lock().ask(key, Who::Caller(None), load);
        let key = Key { number: key, tag };
        if let Ok(got) = tokio::time::timeout(BRIEFLY, self.stage.cache.get(&key)).await {
            return self.told(tag, &got);
        }
        self.stage.world.lock().answered(tag, Some(Outcome::Cancelled));
        Ok(())
    }

    fn told(&self, tag: usize, got: &Got<Row, Down>) -> Result<(), String> {
        let mut world = self.stage.world.lock();
        let outcome = told::judge(&world, tag, got)?;
        world.answered(tag, outcome);
        Ok(())
    }

    fn peek(&self, key: u64) -> Result<(), String> {
        let asked = self.stage.world.lock().tick();
        let found = self.stage.cache.peek(&named(key));
        found.map_or(Ok(()), |answer: Answer<Row>| told::value(&self.stage.world.lock(), (key, asked), &answer))
    }

    async fn acquire(&mut self) {
        self.stage.world.lock().outside.asked += 1;
        let came = self.stage.gate.acquire().await;
        let mut world = self.stage.world.lock();
        if let Ok(permit) = came {
            world.outside.held += 1;
            self.permits.push(permit);
        }
    }

    fn release(&mut self, nth: usize, told: Told) {
        let Some(nth) = nth.checked_rem(self.permits.len()) else { return };
        let permit = self.permits.swap_remove(nth);
        self.stage.world.lock().outside.held -= 1;
        match told {
            Told::Nothing => drop(permit),
            Told::Answered => permit.answered(),
            Told::Failed => permit.failed(),
        }
    }
}
