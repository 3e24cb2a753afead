//! Durations as people write them: `500ms`, `10s`, `5m`.

use std::fmt;
use std::time::Duration;

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};

/// A duration in a scenario.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(pub Duration);

impl Time {
    /// In seconds.
    pub fn seconds(self) -> f64 {
        self.0.as_secs_f64()
    }
}

impl From<Time> for Duration {
    fn from(time: Time) -> Self {
        time.0
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(InWords)
    }
}

struct InWords;

impl Visitor<'_> for InWords {
    type Value = Time;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a duration such as \"500ms\", \"10s\" or \"5m\"")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Time, E> {
        humantime::parse_duration(text).map(Time).map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
    }
}
