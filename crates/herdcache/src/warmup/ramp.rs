//! How many loads a warm-up may have in progress: doubled while all is calm, halved otherwise.
//!
//! Pure: it is told what landed and what the gate says, and knows neither.

use herdfeed::{GateSnapshot, PermitResult};

/// The fewest loads that make a round: fewer say too little about the origin.
const ROUND: u64 = 4;
/// The mean wait for a permit up to which callers count as undisturbed, in microseconds.
const WAIT_LOW_US: u64 = 5_000;
/// How many times slower than in its calmest round the origin may become.
const SLOWER: u64 = 2;

/// By which part of it the calmest round's time grows with each round that is too slow at one load at a time.
const CREDIT: u64 = 8;

/// A warm-up's pace.
#[derive(Debug)]
pub(super) struct Ramp {
    width: u64,
    /// The widest it may become.
    share: u64,
    /// Mean load time of the calmest round, in nanoseconds.
    calmest: Option<u64>,
    round: Round,
    seen: Foreground,
}

/// What landed since the width last changed.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    landed: u64,
    failed: u64,
    late: u64,
    /// Loads whose time is known, and the sum of it.
    timed: u64,
    load_ns: u64,
}

/// How a load of the warm-up ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// With a value, after this many nanoseconds.
    Value(u64),
    /// The origin knows no value.
    Absent,
    Failed,
    /// Into a limit of time.
    Late,
}

/// What the callers' loads met at the gate so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Foreground {
    pub(super) waits: u64,
    pub(super) wait_us: u64,
    pub(super) refused: u64,
    pub(super) pending: u64,
}

impl Foreground {
    pub(super) fn of(gate: &GateSnapshot) -> Self {
        let results = &gate.results;
        Self {
            waits: gate.wait.count,
            wait_us: gate.wait.sum_us,
            refused: results[PermitResult::QueueFull]
                + results[PermitResult::QueueTimeout]
                + results[PermitResult::OriginDown],
            pending: gate.pending,
        }
    }

    /// Whether callers found their permits at once, or nearly so, since `before`.
    fn is_calm_since(&self, before: &Self) -> bool {
        let (waits, wait_us) = (self.waits.saturating_sub(before.waits), self.wait_us.saturating_sub(before.wait_us));
        self.pending == 0 && self.refused == before.refused && wait_us <= waits * WAIT_LOW_US
    }
}

impl Ramp {
    /// Begins with one load at a time.
    pub(super) fn new(share: u64, seen: Foreground) -> Self {
        Self { width: share.min(1), share, calmest: None, round: Round::default(), seen }
    }

    pub(super) fn width(&self) -> u64 {
        self.width
    }

    /// A load of the warm-up has landed.
    pub(super) fn landed(&mut self, end: End) {
        let round = &mut self.round;
        round.landed += 1;
        match end {
            End::Value(ns) => {
                round.timed += 1;
                round.load_ns = round.load_ns.saturating_add(ns);
            }
            End::Absent => {}
            End::Failed => round.failed += 1,
            End::Late => round.late += 1,
        }
    }

    /// Whether enough has landed to judge by.
    pub(super) fn is_round_over(&self) -> bool {
        self.round.landed >= self.width.max(ROUND)
    }

    /// Looks at the callers, and at the round if it is over.
    pub(super) fn look(&mut self, now: Foreground) {
        let calm = now.is_calm_since(&self.seen);
        self.seen = now;
        if !calm {
            self.halve();
        } else if self.is_round_over() {
            if self.was_calm() { self.double() } else { self.halve() }
        }
    }

    /// There is no permit, though the width would allow one more load.
    pub(super) fn found_no_permit(&mut self) {
        self.halve();
    }

    /// Whether the origin bore the round well. Learns how calm it can be.
    fn was_calm(&mut self) -> bool {
        let Round { landed, failed, late, timed, load_ns } = self.round;
        let (mean, before) = (load_ns.checked_div(timed), self.calmest);
        let slower = mean.zip(before).is_some_and(|(mean, before)| mean > before.saturating_mul(SLOWER));
        self.calmest = match before {
            // Slow though hardly anything is asked of it: it may be so for good.
            Some(before) if slower && self.width == 1 => Some(before + before / CREDIT),
            _ => mean.into_iter().chain(before).min(),
        };
        !slower && late == 0 && failed * 2 < landed
    }

    fn double(&mut self) {
        self.turn((self.width * 2).min(self.share));
    }

    fn halve(&mut self) {
        self.turn((self.width / 2).max(self.share.min(1)));
    }

    fn turn(&mut self, width: u64) {
        self.width = width;
        self.round = Round::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUIET: Foreground = Foreground { waits: 0, wait_us: 0, refused: 0, pending: 0 };

    /// One round of loads that took `ms` each; gives the width after it.
    fn round(ramp: &mut Ramp, ms: u64) -> u64 {
        while !ramp.is_round_over() {
            ramp.landed(End::Value(ms * 1_000_000));
        }
        ramp.look(ramp.seen);
        ramp.width()
    }

    /// U1: the width doubles up to the share while all is calm, and halves when the origin becomes twice as slow.
    #[test]
    fn u1_the_width_follows_the_origins_latency() {
        let mut ramp = Ramp::new(12, QUIET);
        assert_eq!([10; 5].map(|ms| round(&mut ramp, ms)), [2, 4, 8, 12, 12]);
        // 20 ms are twice the calmest round; 21 are more.
        assert_eq!([20, 21, 21, 21, 20].map(|ms| round(&mut ramp, ms)), [12, 6, 3, 1, 2]);
    }

    /// U1: a slowness that lasts is got used to, at one load at a time and an eighth a round.
    #[test]
    fn u1_a_lasting_slowness_is_accepted_in_time() {
        let mut ramp = Ramp::new(12, QUIET);
        assert_eq!([10, 50, 50].map(|ms| round(&mut ramp, ms)), [2, 1, 1]);
        // 10 ms grow to 25 in eight rounds.
        let widths: Vec<u64> = (0..10).map(|_| round(&mut ramp, 50)).collect();
        assert_eq!(widths, [1, 1, 1, 1, 1, 1, 1, 2, 4, 8]);
    }

    /// U1: callers who wait for permits halve the width, within a round too; short waits do not.
    #[test]
    fn u1_the_width_follows_the_callers_waits() {
        let mut ramp = Ramp::new(64, QUIET);
        (0..6).for_each(|_| _ = round(&mut ramp, 10));
        assert_eq!(ramp.width(), 64);
        let short = Foreground { waits: 10, wait_us: 50_000, ..QUIET };
        ramp.look(short);
        assert_eq!(ramp.width(), 64);
        ramp.look(Foreground { waits: 20, wait_us: 100_001, ..short });
        assert_eq!(ramp.width(), 32);
        ramp.look(Foreground { pending: 1, ..ramp.seen });
        assert_eq!(ramp.width(), 16);
        ramp.look(Foreground { pending: 0, refused: 1, ..ramp.seen });
        assert_eq!(ramp.width(), 8);
        ramp.found_no_permit();
        assert_eq!(ramp.width(), 4);
        // Within a round nothing but the callers counts.
        ramp.landed(End::Late);
        ramp.look(ramp.seen);
        assert_eq!(ramp.width(), 4);
    }

    /// U1: failures slow it down and never stop it; without a share it loads nothing.
    #[test]
    fn u1_failures_slow_down_and_never_stop() {
        let mut ramp = Ramp::new(12, QUIET);
        (0..4).for_each(|_| _ = round(&mut ramp, 10));
        for (ends, width) in [
            ([End::Value(10_000_000), End::Failed], 6),
            ([End::Late, End::Value(10_000_000)], 3),
            ([End::Failed, End::Failed], 1),
            ([End::Failed, End::Failed], 1),
            ([End::Absent, End::Absent], 2),
        ] {
            while !ramp.is_round_over() {
                for end in ends {
                    ramp.landed(end);
                }
            }
            ramp.look(QUIET);
            assert_eq!(ramp.width(), width, "{ends:?}");
        }
        let mut none = Ramp::new(0, QUIET);
        none.found_no_permit();
        assert_eq!(none.width(), 0);
    }
}
