//! Totals of the last minutes, to take differences from.

use std::collections::VecDeque;
use std::time::Duration;

use super::Sample;
use crate::clock::{Moment, nanos};

/// Samples are kept this far apart at least.
const STEP: Duration = Duration::from_millis(250);
/// And for this long.
const KEPT: Duration = Duration::from_secs(61);

/// Past samples, oldest first.
#[derive(Debug, Default)]
pub(super) struct Window(VecDeque<Sample>);

impl Window {
    pub(super) fn push(&mut self, sample: &Sample) {
        let newest = self.0.back().map_or(0, |last| last.now);
        if self.0.is_empty() || sample.now.saturating_sub(newest) >= nanos(STEP) {
            self.0.push_back(sample.clone());
        }
        // One sample older than the window stays, as the base of the longest difference.
        while self
            .0
            .get(1)
            .is_some_and(|second| sample.now.saturating_sub(second.now) > nanos(KEPT))
        {
            self.0.pop_front();
        }
    }

    /// The newest sample that is at least `span` old, or the oldest there is.
    pub(super) fn before(&self, now: Moment, span: Duration) -> Option<&Sample> {
        self.0
            .iter()
            .rev()
            .find(|sample| now.saturating_sub(sample.now) >= nanos(span))
            .or(self.0.front())
    }
}
