//! Which key each request asks for, with what a law of keys alone cannot say: keys that do not
//! exist, keys that are new to everybody, and keys that become hot later.

use std::time::Duration;

use crate::arrivals::{Arrival, Arrivals, KeyChoice, Pacing};
use crate::scenario::{Hot, Keys, Traffic};

/// Endless arrivals of a scenario whose users do not wait for each other.
pub(super) struct Mix {
    arrivals: Arrivals,
    after: Duration,
    beside: Beside,
}

impl Mix {
    pub(super) fn new(pacing: Pacing, traffic: &Traffic, keys: &Keys, seed: u64) -> Self {
        Self {
            arrivals: Arrivals::new(pacing, traffic.per_second, keys.choice(), seed),
            after: traffic.after.0,
            beside: Beside::new(keys, seed),
        }
    }
}

impl Iterator for Mix {
    type Item = Arrival;

    fn next(&mut self) -> Option<Arrival> {
        let arrival = self.arrivals.next()?;
        let at = arrival.at + self.after;
        Some(Arrival { at, key: self.beside.instead_of(arrival.key, at) })
    }
}

/// Keys one by one, for users who ask when they are ready.
pub(super) struct Keyring {
    choice: KeyChoice,
    random: fastrand::Rng,
    beside: Beside,
}

impl Keyring {
    pub(super) fn new(keys: &Keys, seed: u64) -> Self {
        Self { choice: keys.choice(), random: fastrand::Rng::with_seed(seed), beside: Beside::new(keys, seed) }
    }

    pub(super) fn key(&mut self, at: Duration) -> u64 {
        let usual = self.choice.draw(&mut self.random);
        self.beside.instead_of(usual, at)
    }
}

/// What is asked for beside the keys of the law.
struct Beside {
    random: fastrand::Rng,
    absent_from: u64,
    absent: u64,
    absent_share: f64,
    new_share: f64,
    /// The next key that nobody has asked for before.
    new: u64,
    hot: Vec<Hot>,
}

/// New keys are numbered from here on, far above all others.
pub(super) const NEW_FROM: u64 = 1 << 62;

impl Beside {
    fn new(keys: &Keys, seed: u64) -> Self {
        Self {
            // Another stream than the arrivals', so that adding absent keys does not move them.
            random: fastrand::Rng::with_seed(!seed),
            absent_from: keys.count,
            absent: keys.absent.map_or(0, |absent| absent.count),
            absent_share: keys.absent.map_or(0.0, |absent| absent.share),
            new_share: keys.new_share,
            new: NEW_FROM,
            hot: keys.in_place(),
        }
    }

    fn instead_of(&mut self, usual: u64, at: Duration) -> u64 {
        let mut unit = self.random.f64();
        if unit < self.absent_share {
            return self.absent_from + self.random.u64(0..self.absent.max(1));
        }
        unit -= self.absent_share;
        if unit < self.new_share {
            self.new += 1;
            return self.new;
        }
        unit -= self.new_share;
        for hot in self.hot.iter().filter(|hot| at >= hot.from.0) {
            if unit < hot.share {
                return hot.key;
            }
            unit -= hot.share;
        }
        usual
    }
}
