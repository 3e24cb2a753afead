//! Herds: told when they start, told with their peak when they end, and remembered by their rhythm.

use herdcache::herdfeed::{Fact, FlightEnd, FlightTrigger, HerdEnd, Measure, MissCause, Outcome, Severity};
use herdcache::{Switch, Ttl};

use crate::support::{Rows, answered, condition, crowd, ends, ms, rows, told, turns};

const TTL: Ttl = Ttl::fresh_for(ms(1_000));

fn is_start(fact: &Fact) -> bool {
    matches!(fact, Fact::HerdStarted { .. })
}

/// A herd of 40 is told once at 32 waiters, is in the snapshot while it lasts, and ends with its peak and what it saved.
#[tokio::test(start_paused = true)]
async fn a_herd_is_told_at_its_start_and_with_its_peak_at_its_end() {
    let cache = rows("herd", TTL).build().unwrap();
    let mut events = cache.events();
    let callers = crowd(&cache, 7, 40, ms(200));
    turns().await;
    let started = told(&mut events, is_start);
    let [start] = started.as_slice() else { panic!("{started:?}") };
    let Fact::HerdStarted { flight, key, cause, trigger, waiters, loads } = start.fact.clone() else { panic!() };
    assert_eq!((key.as_str(), cause, trigger), ("7", Some(MissCause::Cold), FlightTrigger::Miss));
    assert_eq!((waiters, loads, start.severity), (32, 1, Severity::Info));
    // The reader of a snapshot sees it as it is now.
    let now = condition(&cache.snapshot(), is_start).unwrap();
    assert_eq!(now.seq, start.seq);
    assert!(matches!(now.fact, Fact::HerdStarted { waiters: 40, loads: 1, .. }), "{now:?}");
    answered(callers).await;
    let expected = HerdEnd {
        flight,
        key: "7".to_owned(),
        cause: Some(MissCause::Cold),
        trigger: FlightTrigger::Miss,
        peak: 40,
        loads: 1,
        avoided: 39,
        arrivals_per_s: 200.0,
        duration_us: 200_000,
        end: FlightEnd::Loaded,
        since_last_us: 0,
        repeats: 0,
    };
    assert_eq!(ends(&events.take()), [expected]);
    assert!(condition(&cache.snapshot(), is_start).is_none());
}

/// 31 callers are no herd behind 64 permits, and neither are 40 hits.
#[tokio::test(start_paused = true)]
async fn below_the_threshold_nothing_is_told() {
    let cache = rows("no-herd", TTL).build().unwrap();
    let mut events = cache.events();
    answered(crowd(&cache, 7, 31, ms(200))).await;
    answered(crowd(&cache, 7, 40, ms(200))).await;
    assert!(told(&mut events, |fact| is_start(fact) || matches!(fact, Fact::HerdEnded(_))).is_empty());
}

async fn herd_after(cache: &Rows, wait: u64) {
    tokio::time::sleep(ms(wait)).await;
    answered(crowd(cache, 7, 40, ms(100))).await;
}

/// A herd that comes at every expiry says so: the distance to the last, and how often in a row.
#[tokio::test(start_paused = true)]
async fn a_herd_that_repeats_tells_its_rhythm() {
    let cache = rows("rhythm", TTL).build().unwrap();
    let mut events = cache.events();
    for wait in [0, 2_000, 2_000, 2_000, 6_000, 6_000] {
        herd_after(&cache, wait).await;
    }
    let ends = ends(&events.take());
    let causes: Vec<_> = ends.iter().map(|end| end.cause.unwrap()).collect();
    assert_eq!(causes[0], MissCause::Cold);
    assert!(causes[1..].iter().all(|cause| *cause == MissCause::Expired));
    let rhythm: Vec<_> = ends.iter().map(|end| (end.since_last_us / 1_000, end.repeats)).collect();
    assert_eq!(rhythm, [(0, 0), (2_100, 1), (2_100, 2), (2_100, 3), (6_100, 1), (6_100, 2)]);
}

/// An invalidated hot key is another cause than an expired one; a failed load is another end.
#[tokio::test(start_paused = true)]
async fn a_herd_tells_its_cause_and_its_end() {
    let cache = rows("causes", TTL).build().unwrap();
    cache.insert(7, 1);
    cache.invalidate(&7);
    let mut events = cache.events();
    let callers: Vec<_> = (0..40)
        .map(|_| {
            let cache = cache.clone();
            tokio::spawn(async move {
                let load = |_| async {
                    tokio::time::sleep(ms(50)).await;
                    Err::<u64, _>("down")
                };
                cache.get_with(&7, load).await.is_err()
            })
        })
        .collect();
    for caller in callers {
        assert!(caller.await.unwrap());
    }
    let ends = ends(&events.take());
    assert_eq!((ends.len(), ends[0].cause, ends[0].end), (1, Some(MissCause::Invalidated), FlightEnd::Failed));
}

/// A herd whose load takes more than half of the flight's deadline is worth a warning.
#[tokio::test(start_paused = true)]
async fn a_slow_herd_ends_as_a_warning() {
    for (load, severity) in [(400, Severity::Info), (600, Severity::Warn)] {
        let cache = rows("slow", TTL).origin_timeout(ms(1_000)).flight_deadline(ms(1_000)).build().unwrap();
        let mut events = cache.events();
        answered(crowd(&cache, 7, 40, ms(load))).await;
        let ended = told(&mut events, |fact| matches!(fact, Fact::HerdEnded(_)));
        assert_eq!((ended.len(), ended[0].severity), (1, severity), "a load of {load} ms");
    }
}

/// S7: a herd whose load hangs ends at the deadline, by one load as ever: the one that goes on is no second.
#[tokio::test(start_paused = true)]
async fn s7_a_herd_whose_load_hangs_ends_at_the_deadline() {
    let cache = rows("hangs", TTL).origin_timeout(ms(500)).flight_deadline(ms(500)).build().unwrap();
    let mut events = cache.events();
    for caller in crowd(&cache, 7, 40, ms(3_600_000)) {
        assert!(caller.await.unwrap().is_err());
    }
    let ends = ends(&events.take());
    let [end] = ends.as_slice() else { panic!("{ends:?}") };
    assert_eq!((end.end, end.peak, end.loads, end.avoided), (FlightEnd::Deadline, 40, 1, 39));
    assert_eq!(end.duration_us, 500_000);
}

/// O1: without single-flight the herd is a stampede: critical, with its loads counted, and nothing was avoided.
#[tokio::test(start_paused = true)]
async fn o1_a_stampede_is_told_by_its_loads() {
    let cache = rows("stampede", TTL).build().unwrap();
    cache.set_measure(Measure::SingleFlight, Switch::Off);
    let mut events = cache.events();
    let callers = crowd(&cache, 7, 40, ms(200));
    turns().await;
    let started = told(&mut events, is_start);
    let [start] = started.as_slice() else { panic!("{started:?}") };
    assert!(matches!(start.fact, Fact::HerdStarted { loads: 32, .. }), "{start:?}");
    assert_eq!(start.severity, Severity::Critical);
    let now = condition(&cache.snapshot(), is_start).unwrap();
    assert!(matches!(now.fact, Fact::HerdStarted { loads: 40, .. }), "{now:?}");
    answered(callers).await;
    let ended = told(&mut events, |fact| matches!(fact, Fact::HerdEnded(_)));
    let [end] = ended.as_slice() else { panic!("{ended:?}") };
    let Fact::HerdEnded(herd) = &end.fact else { panic!() };
    assert_eq!((herd.loads, herd.avoided, end.severity), (40, 0, Severity::Warn));
    assert_eq!(cache.snapshot().outcomes[Outcome::Loaded], 40);
}

/// Peaks last a minute, whoever reads them; gauges fall at once.
#[tokio::test(start_paused = true)]
async fn peaks_survive_for_a_minute() {
    let cache = rows("peaks", TTL).build().unwrap();
    let gate = cache.gate().clone();
    let callers = crowd(&cache, 7, 40, ms(200));
    let others: Vec<_> = (100..103).flat_map(|key| crowd(&cache, key, 2, ms(100))).collect();
    answered(callers).await;
    answered(others).await;
    for wait in [0, 30_000, 28_700] {
        tokio::time::sleep(ms(wait)).await;
        let snapshot = cache.snapshot();
        assert_eq!((snapshot.waiting, snapshot.origin_active), (0, 0));
        let peaks = snapshot.peaks;
        assert_eq!([peaks.waiting, peaks.flight_waiters, peaks.origin_active, peaks.origin_starts], [46, 40, 4, 4]);
        assert_eq!(gate.snapshot().usage_peak, 4);
    }
    tokio::time::sleep(ms(2_300)).await;
    let peaks = cache.snapshot().peaks;
    assert_eq!([peaks.waiting, peaks.flight_waiters, peaks.origin_active, peaks.origin_starts], [0; 4]);
    assert_eq!(gate.snapshot().usage_peak, 0);
}
