//! Rows of the outcome panel: seven letters for fourteen outcomes.

use herdfeed::{Outcome, Tally};

use crate::model::World;
use crate::model::window::CacheWindow;

/// A row of the outcome panel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Row {
    /// H.
    Hit,
    /// S: stale and reserve.
    Stale,
    /// N.
    Negative,
    /// L.
    Loaded,
    /// C.
    Coalesced,
    /// X: rejected, cooling, closed, fallback.
    Rejected,
    /// E: failed and timed out.
    Failed,
}

impl Row {
    /// Every row from the top.
    pub const ALL: [Self; 7] =
        [Self::Hit, Self::Stale, Self::Negative, Self::Loaded, Self::Coalesced, Self::Rejected, Self::Failed];

    /// The row that counts an outcome; `None` for those that only the detail shows.
    pub fn of(outcome: Outcome) -> Option<Self> {
        match outcome {
            Outcome::Hit => Some(Self::Hit),
            Outcome::Stale | Outcome::Reserve => Some(Self::Stale),
            Outcome::Negative => Some(Self::Negative),
            Outcome::Loaded => Some(Self::Loaded),
            Outcome::Coalesced => Some(Self::Coalesced),
            Outcome::Rejected | Outcome::Cooling | Outcome::Closed | Outcome::Fallback => Some(Self::Rejected),
            Outcome::Failed | Outcome::TimedOut => Some(Self::Failed),
            Outcome::Cancelled | Outcome::PeekMiss => None,
        }
    }

    /// Its letter and its word.
    pub fn label(self) -> (char, &'static str) {
        match self {
            Self::Hit => ('H', "hit"),
            Self::Stale => ('S', "stale"),
            Self::Negative => ('N', "negative"),
            Self::Loaded => ('L', "loaded"),
            Self::Coalesced => ('C', "coalesced"),
            Self::Rejected => ('X', "rejected"),
            Self::Failed => ('E', "failed"),
        }
    }

    /// The outcomes that it counts.
    pub fn outcomes(self) -> impl Iterator<Item = Outcome> {
        use herdfeed::words::ClosedSet;
        Outcome::all().iter().copied().filter(move |outcome| Self::of(*outcome) == Some(self))
    }

    /// Its part of a tally.
    pub fn count(self, tally: &Tally<Outcome>) -> u64 {
        crate::figures::sum(self.outcomes().map(|outcome| tally[outcome]))
    }
}

/// Sums over all processes that are up.
#[derive(Clone, Debug)]
pub struct Overview {
    /// Requests per second by outcome over the last two seconds.
    pub rates: Vec<(Outcome, f64)>,
    /// What the last ten seconds held.
    pub ten: CacheWindow,
}

impl Overview {
    /// Requests per second of a row.
    pub fn rate(&self, row: Row) -> f64 {
        self.rates.iter().filter(|(outcome, _)| Row::of(*outcome) == Some(row)).map(|(_, rate)| rate).sum()
    }

    /// Requests per second of all rows.
    pub fn total(&self) -> f64 {
        Row::ALL.iter().map(|row| self.rate(*row)).sum()
    }
}

/// Sums over all processes that are up; `None` before there are two snapshots of one.
pub fn overview(world: &World) -> Option<Overview> {
    use herdfeed::words::ClosedSet;
    let now: Vec<CacheWindow> = world.targets.iter().filter_map(|target| target.window(2_000_000)).collect();
    let rate = |outcome: Outcome| now.iter().map(|window| window.rate(window.outcomes[outcome])).sum();
    let ten = world.targets.iter().filter_map(|target| target.window(10_000_000)).reduce(|mut sum, window| {
        sum.add(&window);
        sum
    })?;
    Some(Overview { rates: Outcome::all().iter().map(|outcome| (*outcome, rate(*outcome))).collect(), ten })
}

/// Requests and origin calls of the last minute: what is at stake if the cache vanished.
pub fn last_minute(world: &World, now_second: u64) -> (f64, f64) {
    let mut sums = (0.0, 0.0);
    for target in &world.targets {
        for second in now_second.saturating_sub(60)..now_second {
            if let Some(second) = target.timeline.second(second) {
                sums.0 += second.outcomes.iter().sum::<f64>();
                sums.1 += second.origin_calls;
            }
        }
    }
    sums
}

/// Requests per second of a row in one second of all processes; `None` when nothing was heard.
pub fn in_second(world: &World, row: Row, second: u64) -> Option<f64> {
    let mut heard = world.targets.iter().filter_map(|target| target.timeline.second(second)).peekable();
    heard.peek()?;
    Some(heard.map(|s| row.outcomes().map(|outcome| s.outcome(outcome)).sum::<f64>()).sum())
}

/// Mean requests per second of a row over the last `span` whole seconds, or as much as was heard.
pub fn mean(world: &World, row: Row, now_second: u64, span: u64) -> Option<f64> {
    let heard: Vec<f64> =
        (now_second.saturating_sub(span)..now_second).filter_map(|second| in_second(world, row, second)).collect();
    (!heard.is_empty()).then(|| heard.iter().sum::<f64>() / heard.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use herdfeed::words::ClosedSet;

    /// L1: every outcome is in exactly one row or only in the detail.
    #[test]
    fn l1_rows_hold_every_outcome_once() {
        let shown: usize = Row::ALL.iter().map(|row| row.outcomes().count()).sum();
        assert_eq!(shown, Outcome::all().len() - 2);
    }
}
