//! Conditions as tables: totals go in, facts come out.

use super::conditions::Watch;
use super::*;

const MS: u64 = 1_000_000;

fn sample(now_ms: u64) -> Sample {
    Sample {
        now: now_ms * MS,
        subject: "c".into(),
        permits: 10,
        capacity: 1_000,
        outcomes: Tally::new(),
        misses: Tally::new(),
        rejections: Tally::new(),
        removals: Tally::new(),
        keys: 0,
        origin_results: Tally::new(),
        origin_call: Histogram::default(),
        connection_wait: Histogram::default(),
        hottest: None,
    }
}

/// Runs samples through a fresh watch and gives the conditions that are active after each.
fn kinds(samples: &[Sample]) -> Vec<Vec<Fact>> {
    let mut watch = Watch::new(0);
    samples
        .iter()
        .map(|sample| {
            watch.look(sample);
            watch.active().map(|event| event.fact).collect()
        })
        .collect()
}

#[test]
fn ten_refusals_in_a_second_are_told_and_end_after_five_quiet_seconds() {
    let refused = |at, count| {
        let mut sample = sample(at);
        sample.outcomes[Outcome::Hit] = 10_000;
        sample.outcomes[Outcome::Rejected] = count;
        sample.rejections[RejectReason::QueueFull] = count;
        sample
    };
    let mut samples = vec![refused(0, 0), refused(1_000, 9), refused(2_000, 19)];
    samples.extend((3..=12).map(|s| refused(s * 1_000, 19)));
    let seen = kinds(&samples);
    assert!(seen[1].is_empty(), "nine are noise: {:?}", seen[1]);
    assert_eq!(seen[2], [Fact::Rejecting { per_s: 10, reason: RejectReason::QueueFull }]);
    assert!(!seen[6].is_empty());
    assert!(seen[12].is_empty());
}

#[test]
fn an_avalanche_needs_many_keys_lost_to_time() {
    let lost = |at, cause, count| {
        let mut sample = sample(at);
        // The engine counts keys by their cause.
        sample.keys = if cause == MissCause::Expired { count } else { 0 };
        sample
    };
    let expired = kinds(&[lost(0, MissCause::Expired, 0), lost(1_000, MissCause::Expired, 60)]);
    assert_eq!(expired[1], [Fact::Avalanche { keys: 60, within_us: 1_000_000 }]);
    let cold = kinds(&[lost(0, MissCause::Cold, 0), lost(1_000, MissCause::Cold, 60)]);
    assert!(cold[1].is_empty(), "cold misses are a cold start, not an avalanche");
}

#[test]
fn evictions_are_a_surge_when_they_cause_the_misses() {
    let evicted = |at, count| {
        let mut sample = sample(at);
        sample.removals[RemovalCause::Evicted] = count;
        sample.misses[MissCause::Evicted] = count;
        sample
    };
    assert_eq!(
        kinds(&[evicted(0, 0), evicted(1_000, 100)])[1],
        [Fact::EvictionSurge { evictions: 100, miss_share: 1.0 }]
    );
    assert!(kinds(&[evicted(0, 0), evicted(1_000, 99)])[1].is_empty());
}

#[test]
fn exhausted_connections_are_told_from_a_slow_origin() {
    let calls = |at, count: u64, call_us, wait_us| {
        let mut sample = sample(at);
        for _ in 0..count {
            sample.origin_call.record_us(call_us);
            sample.connection_wait.record_us(wait_us);
        }
        sample.origin_results[OriginResult::Value] = count;
        sample
    };
    let exhausted = kinds(&[calls(0, 0, 0, 0), calls(1_000, 50, 1_000_000, 700_000)]);
    assert_eq!(exhausted[1], [Fact::ConnectionsExhausted { wait_us: 700_000, call_us: 1_000_000 }]);
    let slow = kinds(&[calls(0, 0, 0, 0), calls(1_000, 50, 1_000_000, 1_000)]);
    assert!(slow[1].is_empty());
}

#[test]
fn a_failing_origin_needs_a_fifth_of_twenty_calls() {
    let ended = |at, good, bad| {
        let mut sample = sample(at);
        sample.origin_results[OriginResult::Value] = good;
        sample.origin_results[OriginResult::Error] = bad;
        sample
    };
    assert!(kinds(&[ended(0, 0, 0), ended(1_000, 10, 9)])[1].is_empty(), "nineteen calls prove nothing");
    assert_eq!(kinds(&[ended(0, 0, 0), ended(1_000, 16, 4)])[1], [Fact::OriginFailing { ratio: 0.2, calls: 20 }]);
    assert!(kinds(&[ended(0, 0, 0), ended(1_000, 17, 4)])[1].is_empty());
}

#[test]
fn a_young_and_empty_cache_is_a_cold_start_until_it_is_warm() {
    let served = |at, hits, loads| {
        let mut sample = sample(at);
        sample.outcomes[Outcome::Hit] = hits;
        sample.outcomes[Outcome::Loaded] = loads;
        sample
    };
    let seen =
        kinds(&[served(500, 0, 99), served(1_000, 20, 100), served(12_000, 2_000, 110), served(13_000, 2_500, 111)]);
    assert!(seen[0].is_empty());
    assert!(matches!(seen[1][..], [Fact::ColdStart { .. }]));
    assert!(seen[2].is_empty());
}

/// The ratio since the birth stays low for long after the cache is warm, and for ever where nobody asks any more.
#[test]
fn a_cold_start_that_is_over_does_not_begin_again() {
    let warm = |second: u64| (second - 4) * 40;
    for (case, hits) in [("warm", &warm as &dyn Fn(u64) -> u64), ("unasked", &|_| 0)] {
        let looks: Vec<Sample> = (1..=600)
            .map(|look| {
                let mut sample = sample(look * 100);
                let second = look / 10;
                sample.outcomes[Outcome::Loaded] = second.min(4) * 500;
                sample.outcomes[Outcome::Hit] = if second > 4 { hits(second) } else { 0 };
                sample
            })
            .collect();
        let seen: Vec<bool> = kinds(&looks).iter().map(|active| !active.is_empty()).collect();
        let turns = seen.windows(2).filter(|pair| pair[0] != pair[1]).count();
        assert_eq!((turns, seen[40], seen[599]), (2, true, false), "{case}");
    }
}

#[test]
fn a_slow_origin_is_three_times_its_own_usual() {
    let mut samples = Vec::new();
    let mut histogram = Histogram::default();
    for second in 0..=60 {
        (0..30).for_each(|_| histogram.record_us(if second < 45 { 10_000 } else { 100_000 }));
        let mut next = sample(second * 1_000);
        next.origin_call = histogram.clone();
        samples.push(next);
    }
    let seen = kinds(&samples);
    assert!(seen[44].is_empty());
    assert!(matches!(seen[47][..], [Fact::OriginSlow { p99_us, usual_us }] if p99_us > 90_000 && usual_us < 13_000));
}

#[test]
fn herds_that_come_at_the_same_distance_are_counted() {
    let mut book = Book::default();
    let minutes = |m: u64| m * 60_000 * MS;
    assert_eq!(book.end(7, minutes(10)), (0, 0));
    assert_eq!(book.end(7, minutes(15)), (300_000_000, 1));
    assert_eq!(book.end(7, minutes(20)), (300_000_000, 2));
    assert_eq!(book.end(7, minutes(21)), (60_000_000, 1));
    assert_eq!(book.end(8, minutes(21)), (0, 0));
    (0..1_000).for_each(|hash| _ = book.end(hash, minutes(30)));
    assert_eq!(book.last.len(), REMEMBERED);
}

#[test]
fn another_first_key_is_told_after_two_looks_that_agree() {
    use super::hot::First;
    let hot = |hash, share| Hottest { hash, key: hash.to_string(), share, per_s: 500.0 };
    let mut first = First::default();
    let second = |s: u64| s * 1_000 * MS;
    assert_eq!(first.look(Some(&hot(1, 0.30)), second(5)), None);
    let (severity, fact) = first.look(Some(&hot(1, 0.30)), second(10)).unwrap();
    assert_eq!((severity, fact), (Severity::Warn, Fact::HotKeyChanged { key: "1".into(), share: 0.30, per_s: 500.0 }));
    assert_eq!(first.look(Some(&hot(2, 0.31)), second(15)), None);
    assert_eq!(first.look(Some(&hot(2, 0.31)), second(20)), None, "not 1.2 times as hot");
    assert!(first.look(Some(&hot(2, 0.40)), second(25)).is_some());
}
