//! G3: a limit that follows the origin's latency, between a floor and a ceiling.
//!
//! What it looks for is the knee: the number of concurrent calls up to which each
//! takes as long as one alone. It compares the mean latency of one round of loads
//! with the latency of an origin that is not crowded, which it measures anew every
//! ten seconds with the limit a quarter lower. `docs/adr/0007` says why. Pure:
//! no clock, no lock, no dice.

use herdfeed::OriginResult;

use crate::clock::Moment;

const SECOND: u64 = 1_000_000_000;
/// Rounds in which loads take this many times the usual are not crowded: the limit may grow.
const CALM: f64 = 1.04;
/// From here on they are crowded: the limit falls.
const CROWDED: f64 = 1.14;
/// From here on the limit is halved as soon as that is certain: see [`Round::is_jammed`].
const JAMMED: f64 = 2.0;
/// A round this much faster than the usual is news, whatever was measured before.
const FASTER: f64 = 0.5;
/// Time between two measures of the usual latency.
const MEASURE_EVERY: u64 = 10 * SECOND;
/// The limit while it is measured, as a part of what it was.
const MEASURE_AT: f64 = 0.75;
/// Measures whose median is the usual: one that falls into a bad moment changes nothing.
const MEASURES: usize = 3;
/// Rounds of which a measure is the mean: what all others are compared with is to be known a little better.
const MEASURE_ROUNDS: u32 = 3;
/// The fewest loads of a round, of one while little is known, and of one that is cut short.
const FEWEST: u64 = 64;
const FEWEST_AT_START: u64 = 16;
const FEWEST_JAMMED: u64 = 8;

/// The limit and what it is judged by.
#[derive(Debug)]
pub(super) struct Adaptive {
    floor: f64,
    ceiling: f64,
    limit: f64,
    phase: Phase,
    /// Usual latencies as measured, as logarithms; newest last.
    usual: Vec<f64>,
    measured: Option<Moment>,
    round: Round,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// Nothing is known: the limit grows by half until loads are crowded.
    Start,
    /// It moves by small steps.
    Follow,
    /// It is lowered to see an origin that is not crowded; what it was comes back then.
    Measure { before: f64, rounds: u32, log_sum: f64 },
}

/// Loads that began and ended under one limit.
///
/// Their geometric mean: a few very long ones weigh little, and an origin that is
/// twice as slow is seen as twice.
#[derive(Debug, Default)]
struct Round {
    began: Moment,
    loads: u64,
    log_sum: f64,
}

impl Round {
    /// Whether loads take so much longer that it cannot be chance: five times the error of a mean over so few of them,
    /// if their lengths vary as an exponential distribution does.
    fn is_jammed(&self, times: f64) -> bool {
        let certain = times.ln() * (self.loads as f64).sqrt() >= 5.0 * 1.28;
        times >= JAMMED && self.loads >= FEWEST_JAMMED && certain
    }
}

/// Whether every permit was out at some moment: a limit that nobody meets says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Met {
    Limit,
    Less,
}

impl Adaptive {
    /// Starts at the floor: an origin that is sick already is not hit with the ceiling first.
    pub(super) fn new(floor: usize, ceiling: usize) -> Self {
        let (floor, ceiling) = (floor as f64, ceiling as f64);
        let round = Round::default();
        Self { floor, ceiling, limit: floor, phase: Phase::Start, usual: Vec::new(), measured: None, round }
    }

    /// The limit in force.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between floor and ceiling")]
    pub(super) fn limit(&self) -> usize {
        match self.phase {
            Phase::Measure { before, .. } => (before * MEASURE_AT).max(self.floor) as usize,
            Phase::Start | Phase::Follow => self.limit as usize,
        }
    }

    /// A load that began at `began` has ended. `met` is asked once a round.
    ///
    /// An error says nothing about the latency of answers, and would look like a fast one.
    pub(super) fn ended(&mut self, began: Moment, now: Moment, result: OriginResult, met: impl FnOnce() -> Met) {
        match result {
            OriginResult::Value | OriginResult::Absent | OriginResult::NotModified | OriginResult::Timeout => {}
            OriginResult::Error | OriginResult::Panicked => return,
        }
        // What began under another limit says nothing about this one.
        if began < self.round.began {
            return;
        }
        self.round.loads += 1;
        self.round.log_sum += (now.saturating_sub(began).max(1) as f64).ln();
        let (mean, loads) = (self.round.log_sum / self.round.loads as f64, self.round.loads);
        let times = self.usual().map(|usual| (mean - usual).exp());
        // The shortest loads of a round end first: a round of several loads for each permit evens that out.
        let fewest = if self.phase == Phase::Start { FEWEST_AT_START } else { FEWEST };
        if loads >= (4 * self.limit() as u64).max(fewest) {
            self.judge(mean, times, now, met());
        } else if times.is_some_and(|times| self.round.is_jammed(times)) {
            self.jammed(mean, now, met());
        }
    }

    /// The usual latency's logarithm: the median of the last measures.
    fn usual(&self) -> Option<f64> {
        match self.usual[..] {
            [] => None,
            [one] => Some(one),
            [one, two] => Some(f64::midpoint(one, two)),
            [one, two, three, ..] => Some(one.max(two).min(one.min(two).max(three))),
        }
    }

    /// Seen before the round is over.
    fn jammed(&mut self, mean: f64, now: Moment, met: Met) {
        match (self.phase, met) {
            (Phase::Measure { before, .. }, _) => {
                // Perhaps a bad moment to measure in: believed when the next says the same.
                self.learn(mean, now);
                self.go(before / 2.0, now);
            }
            (Phase::Start | Phase::Follow, Met::Limit) => self.go(self.limit / 2.0, now),
            (Phase::Start | Phase::Follow, Met::Less) => self.go_on(now),
        }
    }

    fn judge(&mut self, mean: f64, times: Option<f64>, now: Moment, met: Met) {
        if let Phase::Measure { before, rounds, log_sum } = self.phase {
            return self.measure(before, rounds + 1, log_sum + mean, now);
        }
        match (times, met) {
            (None, _) => {
                self.learn(mean, now);
                self.go_on(now);
            }
            (Some(times), _) if times < FASTER => {
                self.forget();
                self.go_on(now);
            }
            (Some(times), Met::Limit) if times >= CROWDED => self.shrink(times, now),
            (Some(times), Met::Limit) if times < CALM && self.limit < self.ceiling => self.grow(now),
            (Some(_), Met::Limit | Met::Less) => {
                // Nothing is left to be found out by growing.
                if self.limit >= self.ceiling {
                    self.phase = Phase::Follow;
                }
                self.go_on(now);
            }
        }
    }

    /// A round of a measure has ended.
    fn measure(&mut self, before: f64, rounds: u32, log_sum: f64, now: Moment) {
        if rounds < MEASURE_ROUNDS {
            self.phase = Phase::Measure { before, rounds, log_sum };
            self.round = Round { began: now, ..Round::default() };
        } else {
            self.learn(log_sum / f64::from(rounds), now);
            self.go(before, now);
        }
    }

    fn grow(&mut self, now: Moment) {
        match self.phase {
            Phase::Start => {
                self.limit = (self.limit * 1.5).ceil().min(self.ceiling);
                self.go_on(now);
            }
            Phase::Follow | Phase::Measure { .. } => self.go(self.limit + self.step(), now),
        }
    }

    fn shrink(&mut self, times: f64, now: Moment) {
        match self.phase {
            // Where calls share a capacity, this is the knee.
            Phase::Start => self.go(self.limit / times, now),
            // As far as it would grow: by chance it goes up as often as down.
            Phase::Follow | Phase::Measure { .. } => self.go(self.limit - self.step(), now),
        }
    }

    /// A tenth, at least 1.
    fn step(&self) -> f64 {
        (self.limit / 10.0).floor().max(1.0)
    }

    /// From here on this is the limit.
    fn go(&mut self, limit: f64, now: Moment) {
        // The few loads of the first rounds only found out where to look.
        if self.phase == Phase::Start {
            self.forget();
        }
        self.limit = limit.clamp(self.floor, self.ceiling);
        self.phase = Phase::Follow;
        self.go_on(now);
    }

    /// The next round, in which the usual latency is measured if it is time to.
    fn go_on(&mut self, now: Moment) {
        if self.measured.is_none_or(|at| now.saturating_sub(at) >= MEASURE_EVERY) {
            self.phase = Phase::Measure { before: self.limit, rounds: 0, log_sum: 0.0 };
        }
        self.round = Round { began: now, ..Round::default() };
    }

    /// The usual latency is to be measured anew.
    fn forget(&mut self) {
        self.usual.clear();
        self.measured = None;
    }

    fn learn(&mut self, mean: f64, now: Moment) {
        if self.usual.len() == MEASURES {
            self.usual.remove(0);
        }
        self.usual.push(mean);
        self.measured = Some(now);
    }
}

#[cfg(test)]
mod tests;
