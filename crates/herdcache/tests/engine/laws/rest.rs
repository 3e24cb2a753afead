//! What comes after the last step: everything ends by itself, and the cache is as good as new.

use herdcache::herdfeed::Measure;
use herdcache::{Outcome, Switch};

use super::check::{self, Account};
use super::generate::KEYS;
use super::history::{By, End, Keep, Leave, Made, Script, Setup, Step, Terms};
use super::run::Run;
use crate::support::ms;

impl Run {
    /// L6: everything ends by itself; then the keys are free and the permits back.
    pub(super) async fn rest(mut self) -> Result<Account, String> {
        let setup = self.world.lock().setup.clone();
        self.release_all();
        self.wind_up(&setup).await?;
        self.pass(setup.flight_deadline + setup.cooling.1 * 2).await?;
        let account = self.check()?;
        check::quiet(&self.world.lock(), &account)?;
        self.told_by_warm_ups(&account).await?;
        if self.world.lock().closed.is_none() {
            self.probe(&setup).await?;
            let account = self.check()?;
            check::quiet(&self.world.lock(), &account)?;
        }
        Ok(account)
    }

    /// U1, S7: what goes on behind everybody's back comes to its end.
    async fn wind_up(&mut self, setup: &Setup) -> Result<(), String> {
        self.unblock().await?;
        // Each key of a warm-up takes a flight, and may wait for others' permits as long.
        for _ in 0..100 {
            // Blocking work holds up what waits for its permit, and that may block in turn.
            let blocked = self.has_blocked() && self.cache.snapshot().flights_active > 0;
            if self.is_warm() && self.world.lock().running().next().is_none() && !blocked {
                return Ok(());
            }
            self.pass(setup.flight_deadline).await?;
            self.unblock().await?;
        }
        Err("U1: a warm-up does not end".to_owned())
    }

    fn has_blocked(&self) -> bool {
        let world = self.world.lock();
        world.latch.was_used()
    }

    /// S2, L3: as many loads as there are permits run at once, and every key can be loaded.
    async fn probe(&mut self, setup: &Setup) -> Result<(), String> {
        for measure in setup.off.iter().copied().chain([Measure::SingleFlight, Measure::Permits]) {
            self.set(measure, Switch::On);
        }
        let terms = Terms { keep: Keep::DoNotStore, ..Terms::PLAIN };
        let end = End::Gives(Made::Value, terms);
        let at_once = setup.permits.min(setup.max_flights).min(shares(setup));
        let load = Script { after: Some(ms(1)), end, leave: Leave::Quietly };
        // G5: a gate that is shut opens with the next good load.
        self.ask(By::GetWith, KEYS + at_once as u64, None, load)?;
        self.pass(ms(5)).await?;
        for nth in 0..at_once as u64 {
            self.ask(By::GetWith, KEYS + nth, None, load)?;
        }
        let running = self.world.lock().running().count();
        if running != at_once {
            return Err(format!("L6: {running} loads run where {at_once} could"));
        }
        self.pass(ms(5)).await?;
        for key in 0..KEYS {
            self.take(&Step::Invalidate { key }).await?;
            let before = self.world.lock().outcomes[Outcome::Loaded];
            self.ask(By::Get, key, None, Script { after: None, end, leave: Leave::Quietly })?;
            if self.world.lock().outcomes[Outcome::Loaded] != before + 1 {
                return Err(format!("S2: key {key} cannot be loaded any more"));
            }
        }
        Ok(())
    }
}

/// S6: flights that the two groups of keys may hold together.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a part of a small number")]
fn shares(setup: &Setup) -> usize {
    let part = |share: f64| ((setup.max_flights as f64 * share) as usize).max(1);
    setup.group_share.map_or(usize::MAX, |share| 2 * part(share))
}
