//! G3: the limit against an origin whose running calls share a capacity, step by step and without a runtime.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fastrand::Rng;

use super::*;

const MS: u64 = 1_000_000;

/// An origin that works on `capacity` calls at full speed, always with as many as the limit lets through.
struct Bench {
    rng: Rng,
    limit: Adaptive,
    now: Moment,
    capacity: f64,
    work_ms: f64,
    /// Whether each call is as long as the other, or exponentially distributed.
    spread: Spread,
    /// Service that a call running from the beginning has got, and when each call is due by it.
    attained: f64,
    calls: BinaryHeap<Reverse<(u64, Moment)>>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Spread {
    None,
    Exponential,
}

impl Bench {
    fn new(capacity: f64, (floor, ceiling): (usize, usize), spread: Spread, seed: u64) -> Self {
        let limit = Adaptive::new(floor, ceiling);
        let (rng, calls) = (Rng::with_seed(seed), BinaryHeap::new());
        Self { rng, limit, now: SECOND, capacity, work_ms: 50.0, spread, attained: 0.0, calls }
    }

    fn work(&mut self) -> f64 {
        match self.spread {
            Spread::None => self.work_ms,
            Spread::Exponential => -self.work_ms * (1.0 - self.rng.f64()).ln(),
        }
    }

    /// One departure after another for `ms`; gives the limits in force meanwhile, one for each departure.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "milliseconds of a test")]
    fn run(&mut self, ms: u64, result: OriginResult) -> Vec<usize> {
        let (end, mut limits) = (self.now + ms * MS, Vec::new());
        while self.now < end {
            while self.calls.len() < self.limit.limit() {
                let due = ((self.attained + self.work()) * MS as f64) as u64;
                self.calls.push(Reverse((due, self.now)));
            }
            let rate = (self.capacity / self.calls.len() as f64).min(1.0);
            let Some(Reverse((due, began))) = self.calls.pop() else { break };
            let left = (due as f64 / MS as f64 - self.attained).max(0.0);
            self.attained += left;
            self.now += (left / rate * MS as f64) as u64;
            self.limit.ended(began, self.now, result, || Met::Limit);
            limits.push(self.limit.limit());
        }
        limits
    }
}

fn mean(limits: &[usize]) -> f64 {
    limits.iter().sum::<usize>() as f64 / limits.len() as f64
}

/// G3: it settles within a quarter of the knee, whatever the knee, from below and from above.
#[test]
fn g3_settles_at_the_knee() {
    for knee in [4.0, 10.0, 20.0, 60.0] {
        let mut bench = Bench::new(knee, (1, 128), Spread::None, 1);
        bench.run(10_000, OriginResult::Value);
        let settled = bench.run(60_000, OriginResult::Value);
        println!("knee {knee}: {:.1}", mean(&settled));
        let near = settled.iter().filter(|limit| (**limit as f64 - knee).abs() <= 0.25 * knee).count();
        // The rest are the looks at an origin that is not crowded.
        assert!(near as f64 >= 0.9 * settled.len() as f64, "knee {knee}: {near} of {}", settled.len());
        bench.capacity = knee / 2.0;
        bench.run(20_000, OriginResult::Value);
        let settled = mean(&bench.run(10_000, OriginResult::Value));
        assert!((settled - knee / 2.0).abs() <= 0.25 * knee, "{settled} after the capacity was halved");
    }
}

/// G3: the same on average where the length of loads varies as an exponential distribution does.
#[test]
fn g3_settles_at_the_knee_when_loads_vary() {
    for seed in 0..40 {
        let mut bench = Bench::new(20.0, (6, 64), Spread::Exponential, seed);
        bench.run(10_000, OriginResult::Value);
        let settled = mean(&bench.run(60_000, OriginResult::Value));
        println!("seed {seed}: {settled:.1}");
        assert!((settled - 20.0).abs() <= 5.0, "seed {seed}: {settled}");
    }
}

/// G3: twenty times slower: below half within 5 s, and back when it is over.
#[test]
fn g3_falls_when_the_origin_slows_down_and_comes_back() {
    for spread in [Spread::None, Spread::Exponential] {
        let mut bench = Bench::new(20.0, (6, 64), spread, 3);
        let before = mean(&bench.run(20_000, OriginResult::Value));
        bench.work_ms = 1_000.0;
        let slow = bench.run(5_000, OriginResult::Value);
        let lowest = slow.iter().min().copied().unwrap_or(64);
        println!("{before:.1} before, {lowest} within 5 s");
        assert!((lowest as f64) < before / 2.0);
        bench.run(5_000, OriginResult::Value);
        bench.work_ms = 50.0;
        bench.run(5_000, OriginResult::Value);
        let after = mean(&bench.run(10_000, OriginResult::Value));
        assert!((after - 20.0).abs() <= 5.0, "{after} afterwards");
    }
}

/// G3: an origin that stays slow is accepted as it is: its knee is found again.
#[test]
fn g3_a_lasting_change_is_learnt() {
    let mut bench = Bench::new(20.0, (6, 64), Spread::None, 3);
    bench.run(20_000, OriginResult::Value);
    bench.work_ms = 200.0;
    bench.run(60_000, OriginResult::Value);
    let settled = mean(&bench.run(30_000, OriginResult::Value));
    assert!((settled - 20.0).abs() <= 5.0, "{settled}");
    bench.work_ms = 20.0;
    bench.run(30_000, OriginResult::Value);
    let settled = mean(&bench.run(30_000, OriginResult::Value));
    assert!((settled - 20.0).abs() <= 5.0, "{settled} when it is fast again");
}

/// G3: never beyond its bounds; errors and a limit that nobody meets move nothing.
#[test]
fn g3_stays_within_its_bounds() {
    let mut bench = Bench::new(1_000.0, (2, 16), Spread::None, 5);
    bench.run(5_000, OriginResult::Value);
    // Between two looks at the origin.
    assert_eq!(bench.run(3_000, OriginResult::Value).iter().max(), Some(&16));
    let before = bench.limit.limit();
    assert!(bench.run(20_000, OriginResult::Error).iter().all(|limit| *limit == before));
    bench.work_ms = 5_000.0;
    assert_eq!(bench.run(40_000, OriginResult::Timeout).iter().min(), Some(&2));
    assert!(bench.run(60_000, OriginResult::Value).iter().all(|limit| (2..=16).contains(limit)));
    // Also where its steps do not meet the ceiling: from 20 on they are of two.
    let mut bench = Bench::new(1_000.0, (2, 25), Spread::None, 5);
    bench.run(5_000, OriginResult::Value);
    bench.work_ms = 5_000.0;
    assert_eq!(bench.run(40_000, OriginResult::Timeout).iter().min(), Some(&2));
    bench.work_ms = 50.0;
    assert_eq!(bench.run(300_000, OriginResult::Value).iter().max(), Some(&25));
    let mut idle = Adaptive::new(2, 16);
    for n in 0..1_000 {
        idle.ended(n * SECOND, n * SECOND + 50 * MS, OriginResult::Value, || Met::Less);
    }
    assert_eq!(idle.limit(), 2);
}
