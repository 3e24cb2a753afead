//! The verdict, as a table: from what was learned to what is said.

#[path = "support/script.rs"]
mod script;

use herdfeed::{
    Fact, FlightEnd, FlightTrigger, HerdEnd, Measure, MissCause, Outcome, ProtectionLevel, RejectReason, Severity,
    Snapshot,
};
use herdtop::msg::Feed;
use herdtop::verdict::{Finding, Kind};
use script::{Script, condition, everyday};

use Severity::{Critical, Info, Warn};

/// The findings after a second in which the only process said `change`.
fn judged(change: impl Fn(&mut Snapshot)) -> Vec<Finding> {
    judged_with(|_| {}, change)
}

fn judged_with(settings: impl Fn(&mut herdfeed::CacheConfig), change: impl Fn(&mut Snapshot)) -> Vec<Finding> {
    let mut script = Script::new();
    script.attach("api", 101);
    let mut hello = script.services[0].hello.clone();
    settings(&mut hello.caches[0]);
    script.feed(0, Feed::Hello(Box::new(hello)));
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

#[test]
fn each_condition_has_its_word_its_figures_and_its_cure() {
    let table: Vec<(Severity, Fact, Kind, &str, &str)> = vec![
        (Info, herd(MissCause::Expired, 1), Kind::Herd, "1 load, 812 waiters", "set stale_for"),
        (Info, herd(MissCause::Evicted, 1), Kind::Herd, "1 load, 812 waiters", "raise capacity (8400 of 10000"),
        (
            Info,
            herd(MissCause::Invalidated, 1),
            Kind::Herd,
            "1 load, 812 waiters",
            "insert the new value instead of invalidating",
        ),
        (Info, herd(MissCause::Cold, 1), Kind::Herd, "1 load, 812 waiters", "warm up hot keys"),
        (Info, herd(MissCause::Version, 1), Kind::Herd, "1 load, 812 waiters", "warm up the new version"),
        (Warn, herd(MissCause::Expired, 1), Kind::Herd, "1 load, 812 waiters", "look at the origin; a soft timeout"),
        (
            Warn,
            Fact::Avalanche { keys: 900, within_us: 1_000_000 },
            Kind::Avalanche,
            "900 keys load within 1.00s",
            "more jitter",
        ),
        (
            Warn,
            Fact::EvictionSurge { evictions: 4_000, miss_share: 0.7 },
            Kind::EvictionSurge,
            "4.0k in 10s",
            "raise capacity",
        ),
        (
            Critical,
            Fact::OriginSaturated { limit: 32, pending: 64, rejected: 9 },
            Kind::Saturated,
            "32 of 32 permits, 64 wait",
            "find the load in hot keys",
        ),
        (
            Warn,
            Fact::OriginSlow { p99_us: 2_400_000, usual_us: 180_000 },
            Kind::OriginSlow,
            "p99 2.40s, usually 180ms",
            "look at the origin",
        ),
        (
            Warn,
            Fact::OriginFailing { ratio: 0.4, calls: 300 },
            Kind::OriginFailing,
            "40.0% of 300 calls in 10s",
            "heal the origin",
        ),
        (Critical, Fact::OriginDown { failed: 7, calls: 9 }, Kind::OriginDown, "7 of 9 loads failed", "heal"),
        (
            Warn,
            Fact::ConnectionsExhausted { wait_us: 900_000, call_us: 1_000_000 },
            Kind::ConnectionsExhausted,
            "900ms of 1.00s a call",
            "not a bigger pool: fewer permits (now 32)",
        ),
        (
            Critical,
            Fact::Rejecting { per_s: 118, reason: RejectReason::QueueFull },
            Kind::Rejecting,
            "118/s queue_full",
            "find the load in hot keys",
        ),
        (
            Critical,
            Fact::Rejecting { per_s: 118, reason: RejectReason::WaitersFull },
            Kind::Rejecting,
            "118/s waiters_full",
            "callers pile up",
        ),
        (Info, Fact::ColdStart { hit_ratio: 0.31 }, Kind::ColdStart, "31.0% hits", "warm up hot keys"),
        (
            Warn,
            Fact::StaleBoundNear { key: "k".into(), ratio: 0.9, left_us: 12_000_000 },
            Kind::StaleBound,
            "ends in 12s",
            "heal the origin",
        ),
        (
            Warn,
            Fact::DuplicateName { name: "users".into() },
            Kind::DuplicateName,
            "two live caches are called users",
            "build the cache once",
        ),
    ];
    for (severity, fact, kind, what, cure) in table {
        let findings = with(severity, &fact);
        assert_eq!(findings.len(), 1, "{fact:?}: {findings:?}");
        let finding = &findings[0];
        assert_eq!((finding.kind, finding.severity, finding.what.as_str()), (kind, severity, what), "{fact:?}");
        assert!(finding.cure.starts_with(cure), "{}", finding.cure);
        assert_eq!(finding.since_unix_us, Some(script::START.unix_us));
        assert_eq!(finding.targets, ["api-101"]);
    }
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
fn the_cure_of_an_expiry_follows_the_settings() {
    let cure = |settings: fn(&mut herdfeed::CacheConfig), off: &[Measure]| {
        let fact = herd(MissCause::Expired, 1);
        let findings = judged_with(settings, |snapshot| {
            snapshot.caches[0].off = off.to_vec();
            snapshot.caches[0].conditions = vec![condition(Info, "users", fact.clone())];
        });
        findings.into_iter().find(|f| f.kind == Kind::Herd).unwrap().cure
    };
    assert!(cure(|_| {}, &[]).starts_with("set stale_for"));
    assert!(cure(|c| c.stale_ms = 1_000, &[Measure::Stale]).starts_with("switch stale on"));
    assert!(cure(|c| c.stale_ms = 1_000, &[]).starts_with("early_refresh(1.0)"));
    let both = |c: &mut herdfeed::CacheConfig| (c.stale_ms, c.early_refresh) = (1_000, 1.0);
    assert_eq!(cure(both, &[]), "raise stale_for: this value's stale cover is too short");
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
        snapshot.caches[0].off = vec![Measure::SingleFlight, Measure::Permits];
        snapshot.caches[0].conditions = vec![condition(Warn, "users", fact.clone())];
    });
    let finding = findings.iter().find(|f| f.kind == Kind::ConnectionsExhausted).unwrap();
    assert_eq!(finding.why, "the origin answers; loads wait for a connection");
    assert_eq!(finding.cure, "not a bigger pool: switch single-flight and permits on");
}

#[test]
fn a_measure_that_is_off_is_the_first_cure_of_an_overload() {
    let fact = Fact::Rejecting { per_s: 18, reason: RejectReason::QueueTimeout };
    let findings = judged(|snapshot| {
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
    assert_eq!((off[0].kind, off[0].what.as_str()), (Kind::ProtectionOff, "jitter and single-flight"));
}

#[test]
fn a_broken_law_comes_first() {
    let findings = judged(|snapshot| {
        snapshot.gates[0].law_violations = 2;
        let fact = Fact::Rejecting { per_s: 11, reason: RejectReason::Deadline };
        snapshot.caches[0].conditions = vec![condition(Critical, "users", fact)];
    });
    assert_eq!(findings[0].kind, Kind::LawBroken);
    assert_eq!(findings[0].what, "2 violations");
}

#[test]
fn refusals_errors_and_a_full_gate_are_seen_without_a_condition() {
    let refused = judged(|snapshot| snapshot.caches[0].rejections[RejectReason::QueueTimeout] += 1);
    assert_eq!((refused[0].kind, refused[0].what.as_str()), (Kind::Rejecting, "0.4/s queue_timeout"));
    let failed = judged(|snapshot| {
        snapshot.caches[0].outcomes[Outcome::Failed] += 300;
        snapshot.caches[0].origin_results[herdfeed::OriginResult::Timeout] += 30;
    });
    assert_eq!((failed[0].kind, failed[0].why.as_str()), (Kind::Failing, "origin calls end with timeout"));
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
    script.silence(2_500_000);
    assert_eq!(script.model.findings[0].what, "ends in 9s");
}
