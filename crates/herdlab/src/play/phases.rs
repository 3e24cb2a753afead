//! The phases of a run: before the first trouble, until the end of the last, and after it.

use std::time::Duration;

use tokio::time::Instant;

use crate::scenario::Trouble;

/// Their names, in order.
pub(super) const NAMES: [&str; 3] = ["before", "fault", "after"];

/// When each of them begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Phases {
    start: Instant,
    /// The first trouble's start, and the last one's end.
    trouble: Option<(Duration, Duration)>,
}

impl Phases {
    /// Of a run that begins now.
    pub(super) fn new(trouble: &[Trouble]) -> Self {
        let first = trouble.iter().map(|trouble| trouble.from.0).min();
        let last = trouble.iter().map(|trouble| trouble.until.0).max();
        Self { start: Instant::now(), trouble: first.zip(last) }
    }

    /// The phase of a moment, as a place in [`NAMES`]. What happens at a boundary belongs to the phase that begins there.
    pub(super) fn at(&self, moment: Instant) -> usize {
        let at = self.since_start(moment);
        match self.trouble {
            Some((_, last)) if at >= last => 2,
            Some((first, _)) if at >= first => 1,
            Some(_) | None => 0,
        }
    }

    /// How far into the run a moment is.
    pub(super) fn since_start(&self, moment: Instant) -> Duration {
        moment.saturating_duration_since(self.start)
    }

    /// When the last trouble ends, if there is any.
    pub(super) fn trouble_ends(&self) -> Option<Duration> {
        self.trouble.map(|(_, last)| last)
    }
}
