//! The central refresher: one task that loads the keys on its list anew, round after round.
//!
//! It spreads a round evenly, as one that does not want to be a herd itself would. It is
//! bare cache-aside otherwise: what is not on its list, or comes while it stands still, is a herd as ever.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior};

use crate::play::stage::Stage;
use crate::scenario::{Scenario, Trouble};

/// Keys on the list where the scenario does not say.
const KEYS: u64 = 100;
/// A round as a part of the soft TTL where the scenario does not say.
const ROUND: f64 = 0.8;

/// Goes round until it is aborted.
pub(super) fn round(scenario: &Scenario, stage: Arc<Stage>) -> impl Future<Output = ()> + Send + 'static {
    let keys = list(scenario);
    let every = scenario.refresher.every.map_or_else(|| scenario.cache.fresh_for.0.mul_f64(ROUND), Duration::from);
    let pauses: Vec<Trouble> = scenario.trouble.iter().copied().filter(|trouble| trouble.stops_refresher).collect();
    let gap = every.div_f64(keys.len().max(1) as f64).max(Duration::from_millis(1));
    async move {
        let start = Instant::now();
        let mut tick = tokio::time::interval_at(start + gap, gap);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        for key in keys.iter().cycle() {
            tick.tick().await;
            let at = start.elapsed();
            if !pauses.iter().any(|pause| (pause.from.0..pause.until.0).contains(&at)) {
                // What it does not start now comes round again.
                let _ = stage.cache.refresh(key);
            }
        }
    }
}

/// The most popular keys: those that are said to be hot from the start, then the first of the law.
fn list(scenario: &Scenario) -> Vec<u64> {
    let most = usize::try_from(scenario.refresher.keys.unwrap_or(KEYS)).unwrap_or(usize::MAX);
    let hot: Vec<u64> =
        scenario.keys.hot.iter().filter(|hot| hot.from.0.is_zero()).map(|hot| hot.key).take(most).collect();
    let others = (0..scenario.keys.count).filter(|key| !hot.contains(key)).take(most - hot.len());
    hot.iter().copied().chain(others).collect()
}
