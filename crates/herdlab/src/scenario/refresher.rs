//! What the central refresher of a scenario loads, and when.

use std::time::Duration;

use super::Scenario;

/// Keys on the list where the scenario does not say.
const KEYS: u64 = 100;
/// A round as a part of the soft TTL where the scenario does not say.
const ROUND: f64 = 0.8;

impl Scenario {
    /// The keys on its list, the most popular: those that are said to be hot from the start, then the first of the law.
    pub fn refreshed(&self) -> Vec<u64> {
        let most = usize::try_from(self.refresher.keys.unwrap_or(KEYS)).unwrap_or(usize::MAX);
        let hot = self.keys.hot.iter().filter(|hot| hot.from.0.is_zero()).map(|hot| hot.key);
        let hot: Vec<u64> = hot.take(most).collect();
        let others = (0..self.keys.count).filter(|key| !hot.contains(key)).take(most - hot.len());
        hot.iter().copied().chain(others).collect()
    }

    /// The time between two loads, for so many keys in a round.
    pub fn refresh_gap(&self, keys: usize) -> Duration {
        let every = self.refresher.every.map_or_else(|| self.cache.fresh_for.0.mul_f64(ROUND), Duration::from);
        every.div_f64(keys.max(1) as f64).max(Duration::from_millis(1))
    }
}
