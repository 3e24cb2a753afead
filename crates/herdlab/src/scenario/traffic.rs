//! Who asks, and when.

use serde::Deserialize;

use super::Time;
use crate::arrivals::Pacing;

/// Who asks.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Traffic {
    /// How gaps between arrivals are drawn.
    #[serde(default)]
    pub pacing: PacingSpec,
    /// Intended arrivals each second, above 0; a closed loop has none.
    #[serde(default)]
    pub per_second: f64,
    /// Requests of a burst, 1 to 100,000.
    #[serde(default)]
    pub burst: u32,
    /// Users of a closed loop, 1 to 1,000,000.
    #[serde(default)]
    pub users: u64,
    /// How long one of them thinks between an answer and the next question, in the mean.
    #[serde(default)]
    pub think: Time,
    /// When the first request may start; until then nothing happens.
    #[serde(default)]
    pub after: Time,
    /// How long requests are sent, from the start of the run.
    pub length: Time,
    /// A caller's own wait timeout.
    pub wait_timeout: Option<Time>,
    /// The most requests in flight; arrivals beyond it are dropped and counted. A closed loop has its users for that.
    #[serde(default = "most_in_flight")]
    pub most_in_flight: usize,
}

fn most_in_flight() -> usize {
    1_000_000
}

/// How gaps between arrivals are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PacingSpec {
    /// Independent users.
    #[default]
    Poisson,
    /// A metronome.
    Constant,
    /// So many at once, at independent moments.
    Bursts,
    /// So many users, each of whom waits for an answer before asking again.
    Closed,
}

impl Traffic {
    /// The law of the gaps; a closed loop has none of its own.
    pub fn open(&self) -> Option<Pacing> {
        match self.pacing {
            PacingSpec::Poisson => Some(Pacing::Poisson),
            PacingSpec::Constant => Some(Pacing::Constant),
            PacingSpec::Bursts => Some(Pacing::Bursts(self.burst)),
            PacingSpec::Closed => None,
        }
    }

    /// Arrivals each second, where they do not depend on answers.
    pub fn open_rate(&self) -> Option<f64> {
        self.open().map(|_| self.per_second)
    }

    /// Requests each second if answers take no time.
    pub fn most_per_second(&self) -> f64 {
        self.open_rate().unwrap_or_else(|| self.users as f64 / self.think.seconds())
    }

    /// The field that cannot be, and why.
    pub(super) fn validate(&self) -> Result<(), (&'static str, &'static str)> {
        if self.length.seconds() < 0.001 {
            return Err(("traffic.length", "must be at least 1ms"));
        }
        if self.after >= self.length {
            return Err(("traffic.after", "must be before traffic.length, which counts from the start of the run"));
        }
        if self.most_in_flight == 0 {
            return Err(("traffic.most_in_flight", "must be at least 1"));
        }
        if self.wait_timeout.is_some_and(|limit| limit.seconds() < 0.001) {
            return Err((
                "traffic.wait_timeout",
                "must be at least 1ms; left out, callers wait for the flight's deadline",
            ));
        }
        if self.pacing == PacingSpec::Bursts && !(1..=100_000).contains(&self.burst) {
            return Err(("traffic.burst", "must be 1 to 100,000 with pacing = \"bursts\""));
        }
        if self.pacing != PacingSpec::Bursts && self.burst != 0 {
            return Err(("traffic.burst", "is a word of pacing = \"bursts\""));
        }
        if self.open().is_some() {
            if !(self.per_second > 0.0 && self.per_second <= 1e6) {
                return Err(("traffic.per_second", "must be above 0 and at most 1,000,000"));
            }
            if self.users != 0 || self.think != Time::default() {
                return Err(("traffic.users", "and think are words of pacing = \"closed\""));
            }
            return Ok(());
        }
        if !(1..=1_000_000).contains(&self.users) {
            return Err(("traffic.users", "must be 1 to 1,000,000 with pacing = \"closed\""));
        }
        if self.think.seconds() < 0.001 {
            return Err(("traffic.think", "must be at least 1ms with pacing = \"closed\""));
        }
        if self.per_second != 0.0 {
            return Err(("traffic.per_second", "is not given with pacing = \"closed\": users and think decide it"));
        }
        Ok(())
    }
}
