//! How often one watched key had to be renewed, seen from the origin.
//!
//! Many loads may belong to one expiry: all that start before its first answer
//! has come, and stragglers that had looked before it landed. A load opens a
//! new expiry when the first answer of the last one has come and cannot be
//! fresh any more, when refresh-ahead or a refresh by name started it while the value was fresh, or
//! when somebody expired the key by hand. Pure: time is an argument.

use std::time::Duration;

use herdfeed::FlightTrigger;
use tokio::time::Instant;

/// The engine's clock may be this coarse, and so end freshness this much early.
const SLACK: Duration = Duration::from_millis(10);

/// Counts the expiries of one key.
#[derive(Debug)]
pub struct Expiries {
    /// No stored value is fresh for less than this.
    least_fresh: Duration,
    count: u64,
    open: Open,
}

/// The expiry that is being counted.
#[derive(Debug, Clone, Copy)]
enum Open {
    /// None; the next load begins one.
    None,
    /// Nothing has been answered yet.
    Waiting,
    /// First answered then.
    Answered(Instant),
}

impl Expiries {
    /// For a key whose values are fresh for `fresh_for`, cut by `jitter` (0..=0.5) at most.
    ///
    /// `warm_since` says when a first value was put there, if one was.
    pub fn new(fresh_for: Duration, jitter: f64, warm_since: Option<Instant>) -> Self {
        Self {
            least_fresh: fresh_for.mul_f64((1.0 - jitter).clamp(0.0, 1.0)).saturating_sub(SLACK),
            count: 0,
            open: warm_since.map_or(Open::None, Open::Answered),
        }
    }

    /// A load of the key starts.
    pub fn load_started(&mut self, now: Instant, trigger: FlightTrigger) {
        let new = match self.open {
            Open::None => true,
            Open::Waiting => false,
            Open::Answered(at) => match trigger {
                FlightTrigger::Early | FlightTrigger::Forced => true,
                FlightTrigger::Miss | FlightTrigger::Stale | FlightTrigger::Warmup | FlightTrigger::Batch => {
                    now.saturating_duration_since(at) >= self.least_fresh
                }
            },
        };
        if new {
            self.count += 1;
            self.open = Open::Waiting;
        }
    }

    /// A load of the key brought an answer.
    pub fn load_answered(&mut self, now: Instant) {
        if matches!(self.open, Open::Waiting) {
            self.open = Open::Answered(now);
        }
    }

    /// The key was expired by hand: the next load begins a new expiry.
    pub fn expired_by_hand(&mut self) {
        self.open = Open::None;
    }

    /// Expiries so far that a load has followed.
    pub fn count(&self) -> u64 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRESH: Duration = Duration::from_secs(1);

    #[test]
    fn loads_before_the_first_answer_and_stragglers_are_of_one_expiry() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut expiries = Expiries::new(FRESH, 0.1, None);
        for ms in 0..100 {
            expiries.load_started(at(ms), FlightTrigger::Miss);
        }
        expiries.load_answered(at(100));
        expiries.load_started(at(101), FlightTrigger::Miss);
        expiries.load_answered(at(150));
        assert_eq!(expiries.count(), 1);
        // 900 ms after the first answer a value cut by all of its jitter is no longer fresh.
        expiries.load_started(at(989), FlightTrigger::Stale);
        assert_eq!(expiries.count(), 1);
        expiries.load_started(at(1_000), FlightTrigger::Stale);
        expiries.load_started(at(1_001), FlightTrigger::Stale);
        assert_eq!(expiries.count(), 2);
    }

    #[test]
    fn a_refresh_by_name_opens_a_new_one_early() {
        let start = Instant::now();
        let mut expiries = Expiries::new(FRESH, 0.0, Some(start));
        expiries.load_started(start + FRESH / 2, FlightTrigger::Forced);
        expiries.load_started(start + FRESH / 2, FlightTrigger::Forced);
        assert_eq!(expiries.count(), 1);
    }

    #[test]
    fn refresh_ahead_and_a_hand_open_a_new_one_early() {
        let start = Instant::now();
        let mut expiries = Expiries::new(FRESH, 0.0, Some(start));
        expiries.load_started(start + FRESH / 2, FlightTrigger::Early);
        expiries.load_started(start + FRESH / 2, FlightTrigger::Early);
        assert_eq!(expiries.count(), 1);
        expiries.load_answered(start + FRESH / 2);
        expiries.expired_by_hand();
        expiries.load_started(start + FRESH / 2, FlightTrigger::Stale);
        assert_eq!(expiries.count(), 2);
    }
}
