//! Requests for the keys of a scenario, one after the other, before caches of several sizes: how many each of them answers.
//!
//! Nothing expires and no time passes, so that size alone decides. Beside each of the engine's caches stand two
//! that are worked out exactly: which of them is which says what the engine's policy is worth.

mod exact;

use std::convert::Infallible;
use std::time::Duration;

use herdcache::{Answer, Cache, ConfigError, Gate, LoadContext, LocalStore, Outcome, ReadThrough, Ttl};

use super::mix::Keyring;
use crate::run::{SizeFacts, SweepFacts, ratio};
use crate::scenario::{Keys, Sweep};
use exact::{Lfu, Lru};

/// One size: the engine's cache and the two beside it, with their hits.
struct Size {
    entries: u64,
    engine: ReadThrough<u64, (), Infallible>,
    lru: Lru,
    lfu: Lfu,
    hits: [u64; 3],
}

impl Size {
    fn new(entries: u64, store: LocalStore) -> Result<Self, ConfigError> {
        let engine =
            Cache::<u64, (), Infallible>::builder("sweep", Ttl::fresh_for(Duration::from_secs(86_400)), &Gate::new(1))
                .steady()
                .store(store)
                .capacity(entries)
                .build_over(|_: LoadContext<u64, ()>| std::future::ready(Ok(())))?;
        let room = usize::try_from(entries).unwrap_or(usize::MAX);
        Ok(Self { entries, engine, lru: Lru::new(room), lfu: Lfu::new(room), hits: [0; 3] })
    }

    /// Asks all three for a key, and counts their hits from some time on.
    async fn ask(&mut self, key: u64, counts: bool) {
        let got = self.engine.get(&key).await;
        let hit = matches!(&got, Ok(Some(answer)) if Answer::outcome(answer) == Outcome::Hit);
        let all = [hit, self.lru.ask(key), self.lfu.ask(key)];
        for (hits, hit) in self.hits.iter_mut().zip(all) {
            *hits += u64::from(hit && counts);
        }
    }

    fn facts(&self, counted: u64) -> SizeFacts {
        let [engine, lru, lfu] = self.hits.map(|hits| ratio(hits, counted));
        SizeFacts {
            name: self.entries.to_string(),
            entries: self.entries,
            hit_ratio: engine,
            lru_hit_ratio: lru,
            lfu_hit_ratio: lfu,
        }
    }
}

/// Plays the requests before all sizes.
pub(super) async fn play(sweep: &Sweep, keys: &Keys, store: LocalStore, seed: u64) -> Result<SweepFacts, ConfigError> {
    let mut sizes = sweep.capacities.iter().map(|entries| Size::new(*entries, store)).collect::<Result<Vec<_>, _>>()?;
    let mut keyring = Keyring::new(keys, seed);
    for asked in 0..sweep.requests {
        let key = keyring.key(Duration::ZERO);
        for size in &mut sizes {
            size.ask(key, asked >= sweep.warm_up).await;
        }
    }
    let counted = sweep.requests.saturating_sub(sweep.warm_up);
    let sizes: Vec<_> = sizes.iter().map(|size| size.facts(counted)).collect();
    let gains = sizes.windows(2).filter_map(|pair| Some(pair[1].hit_ratio? - pair[0].hit_ratio?));
    let over_lru = sizes.iter().filter_map(|size| Some(size.hit_ratio? - size.lru_hit_ratio?));
    Ok(SweepFacts {
        requests: counted,
        least_gain: gains.min_by(f64::total_cmp),
        least_over_lru: over_lru.min_by(f64::total_cmp),
        sizes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;

    /// What fits is missed once; the engine's cache has room for exactly what it says, in every store.
    #[tokio::test(start_paused = true)]
    async fn what_fits_is_missed_once() {
        let scenario = crate::scenario::builtin("hit-ratio").unwrap().unwrap();
        let Scenario { mut keys, .. } = scenario;
        (keys.count, keys.zipf) = (50, 0.0);
        let sweep = Sweep { capacities: vec![25, 50], requests: 12_000, warm_up: 2_000 };
        for store in LocalStore::ALL {
            let facts = play(&sweep, &keys, *store, 1).await.unwrap();
            let [half, all] = &facts.sizes[..] else { panic!("{facts:?}") };
            assert_eq!([all.hit_ratio, all.lru_hit_ratio, all.lfu_hit_ratio], [Some(1.0); 3], "{store}");
            // Without favourites no policy is better than another: half of the keys are there, ± 4σ of 10,000.
            for ratio in [half.hit_ratio, half.lru_hit_ratio, half.lfu_hit_ratio] {
                assert!((ratio.unwrap() - 0.5).abs() < 0.02 + 1e-9, "{store}: {half:?}");
            }
            assert_eq!(facts.requests, 10_000);
            assert!(facts.least_gain.unwrap() > 0.45, "{store}: {facts:?}");
        }
    }
}
