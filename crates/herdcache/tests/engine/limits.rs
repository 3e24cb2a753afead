//! S4, S6, G1, G4: limits of callers, of the cache and of the gate, with their numbers.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use herdcache::herdfeed::{FlightEnd, PermitClass, PermitResult, StaleReason};
use herdcache::{Cache, Gate, GetError, Outcome, RejectReason, Ttl};
use tokio::time::Instant;

use crate::support::{Calls, DbError, Rows, ask, assert_quiet, ms, outcome, rows, turns, value};

const TTL: Ttl = Ttl::fresh_for(ms(60_000));

fn behind(name: &str, gate: &Gate) -> Rows {
    Cache::builder(name, TTL, gate).jitter(0.0).build().unwrap()
}

/// S4, case 02: callers that are all more impatient than the load is slow still leave it cached.
#[tokio::test(start_paused = true)]
async fn s4_impatient_callers_fill_the_cache_all_the_same() {
    let cache = rows("case-02", TTL).build().unwrap().with_wait_timeout(ms(90));
    let calls = Arc::new(Calls::default());
    let mut callers = Vec::new();
    for _ in 0..40 {
        callers.push(ask(&cache, 7, calls.load(ms(310), Ok(1))));
        tokio::time::sleep(ms(50)).await;
    }
    let mut outcomes = BTreeMap::new();
    for caller in callers {
        *outcomes.entry(outcome(&caller.await.unwrap()).unwrap()).or_insert(0) += 1;
    }
    let expected = [(Outcome::Hit, 33), (Outcome::Coalesced, 2), (Outcome::TimedOut, 5)];
    assert_eq!(outcomes, BTreeMap::from(expected));
    assert_eq!(calls.started(), 1);
    let account = cache.snapshot();
    let told = [Outcome::Hit, Outcome::Coalesced, Outcome::TimedOut].map(|outcome| account.outcomes[outcome]);
    assert_eq!(told, [33, 2, 5]);
    assert_quiet(&account);
}

/// S4, case 02: a leader whose future is polled once and then forgotten holds up nobody.
#[tokio::test(start_paused = true)]
async fn s4_a_leader_that_is_never_polled_again_holds_up_nobody() {
    let cache = rows("case-02-parked", TTL).build().unwrap();
    let calls = Arc::new(Calls::default());
    let mut parked = pin!(cache.get_with(&7, calls.load(ms(310), Ok(1))));
    assert!(parked.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    let began = Instant::now();
    let second = cache.get_with(&7, calls.load(ms(310), Ok(2))).await;
    assert_eq!((outcome(&second), value(second)), (Some(Outcome::Coalesced), 1));
    assert!(began.elapsed() <= ms(320), "{:?}", began.elapsed());
    // The parked leader finds its answer whenever it comes back.
    tokio::time::sleep(ms(5_000)).await;
    assert_eq!(outcome(&parked.await), Some(Outcome::Loaded));
    assert_quiet(&cache.snapshot());
}

/// S6: no more waiters than the cap; a refused one with an older value gets that; places come back.
#[tokio::test(start_paused = true)]
async fn s6_waiters_of_a_flight_are_capped() {
    let ttl = Ttl::fresh_for(ms(100)).stale_if_error_for(ms(60_000));
    let cache = rows("crowded", ttl).max_waiters(3).build().unwrap();
    let calls = Arc::new(Calls::default());
    let mut callers: Vec<_> = (0..4).map(|_| ask(&cache, 7, calls.load(ms(100), Ok(1)))).collect();
    turns().await;
    let refused = cache.get_with(&7, calls.load(ms(100), Ok(2))).await;
    assert!(matches!(refused, Err(GetError::Rejected { reason: RejectReason::WaitersFull, .. })), "{refused:?}");
    assert_eq!(cache.snapshot().waiting, 4, "the leader and three waiters");
    callers.pop().unwrap().abort();
    turns().await;
    callers.push(ask(&cache, 7, calls.load(ms(100), Ok(3))));
    for caller in callers {
        assert_eq!(value(caller.await.unwrap()), 1);
    }
    // The same when the value has run out: the refused caller is answered with the reserve.
    tokio::time::sleep(ms(100)).await;
    let waiting: Vec<_> = (0..4).map(|_| ask(&cache, 7, calls.load(ms(100), Ok(4)))).collect();
    turns().await;
    let refused = cache.get_with(&7, calls.load(ms(100), Ok(5))).await;
    assert_eq!((outcome(&refused), value(refused)), (Some(Outcome::Reserve), 1));
    for caller in waiting {
        assert_eq!(value(caller.await.unwrap()), 4);
    }
    let snapshot = cache.snapshot();
    assert_eq!((calls.started(), snapshot.rejections[RejectReason::WaitersFull]), (2, 2));
    assert_eq!((snapshot.outcomes[Outcome::Rejected], snapshot.stale_serves[StaleReason::Rejected]), (1, 1));
    assert_quiet(&snapshot);
}

/// S6, L7: no more flights than the cap; joining one of them is no new flight; nothing cools because of it.
#[tokio::test(start_paused = true)]
async fn s6_flights_are_capped() {
    let cache = rows("busy", TTL).max_flights(2).build().unwrap();
    let calls = Arc::new(Calls::default());
    let mut callers: Vec<_> = (1..=2).map(|key| ask(&cache, key, calls.load(ms(100), Ok(key)))).collect();
    turns().await;
    for _ in 0..3 {
        let refused = cache.get_with(&3, calls.load(ms(100), Ok(3))).await;
        assert!(matches!(refused, Err(GetError::Rejected { reason: RejectReason::FlightsFull, .. })), "{refused:?}");
    }
    callers.push(ask(&cache, 1, calls.load(ms(100), Ok(9))));
    for (caller, expected) in callers.into_iter().zip([1, 2, 1]) {
        assert_eq!(value(caller.await.unwrap()), expected);
    }
    assert_eq!(value(cache.get_with(&3, calls.load(ms(100), Ok(3))).await), 3);
    let snapshot = cache.snapshot();
    assert_eq!((calls.started(), snapshot.rejections[RejectReason::FlightsFull]), (3, 3));
    assert_quiet(&snapshot);
}

/// How a caller fared: its outcome, its refusal, and when.
type Fate = (Outcome, Option<RejectReason>, u64);

async fn fate(cache: Rows, calls: Arc<Calls>, key: u64, at: u64, zero: Instant) -> Fate {
    tokio::time::sleep_until(zero + ms(at)).await;
    let got = cache.get_with(&key, calls.load(ms(500), Ok(key))).await;
    let reason = match &got {
        Err(GetError::Rejected { reason, .. }) => Some(*reason),
        _ => None,
    };
    (outcome(&got).unwrap(), reason, u64::try_from(zero.elapsed().as_millis()).unwrap())
}

/// G1, case 31: a bounded queue with exact refusals, and a place that is free the moment its load gives up.
#[tokio::test(start_paused = true)]
async fn g1_a_bounded_queue_refuses_exactly_what_it_must() {
    let gate = Gate::builder(10).queue(20).queue_timeout(ms(100)).build().unwrap();
    let cache = behind("case-31", &gate);
    let (calls, zero) = (Arc::new(Calls::default()), Instant::now());
    // (callers, first key, keys, moment): 100 keys; 30 callers of a running one; 3 of a queued one; 5 new keys.
    let script = [(100, 0, 100, 0), (30, 3, 1, 10), (3, 15, 1, 10), (5, 200, 5, 200), (1, 300, 1, 600)];
    let mut callers = Vec::new();
    for (count, first, keys, at) in script {
        for n in 0..count {
            callers.push(tokio::spawn(fate(cache.clone(), Arc::clone(&calls), first + n % keys, at, zero)));
        }
    }
    let mut fates = Vec::new();
    for caller in callers {
        fates.push(caller.await.unwrap());
    }
    let (full, late) = (Some(RejectReason::QueueFull), Some(RejectReason::QueueTimeout));
    assert_eq!(fates[..10], [(Outcome::Loaded, None, 500); 10]);
    assert_eq!(fates[10..30], [(Outcome::Rejected, late, 100); 20]);
    assert_eq!(fates[30..100], [(Outcome::Rejected, full, 0); 70]);
    assert_eq!(fates[100..130], [(Outcome::Coalesced, None, 500); 30]);
    assert_eq!(fates[130..133], [(Outcome::Rejected, late, 100); 3]);
    assert_eq!(fates[133..138], [(Outcome::Rejected, late, 300); 5]);
    assert_eq!(fates[138], (Outcome::Loaded, None, 1_100));
    assert_eq!((calls.started(), calls.peak()), (11, 10));
    let account = cache.snapshot();
    assert_eq!((account.rejections[RejectReason::QueueFull], account.rejections[RejectReason::QueueTimeout]), (70, 28));
    assert_eq!((account.outcomes[Outcome::Rejected], account.flights[FlightEnd::Rejected]), (98, 95));
    assert_quiet(&account);
    let gate = gate.snapshot();
    assert_eq!((gate.pending, gate.used(), gate.usage_peak, gate.pending_peak), (0, 0, 10, 20));
    let results = [PermitResult::Granted, PermitResult::QueueFull, PermitResult::QueueTimeout, PermitResult::Deadline];
    assert_eq!(results.map(|result| gate.results[result]), [11, 70, 25, 0]);
}

/// G1: a flight's deadline that comes before the queue timeout is the reason told.
#[tokio::test(start_paused = true)]
async fn g1_a_deadline_in_the_queue_is_told_as_such() {
    let gate = Gate::builder(1).build().unwrap();
    let busy = behind("busy", &gate);
    let calls = Arc::new(Calls::default());
    let long = ask(&busy, 1, calls.load(ms(1_000), Ok(1)));
    turns().await;
    let cache = Cache::<u64, u64, DbError>::builder("hurried", TTL, &gate)
        .origin_timeout(ms(80))
        .flight_deadline(ms(80))
        .build()
        .unwrap();
    let began = Instant::now();
    let got = cache.get_with(&7, calls.load(ms(10), Ok(7))).await;
    assert!(matches!(got, Err(GetError::Rejected { reason: RejectReason::Deadline, .. })), "{got:?}");
    assert_eq!(began.elapsed(), ms(80));
    assert_eq!(gate.snapshot().results[PermitResult::Deadline], 1);
    assert_eq!(value(long.await.unwrap()), 1);
    assert_eq!(calls.started(), 1);
    assert_quiet(&cache.snapshot());
}

/// G4, L3: two caches behind one gate share its permits and its queue, and both name it.
#[tokio::test(start_paused = true)]
async fn g4_two_caches_share_one_gate() {
    let gate = Gate::builder(4).name("g4-db").queue(8).queue_timeout(ms(10_000)).build().unwrap();
    let (users, orders) = (behind("g4-users", &gate), behind("g4-orders", &gate.clone()));
    let calls = Arc::new(Calls::default());
    // 4 permits and 8 places for 2 × 8 keys: of one origin's sixteen loads four are refused.
    let callers: Vec<_> =
        (0..16).map(|n| ask(if n % 2 == 0 { &users } else { &orders }, n, calls.load(ms(100), Ok(n)))).collect();
    turns().await;
    assert_eq!(gate.snapshot().in_use[PermitClass::Foreground], 4);
    let (mut good, mut refused) = (0, 0);
    for (n, caller) in callers.into_iter().enumerate() {
        match caller.await.unwrap() {
            Ok(Some(answer)) => good += u64::from(*answer == n as u64),
            Err(GetError::Rejected { reason: RejectReason::QueueFull, .. }) => refused += 1,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((good, refused, calls.peak(), calls.started()), (12, 4, 4, 12));
    let (users, orders) = (users.snapshot(), orders.snapshot());
    assert_eq!((users.gate.as_str(), orders.gate.as_str()), ("g4-db", "g4-db"));
    assert_eq!((users.origin_calls, orders.origin_calls), (6, 6));
    let gate = gate.snapshot();
    assert_eq!((gate.name.as_str(), gate.granted[PermitClass::Foreground], gate.law_violations), ("g4-db", 12, 0));
    assert_quiet(&users);
    assert_quiet(&orders);
}

/// A1, G1: a queue timeout that was set longer than a cache's flights may take is refused with both named; the default
/// is cut to the deadline instead.
#[tokio::test(start_paused = true)]
async fn g1_a_queue_timeout_beyond_the_deadline_is_refused() {
    let build = |gate: &Gate| {
        Cache::<u64, u64, DbError>::builder("hasty", TTL, gate)
            .origin_timeout(ms(300))
            .flight_deadline(ms(300))
            .build()
            .map(drop)
    };
    let gate = Gate::builder(1).name("long-queue").queue_timeout(ms(301)).build().unwrap();
    let error = build(&gate).unwrap_err();
    assert_eq!(error.field(), "queue_timeout");
    let expected = "cache \"hasty\": queue_timeout 301ms of its gate \"long-queue\" is longer than flight_deadline \
                    300ms: lower the timeout or raise the deadline";
    assert_eq!(error.to_string(), expected);
    assert!(build(&Gate::builder(1).queue_timeout(ms(300)).build().unwrap()).is_ok());
    assert!(build(&Gate::new(1)).is_ok());
}
