//! The scout: looks for processes that have started since.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::Duration;

use herdfeed::Address;
use herdfeed::socket::{self, Found};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};

use super::{Common, stream};
use crate::targets::name_of;

/// Between two looks.
const LOOK: Duration = Duration::from_secs(2);

/// Looks for ever, with one link for each process found.
pub(super) async fn run(common: Common) {
    // Links end with this task: a join set aborts what it holds when it is dropped.
    let mut links = JoinSet::new();
    let mut running: HashMap<Address, tokio::task::AbortHandle> = HashMap::new();
    let mut looks = interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        looks.tick().await;
        while links.try_join_next().is_some() {}
        running.retain(|_, link| !link.is_finished());
        let Ok(found) = tokio::task::spawn_blocking(socket::discover).await else {
            continue;
        };
        for one in found {
            let name = name_of(&one);
            let Found { address, .. } = one;
            if let Entry::Vacant(place) = running.entry(address) {
                let link = stream::found(common.clone(), place.key().clone(), name);
                place.insert(links.spawn(link));
            }
        }
    }
}
