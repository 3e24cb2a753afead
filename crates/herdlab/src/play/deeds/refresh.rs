//! The central refresher: one task that loads the keys on its list anew, round after round.
//!
//! It spreads a round evenly, as one that does not want to be a herd itself would. It is
//! bare cache-aside otherwise: what is not on its list, or comes while it stands still, is a herd as ever.

use std::future::Future;
use std::sync::Arc;

use tokio::time::{Instant, MissedTickBehavior};

use crate::play::stage::Stage;
use crate::scenario::{Scenario, Trouble};

/// Goes round until it is aborted.
pub(super) fn round(scenario: &Scenario, stage: Arc<Stage>) -> impl Future<Output = ()> + Send + 'static {
    let keys = scenario.refreshed();
    let pauses: Vec<Trouble> = scenario.trouble.iter().copied().filter(|trouble| trouble.stops_refresher).collect();
    let gap = scenario.refresh_gap(keys.len());
    async move {
        let start = Instant::now();
        let mut tick = tokio::time::interval_at(start + gap, gap);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        for key in keys.iter().cycle() {
            tick.tick().await;
            let at = start.elapsed();
            if !pauses.iter().any(|pause| (pause.from.0..pause.until.0).contains(&at)) {
                // What it does not start now comes round again.
                let _ = stage.cache.refresh(&stage.key(*key));
            }
        }
    }
}
