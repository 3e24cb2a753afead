//! [`Timeline`]: what each second added, for the sparklines and the longer windows.
//!
//! A second in which nothing was heard is a gap, not a zero.

use std::collections::VecDeque;

use herdfeed::words::ClosedSet;
use herdfeed::{Outcome, Tally};

/// Seconds kept.
pub const SECONDS: u64 = 300;
const SECOND_US: u64 = 1_000_000;
const OUTCOMES: usize = 14;

/// What one second added.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Second {
    /// Requests by outcome; parts of a request appear where a delta spans two seconds.
    pub outcomes: [f64; OUTCOMES],
    /// Origin calls.
    pub origin_calls: f64,
    /// The part of the second that was heard, 0..=1.
    pub heard: f64,
}

impl Second {
    /// Requests that ended with `outcome`.
    pub fn outcome(&self, outcome: Outcome) -> f64 {
        self.outcomes.get(outcome.index()).copied().unwrap_or(0.0)
    }
}

/// The last [`SECONDS`] seconds of one target.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    /// Number of the newest second, counted from 0 on the monotonic clock.
    newest: u64,
    seconds: VecDeque<Option<Second>>,
}

impl Timeline {
    /// Adds what was counted between two moments, spread evenly over the seconds between.
    pub fn add(&mut self, from_us: u64, to_us: u64, outcomes: &Tally<Outcome>, origin_calls: u64) {
        let from_us = from_us.max(to_us.saturating_sub(SECONDS * SECOND_US));
        let span = to_us.saturating_sub(from_us);
        if span == 0 {
            return;
        }
        for number in from_us / SECOND_US..=to_us / SECOND_US {
            let start = from_us.max(number * SECOND_US);
            let end = to_us.min((number + 1) * SECOND_US);
            let part = end.saturating_sub(start) as f64 / span as f64;
            let heard = end.saturating_sub(start) as f64 / SECOND_US as f64;
            if part <= 0.0 {
                continue;
            }
            let Some(second) = self.second_mut(number) else {
                continue;
            };
            for (slot, (_, count)) in second.outcomes.iter_mut().zip(outcomes.iter()) {
                *slot += count as f64 * part;
            }
            second.origin_calls += origin_calls as f64 * part;
            second.heard = (second.heard + heard).min(1.0);
        }
    }

    /// The second with this number, made if it is new; `None` when it is too old to be kept.
    fn second_mut(&mut self, number: u64) -> Option<&mut Second> {
        if self.seconds.is_empty() || number >= self.newest + SECONDS {
            self.seconds.clear();
            self.newest = number;
            self.seconds.push_back(None);
        }
        while self.newest < number {
            self.newest += 1;
            self.seconds.push_back(None);
        }
        while self.seconds.len() as u64 > SECONDS {
            self.seconds.pop_front();
        }
        let back = usize::try_from(self.newest - number).ok()?;
        while self.seconds.len() <= back && (self.seconds.len() as u64) < SECONDS {
            self.seconds.push_front(None);
        }
        let place = self.seconds.len().checked_sub(back + 1)?;
        Some(self.seconds.get_mut(place)?.get_or_insert_default())
    }

    /// The second with this number, if anything was heard in it.
    pub fn second(&self, number: u64) -> Option<&Second> {
        let back = usize::try_from(self.newest.checked_sub(number)?).ok()?;
        let place = self.seconds.len().checked_sub(back + 1)?;
        self.seconds.get(place)?.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hits(count: u64) -> Tally<Outcome> {
        let mut tally = Tally::new();
        tally[Outcome::Hit] = count;
        tally
    }

    fn hits_in(timeline: &Timeline, number: u64) -> u64 {
        crate::figures::whole(timeline.second(number).unwrap().outcome(Outcome::Hit))
    }

    #[test]
    fn a_delta_is_spread_over_the_seconds_it_spans() {
        let mut timeline = Timeline::default();
        timeline.add(10_500_000, 12_500_000, &hits(200), 20);
        let hit = |number| timeline.second(number).map(|s| s.outcome(Outcome::Hit));
        assert_eq!([hit(9), hit(10), hit(11), hit(12), hit(13)], [None, Some(50.0), Some(100.0), Some(50.0), None]);
        assert!((timeline.second(11).unwrap().heard - 1.0).abs() < 1e-9);
        assert!((timeline.second(10).unwrap().origin_calls - 5.0).abs() < 1e-9);
    }

    #[test]
    fn the_past_may_come_after_the_present_and_gaps_stay_gaps() {
        let mut timeline = Timeline::default();
        timeline.add(100_000_000, 101_000_000, &hits(1), 0);
        timeline.add(40_000_000, 41_000_000, &hits(7), 0);
        assert_eq!(hits_in(&timeline, 40), 7);
        assert_eq!(timeline.second(70), None);
        timeline.add(900_000_000, 901_000_000, &hits(1), 0);
        assert_eq!(timeline.second(100), None);
        assert_eq!(timeline.seconds.len(), 1);
    }

    #[test]
    fn seconds_are_bounded() {
        let mut timeline = Timeline::default();
        for number in 0..1_000 {
            timeline.add(number * SECOND_US, (number + 1) * SECOND_US, &hits(3), 0);
        }
        assert_eq!(timeline.seconds.len() as u64, SECONDS);
        assert_eq!(hits_in(&timeline, 999), 3);
    }
}
