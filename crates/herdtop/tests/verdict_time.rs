//! The verdict over time: what is over, what heals, what blinks, and what does not answer.

#[path = "support/script.rs"]
mod script;

use herdfeed::{
    Fact, FlightTrigger, Measure, OriginResult, Outcome, PermitClass, RejectReason, RemovalCause, Severity,
    SharedOperation, Snapshot,
};
use herdtop::msg::{Farewell, Feed};
use herdtop::verdict::{Kind, Standing};
use script::{Script, condition, everyday, of, one, told};

use Severity::{Critical, Info, Warn};

/// A condition that goes on for a second after its counters have stopped: everything it can be.
#[test]
fn a_condition_whose_figure_stands_still_is_told_as_over() {
    type Row = (Fact, fn(&mut Snapshot), Kind, &'static str);
    let table: Vec<Row> = vec![
        (
            Fact::Rejecting { per_s: 118, reason: RejectReason::QueueFull },
            |s| {
                s.caches[0].outcomes[Outcome::Rejected] += 30;
                s.caches[0].rejections[RejectReason::QueueFull] += 30;
            },
            Kind::Rejecting,
            "118/s queue_full until 3s ago",
        ),
        (
            Fact::Avalanche { keys: 900, within_us: 1_000_000 },
            |s| s.caches[0].flight_starts[FlightTrigger::Miss] += 100,
            Kind::Avalanche,
            "900 keys load within 1.00s until 3s ago",
        ),
        (
            Fact::EvictionSurge { evictions: 4_000, miss_share: 0.7 },
            |s| s.caches[0].removals[RemovalCause::Evicted] += 100,
            Kind::EvictionSurge,
            "4.0k in 10s until 3s ago",
        ),
        (
            Fact::OriginSaturated { limit: 32, pending: 60, rejected: 0 },
            |s| (s.gates[0].in_use[PermitClass::Foreground], s.gates[0].pending) = (32, 64),
            Kind::Saturated,
            "full until 3s ago",
        ),
        (
            Fact::OriginFailing { ratio: 0.4, calls: 300 },
            |s| s.caches[0].origin_results[OriginResult::Error] += 10,
            Kind::OriginFailing,
            "last failure 3s ago",
        ),
        (
            Fact::OriginSlow { p99_us: 2_400_000, usual_us: 180_000 },
            |s| s.caches[0].origin_call.record_us(2_400_000),
            Kind::OriginSlow,
            "p99 was 2.40s, now 25ms",
        ),
        (
            Fact::ConnectionsExhausted { wait_us: 900_000, call_us: 1_000_000 },
            |s| s.caches[0].connection_wait.record_us(900_000),
            Kind::ConnectionsExhausted,
            "900ms of 1.00s a call before, not now",
        ),
    ];
    for (fact, count, kind, what) in table {
        let mut script = one();
        let severity = Critical;
        let with = |snapshot: &mut Snapshot| {
            everyday(snapshot);
            snapshot.caches[0].conditions = vec![condition(severity, "users", fact.clone())];
        };
        script.pass(8, |snapshot| {
            with(snapshot);
            count(snapshot);
        });
        assert_eq!(of(&script, kind).unwrap().severity, severity, "{fact:?}");
        script.pass(12, |snapshot| {
            with(snapshot);
            snapshot.gates[0] = script::gate();
        });
        let over = of(&script, kind).unwrap();
        assert_eq!((over.what.as_str(), over.severity, over.standing), (what, Info, Standing::Over), "{fact:?}");
        let line = script.text(160, 45).lines().nth(1).unwrap().to_owned();
        let after = line.split_once(what).map(|(_, after)| after).unwrap();
        assert!(after.starts_with(':') || after.starts_with("  "), "an end and no age: {line}");
    }
}

/// What is over comes after what holds, however severe it was.
#[test]
fn what_is_over_never_hides_what_holds() {
    let mut script = one();
    let fact = Fact::Rejecting { per_s: 118, reason: RejectReason::QueueFull };
    let rejecting = |snapshot: &mut Snapshot| {
        everyday(snapshot);
        snapshot.caches[0].conditions = vec![condition(Critical, "users", fact.clone())];
    };
    script.pass(8, |snapshot| {
        rejecting(snapshot);
        snapshot.caches[0].outcomes[Outcome::Rejected] += 30;
        snapshot.caches[0].rejections[RejectReason::QueueFull] += 30;
    });
    assert_eq!(told(&script)[0], (Kind::Rejecting, Critical));
    script.pass(8, |snapshot| {
        rejecting(snapshot);
        snapshot.caches[0].off = vec![Measure::Permits];
    });
    assert_eq!(told(&script), [(Kind::ProtectionOff, Warn), (Kind::Rejecting, Info)]);
}

/// The feed is late: counters that nobody told of have not stood still.
#[test]
fn a_late_feed_does_not_end_a_finding() {
    let mut script = one();
    script.pass(8, |snapshot| {
        everyday(snapshot);
        snapshot.caches[0].rejections[RejectReason::QueueFull] += 30;
    });
    script.silence(1_750_000);
    assert_eq!(of(&script, Kind::Rejecting).unwrap().standing, Standing::Holds);
}

/// An origin that fails and heals: the part of requests that get errors never rises once it has healed.
#[test]
fn the_part_that_fails_falls_from_the_moment_it_heals() {
    let mut script = one();
    script.pass(16, |snapshot| {
        snapshot.caches[0].outcomes[Outcome::Failed] += 900;
        snapshot.caches[0].outcomes[Outcome::Hit] += 100;
        snapshot.caches[0].origin_results[OriginResult::Timeout] += 10;
    });
    let failing = of(&script, Kind::Failing).unwrap();
    assert_eq!((failing.what.as_str(), failing.severity), ("90.0% of requests get errors", Critical));
    let mut parts = Vec::new();
    for _ in 0..6 {
        script.pass(1, everyday);
        let what = of(&script, Kind::Failing).unwrap().what;
        parts.push(what.split('%').next().unwrap().parse::<f64>().unwrap());
    }
    assert!(parts.is_sorted_by(|a, b| a > b), "{parts:?}");
    script.pass(4, everyday);
    let healed = of(&script, Kind::Failing).unwrap();
    assert_eq!((healed.severity, healed.standing), (Info, Standing::Over));
    assert!(healed.what.ends_with("until 2s ago"), "{}", healed.what);
}

/// Calls run and none ends.
fn hang(snapshot: &mut Snapshot) {
    let cache = &mut snapshot.caches[0];
    cache.outcomes[Outcome::Hit] += 900;
    cache.origin_active = 12;
    cache.flight_oldest_us += 250_000;
}

#[test]
fn an_origin_that_does_not_answer_is_told_within_two_seconds() {
    let mut script = one();
    script.pass(3, hang);
    assert_eq!(script.model.findings, []);
    script.pass(3, hang);
    let silent = of(&script, Kind::OriginSilent).unwrap();
    assert_eq!((silent.severity, silent.subject.as_str()), (Warn, "users"));
    assert_eq!(silent.what, "no answer for 1.50s to 12 calls");
    assert_eq!(silent.why, "it takes calls and answers none, usually within 25ms");
    assert_eq!(silent.cure, "look at the origin: a lock, a full disk, a lost network; calls end after 5.00s");
    assert_eq!(silent.since_unix_us, Some(script.model.now.unix_us - 1_500_000));
    // Callers are refused behind it: the cause comes before the effect.
    script.pass(4, |snapshot| {
        hang(snapshot);
        let fact = Fact::Rejecting { per_s: 40, reason: RejectReason::QueueFull };
        snapshot.caches[0].conditions = vec![condition(Critical, "users", fact)];
        snapshot.caches[0].outcomes[Outcome::Rejected] += 10;
        snapshot.caches[0].rejections[RejectReason::QueueFull] += 10;
    });
    assert_eq!(told(&script), [(Kind::OriginSilent, Critical), (Kind::Rejecting, Critical)]);
    // One call that ends is an answer.
    script.pass(1, |snapshot| {
        hang(snapshot);
        snapshot.caches[0].origin_results[OriginResult::Value] += 1;
    });
    assert_eq!(of(&script, Kind::OriginSilent), None);
}

#[test]
fn patience_with_an_origin_follows_what_is_usual() {
    /// Quarters of a second until the silence of one call is told, for an origin whose calls usually take so long.
    fn quarters(usual_us: Option<u64>) -> usize {
        let mut script = Script::new();
        script.attach("api", 101);
        script.pass(1, |snapshot| {
            if let Some(us) = usual_us {
                snapshot.caches[0].origin_call.record_us(us);
            }
        });
        (1..100)
            .find(|_| {
                script.pass(1, |snapshot| {
                    snapshot.caches[0].origin_active = 1;
                    snapshot.caches[0].flight_oldest_us += 250_000;
                });
                of(&script, Kind::OriginSilent).is_some_and(|f| f.what.ends_with(" to 1 call"))
            })
            .unwrap()
    }
    // A quick origin: a second. One whose calls take 150 ms: ten times that. A slow one: half of the limit of 5 s.
    assert_eq!([quarters(Some(3_000)), quarters(Some(150_000)), quarters(Some(900_000))], [4, 7, 10]);
    // One that usually takes almost half of its limit: no sign of its being silent comes before the limit itself.
    assert_eq!(quarters(Some(2_000_000)), 84);
    // One that never answered.
    assert_eq!(quarters(None), 8);
}

#[test]
fn an_idle_origin_is_not_silent() {
    let mut script = one();
    script.pass(40, |snapshot| snapshot.caches[0].outcomes[Outcome::Hit] += 10);
    assert_eq!(script.model.findings, []);
}

fn parallel(snapshot: &mut Snapshot, loads: u64) {
    let mono_us = snapshot.mono_us;
    snapshot.caches[0].off = vec![Measure::SingleFlight];
    snapshot.caches[0].live = (0..loads).map(|n| script::flight(n, "user:42", mono_us - 200_000, 200_000, 0)).collect();
}

/// Every second 40 loads of one key for half a second: the first line is the stampede, and it began once.
#[test]
fn a_stampede_that_blinks_neither_flaps_nor_starts_anew() {
    let mut script = one();
    let (mut first, mut starts) = (Vec::new(), Vec::new());
    for _ in 0..6 {
        for loads in [40, 40, 0, 0] {
            script.pass(1, |snapshot| {
                everyday(snapshot);
                parallel(snapshot, loads);
            });
            first.push(script.model.findings[0].kind);
            starts.extend(of(&script, Kind::Stampede).and_then(|f| f.since_unix_us));
        }
    }
    assert_eq!(first, [Kind::Stampede; 24]);
    starts.dedup();
    assert_eq!(starts.len(), 1, "{starts:?}");
    // It ends in words before it goes.
    script.pass(6, |snapshot| {
        everyday(snapshot);
        parallel(snapshot, 0);
    });
    assert_eq!(of(&script, Kind::Stampede).unwrap().what, "40 parallel loads until 1s ago");
    script.pass(4, |snapshot| {
        everyday(snapshot);
        parallel(snapshot, 0);
    });
    assert_eq!(told(&script), [(Kind::ProtectionOff, Warn)]);
}

#[test]
fn the_first_line_is_held_against_its_equals_and_not_against_worse() {
    let mut script = one();
    let second = |severity, fact: Fact| {
        move |snapshot: &mut Snapshot| {
            everyday(snapshot);
            snapshot.caches[0].off = vec![Measure::Jitter];
            snapshot.caches[0].conditions = vec![condition(severity, "users", fact.clone())];
        }
    };
    script.pass(1, |snapshot| {
        everyday(snapshot);
        snapshot.caches[0].off = vec![Measure::Jitter];
    });
    let equal = second(Warn, Fact::StaleBoundNear { key: "k".into(), ratio: 0.9, left_us: 60_000_000 });
    script.pass(7, &equal);
    assert_eq!(told(&script)[0], (Kind::ProtectionOff, Warn), "held for two seconds");
    script.pass(2, &equal);
    assert_eq!(told(&script)[0], (Kind::StaleBound, Warn));
    let worse = second(Critical, Fact::SharedDown { operation: SharedOperation::Read, failed: 5, calls: 5 });
    script.pass(1, &worse);
    assert_eq!(told(&script)[0], (Kind::SharedDown, Critical), "at once");
}

/// A process that died and whose successor is up is a restart; one that nobody follows stays on top.
#[test]
fn a_process_that_died_and_was_replaced_is_no_alarm() {
    let mut script = script::calm();
    script.feed(1, Feed::Gone(Farewell::Unsaid));
    script.silence(250_000);
    assert_eq!(told(&script)[0], (Kind::Died, Warn));
    script.attach("api", 103);
    let replaced = of(&script, Kind::Replaced).unwrap();
    assert_eq!((replaced.severity, replaced.subject.as_str(), replaced.what.as_str()), (Info, "api-102", "by api-103"));
    assert_eq!(of(&script, Kind::Died), None);
}

#[test]
fn refusals_of_one_cache_do_not_hide_those_of_another() {
    let mut script = one();
    script.pass(8, |snapshot| {
        everyday(snapshot);
        if snapshot.caches.len() == 1 {
            snapshot.caches.push(herdfeed::CacheSnapshot { name: "orders".into(), ..script::cache() });
        }
        snapshot.caches[1].rejections[RejectReason::Deadline] += 5;
        snapshot.caches[0].outcomes[Outcome::Rejected] += 30;
        let fact = Fact::Rejecting { per_s: 118, reason: RejectReason::QueueFull };
        snapshot.caches[0].conditions = vec![condition(Critical, "users", fact)];
    });
    let subjects: Vec<&str> = script.model.findings.iter().map(|f| f.subject.as_str()).collect();
    assert_eq!(subjects, ["users", "orders"]);
}

/// What began without single-flight runs out once it is on: no alarm, and no advice to switch it on.
#[test]
fn the_rest_of_a_stampede_is_told_as_what_it_is() {
    let mut script = one();
    script.pass(2, |snapshot| {
        everyday(snapshot);
        parallel(snapshot, 200);
        snapshot.caches[0].off.clear();
    });
    let rest = of(&script, Kind::Stampede).unwrap();
    assert_eq!((rest.severity, rest.why.as_str()), (Warn, "they began before single-flight was on"));
    assert_eq!(rest.cure, "wait: single-flight is on, the rest runs out");
}

/// A herd of the same key a second later is another herd.
#[test]
fn every_herd_has_a_start_of_its_own() {
    let mut script = one();
    for _ in 0..3 {
        let began = script.model.now.unix_us + 250_000;
        script.pass(1, |snapshot| {
            everyday(snapshot);
            let fact = Fact::HerdStarted {
                flight: 7,
                key: "user:42".into(),
                cause: None,
                trigger: FlightTrigger::Early,
                waiters: 40,
                loads: 1,
            };
            let mut event = condition(Info, "users", fact);
            event.unix_us = began;
            snapshot.caches[0].conditions = vec![event];
        });
        let herd = of(&script, Kind::Herd).unwrap();
        assert_eq!((herd.since_unix_us, herd.why.as_str()), (Some(began), "refreshed before expiry, protected"));
        script.pass(3, |snapshot| {
            everyday(snapshot);
            snapshot.caches[0].conditions.clear();
        });
    }
}

/// The bound of a value that nobody asks for any more is no count-down.
#[test]
fn a_value_near_its_bound_that_is_not_asked_for_is_no_alarm() {
    let mut script = one();
    let near = |left_us| {
        move |snapshot: &mut Snapshot| {
            everyday(snapshot);
            let fact = Fact::StaleBoundNear { key: "k".into(), ratio: 0.9, left_us };
            snapshot.caches[0].conditions = vec![condition(Warn, "users", fact)];
        }
    };
    script.pass(4, near(9_000_000));
    script.pass(1, near(8_000_000));
    script.pass(4, near(8_000_000));
    let counted = of(&script, Kind::StaleBound).unwrap();
    assert_eq!((counted.what.as_str(), counted.severity), ("ends in 7s", Warn));
    script.pass(8, near(8_000_000));
    let unasked = of(&script, Kind::StaleBound).unwrap();
    assert_eq!((unasked.what.as_str(), unasked.severity), ("8s left when last answered, 3s ago", Info));
}
