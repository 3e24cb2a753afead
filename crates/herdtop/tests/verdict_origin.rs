//! The verdict on a sick origin: while protection hides it, early, after it has healed, and beside other news.

#[path = "support/script.rs"]
mod script;

use herdfeed::{Fact, FlightEnd, OriginResult, Outcome, Severity, Snapshot, StaleReason};
use herdtop::msg::{Farewell, Feed};
use herdtop::verdict::{Kind, Standing};
use script::{Script, condition, everyday, of, one, told};

use Severity::{Critical, Info, Warn};

/// Three hot keys whose loads have failed: all requests are answered stale while the keys cool.
fn shielded(snapshot: &mut Snapshot) {
    let cache = &mut snapshot.caches[0];
    cache.outcomes[Outcome::Stale] += 100;
    cache.stale_serves[StaleReason::Cooling] += 100;
}

fn fails(snapshot: &mut Snapshot, calls: u64) {
    let cache = &mut snapshot.caches[0];
    cache.origin_calls += calls;
    cache.origin_results[OriginResult::Error] += calls;
    cache.flights[FlightEnd::Failed] += calls;
}

/// Cooling leaves so few loads that no ratio of calls proves anything, and the engine ends its condition.
#[test]
fn an_origin_that_is_down_is_told_until_a_load_succeeds() {
    let mut script = one();
    script.pass(1, |snapshot| {
        shielded(snapshot);
        fails(snapshot, 3);
    });
    script.pass(64, shielded);
    let failing = of(&script, Kind::OriginFailing).unwrap();
    assert_eq!(failing.what, "no load has succeeded for 16s, 100% answered stale");
    assert_eq!((failing.severity, failing.standing), (Warn, Standing::Holds));
    assert_eq!(failing.since_unix_us, Some(script.model.now.unix_us - 16_000_000));
    assert_eq!(failing.why, "loads have failed, and their keys cool");
    // Also where the engine still says something of its own.
    script.pass(2, |snapshot| {
        shielded(snapshot);
        let fact = Fact::OriginFailing { ratio: 1.0, calls: 20 };
        snapshot.caches[0].conditions = vec![condition(Warn, "users", fact)];
    });
    assert_eq!(of(&script, Kind::OriginFailing).unwrap().what, "no load has succeeded for 16s, 100% answered stale");
    script.pass(1, |snapshot| {
        everyday(snapshot);
        snapshot.caches[0].conditions.clear();
    });
    assert_eq!(of(&script, Kind::OriginFailing), None);
}

/// A screen that comes late has seen no failure: what callers are answered with says it all the same.
#[test]
fn an_origin_that_was_down_before_the_screen_came_is_told() {
    let mut script = Script::new();
    script.attach("api", 101);
    script.pass(3, shielded);
    assert_eq!(script.model.findings, []);
    script.pass(2, shielded);
    let failing = of(&script, Kind::OriginFailing).unwrap();
    assert_eq!((failing.what.as_str(), failing.severity), ("no load has succeeded for 1s, 100% answered stale", Warn));
}

/// One key that cannot be loaded among thousands that can is no sick origin.
#[test]
fn a_key_that_cools_beside_healthy_ones_is_no_failing_origin() {
    let mut script = one();
    script.pass(1, |snapshot| fails(snapshot, 1));
    script.pass(40, |snapshot| {
        everyday(snapshot);
        shielded(snapshot);
    });
    assert_eq!(told(&script), []);
}

/// Nobody asks any more: worth knowing, and no alarm.
#[test]
fn failures_that_nobody_is_hurt_by_are_a_hint() {
    let mut script = one();
    script.pass(1, |snapshot| {
        shielded(snapshot);
        fails(snapshot, 3);
    });
    script.pass(80, |snapshot| snapshot.caches[0].outcomes[Outcome::Hit] += 900);
    let failing = of(&script, Kind::OriginFailing).unwrap();
    assert_eq!((failing.what.as_str(), failing.severity), ("no load has succeeded for 20s", Info));
}

/// The last second is judged, long before the engine's ten say anything; and the cause is told first.
#[test]
fn a_failing_origin_is_named_within_a_second_and_before_what_comes_of_it() {
    let mut script = one();
    let near = |snapshot: &mut Snapshot| {
        everyday(snapshot);
        let fact = Fact::StaleBoundNear { key: "k".into(), ratio: 0.9, left_us: 9_000_000 };
        snapshot.caches[0].conditions = vec![condition(Warn, "users", fact)];
    };
    script.pass(2, near);
    assert_eq!(told(&script)[0].0, Kind::StaleBound);
    script.pass(1, |snapshot| {
        near(snapshot);
        fails(snapshot, 20);
    });
    assert_eq!(told(&script), [(Kind::OriginFailing, Warn), (Kind::StaleBound, Warn)]);
    assert_eq!(of(&script, Kind::OriginFailing).unwrap().what, "33.3% of 60 calls in 1s");
    // Few calls that all fail prove as much as many of which some do.
    let mut script = one();
    script.pass(5, |snapshot| snapshot.caches[0].outcomes[Outcome::Hit] += 900);
    script.pass(1, |snapshot| fails(snapshot, 4));
    assert_eq!(of(&script, Kind::OriginFailing).map(|failing| failing.severity), Some(Info));
    script.pass(1, |snapshot| fails(snapshot, 1));
    assert_eq!(of(&script, Kind::OriginFailing).map(|failing| failing.severity), Some(Warn));
}

/// What is over asks for no healing.
#[test]
fn an_origin_that_has_healed_has_no_cure() {
    let mut script = one();
    let with = |snapshot: &mut Snapshot| {
        everyday(snapshot);
        let fact = Fact::OriginFailing { ratio: 0.4, calls: 300 };
        snapshot.caches[0].conditions = vec![condition(Warn, "users", fact)];
    };
    script.pass(4, |snapshot| {
        with(snapshot);
        fails(snapshot, 10);
    });
    assert!(of(&script, Kind::OriginFailing).unwrap().cure.starts_with("heal the origin"));
    script.pass(20, with);
    let healed = of(&script, Kind::OriginFailing).unwrap();
    assert_eq!((healed.what.as_str(), healed.cure.as_str()), ("last failure 5s ago", ""));
}

/// The silence of an origin is not longer than somebody waits for it.
#[test]
fn a_call_that_has_just_begun_is_no_silence() {
    let mut script = Script::new();
    script.attach("api", 101);
    script.pass(1, |snapshot| (0..100).for_each(|_| snapshot.caches[0].origin_call.record_us(25_000)));
    // A call of 20 ms is seen in every snapshot, and none of them has ended a call since the last.
    script.pass(12, |snapshot| {
        snapshot.caches[0].origin_active = 1;
        let now_us = snapshot.mono_us;
        snapshot.caches[0].live = vec![script::flight(1, "k", now_us - 20_000, 20_000, 0)];
    });
    assert_eq!(script.model.findings, []);
}

/// A screen that comes late says what it saw, and how long the oldest call has waited already.
#[test]
fn a_silence_from_before_the_screen_came_is_told_by_the_oldest_call() {
    let late = |slowest_us: u64| {
        let mut script = Script::new();
        script.services.clear();
        script.attach("api", 101);
        let mut script = Script { model: herdtop::Model::default(), services: script.services };
        script.send(herdtop::Msg::Tick(script::START));
        let cache = &mut script.services[0].snapshot.caches[0];
        (0..95).for_each(|_| cache.origin_call.record_us(25_000));
        (0..5).for_each(|_| cache.origin_call.record_us(slowest_us));
        cache.origin_active = 12;
        let hello = script.services[0].hello.clone();
        script.feed(0, Feed::Added { address: "unix:/run/a.sock".into(), name: "a".into() });
        script.feed(0, Feed::Hello(Box::new(hello)));
        script.pass(5, |snapshot| {
            let now_us = snapshot.mono_us;
            snapshot.caches[0].live = vec![script::flight(1, "k", now_us - 5_200_000, 5_200_000, 0)];
        });
        of(&script, Kind::OriginSilent)
    };
    assert_eq!(late(25_000).unwrap().what, "no answer within 1.00s to 12 calls, the oldest waits for 5.20s");
    // An origin with slow calls among quick ones may have answered many before the screen came.
    assert_eq!(late(4_000_000), None);
}

/// The news of a process that went stands behind an origin that hangs.
#[test]
fn a_process_that_died_does_not_cover_a_hanging_origin() {
    let mut script = script::calm();
    script.feed(1, Feed::Gone(Farewell::Unsaid));
    script.silence(250_000);
    let died = of(&script, Kind::Died).unwrap();
    assert_eq!(died.why, "it ended without a goodbye: killed, crashed, or it does not shut down its feed");
    for _ in 0..5 {
        script.silence(250_000);
        let snapshot = &mut script.services[0].snapshot;
        snapshot.mono_us += 250_000;
        let cache = &mut snapshot.caches[0];
        cache.origin_active = 12;
        cache.flight_oldest_us += 250_000;
        script.tell(0);
    }
    assert_eq!(told(&script), [(Kind::OriginSilent, Warn), (Kind::Died, Warn)]);
}

/// Lines come and none of them can be read: that is no stopped process.
#[test]
fn a_stream_that_cannot_be_read_says_so() {
    let mut script = one();
    script.feed(0, Feed::BadLines(7));
    script.silence(3_000_000);
    script.feed(0, Feed::BadLines(40));
    script.silence(250_000);
    let silent = of(&script, Kind::Silent).unwrap();
    assert_eq!(silent.what, "40 lines came that cannot be read, none that can for 3s");
    script.pass(1, everyday);
    script.silence(3_000_000);
    assert_eq!(of(&script, Kind::Silent).unwrap().what, "no word for 3s");
}

#[test]
fn what_only_informs_is_a_hint_beside_the_calm() {
    let script = script::herd();
    let line = script.text(160, 45).lines().nth(1).unwrap().to_owned();
    assert!(line.contains("calm") && line.contains("hint") && line.contains("set stale_for"), "{line}");
    let mut script = one();
    script.pass(2, |snapshot| {
        everyday(snapshot);
        fails(snapshot, 40);
    });
    let line = script.text(160, 45).lines().nth(1).unwrap().to_owned();
    assert!(!line.contains("calm") && !line.contains("hint"), "{line}");
    assert_eq!(of(&script, Kind::OriginFailing).map(|failing| failing.severity < Critical), Some(true));
}
