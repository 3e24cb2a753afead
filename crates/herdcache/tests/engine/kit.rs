//! The testing kit: origins do as they are told, and every line of the account's check can fail.

use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use herdcache::herdfeed::{
    CacheSnapshot, FlightEnd, FlightRole, FlightTrigger, GateSnapshot, Law, LiveFlight, OriginResult, Outcome,
    PermitClass, RefreshResult, RejectReason, Snapshot, Stage, StaleReason,
};
use herdcache::testing::{Balanced, Reply, ScriptedOrigin, assert_balanced, pass, run_paused};
use herdcache::{Answer, Cache, Failure, Gate, GetError, LoadContext, Loaded, ReadThrough, Ttl};

use crate::support::{DbError, ms, turns};

type Tens = ReadThrough<u64, u64, DbError>;

fn tens() -> ScriptedOrigin<u64, u64, DbError> {
    ScriptedOrigin::new(|cx: &LoadContext<u64, u64>| Reply::value(cx.key() * 10))
}

/// A minute fresh, an hour in reserve, no cooling to speak of.
fn cache<const BATCH: usize>(origin: &ScriptedOrigin<u64, u64, DbError, BATCH>, gate: &Gate) -> Tens {
    let ttl = Ttl::fresh_for(ms(60_000)).stale_if_error_for(ms(3_600_000));
    Cache::builder("tens", ttl, gate).jitter(0.0).build_over(origin.clone()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_script_is_played_call_by_call_and_key_by_key() {
    let (origin, gate) = (tens(), Gate::new(8));
    let tens = cache(&origin, &gate);
    origin.next(1, Reply::error(DbError("down"))).next(1, Reply::absent()).next(2, Reply::panics("no"));
    origin.next(3, Reply::hangs()).next(4, Reply::value(Loaded::value(7).do_not_store()).after(ms(250)));
    assert_eq!((origin.left_of(&1), origin.left_of(&9)), (2, 0));

    assert!(matches!(tens.get(&1).await, Err(GetError::Failed(Failure::Origin(error))) if *error == DbError("down")));
    pass(ms(1_000)).await;
    assert!(tens.get(&1).await.unwrap().is_none(), "the second line of its script");
    assert!(
        matches!(tens.get(&2).await, Err(GetError::Failed(Failure::Panicked { message })) if message.contains("no"))
    );
    let hung = tokio::time::Instant::now();
    assert!(matches!(tens.get(&3).await, Err(GetError::Failed(Failure::OriginTimeout { .. }))));
    assert_eq!(hung.elapsed(), Duration::from_secs(5));
    let slow = tokio::time::Instant::now();
    assert_eq!(tens.get(&4).await.unwrap().as_deref(), Some(&7));
    assert_eq!(slow.elapsed(), ms(250));
    assert_eq!(tens.get(&4).await.unwrap().as_deref(), Some(&40), "its script is over");

    let calls = origin.calls();
    assert_eq!((calls.started(), calls.running(), calls.peak()), (6, 0, 1), "the hung call was dropped");
    assert_eq!([1, 2, 4, 9].map(|key| origin.calls_of(&key)), [2, 1, 2, 0]);
    assert_balanced(&tens);
}

/// A key whose clones and drops ask the origin, as those of a key that logs itself might.
#[derive(Debug)]
struct Asking(u64, Arc<OnceLock<ScriptedOrigin<Asking, u64, DbError>>>);

impl Asking {
    fn ask(&self) {
        if let Some(origin) = self.1.get() {
            assert_eq!(origin.left_of(&Asking(99, Arc::default())), 0);
        }
    }
}

impl Clone for Asking {
    fn clone(&self) -> Self {
        self.ask();
        Self(self.0, Arc::clone(&self.1))
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.ask();
    }
}

impl PartialEq for Asking {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for Asking {}

impl Hash for Asking {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl serde::Serialize for Asking {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(to)
    }
}

/// The kit holds no lock while it clones a key or lets go of one: this would stand still.
#[tokio::test(start_paused = true)]
async fn a_key_that_asks_the_origin_does_not_hang_it() {
    let cell = Arc::new(OnceLock::new());
    let origin = ScriptedOrigin::new(|cx: &LoadContext<Asking, u64>| Reply::value(cx.key().0));
    assert!(cell.set(origin.clone()).is_ok());
    let key = |n| Asking(n, Arc::clone(&cell));
    let ttl = Ttl::fresh_for(ms(60_000));
    let cache = Cache::builder("asking", ttl, &Gate::new(2)).build_over(origin.clone()).unwrap();
    origin.next(key(7), Reply::value(1)).next(key(7), Reply::value(2));
    assert_eq!(cache.get(&key(7)).await.unwrap().as_deref(), Some(&1));
    assert_eq!((origin.calls_of(&key(7)), origin.left_of(&key(7))), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_batch_is_one_call_as_long_as_its_longest_reply() {
    let (origin, gate) = (tens().batched::<10>(), Gate::new(8));
    let tens = cache(&origin, &gate);
    origin.next(1, Reply::value(1).after(ms(30))).next(2, Reply::absent().after(ms(70)));
    let begun = tokio::time::Instant::now();
    let got = tens.get_many(&[1, 2, 3]).await;
    let values: Vec<_> = got.into_iter().map(|got| got.unwrap().map(|answer| *answer)).collect();
    assert_eq!((values, begun.elapsed()), (vec![Some(1), None, Some(30)], ms(70)));
    assert_eq!((origin.calls().started(), origin.calls_of(&3)), (1, 1));

    origin.next(5, Reply::error(DbError("all of it")));
    let failed = tens.get_many(&[4, 5]).await;
    assert!(failed.iter().all(|got| matches!(got, Err(GetError::Failed(Failure::Origin(_))))), "{failed:?}");
    assert_balanced(&tens);
}

/// L3: what the origin counts at once is what the gate lets through.
#[tokio::test(start_paused = true)]
async fn l3_the_peak_is_what_ran_at_once() {
    let origin = ScriptedOrigin::new(|cx: &LoadContext<u64, u64>| Reply::value(*cx.key()).after(ms(10)));
    let gate = Gate::new(3);
    let numbers = cache(&origin, &gate);
    let ask = |key| {
        let numbers = numbers.clone();
        tokio::spawn(async move { numbers.get(&key).await.map(|answer| answer.is_some()) })
    };
    let callers: Vec<_> = (0..10).map(ask).collect();
    turns().await;
    assert_eq!(origin.calls().running(), 3);
    for caller in callers {
        assert!(caller.await.unwrap().unwrap());
    }
    assert_eq!((origin.calls().started(), origin.calls().peak()), (10, 3));
    assert_balanced(&numbers);
}

#[test]
fn time_stands_still_until_it_is_let_pass() {
    run_paused(async {
        let origin = tens();
        let tens = cache(&origin, &Gate::new(8));
        tens.get(&1).await.unwrap();
        pass(ms(59_999)).await;
        assert_eq!(Answer::age(&tens.get(&1).await.unwrap().unwrap()), ms(59_999));
        pass(ms(1)).await;
        tens.get(&1).await.unwrap();
        assert_eq!(origin.calls().started(), 2);
    });
}

/// What a broken account is told as.
fn said(what: &impl Balanced) -> Vec<String> {
    what.imbalances().iter().map(ToString::to_string).collect()
}

/// Makes one figure wrong.
type Break = fn(&mut CacheSnapshot);

/// L1, L6: a cache at rest with one figure wrong is told as exactly that.
#[test]
fn l1_l6_each_line_of_the_check_can_fail() {
    let table: [(Break, &str); 30] = [
        (|s| s.begun = 3, "L1: outcomes of the requests begun: 0 where 3 must be (3 too few)"),
        (
            |s| s.flight_starts[FlightTrigger::Warmup] = 1,
            "L1: flight ends (flights) of flight_starts: 0 where 1 must be (1 too few)",
        ),
        (
            |s| (s.flights[FlightEnd::Loaded], s.flight.count) = (2, 2),
            "L1: flight ends (flights) of flight_starts: 2 where 0 must be (2 too many)",
        ),
        (
            |s| {
                (s.flight_starts[FlightTrigger::Forced], s.flights[FlightEnd::Loaded], s.flight.count) = (1, 1, 1);
                s.refreshes[RefreshResult::Stored] = 0;
            },
            "L1: ends (refreshes) of the flights that refreshed: 0 where 1 must be (1 too few)",
        ),
        (|s| s.flight.count = 1, "L1: durations (flight) of the flight ends: 1 where 0 must be (1 too many)"),
        (|s| s.origin_calls = 1, "L1: origin_results of origin_calls: 0 where 1 must be (1 too few)"),
        (
            |s| (s.participants[FlightRole::Leader], s.wait.count) = (1, 1),
            "L1: leaders of the flights that requests opened: 1 where 0 must be (1 too many)",
        ),
        (
            |s| s.stale_serves[StaleReason::Error] = 1,
            "L1: reasons (stale_serves) of the answers past freshness: 1 where 0 must be (1 too many)",
        ),
        (
            |s| *s.origin_errors.entry("_OTHER".into()).or_default() = 1,
            "L1: classes (origin_errors) of the errors: 1 where 0 must be (1 too many)",
        ),
        (
            |s| (s.begun, s.outcomes[Outcome::Rejected], s.refresh_rejections[RejectReason::QueueFull]) = (1, 1, 1),
            "L1: requests rejected without a reason (rejections): 1 where 0 must be (1 too many)",
        ),
        (|s| s.warmup.total = 1, "L1: keys of warm-ups that are done with: 0 where 1 must be (1 too few)"),
        (|s| s.active = 1, "L6: requests in progress (active): 1 where 0 must be (1 too many)"),
        (|s| s.waiting = 1, "L6: requests that wait (waiting): 1 where 0 must be (1 too many)"),
        (|s| s.flights_active = 1, "L6: flights in progress (flights_active): 1 where 0 must be (1 too many)"),
        (
            |s| s.flights_unwatched = 1,
            "L6: flights that nobody waits for (flights_unwatched): 1 where 0 must be (1 too many)",
        ),
        (|s| s.refreshes_active = 1, "L6: background refreshes (refreshes_active): 1 where 0 must be (1 too many)"),
        (|s| s.origin_active = 1, "L6: origin calls in progress (origin_active): 1 where 0 must be (1 too many)"),
        (
            |s| s.origin_abandoned = 1,
            "L6: origin calls given up that go on (origin_abandoned): 1 where 0 must be (1 too many)",
        ),
        (|s| s.warmup.running = 1, "L6: warm-ups in progress (warmup.running): 1 where 0 must be (1 too many)"),
        (
            |s| s.warmup.left = 1,
            "L6: keys that warm-ups have before them (warmup.left): 1 where 0 must be (1 too many)",
        ),
        (|s| s.warmup.width = 1, "L6: keys that warm-ups load at once (warmup.width): 1 where 0 must be (1 too many)"),
        (|s| s.flight_oldest_us = 1, "L6: age of the oldest flight (flight_oldest_us): 1 where 0 must be (1 too many)"),
        (|s| s.live.push(flight()), "L6: flights in progress that are shown (live): 1 where 0 must be (1 too many)"),
        (
            |s| s.origin_call.count = 1,
            "L1: durations (origin_call) of the origin_results: 1 where 0 must be (1 too many)",
        ),
        (
            |s| s.stale_age.count = 1,
            "L1: ages (stale_age) of the answers past freshness: 1 where 0 must be (1 too many)",
        ),
        (
            |s| s.shared.get_or_insert_default().queued = 1,
            "L6: invalidations on their way to the tier (shared.queued): 1 where 0 must be (1 too many)",
        ),
        (|s| s.lease.get_or_insert_default().held = 1, "L6: leases held (lease.held): 1 where 0 must be (1 too many)"),
        (
            |s| s.lease.get_or_insert_default().following = 1,
            "L6: flights that follow another process (lease.following): 1 where 0 must be (1 too many)",
        ),
        (|s| s.laws[Law::L5] = 1, "run-time checks: violations by law (laws): 1 where 0 must be (1 too many)"),
        (|s| s.law_violations = 1, "run-time checks: violations (law_violations): 1 where 0 must be (1 too many)"),
    ];
    for (wrong, line) in table {
        assert_said(wrong, line);
    }
}

/// A snapshot at rest that this breaks has just this line.
fn assert_said(wrong: Break, line: &str) {
    let mut snapshot = CacheSnapshot { name: "a".into(), ..CacheSnapshot::default() };
    assert!(snapshot.imbalances().is_empty());
    wrong(&mut snapshot);
    assert_eq!(said(&snapshot), [format!("cache \"a\": {line}")]);
}

/// L1, L7: the same of waits, ends and bounds.
#[test]
fn l1_l7_each_line_of_waits_ends_and_bounds_can_fail() {
    let table: [(Break, &str); 6] = [
        (
            |s| s.refreshes[RefreshResult::Stored] = 1,
            "L1: ends (refreshes) of no flight that refreshed: 1 where 0 must be (1 too many)",
        ),
        (
            |s| s.wait.count = 1,
            "L1: waits that ended (wait) of those that began (participants): 1 where 0 must be (1 too many)",
        ),
        (
            |s| (s.flight_starts[FlightTrigger::Warmup], s.flights[FlightEnd::Discarded], s.flight.count) = (1, 1, 1),
            "L1: flights discarded without a reason (discards): 1 where 0 must be (1 too many)",
        ),
        (|s| s.entries = 1, "L7: values (entries without negatives) beyond capacity: 1 where 0 must be (1 too many)"),
        (
            |s| (s.entries, s.negatives) = (1, 1),
            "L7: absences (negatives) beyond negative_capacity: 1 where 0 must be (1 too many)",
        ),
        (
            |s| (s.negatives, s.negative_capacity) = (1, 1),
            "L7: absences (negatives) that are no entries: 1 where 0 must be (1 too many)",
        ),
    ];
    for (wrong, line) in table {
        assert_said(wrong, line);
    }
}

/// A flight as a snapshot shows it.
fn flight() -> LiveFlight {
    let (trigger, stage) = (FlightTrigger::Miss, Stage::Held);
    LiveFlight {
        id: 1,
        key: "7".into(),
        trigger,
        cause: None,
        started_mono_us: 0,
        age_us: 0,
        waiters: 0,
        stage,
        end: None,
    }
}

/// L1: every error has one class.
#[test]
fn l1_errors_without_a_class_are_seen() {
    let mut snapshot = CacheSnapshot { origin_calls: 1, ..CacheSnapshot::default() };
    (snapshot.origin_results[OriginResult::Error], snapshot.origin_call.count) = (1, 1);
    assert_eq!(
        said(&snapshot),
        ["cache \"\": L1: classes (origin_errors) of the errors: 0 where 1 must be (1 too few)"]
    );
}

/// L6: a gate is looked at with its cache, and each of a process by its name.
#[tokio::test(start_paused = true)]
async fn l6_a_permit_that_is_out_is_seen() {
    let gate = Gate::builder(8).name("kit-db").build().unwrap();
    let tens = cache(&tens(), &gate);
    let permit = gate.acquire().await.unwrap();
    let line = format!("gate {:?}: L6: permits out (in_use): 1 where 0 must be (1 too many)", gate.name());
    assert_eq!(said(&tens), [line.as_str()]);
    drop(permit);
    assert_balanced(&tens);

    let mut process = Snapshot::default();
    process.gates.push(GateSnapshot { name: "b".into(), pending: 2, law_violations: 1, ..GateSnapshot::default() });
    process.gates[0].in_use[PermitClass::Refresh] = 1;
    process.caches.push(CacheSnapshot { name: "c".into(), waiting: 1, ..CacheSnapshot::default() });
    assert_eq!(
        said(&process),
        [
            "cache \"c\": L6: requests that wait (waiting): 1 where 0 must be (1 too many)",
            "gate \"b\": L6: permits out (in_use): 1 where 0 must be (1 too many)",
            "gate \"b\": L6: loads that wait (pending): 2 where 0 must be (2 too many)",
            "gate \"b\": run-time checks: violations (law_violations): 1 where 0 must be (1 too many)",
        ]
    );
}

#[test]
#[should_panic(
    expected = "the account is not at rest:\n  cache \"late\": L6: requests in progress (active): 1 where 0"
)]
fn a_request_in_progress_fails_the_assertion() {
    assert_balanced(&CacheSnapshot { name: "late".into(), active: 1, ..CacheSnapshot::default() });
}
