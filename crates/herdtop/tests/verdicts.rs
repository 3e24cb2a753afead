//! The verdict, as a table: from what was learned to what is said.

#[path = "support/script.rs"]
mod script;

use herdfeed::{
    CacheSnapshot, Fact, FlightEnd, FlightTrigger, HerdEnd, Measure, MissCause, OriginResult, Outcome, PermitClass,
    ProtectionLevel, RejectReason, RemovalCause, Severity, Snapshot,
};
use herdtop::msg::Feed;
use herdtop::verdict::{Finding, Kind, Standing};
use script::{Script, condition, everyday};

use Severity::{Critical, Info, Warn};

/// The findings after a second in which the only process said `change`.
fn judged(change: impl Fn(&mut Snapshot)) -> Vec<Finding> {
    let mut script = Script::new();
    script.attach("api", 101);
    script.pass(48, everyday);
    script.pass(4, |snapshot| {
        everyday(snapshot);
        change(snapshot);
    });
    script.model.findings
}

fn with(severity: Severity, fact: &Fact) -> Vec<Finding> {
    judged(|snapshot| snapshot.caches[0].conditions = vec![condition(severity, "users", fact.clone())])
}

fn herd(cause: MissCause, loads: u64) -> Fact {
    Fact::HerdStarted {
        flight: 7,
        key: "user:42".into(),
        cause: Some(cause),
        trigger: FlightTrigger::Miss,
        waiters: 812,
        loads,
    }
}

/// A condition, what its process counts each quarter of a second while it holds, and what is said of it.
type Row = (Severity, Fact, fn(&mut Snapshot), Kind, &'static str, &'static str);

#[test]
fn conditions_of_keys_have_their_word_their_figures_and_their_cure() {
    let nothing: fn(&mut Snapshot) = |_| {};
    let table: Vec<Row> = vec![
        (Info, herd(MissCause::Expired, 1), nothing, Kind::Herd, "1 load, 812 waiters", "set stale_for"),
        (
            Info,
            herd(MissCause::Evicted, 1),
            nothing,
            Kind::Herd,
            "1 load, 812 waiters",
            "raise capacity (8400 of 10000",
        ),
        (
            Info,
            herd(MissCause::Invalidated, 1),
            nothing,
            Kind::Herd,
            "1 load, 812 waiters",
            "insert the new value instead of invalidating",
        ),
        (Info, herd(MissCause::Cold, 1), nothing, Kind::Herd, "1 load, 812 waiters", "warm up hot keys"),
        (Info, herd(MissCause::Version, 1), nothing, Kind::Herd, "1 load, 812 waiters", "warm up the new version"),
        (
            Warn,
            herd(MissCause::Expired, 1),
            nothing,
            Kind::Herd,
            "1 load, 812 waiters",
            "look at the origin; set soft_timeout",
        ),
        (
            Warn,
            Fact::Avalanche { keys: 900, within_us: 1_000_000 },
            |s| s.caches[0].flight_starts[FlightTrigger::Miss] += 225,
            Kind::Avalanche,
            "900 keys load within 1.00s",
            "set stale_for: old values answer while keys reload",
        ),
        (
            Warn,
            Fact::EvictionSurge { evictions: 4_000, miss_share: 0.7 },
            |s| s.caches[0].removals[RemovalCause::Evicted] += 100,
            Kind::EvictionSurge,
            "4.0k in 10s",
            "raise capacity",
        ),
        (Info, Fact::ColdStart { hit_ratio: 0.31 }, cold, Kind::ColdStart, "32.7% hits", "warm up hot keys"),
        (
            Warn,
            Fact::StaleBoundNear { key: "k".into(), ratio: 0.9, left_us: 12_000_000 },
            nothing,
            Kind::StaleBound,
            "ends in 11s",
            "heal the origin",
        ),
    ];
    table.into_iter().for_each(check);
}

/// The engine numbers what was given a taken name, and that is all that tells of it.
#[test]
fn caches_of_one_name_are_told_as_long_as_there_are_several() {
    let called = |names: &'static [&'static str]| {
        judged(move |snapshot| {
            let first = snapshot.caches.remove(0);
            snapshot.caches =
                names.iter().map(|name| CacheSnapshot { name: (*name).into(), ..first.clone() }).collect();
        })
    };
    let findings = called(&["users", "users~2", "users~10", "orders"]);
    assert_eq!(findings.len(), 1, "{findings:?}");
    let finding = &findings[0];
    assert_eq!((finding.kind, finding.severity, finding.subject.as_str()), (Kind::DuplicateName, Warn, "users"));
    assert_eq!(finding.what, "3 live caches were given the name users");
    assert!(finding.cure.starts_with("build the cache once"), "{}", finding.cure);
    for alone in [&["users~2"][..], &["users", "users~"], &["users", "users~x"], &["users", "orders"]] {
        assert_eq!(called(alone), [], "{alone:?}");
    }
}

#[test]
fn conditions_of_the_origin_have_their_word_their_figures_and_their_cure() {
    let table: Vec<Row> = vec![
        (
            Critical,
            Fact::OriginSaturated { limit: 32, pending: 60, rejected: 9 },
            fill,
            Kind::Saturated,
            "32 of 32 permits, 64 wait",
            "find the load in hot keys",
        ),
        (
            Warn,
            Fact::OriginSlow { p99_us: 2_400_000, usual_us: 180_000 },
            |s| s.caches[0].origin_call.record_us(2_400_000),
            Kind::OriginSlow,
            "p99 2.40s, usually 180ms",
            "look at the origin",
        ),
        (
            Warn,
            Fact::OriginFailing { ratio: 0.4, calls: 300 },
            |s| s.caches[0].origin_results[OriginResult::Error] += 10,
            Kind::OriginFailing,
            // Of the last two seconds, not of the ten that the engine judges: half of them are before the trouble.
            "33.3% of 120 calls in 2s",
            "heal the origin; set stale_if_error_for",
        ),
        (Critical, Fact::OriginDown { failed: 7, calls: 9 }, |_| {}, Kind::OriginDown, "7 of 9 loads failed", "heal"),
        (
            Warn,
            Fact::ConnectionsExhausted { wait_us: 900_000, call_us: 1_000_000 },
            |s| s.caches[0].connection_wait.record_us(900_000),
            Kind::ConnectionsExhausted,
            "900ms of 1.00s a call",
            "fewer permits (now 32) than connections: a bigger pool does not help",
        ),
        (
            Critical,
            Fact::Rejecting { per_s: 118, reason: RejectReason::QueueFull },
            |s| refuse(s, RejectReason::QueueFull),
            Kind::Rejecting,
            "60/s queue_full",
            "find the load in hot keys",
        ),
        (
            Critical,
            Fact::Rejecting { per_s: 118, reason: RejectReason::WaitersFull },
            |s| refuse(s, RejectReason::WaitersFull),
            Kind::Rejecting,
            "60/s waiters_full",
            "set stale_for, or a wait timeout: callers pile up",
        ),
    ];
    table.into_iter().for_each(check);
}

fn check((severity, fact, count, kind, what, cure): Row) {
    let findings = judged(|snapshot| {
        count(snapshot);
        // A gate tells of itself, a cache of the rest.
        if kind == Kind::Saturated {
            snapshot.gates[0].conditions = vec![condition(severity, "db", fact.clone())];
        } else {
            snapshot.caches[0].conditions = vec![condition(severity, "users", fact.clone())];
        }
    });
    assert_eq!(findings.len(), 1, "{fact:?}: {findings:?}");
    let finding = &findings[0];
    assert_eq!((finding.kind, finding.severity, finding.what.as_str()), (kind, severity, what), "{fact:?}");
    assert!(finding.cure.starts_with(cure), "{}", finding.cure);
    assert_eq!((finding.standing, finding.since_unix_us), (Standing::Holds, Some(script::START.unix_us)));
    assert_eq!(finding.targets, ["api-101"]);
}

/// 120 refusals a second; the window of two seconds also holds a second from before.
fn refuse(snapshot: &mut Snapshot, reason: RejectReason) {
    snapshot.caches[0].outcomes[Outcome::Rejected] += 30;
    snapshot.caches[0].rejections[reason] += 30;
}

fn fill(snapshot: &mut Snapshot) {
    snapshot.gates[0].in_use[PermitClass::Foreground] = 32;
    snapshot.gates[0].pending = 64;
}

/// Four of five requests of this second miss.
fn cold(snapshot: &mut Snapshot) {
    snapshot.caches[0].outcomes[Outcome::Loaded] += 4_000;
}

#[test]
fn facts_that_are_no_conditions_say_nothing() {
    for fact in [Fact::Unknown, Fact::AvalancheEnded { duration_us: 1 }, Fact::Tuned { what: "x".into() }] {
        assert_eq!(with(Warn, &fact), [], "{fact:?}");
    }
    assert_eq!(judged(|_| {}), []);
}

#[test]
fn a_herd_behind_one_load_is_said_to_be_protected_and_a_stampede_is_not() {
    let herd_finding = with(Info, &herd(MissCause::Expired, 1)).remove(0);
    assert_eq!(herd_finding.subject, "users user:42");
    assert_eq!(herd_finding.why, "expired, protected");
    let stampede = with(Critical, &herd(MissCause::Expired, 240)).remove(0);
    assert_eq!((stampede.kind, stampede.what.as_str()), (Kind::Stampede, "240 parallel loads"));
}

#[test]
fn parallel_loads_are_a_stampede_and_a_doomed_one_beside_is_none() {
    let loads = |count: u64, doomed: bool| {
        judged(move |snapshot| {
            let mono_us = snapshot.mono_us;
            let cache = &mut snapshot.caches[0];
            cache.off = vec![Measure::SingleFlight];
            cache.live = (0..count).map(|n| script::flight(n, "user:42", mono_us - 1_000_000, 1_000_000, 0)).collect();
            if doomed {
                cache.live[0].stage = herdfeed::Stage::Doomed;
            }
        })
    };
    let stampede = |findings: &[Finding]| findings.iter().find(|f| f.kind == Kind::Stampede).cloned();
    let many = stampede(&loads(240, false)).unwrap();
    assert_eq!((many.severity, many.why.as_str()), (Critical, "single-flight is off"));
    assert_eq!(many.cure, "switch single-flight on: one load answers all");
    assert_eq!(stampede(&loads(3, false)).unwrap().severity, Warn);
    assert_eq!(stampede(&loads(2, true)), None);
    assert_eq!(stampede(&loads(1, false)), None);
}

#[test]
fn exhausted_connections_never_ask_for_a_bigger_pool() {
    let fact = Fact::ConnectionsExhausted { wait_us: 900_000, call_us: 1_000_000 };
    let findings = judged(|snapshot| {
        snapshot.caches[0].connection_wait.record_us(900_000);
        snapshot.caches[0].off = vec![Measure::SingleFlight, Measure::Permits];
        snapshot.caches[0].conditions = vec![condition(Warn, "users", fact.clone())];
    });
    let finding = findings.iter().find(|f| f.kind == Kind::ConnectionsExhausted).unwrap();
    assert_eq!(finding.why, "the origin answers; loads wait for a connection");
    assert_eq!(finding.cure, "switch single-flight and permits on: a bigger pool does not help");
}

#[test]
fn a_measure_that_is_off_is_the_first_cure_of_an_overload() {
    let fact = Fact::Rejecting { per_s: 18, reason: RejectReason::QueueTimeout };
    let findings = judged(|snapshot| {
        refuse(snapshot, RejectReason::QueueTimeout);
        snapshot.caches[0].off = vec![Measure::Stale];
        snapshot.caches[0].conditions = vec![condition(Critical, "users", fact.clone())];
    });
    assert_eq!(findings[0].cure, "switch stale on: less load on the origin");
}

#[test]
fn switches_and_levels_are_told() {
    let level = |level| judged(move |snapshot| snapshot.caches[0].protection = Some(level));
    assert_eq!(level(ProtectionLevel::Process), []);
    assert_eq!(level(ProtectionLevel::Cluster), []);
    assert_eq!(level(ProtectionLevel::Observe)[0].kind, Kind::ProtectionOff);
    assert_eq!(level(ProtectionLevel::Degraded)[0].kind, Kind::ProtectionDegraded);
    let off = judged(|snapshot| snapshot.caches[0].off = vec![Measure::Jitter, Measure::SingleFlight]);
    assert_eq!((off[0].kind, off[0].what.as_str()), (Kind::ProtectionOff, "single-flight and jitter"));
}

/// A cache that only observes has no single switch: every cure that would name one says what brings them all back.
#[test]
fn a_cache_that_only_observes_is_told_to_do_more() {
    let findings = judged(|snapshot| {
        let mono_us = snapshot.mono_us;
        let cache = &mut snapshot.caches[0];
        cache.protection = Some(ProtectionLevel::Observe);
        cache.off = herdfeed::ClosedSet::all().to_vec();
        cache.live = (0..40).map(|n| script::flight(n, "user:42", mono_us - 200_000, 200_000, 0)).collect();
        cache.origin_results[OriginResult::Error] += 10;
        cache.saved.coalesced = 400;
        cache.saved.cooled = 120;
    });
    let told: Vec<(Kind, &str)> = findings.iter().map(|finding| (finding.kind, finding.cure.as_str())).collect();
    assert_eq!(
        told,
        [
            (Kind::Stampede, "remove observe_only(): one load answers all"),
            (Kind::OriginFailing, "heal the origin; remove observe_only()"),
            (Kind::ProtectionOff, "remove observe_only(): each miss of a hot key calls the origin"),
        ]
    );
    let off = &findings[2];
    assert_eq!(off.what, "observe only");
    assert_eq!(off.why, "the cache runs without countermeasures, which cost about 100% of 520 origin calls");
}

/// Half of the requests of now are hits: no start is cold any more, whatever it was before.
#[test]
fn a_start_that_hits_is_not_cold() {
    let told = |loads: u64| {
        judged(move |snapshot| {
            snapshot.caches[0].outcomes[Outcome::Loaded] += loads;
            snapshot.caches[0].conditions = vec![condition(Info, "users", Fact::ColdStart { hit_ratio: 0.02 })];
        })
    };
    assert_eq!(told(0), []);
    assert_eq!(told(4_000)[0].what, "32.7% hits");
}

#[test]
fn a_broken_law_comes_first() {
    let findings = judged(|snapshot| {
        snapshot.gates[0].law_violations = 2;
        refuse(snapshot, RejectReason::Deadline);
        let fact = Fact::Rejecting { per_s: 11, reason: RejectReason::Deadline };
        snapshot.caches[0].conditions = vec![condition(Critical, "users", fact)];
    });
    assert_eq!(findings[0].kind, Kind::LawBroken);
    assert_eq!(findings[0].what, "2 violations");
}

#[test]
fn refusals_errors_and_a_full_gate_are_seen_without_a_condition() {
    let refused = judged(|snapshot| snapshot.caches[0].rejections[RejectReason::QueueTimeout] += 1);
    assert_eq!((refused[0].kind, refused[0].what.as_str()), (Kind::Rejecting, "2/s queue_timeout"));
    let failed = judged(|snapshot| {
        snapshot.caches[0].outcomes[Outcome::Failed] += 300;
        snapshot.caches[0].origin_results[herdfeed::OriginResult::Timeout] += 30;
    });
    // The cause before what comes of it: most callers get something all the same.
    let told: Vec<&str> = failed.iter().map(|finding| finding.what.as_str()).collect();
    assert_eq!(told, ["75.0% of 160 calls in 1s, 13.0% get errors"]);
    assert_eq!(
        (failed[0].kind, failed[0].why.as_str()),
        (Kind::OriginFailing, "origin calls end with timeout: origin_timeout is 5.00s")
    );
    let full = judged(|snapshot| {
        snapshot.gates[0].in_use[herdfeed::PermitClass::Foreground] = 32;
        snapshot.gates[0].pending = 3;
    });
    assert_eq!((full[0].kind, full[0].severity), (Kind::Saturated, Info));
}

#[test]
fn a_condition_of_the_gate_is_told_once_for_all_its_caches() {
    let findings = judged(|snapshot| {
        let mut second = script::cache();
        second.name = "orders".into();
        if snapshot.caches.len() == 1 {
            snapshot.caches.push(second);
        }
        fill(snapshot);
        let fact = Fact::OriginSaturated { limit: 32, pending: 64, rejected: 0 };
        snapshot.gates[0].conditions = vec![condition(Warn, "db", fact)];
    });
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert_eq!(findings[0].subject, "db");
}

/// G6: the permits of all processes against what the origin can bear.
#[test]
fn g6_too_many_permits_over_the_fleet_are_told() {
    let mut script = Script::new();
    for pid in [1, 2, 3] {
        script.attach("api", pid);
    }
    script.pass(2, |snapshot| snapshot.gates[0].origin_capacity = Some(96));
    assert_eq!(script.model.findings, []);
    script.pass(2, |snapshot| snapshot.gates[0].origin_capacity = Some(80));
    let finding = &script.model.findings[0];
    assert_eq!((finding.kind, finding.what.as_str()), (Kind::Overcommitted, "96 permits for an origin of 80"));
    assert_eq!(finding.targets.len(), 3);
    // A limit that follows the origin counts as what it may become.
    script.pass(2, |snapshot| (snapshot.gates[0].limit, snapshot.gates[0].ceiling) = (4, Some(32)));
    assert_eq!(script.model.findings[0].what, "96 permits for an origin of 80");
}

#[test]
fn the_same_thing_in_many_processes_is_one_finding_with_the_worst_figures() {
    let mut script = Script::new();
    script.attach("api", 1);
    script.attach("api", 2);
    for (service, waiters) in [(0, 90), (1, 812)] {
        let mut fact = herd(MissCause::Expired, 1);
        if let Fact::HerdStarted { waiters: w, .. } = &mut fact {
            *w = waiters;
        }
        script.services[service].snapshot.caches[0].conditions = vec![condition(Info, "users", fact)];
    }
    script.pass(1, |_| {});
    assert_eq!(script.model.findings.len(), 1);
    assert_eq!(script.model.findings[0].what, "1 load, 812 waiters");
    assert_eq!(script.model.findings[0].targets, ["api-1", "api-2"]);
}

#[test]
fn a_herd_that_has_passed_is_told_for_a_moment_with_its_rhythm() {
    let mut script = script::calm();
    let mut event = condition(
        Info,
        "users",
        Fact::HerdEnded(HerdEnd {
            flight: 1,
            key: "user:42".into(),
            cause: Some(MissCause::Expired),
            trigger: FlightTrigger::Miss,
            peak: 812,
            loads: 1,
            avoided: 811,
            arrivals_per_s: 400.0,
            duration_us: 640_000,
            end: FlightEnd::Loaded,
            since_last_us: 300_000_000,
            repeats: 3,
        }),
    );
    event.unix_us = script.model.now.unix_us;
    script.feed(0, Feed::Events(vec![event]));
    script.pass(1, everyday);
    let finding = &script.model.findings[0];
    assert_eq!((finding.kind, finding.what.as_str()), (Kind::HerdPassed, "812 waited 640ms for 1 load"));
    assert_eq!(finding.why, "expired, every 5m00s");
    script.pass(24, everyday);
    assert_eq!(script.model.findings, []);
}

#[test]
fn the_bound_of_a_stale_value_counts_down_between_snapshots() {
    let mut script = Script::new();
    script.attach("api", 1);
    let fact = Fact::StaleBoundNear { key: "k".into(), ratio: 0.9, left_us: 12_000_000 };
    script.services[0].snapshot.caches[0].conditions = vec![condition(Warn, "users", fact)];
    script.pass(1, |_| {});
    script.silence(1_500_000);
    assert_eq!(script.model.findings[0].what, "ends in 10s");
}
