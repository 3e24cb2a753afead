//! Totals of the last seconds, to take differences from.

use std::collections::VecDeque;
use std::time::Duration;

use super::Sample;
use crate::clock::{Moment, nanos};

/// Samples are kept this far apart at least.
const STEP: Duration = Duration::from_millis(250);
/// And for this long: a little more than the longest window that detection asks for.
const KEPT: Duration = Duration::from_secs(11);
/// Keys that began to load are kept for longer, one a second.
const MINUTE: Duration = Duration::from_secs(60);

/// Past samples, oldest first.
#[derive(Debug, Default)]
pub(super) struct Window {
    recent: VecDeque<Sample>,
    keys: VecDeque<(Moment, u64)>,
}

impl Window {
    pub(super) fn push(&mut self, sample: &Sample) {
        let now = sample.now;
        let newest = self.recent.back().map(|last| last.now);
        if newest.is_none_or(|newest| now.saturating_sub(newest) >= nanos(STEP)) {
            self.recent.push_back(sample.clone());
        }
        // One sample older than the window stays, as the base of the longest difference.
        while self.recent.get(1).is_some_and(|second| now.saturating_sub(second.now) > nanos(KEPT)) {
            self.recent.pop_front();
        }
        let newest = self.keys.back().map(|(at, _)| *at);
        if newest.is_none_or(|newest| now.saturating_sub(newest) >= nanos(Duration::from_secs(1))) {
            self.keys.push_back((now, sample.keys));
        }
        while self.keys.get(1).is_some_and(|(at, _)| now.saturating_sub(*at) > nanos(MINUTE)) {
            self.keys.pop_front();
        }
    }

    /// The newest sample that is at least `span` old, or the oldest there is.
    pub(super) fn before(&self, now: Moment, span: Duration) -> Option<&Sample> {
        self.recent.iter().rev().find(|sample| now.saturating_sub(sample.now) >= nanos(span)).or(self.recent.front())
    }

    /// Keys that began to load each second, on average over the last minute before `base`.
    pub(super) fn keys_per_second(&self, base: &Sample) -> f64 {
        let Some((since, keys)) = self.keys.front() else { return 0.0 };
        let span = base.now.saturating_sub(*since) as f64 / 1e9;
        base.keys.saturating_sub(*keys) as f64 / span.max(1.0)
    }
}
