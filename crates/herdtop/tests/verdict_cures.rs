//! The cures: each follows what makes the trouble and what the process said of its settings.

#[path = "support/script.rs"]
mod script;

use herdfeed::{CacheConfig, Fact, FlightTrigger, Measure, MissCause, OriginResult, Outcome, RejectReason, Severity};
use herdtop::msg::Feed;
use herdtop::verdict::Kind;
use script::{Script, condition, everyday, of, one};

/// Many cold keys are no matter of a hot key; one key is no matter of a warm-up.
#[test]
fn the_cure_of_an_overload_follows_what_makes_it() {
    type Row = (Option<MissCause>, u64, &'static [Measure], &'static str);
    let table: Vec<Row> = vec![
        (Some(MissCause::Cold), 40, &[], "warm up before taking traffic; a longer queue lets more callers wait"),
        (
            Some(MissCause::Cold),
            40,
            &[Measure::Stale],
            "warm up before taking traffic; a longer queue lets more callers wait",
        ),
        (Some(MissCause::Cold), 40, &[Measure::Permits], "switch permits on: less load on the origin"),
        (Some(MissCause::Version), 40, &[], "warm up before taking traffic; a longer queue lets more callers wait"),
        (Some(MissCause::Evicted), 40, &[], "raise capacity (8400 of 10000 entries used): TTLs do not help"),
        (Some(MissCause::Invalidated), 40, &[], "invalidate fewer keys at once, or insert the new values"),
        (Some(MissCause::Expired), 40, &[], "set stale_for: old values answer while keys reload; or more jitter"),
        (Some(MissCause::Expired), 40, &[Measure::Jitter], "switch jitter on: less load on the origin"),
        (None, 40, &[], "load fewer keys at once; more permits only if the origin has room"),
        (Some(MissCause::Expired), 1, &[Measure::SingleFlight], "switch single-flight on: less load on the origin"),
        (Some(MissCause::Expired), 1, &[], "wait: loads of one key from before single-flight was on run out"),
        (None, 0, &[], "find the load in hot keys; more permits only if the origin has room"),
    ];
    for (cause, keys, off, cure) in table {
        let mut script = one();
        script.pass(4, |snapshot| {
            everyday(snapshot);
            let mono_us = snapshot.mono_us;
            let cache = &mut snapshot.caches[0];
            cache.off = off.to_vec();
            if let Some(cause) = cause {
                cache.misses[cause] += 40;
            }
            cache.live = (0..40.min(keys * 40))
                .map(|n| script::flight(n, &format!("k{}", n % keys.max(1)), mono_us - 1_000, 1_000, 0))
                .collect();
            cache.rejections[RejectReason::QueueFull] += 30;
        });
        let finding = of(&script, Kind::Rejecting).unwrap();
        assert_eq!(finding.cure, cure, "{cause:?}, {keys} keys, off {off:?}");
    }
}

/// A longer queue helps nobody whose load takes longer than a place in it may last.
#[test]
fn a_queue_that_cannot_run_empty_in_time_is_told() {
    let cure = |call_us: u64| {
        let mut script = one();
        script.pass(48, |snapshot| {
            everyday(snapshot);
            let mono_us = snapshot.mono_us;
            let cache = &mut snapshot.caches[0];
            cache.misses[MissCause::Cold] += 40;
            cache.live = (0..40).map(|n| script::flight(n, &format!("k{n}"), mono_us - 1_000, 1_000, 0)).collect();
            cache.rejections[RejectReason::QueueTimeout] += 30;
            (0..990).for_each(|_| cache.origin_call.record_us(call_us));
        });
        of(&script, Kind::Rejecting).unwrap().cure
    };
    // 32 permits for 500 ms: loads of 100 ms make room for 160, loads of 900 ms for 17 of 64.
    assert_eq!(cure(100_000), "warm up before taking traffic; a longer queue lets more callers wait");
    assert_eq!(
        cure(900_000),
        "warm up before taking traffic; quicken loads: at 891ms each, 17 of 64 that wait get a permit within \
         queue_timeout 500ms"
    );
}

/// A limit that cuts answers which are on their way, one that nothing has met yet, and an origin that hangs.
#[test]
fn the_cure_of_timeouts_follows_how_long_answers_take() {
    let told = |values: u64, value_us: u64| {
        let mut script = Script::new();
        script.attach("api", 101);
        let mut hello = script.services[0].hello.clone();
        hello.caches[0].origin_timeout_ms = 100;
        script.feed(0, Feed::Hello(Box::new(hello)));
        script.pass(12, |snapshot| {
            let cache = &mut snapshot.caches[0];
            cache.outcomes[Outcome::Failed] += 40;
            cache.outcomes[Outcome::Loaded] += values;
            cache.origin_results[OriginResult::Timeout] += 40;
            cache.origin_results[OriginResult::Value] += values;
            (0..40).for_each(|_| cache.origin_call.record_us(100_000));
            (0..values).for_each(|_| cache.origin_call.record_us(value_us));
        });
        let finding = of(&script, Kind::OriginFailing).unwrap();
        assert_eq!(finding.why, "origin calls end with timeout: origin_timeout is 100ms");
        finding.cure
    };
    assert_eq!(told(20, 90_000), "speed up the query, or raise origin_timeout (100ms): answers take up to 98ms");
    assert_eq!(told(0, 0), "speed up the query, or raise origin_timeout (100ms): no answer has come within it yet");
    assert_eq!(told(20, 5_000), "look at the origin: it hangs, and origin_timeout (100ms) cuts its calls");
}

/// What covers readers while the origin fails is what the process said of its settings.
#[test]
fn the_cure_of_a_failing_origin_follows_the_settings() {
    let cure = |stale_ms: u64, stale_if_error_ms: u64, off: &[Measure]| {
        let mut script = one();
        let mut hello = script.services[0].hello.clone();
        (hello.caches[0].stale_ms, hello.caches[0].stale_if_error_ms) = (stale_ms, stale_if_error_ms);
        script.feed(0, Feed::Hello(Box::new(hello)));
        script.pass(4, |snapshot| {
            everyday(snapshot);
            snapshot.caches[0].off = off.to_vec();
            let fact = Fact::OriginFailing { ratio: 0.4, calls: 300 };
            snapshot.caches[0].conditions = vec![condition(Severity::Warn, "users", fact)];
            snapshot.caches[0].origin_results[OriginResult::Error] += 10;
        });
        of(&script, Kind::OriginFailing).unwrap().cure
    };
    assert_eq!(cure(0, 0, &[]), "heal the origin; set stale_if_error_for: old values answer meanwhile");
    assert_eq!(cure(30_000, 0, &[]), "heal the origin; old values answer until 30s past freshness");
    assert_eq!(cure(30_000, 600_000, &[]), "heal the origin; old values answer until 10m00s past freshness");
    assert_eq!(cure(30_000, 0, &[Measure::Stale]), "heal the origin; switch stale on");
}

#[test]
fn the_cure_of_an_expiry_follows_the_settings() {
    let cure = |settings: fn(&mut CacheConfig), off: &[Measure]| {
        let mut script = one();
        let mut hello = script.services[0].hello.clone();
        settings(&mut hello.caches[0]);
        script.feed(0, Feed::Hello(Box::new(hello)));
        script.pass(1, |snapshot| {
            everyday(snapshot);
            let fact = Fact::HerdStarted {
                flight: 7,
                key: "user:42".into(),
                cause: Some(MissCause::Expired),
                trigger: FlightTrigger::Miss,
                waiters: 812,
                loads: 1,
            };
            snapshot.caches[0].off = off.to_vec();
            snapshot.caches[0].conditions = vec![condition(Severity::Info, "users", fact)];
        });
        of(&script, Kind::Herd).unwrap().cure
    };
    assert!(cure(|_| {}, &[]).starts_with("set stale_for"));
    assert!(cure(|c| c.stale_ms = 1_000, &[Measure::Stale]).starts_with("switch stale on"));
    assert!(cure(|c| c.stale_ms = 1_000, &[]).starts_with("early_refresh(1.0)"));
    let both = |c: &mut CacheConfig| (c.stale_ms, c.early_refresh) = (1_000, 1.0);
    assert_eq!(cure(both, &[]), "raise stale_for: this value's stale cover is too short");
}
