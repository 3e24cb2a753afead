//! The verdict on an origin that hangs or is given up: what comes of it must not be told in its place.

#[path = "support/script.rs"]
mod script;

use herdfeed::{Fact, FlightEnd, OriginResult, Outcome, RejectReason, Severity, Snapshot, StaleReason};
use herdtop::verdict::{Kind, Standing};
use script::{condition, everyday, of, one, told};

use Severity::{Critical, Info, Warn};

/// Stale answers and refusals, as callers get them while nothing comes back.
fn turned_away(snapshot: &mut Snapshot) {
    let cache = &mut snapshot.caches[0];
    cache.outcomes[Outcome::Stale] += 60;
    cache.stale_serves[StaleReason::Cooling] += 60;
    cache.outcomes[Outcome::Rejected] += 40;
    cache.rejections[RejectReason::GroupShare] += 40;
    let fact = Fact::Rejecting { per_s: 160, reason: RejectReason::GroupShare };
    cache.conditions = vec![condition(Critical, "users", fact)];
}

/// Calls hang and are cut at their limit: now and then some of them end so.
fn cut(snapshot: &mut Snapshot, calls: u64) {
    turned_away(snapshot);
    let cache = &mut snapshot.caches[0];
    cache.origin_active = 8;
    cache.flight_oldest_us = 1_900_000;
    cache.origin_results[OriginResult::Timeout] += calls;
    cache.flights[FlightEnd::Deadline] += calls;
}

/// The refusals of a tenant whose loads hang are the origin's doing: the first line says so all the time, and nobody is
/// told to limit the tenant.
#[test]
fn refusals_behind_a_hanging_origin_are_not_blamed_on_a_group() {
    let mut script = one();
    script.pass(1, |snapshot| cut(snapshot, 8));
    for quarter in 1..60 {
        script.pass(1, |snapshot| cut(snapshot, if quarter % 8 == 0 { 8 } else { 0 }));
        let rejecting = of(&script, Kind::Rejecting).unwrap();
        assert_eq!(told(&script), [(Kind::OriginFailing, Critical), (Kind::Rejecting, Critical)], "{quarter}");
        let cure = "look at the origin: it hangs, and origin_timeout (5.00s) cuts its calls";
        assert_eq!((rejecting.cure.as_str(), script.model.findings[0].cure.as_str()), (cure, cure), "{quarter}");
    }
    // The last success was a quarter before the first calls were cut, and those had hung for longer than that.
    let what = "no load has succeeded for 15s, 60.0% answered stale, 40.0% are refused";
    assert_eq!(of(&script, Kind::OriginFailing).unwrap().what, what);
    // Where loads succeed, a group that is refused asks too much.
    script.pass(8, |snapshot| {
        everyday(snapshot);
        turned_away(snapshot);
    });
    let rejecting = of(&script, Kind::Rejecting).unwrap();
    assert_eq!(rejecting.cure, "limit the group that asks too much, or raise its share");
    assert_eq!(told(&script)[0].0, Kind::Rejecting);
}

/// The engine counts a window that reaches back to when all was well; what callers get is what counts.
#[test]
fn an_origin_that_is_given_up_is_told_by_what_callers_get() {
    let mut script = one();
    let down = |snapshot: &mut Snapshot| {
        let cache = &mut snapshot.caches[0];
        cache.outcomes[Outcome::Stale] += 70;
        cache.outcomes[Outcome::Rejected] += 20;
        cache.outcomes[Outcome::Cooling] += 10;
        cache.rejections[RejectReason::OriginDown] += 20;
        cache.stale_serves[StaleReason::Rejected] += 70;
        snapshot.gates[0].conditions = vec![condition(Critical, "db", Fact::OriginDown { failed: 324, calls: 643 })];
    };
    script.pass(1, |snapshot| {
        snapshot.caches[0].origin_results[OriginResult::Error] += 20;
        down(snapshot);
    });
    script.pass(16, down);
    let finding = of(&script, Kind::OriginDown).unwrap();
    assert_eq!(finding.what, "no load has succeeded for 4s, 70.0% answered stale, 30.0% get errors");
    assert_eq!(told(&script)[0], (Kind::OriginDown, Critical));
}

/// Nobody asks any more: how the origin would answer is not known, and no alarm is due.
#[test]
fn an_origin_that_is_asked_nothing_is_no_alarm() {
    for fact in [
        Fact::ConnectionsExhausted { wait_us: 882_000, call_us: 952_000 },
        Fact::OriginSlow { p99_us: 2_400_000, usual_us: 180_000 },
    ] {
        let mut script = one();
        let with = |snapshot: &mut Snapshot| {
            snapshot.caches[0].conditions = vec![condition(Warn, "users", fact.clone())];
        };
        script.pass(4, |snapshot| {
            everyday(snapshot);
            snapshot.caches[0].connection_wait.record_us(900_000);
            snapshot.caches[0].origin_call.record_us(2_400_000);
            with(snapshot);
        });
        let kind = script.model.findings[0].kind;
        assert_eq!((told(&script), of(&script, kind).unwrap().standing), (vec![(kind, Warn)], Standing::Holds));
        script.pass(12, with);
        let over = of(&script, kind).unwrap();
        assert_eq!((over.severity, over.standing), (Info, Standing::Over));
        assert!(over.what.ends_with(" before, not now"), "{}", over.what);
    }
}

/// It has healed, and then the traffic ends: the alarm does not come back because nobody asks any more.
#[test]
fn an_origin_that_has_healed_stays_so_when_nobody_asks() {
    let mut script = one();
    let with = |snapshot: &mut Snapshot| {
        snapshot.caches[0].conditions = vec![condition(Warn, "users", Fact::OriginFailing { ratio: 0.9, calls: 295 })];
    };
    script.pass(4, |snapshot| {
        everyday(snapshot);
        snapshot.caches[0].origin_results[OriginResult::Error] += 90;
        with(snapshot);
    });
    assert_eq!(told(&script)[0], (Kind::OriginFailing, Warn));
    script.pass(10, |snapshot| {
        everyday(snapshot);
        with(snapshot);
    });
    for quarter in 1..12 {
        script.pass(1, with);
        assert_eq!(told(&script), [(Kind::OriginFailing, Info)], "{quarter}");
    }
    assert_eq!(of(&script, Kind::OriginFailing).unwrap().what, "last failure 5s ago");
}
