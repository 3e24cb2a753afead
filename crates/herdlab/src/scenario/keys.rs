//! What is asked for: how many keys there are, which of them are popular, and what a key is made of.

use std::fmt::Write;

use serde::Deserialize;

use super::Time;
use crate::arrivals::{HotShare, KeyChoice, Zipf};

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Keys {
    /// Keys that exist: 0 up to this.
    pub count: u64,
    /// Exponent of Zipf's law over them; 0 asks for all alike.
    #[serde(default)]
    pub zipf: f64,
    /// Keys that get a part of all requests beside that law.
    #[serde(default)]
    pub hot: Vec<Hot>,
    /// Requests for keys that do not exist.
    #[serde(default)]
    pub absent: Option<Absent>,
    /// Part of all requests that asks for keys that nobody has asked for before.
    #[serde(default)]
    pub new_share: f64,
    /// What is in the cache at the start.
    #[serde(default)]
    pub warm: Warm,
    /// How the application makes a key of a row.
    #[serde(default)]
    pub form: KeyForm,
}

/// A key with its part of all requests.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hot {
    /// The key.
    pub key: u64,
    /// Its part of all requests, 0 to 1.
    pub share: f64,
    /// When it becomes hot; from the start if left out.
    #[serde(default)]
    pub from: Time,
}

/// Requests for what does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Absent {
    /// How many such keys there are.
    pub count: u64,
    /// Their part of all requests, 0 to 1.
    pub share: f64,
}

/// What is in the cache at the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Warm {
    /// Nothing.
    #[default]
    Nothing,
    /// Every key, written just now.
    Together,
    /// Every key, each of another age.
    Spread,
}

impl Keys {
    /// The law that keys are drawn by, beside what [`Keys::in_place`] takes of it.
    pub fn choice(&self) -> KeyChoice {
        let law = KeyChoice::zipf(self.count, self.zipf);
        let in_place = self.in_place();
        let hot = self.hot.iter().filter(|hot| !in_place.contains(hot));
        hot.fold(law, |law, hot| law.with_hot(HotShare { key: hot.key, share: hot.share }))
    }

    /// Hot keys that take the place of a key that was drawn. Where absent or new keys, or such as become hot later, take
    /// their part of all requests first, the others must be drawn beside them: a share is one of all requests.
    pub fn in_place(&self) -> Vec<Hot> {
        let alone = self.absent.is_none_or(|absent| absent.share <= 0.0) && self.new_share <= 0.0;
        let all_along = self.hot.iter().all(|hot| hot.from == Time::default());
        if alone && all_along { Vec::new() } else { self.hot.clone() }
    }

    /// The part of all requests that asks for each key, as it is from the start.
    pub fn probabilities(&self) -> Vec<f64> {
        let hot = || self.hot.iter().filter(|hot| hot.from == Time::default());
        let others = self.absent.map_or(0.0, |absent| absent.share) + self.new_share;
        let law = Zipf::new(self.count, self.zipf);
        let left = 1.0 - others - hot().map(|hot| hot.share).sum::<f64>();
        let of = |key| hot().filter(|hot| hot.key == key).map(|hot| hot.share).sum::<f64>();
        (0..self.count).map(|key| left * law.probability(key) + of(key)).collect()
    }

    /// In words, as the JSON of a run tells it.
    pub fn describe(&self) -> String {
        let mut law = format!("zipf({})", self.zipf);
        for hot in &self.hot {
            // Writing to a string cannot fail.
            let _ = write!(law, ", hot key {}", hot.share);
            if hot.from != Time::default() {
                let _ = write!(law, " from {} s", hot.from.seconds());
            }
        }
        if let Some(Absent { count, share }) = self.absent {
            let _ = write!(law, ", {count} absent keys {share}");
        }
        if self.new_share > 0.0 {
            let _ = write!(law, ", new keys {}", self.new_share);
        }
        law
    }
}

/// How the application makes a key of a row. A row of two parts has a tenant and an id, which are made to be mistaken for
/// each other: the same id of two tenants, separators, quotes and nothing at all within them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyForm {
    /// Its number.
    #[default]
    Number,
    /// Tenant and id, each by itself.
    TenantAndId,
    /// A mistake: tenant and id written into one text with a colon in between.
    Joined,
    /// A mistake: the id, since the tenant was forgotten.
    IdAlone,
}

/// Requests for the same keys, one after the other, before caches of several sizes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sweep {
    /// The sizes, from small to large.
    pub capacities: Vec<u64>,
    /// How many requests there are.
    pub requests: u64,
    /// How many of them fill the caches before any is counted.
    #[serde(default)]
    pub warm_up: u64,
}
