//! Arrivals with what a law of keys alone cannot say: keys that do not exist, keys that are
//! new to everybody, and keys that become hot later.

use std::time::Duration;

use crate::arrivals::{Arrival, Arrivals};
use crate::scenario::{Hot, Keys, Traffic};

/// Endless arrivals of a scenario.
pub(super) struct Mix {
    arrivals: Arrivals,
    after: Duration,
    random: fastrand::Rng,
    absent_from: u64,
    absent: u64,
    absent_share: f64,
    new_share: f64,
    /// The next key that nobody has asked for before.
    new: u64,
    later: Vec<Hot>,
}

/// New keys are numbered from here on, far above all others.
pub(super) const NEW_FROM: u64 = 1 << 62;

impl Mix {
    pub(super) fn new(traffic: &Traffic, keys: &Keys, seed: u64) -> Self {
        let later = keys.hot.iter().copied().filter(|hot| hot.from.0 > Duration::ZERO).collect();
        Self {
            arrivals: Arrivals::new(traffic.pacing.into(), traffic.per_second, keys.choice(), seed),
            after: traffic.after.0,
            // Another stream than the arrivals', so that adding absent keys does not move them.
            random: fastrand::Rng::with_seed(!seed),
            absent_from: keys.count,
            absent: keys.absent.map_or(0, |absent| absent.count),
            absent_share: keys.absent.map_or(0.0, |absent| absent.share),
            new_share: keys.new_share,
            new: NEW_FROM,
            later,
        }
    }
}

impl Iterator for Mix {
    type Item = Arrival;

    fn next(&mut self) -> Option<Arrival> {
        let arrival = self.arrivals.next()?;
        let arrival = Arrival { at: arrival.at + self.after, ..arrival };
        let mut unit = self.random.f64();
        if unit < self.absent_share {
            return Some(Arrival { key: self.absent_from + self.random.u64(0..self.absent.max(1)), ..arrival });
        }
        unit -= self.absent_share;
        if unit < self.new_share {
            self.new += 1;
            return Some(Arrival { key: self.new, ..arrival });
        }
        unit -= self.new_share;
        for hot in self.later.iter().filter(|hot| arrival.at >= hot.from.0) {
            if unit < hot.share {
                return Some(Arrival { key: hot.key, ..arrival });
            }
            unit -= hot.share;
        }
        Some(arrival)
    }
}
