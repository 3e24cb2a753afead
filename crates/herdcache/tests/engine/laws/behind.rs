//! Loads behind everybody's back: refreshes that the application asks for, and warm-ups.

use herdcache::herdfeed::FlightTrigger;
use herdcache::{Progress, Refreshing};
use tokio::task::JoinHandle;

use super::check::Account;
use super::history::Script;
use super::load::Key;
use super::run::{Run, turns};
use super::world::Who;

/// Warm-ups that were spawned.
#[derive(Default)]
pub(super) struct Behind {
    warming: Vec<JoinHandle<Progress>>,
    keys: u64,
}

impl Run {
    /// R1, E1, X1: what came of the wish fits what is known.
    pub(super) fn refresh(&mut self, key: u64, load: Script) -> Result<(), String> {
        let tag = self.world.lock().ask(key, Who::Refresher, load);
        let forced = || self.cache.snapshot().flight_starts[FlightTrigger::Forced];
        let before = forced();
        let came = self.cache.refresh(&Key { number: key, tag });
        let opened = forced() > before;
        self.seen.refreshing(came);
        let world = self.world.lock();
        let failed =
            world.births.iter().any(|birth| birth.key == key && birth.opener.is_some() && birth.ended.is_none())
                || world.births.iter().any(|birth| birth.key == key && birth.came.is_failure());
        let right = match came {
            Refreshing::Started => world.closed.is_none() && opened,
            Refreshing::Cooling => failed && !opened,
            Refreshing::Closed => world.closed.is_some() && !opened,
            Refreshing::UnderWay | Refreshing::NoPermit | Refreshing::Full => world.closed.is_none() && !opened,
            Refreshing::NoRuntime | Refreshing::Off => false,
        };
        if right { Ok(()) } else { Err(format!("R1: a refresh of key {key} came to {came:?}")) }
    }

    pub(super) fn warm_up(&mut self, loads: &[(u64, Script)]) {
        let wish =
            |(key, load): &(u64, Script)| Key { number: *key, tag: self.world.lock().ask(*key, Who::Warmer, *load) };
        let keys: Vec<_> = loads.iter().map(wish).collect();
        // L7: it takes no more keys than there is room for.
        self.behind.keys += self.cache.snapshot().capacity.min(keys.len() as u64);
        self.behind.warming.push(tokio::spawn(self.cache.warm_up(keys)));
    }

    /// U1: a warm-up is dropped; its loads land as usual.
    pub(super) async fn chill(&mut self, nth: usize) {
        let Some(nth) = nth.checked_rem(self.behind.warming.len()) else { return };
        self.behind.warming.remove(nth).abort();
        turns().await;
    }

    /// U1: whether every warm-up is over.
    pub(super) fn is_warm(&self) -> bool {
        self.behind.warming.iter().all(JoinHandle::is_finished)
    }

    /// U1: each key is told once, by the warm-up and by the account.
    pub(super) async fn told_by_warm_ups(&mut self, account: &Account) -> Result<(), String> {
        let mut done = [0; 3];
        for warming in self.behind.warming.drain(..) {
            let Progress { total, loaded, skipped, failed, left, .. } =
                warming.await.map_err(|error| error.to_string())?;
            if total != loaded + skipped + failed + left {
                return Err(format!(
                    "U1: {total} keys, {loaded} loaded, {skipped} skipped, {failed} failed, {left} left"
                ));
            }
            done = [done[0] + loaded, done[1] + skipped, done[2] + failed];
        }
        let warmup = &account.cache.warmup;
        let told = warmup.loaded + warmup.skipped + warmup.failed + warmup.cancelled;
        let least = warmup.loaded >= done[0] && warmup.skipped >= done[1] && warmup.failed >= done[2];
        if warmup.running + warmup.left + warmup.width > 0
            || warmup.total != self.behind.keys
            || told != warmup.total
            || !least
        {
            return Err(format!("U1: warm-ups of {} keys told {done:?}, the account {warmup:?}", self.behind.keys));
        }
        Ok(())
    }
}
