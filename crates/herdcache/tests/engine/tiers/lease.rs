//! Z1, Z2, Z3: who loads, who follows, and what becomes of a lease.

use std::time::Duration;

use herdcache::herdfeed::{
    Fact, FlightEnd, LeaseLoss, LeasePoll, LeaseResult, PermitClass, SharedOperation, SharedWrite, Stage,
};
use herdcache::{
    Acquired, Fault, Gate, GetError, Lease, LeaseToken, Leasing, MemoryTier, Outcome, SharedKey, TierError, Ttl,
    WhenUnwatched,
};
use tokio::time::{Instant, sleep};

use super::{calls, get, lease, leased, process, shared};
use crate::support::{DbError, Rows, ask, assert_quiet, ms, outcome, turns, value};

const MINUTE: Ttl = Ttl::fresh_for(ms(60_000));

/// Takes a key's lease as a process that will never be heard of again.
async fn die_with(tier: &MemoryTier, name: &str, key: u64, time: Duration) {
    let key = SharedKey::of(name, 1, &key).unwrap();
    let acquired = tier.acquire(&key, &LeaseToken::random(), time).await;
    assert!(matches!(acquired, Ok(Acquired::Yes { .. })), "{acquired:?}");
}

/// Callers of one key on each of these caches; all must get the same value. How long it took.
async fn herd(caches: &[Rows], each: u64, load: (&std::sync::Arc<crate::support::Calls>, Duration)) -> Duration {
    let began = Instant::now();
    let callers: Vec<_> = caches
        .iter()
        .flat_map(|cache| (0..each).map(move |_| cache))
        .map(|cache| ask(cache, 7, load.0.load(load.1, Ok(1))))
        .collect();
    for caller in callers {
        assert_eq!(value(caller.await.unwrap()), 1);
    }
    began.elapsed()
}

/// Z2, case 10: eight processes of a hundred callers each load once with a lease, and eight times without.
#[tokio::test(start_paused = true)]
async fn z2_eight_processes_load_once_with_a_lease() {
    fastrand::seed(1);
    let tier = MemoryTier::new();
    let alone: Vec<_> = (0..8).map(|_| process("fleet-0", MINUTE, &tier).build().unwrap()).collect();
    let without = calls();
    herd(&alone, 100, (&without, ms(100))).await;
    assert_eq!(without.started(), 8);
    let tier = MemoryTier::new();
    let fleet: Vec<_> = (0..8).map(|_| leased("fleet-1", MINUTE, &tier).build().unwrap()).collect();
    let with = calls();
    let took = herd(&fleet, 100, (&with, ms(100))).await;
    assert_eq!((with.started(), with.peak()), (1, 1));
    assert!(took <= ms(350), "{took:?}");
    let snapshots: Vec<_> = fleet.iter().map(Rows::snapshot).collect();
    let sum = |of: fn(&herdcache::herdfeed::CacheSnapshot) -> u64| snapshots.iter().map(of).sum::<u64>();
    assert_eq!(sum(|s| s.flights[FlightEnd::Followed]), 7);
    assert_eq!(sum(|s| s.outcomes[Outcome::Loaded]), 1);
    assert_eq!(sum(|s| s.outcomes[Outcome::Hit]), 7, "each follower's leader");
    assert_eq!(sum(|s| s.outcomes[Outcome::Coalesced]), 8 * 99);
    assert!(sum(|s| s.lease.as_ref().unwrap().polls.total()) <= 42);
    assert_eq!(sum(|s| s.lease.as_ref().unwrap().polls[LeasePoll::Found]), 7);
    assert_eq!(sum(|s| s.lease.as_ref().unwrap().acquisitions[LeaseResult::Acquired]), 1);
    assert!(sum(|s| s.lease.as_ref().unwrap().acquisitions[LeaseResult::Held]) <= 7);
    turns().await;
    assert_eq!((tier.leases(), tier.values()), (0, 1));
    for cache in &fleet {
        assert_quiet(&cache.snapshot());
    }
}

/// Z2, case 25: a holder that died costs one extra load, and the lease is never without an end.
#[tokio::test(start_paused = true)]
async fn z2_a_dead_holder_costs_one_extra_load() {
    fastrand::seed(2);
    let tier = MemoryTier::new();
    die_with(&tier, "orphans", 7, ms(300)).await;
    let build = || {
        let leasing = Leasing::new(tier.clone()).time(ms(300)).poll(ms(25), ms(25));
        let builder = process("orphans", MINUTE, &tier).origin_timeout(ms(300)).flight_deadline(ms(2_000));
        builder.lease(leasing).build().unwrap()
    };
    let fleet: Vec<_> = (0..19).map(|_| build()).collect();
    let calls = calls();
    let watch = async {
        for _ in 0..60 {
            assert!(tier.lease_left().is_none_or(|left| left <= ms(300)));
            sleep(ms(10)).await;
        }
    };
    let (took, ()) = tokio::join!(herd(&fleet, 3, (&calls, ms(100))), watch);
    assert_eq!(calls.started(), 1);
    assert!(took >= ms(400) && took <= ms(450), "{took:?}");
    let successors: u64 = fleet.iter().map(|cache| lease(cache).polls[LeasePoll::Successor]).sum();
    let held: u64 = fleet.iter().map(|cache| lease(cache).acquisitions[LeaseResult::Acquired]).sum();
    assert!(successors >= 1 && held == 1, "{successors} {held}");
}

/// Z2: a holder whose load fails gives its lease back, and whoever follows loads at its next look, not when the lease's
/// time would have been over.
#[tokio::test(start_paused = true)]
async fn z2_who_follows_a_load_that_fails_loads_at_once() {
    fastrand::seed(3);
    let tier = MemoryTier::new();
    let build = || leased("unlucky", MINUTE, &tier).build().unwrap();
    let (first, second, calls) = (build(), build(), calls());
    // Both look before either has the lease, and the second is refused it.
    tier.inject_on(SharedOperation::Acquire, Fault::Slow(ms(5)));
    let fails = ask(&first, 7, calls.load(ms(60), Err(DbError("down"))));
    let follows = ask(&second, 7, calls.load(ms(10), Ok(2)));
    sleep(ms(5)).await;
    tier.heal();
    let began = Instant::now();
    assert!(fails.await.unwrap().is_err());
    assert_eq!(value(follows.await.unwrap()), 2);
    assert_eq!((lease(&second).acquisitions[LeaseResult::Held], lease(&second).polls[LeasePoll::Successor]), (1, 1));
    // A look each 25 ms and more, half of it later at most.
    assert!(began.elapsed() <= ms(60 + 57 + 10), "{:?}", began.elapsed());
}

/// Z1: while one follows, it holds no permit; while one waits for a permit, it holds no lease.
#[tokio::test(start_paused = true)]
async fn z1_a_follower_holds_no_permit_and_a_queued_load_no_lease() {
    let tier = MemoryTier::new();
    die_with(&tier, "apart", 1, ms(10_000)).await;
    let gate = Gate::builder(1).queue(8).queue_timeout(ms(5_000)).build().unwrap();
    let builder = herdcache::Cache::<u64, u64, DbError>::builder("apart", MINUTE, &gate).jitter(0.0);
    let cache = builder.shared(tier.clone()).lease(tier.clone()).build().unwrap();
    let calls = calls();
    let follower = ask(&cache, 1, calls.load(ms(10), Ok(1)));
    turns().await;
    sleep(ms(200)).await;
    assert_eq!((gate.snapshot().used(), lease(&cache).following), (0, 1));
    let live = cache.snapshot().live;
    assert_eq!(live.iter().map(|flight| flight.stage).collect::<Vec<_>>(), [Stage::Following]);
    let running = ask(&cache, 2, calls.load(ms(500), Ok(2)));
    let queued = ask(&cache, 3, calls.load(ms(500), Ok(3)));
    turns().await;
    assert_eq!((gate.snapshot().used(), gate.snapshot().pending), (1, 1));
    assert_eq!((tier.leases(), lease(&cache).held), (2, 1), "the dead one's, and that of the load that runs");
    assert_eq!((value(running.await.unwrap()), value(queued.await.unwrap())), (2, 3));
    follower.abort();
}

/// S3, over processes: what was stored while a flight waited for its permit is taken, not loaded again.
#[tokio::test(start_paused = true)]
async fn z2_what_came_while_a_flight_queued_is_not_loaded_again() {
    let tier = MemoryTier::new();
    let gate = Gate::builder(1).queue(8).queue_timeout(ms(5_000)).build().unwrap();
    let builder = herdcache::Cache::<u64, u64, DbError>::builder("late", MINUTE, &gate).jitter(0.0);
    let cache = builder.shared(tier.clone()).lease(tier.clone()).build().unwrap();
    let other = leased("late", MINUTE, &tier).build().unwrap();
    let calls = calls();
    let first = ask(&cache, 1, calls.load(ms(500), Ok(1)));
    turns().await;
    let queued = ask(&cache, 7, calls.load(ms(100), Ok(2)));
    turns().await;
    assert_eq!(gate.snapshot().pending, 1);
    assert_eq!(get(&other, 7, &calls, (ms(100), 3)).await, 3);
    assert_eq!((value(first.await.unwrap()), value(queued.await.unwrap())), (1, 3));
    assert_eq!((calls.started(), cache.snapshot().flights[FlightEnd::SharedHit]), (2, 1));
    turns().await;
    assert_eq!((tier.leases(), gate.snapshot().used()), (0, 0));
    assert_quiet(&cache.snapshot());
}

/// Z1: renewed when a third has passed, never longer than its time, given back behind the write.
#[tokio::test(start_paused = true)]
async fn z1_a_lease_is_renewed_at_a_third() {
    let tier = MemoryTier::new();
    let builder = process("renewed", MINUTE, &tier).origin_timeout(ms(300)).flight_deadline(ms(400));
    let cache = builder.lease(Leasing::new(tier.clone()).time(ms(300))).build().unwrap();
    let calls = calls();
    let caller = ask(&cache, 7, calls.load(ms(250), Ok(1)));
    turns().await;
    let mut left = Vec::new();
    for _ in 0..5 {
        left.push(tier.lease_left().unwrap());
        sleep(ms(49)).await;
    }
    assert_eq!(left, [300, 251, 202, 253, 204].map(ms), "renewed at 100 and 200");
    assert_eq!(value(caller.await.unwrap()), 1);
    turns().await;
    assert_eq!((lease(&cache).renewals, tier.operations(SharedOperation::Release)), (2, 1));
    assert_eq!((tier.leases(), lease(&cache).held, lease(&cache).losses.total()), (0, 0, 0));
}

/// Z3, T5: a holder that lost its lease cannot overwrite the newer value nor release the other's lease; its own callers
/// get their value all the same, and the next ones the newer.
#[tokio::test(start_paused = true)]
async fn z3_an_overrun_holder_harms_nobody() {
    let tier = MemoryTier::new();
    let build = || {
        let builder = process("overrun", MINUTE, &tier).origin_timeout(ms(300)).flight_deadline(ms(1_000));
        builder.lease(Leasing::new(tier.clone()).time(ms(300))).build().unwrap()
    };
    let (slow, quick, calls) = (build(), build(), calls());
    let mut events = slow.events();
    let overrun = ask(&slow, 7, calls.load(ms(290), Ok(1)));
    sleep(ms(50)).await;
    tier.lose_leases();
    let newer = ask(&quick, 7, calls.load(ms(150), Ok(2)));
    sleep(ms(60)).await;
    // At 100 ms the first found out, and did not take the second's lease away.
    assert_eq!((lease(&slow).losses[LeaseLoss::Expired], tier.leases()), (1, 1));
    assert_eq!(value(newer.await.unwrap()), 2);
    assert_eq!(value(overrun.await.unwrap()), 1);
    turns().await;
    assert_eq!(shared(&slow).writes[SharedWrite::RefusedFence], 1);
    assert_eq!(lease(&slow).losses[LeaseLoss::Fenced], 1);
    assert_eq!(slow.snapshot().discards[herdcache::herdfeed::DiscardReason::LeaseLost], 1);
    assert_eq!(get(&slow, 7, &calls, (ms(10), 3)).await, 2);
    assert_eq!((calls.started(), tier.leases()), (2, 0));
    let told: Vec<_> = events.take().iter().map(|event| event.fact.clone()).collect();
    assert!(told.iter().any(|fact| matches!(fact, Fact::LeaseLost { loss: LeaseLoss::Expired, .. })), "{told:?}");
    let refused = |fact: &Fact| matches!(fact, Fact::WriteRefused { write: SharedWrite::RefusedFence, .. });
    assert!(told.iter().any(refused), "{told:?}");
    assert_quiet(&slow.snapshot());
}

/// Z1: a lease that cannot be reached costs one bounded wait; the load goes on under its own flight and permit.
#[tokio::test(start_paused = true)]
async fn z1_an_unreachable_lease_is_done_without() {
    let tier = MemoryTier::new();
    let cache = leased("unreachable", MINUTE, &tier).build().unwrap();
    let calls = calls();
    tier.inject_on(SharedOperation::Acquire, Fault::Fail(TierError::Connection));
    assert_eq!(get(&cache, 7, &calls, (ms(10), 1)).await, 1);
    tier.inject_on(SharedOperation::Acquire, Fault::Hang);
    let began = Instant::now();
    assert_eq!(get(&cache, 8, &calls, (ms(10), 1)).await, 1);
    assert_eq!(began.elapsed(), ms(60));
    // It took the lease, and nobody was told: it is given back all the same, so that nobody follows it.
    tier.inject_on(SharedOperation::Acquire, Fault::Mute);
    assert_eq!(get(&cache, 9, &calls, (ms(10), 1)).await, 1);
    turns().await;
    assert_eq!((tier.leases(), lease(&cache).acquisitions[LeaseResult::Unavailable]), (0, 3));
    assert_eq!(shared(&cache).writes[SharedWrite::SkippedAfterFault], 3);
    assert_eq!((tier.operations(SharedOperation::Write), tier.values()), (0, 0));
    assert_quiet(&cache.snapshot());
}

/// S1: the callers of the holder may all leave; the load goes on, is stored and gives its lease back. Where loads that
/// nobody waits for are given up, the lease goes back at once.
#[tokio::test(start_paused = true)]
async fn s1_cancelled_callers_leave_no_lease_behind() {
    for (when, values) in [(WhenUnwatched::Finish, 1), (WhenUnwatched::Abandon, 0)] {
        let tier = MemoryTier::new();
        let cache = leased("cancelled", MINUTE, &tier).when_unwatched(when).build().unwrap();
        let calls = calls();
        let callers: Vec<_> = (0..3).map(|_| ask(&cache, 7, calls.load(ms(100), Ok(1)))).collect();
        sleep(ms(50)).await;
        assert_eq!(tier.leases(), 1);
        callers.iter().for_each(tokio::task::JoinHandle::abort);
        sleep(ms(1)).await;
        turns().await;
        assert_eq!(tier.leases(), values, "{when:?}");
        sleep(ms(100)).await;
        turns().await;
        assert_eq!((tier.leases(), tier.values(), lease(&cache).held), (0, values, 0), "{when:?}");
        assert_quiet(&cache.snapshot());
    }
}

/// X1: a shutdown gives held leases back, also those of loads that it ends.
#[tokio::test(start_paused = true)]
async fn x1_a_shutdown_releases_leases() {
    let tier = MemoryTier::new();
    let cache = leased("ends", MINUTE, &tier).build().unwrap();
    let calls = calls();
    let callers: Vec<_> = (0..5).map(|key| ask(&cache, key, calls.load(ms(3_000), Ok(1)))).collect();
    sleep(ms(10)).await;
    assert_eq!(tier.leases(), 5);
    let began = Instant::now();
    cache.shutdown(ms(100)).await;
    assert_eq!((tier.leases(), began.elapsed()), (0, ms(100)));
    for caller in callers {
        assert!(matches!(caller.await.unwrap(), Err(GetError::Closed)));
    }
    assert_quiet(&cache.snapshot());
    // One that hangs is not waited for without end.
    let cache = leased("ends-hard", MINUTE, &tier).build().unwrap();
    let caller = ask(&cache, 7, calls.load(ms(3_000), Ok(1)));
    sleep(ms(10)).await;
    tier.inject(Fault::Hang);
    let began = Instant::now();
    cache.shutdown(ms(100)).await;
    assert_eq!(began.elapsed(), ms(150));
    assert!(caller.await.unwrap().is_err());
}

/// S7: a load that goes on in blocking work past its deadline keeps its permit, and its lease goes back at the deadline.
#[test]
fn s7_an_overrun_load_keeps_its_permit_and_not_its_lease() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let (tier, gate) = (MemoryTier::new(), Gate::new(2));
        let builder = herdcache::Cache::<u64, u64, DbError>::builder("blocked", MINUTE, &gate);
        let builder = builder.origin_timeout(ms(200)).flight_deadline(ms(200)).shared(tier.clone());
        let cache = builder.lease(Leasing::new(tier.clone()).time(ms(30_000))).build().unwrap();
        let (send, receive) = std::sync::mpsc::channel::<()>();
        let load = |cx: herdcache::LoadContext<u64, u64>| async move {
            cx.run_blocking(move || receive.recv()).await.unwrap().unwrap();
            Ok(1)
        };
        let got = cache.get_with(&7, load).await;
        assert!(matches!(got, Err(GetError::Failed(_))), "{got:?}");
        for _ in 0..200 {
            if tier.leases() == 0 {
                break;
            }
            sleep(ms(5)).await;
        }
        assert_eq!((tier.leases(), gate.snapshot().used(), cache.snapshot().origin_abandoned), (0, 1, 1));
        send.send(()).unwrap();
    });
}

/// Z1, S5: a load within another waits for no other process's lease: it holds a permit.
#[tokio::test(start_paused = true)]
async fn z1_a_nested_load_does_not_follow() {
    let tier = MemoryTier::new();
    die_with(&tier, "nested", 2, ms(10_000)).await;
    let cache = leased("nested", MINUTE, &tier).build().unwrap();
    let inner = cache.clone();
    let began = Instant::now();
    let got = cache.get_with(&1, |_| async move { Ok(value(inner.get_with(&2, |_| async { Ok(5) }).await) + 1) }).await;
    assert_eq!((value(got), began.elapsed()), (6, ms(0)));
    assert_eq!(lease(&cache).acquisitions[LeaseResult::Skipped], 1);
    turns().await;
    assert_quiet(&cache.snapshot());
}

/// Z2: a follower gives up at its limit and loads without the lease, or at its flight's deadline and fails.
#[tokio::test(start_paused = true)]
async fn z2_a_follower_gives_up_within_its_bounds() {
    let tier = MemoryTier::new();
    let calls = calls();
    let build = |name: &str, leasing: Leasing| {
        let builder = process(name, MINUTE, &tier).origin_timeout(ms(500)).flight_deadline(ms(1_000));
        builder.lease(leasing).build().unwrap()
    };
    die_with(&tier, "gives-up", 7, ms(60_000)).await;
    let cache = build("gives-up", Leasing::new(tier.clone()).follow_for(ms(200)));
    let began = Instant::now();
    assert_eq!(get(&cache, 7, &calls, (ms(10), 1)).await, 1);
    assert_eq!((began.elapsed(), lease(&cache).polls[LeasePoll::GaveUp]), (ms(210), 1));
    die_with(&tier, "fails", 7, ms(60_000)).await;
    let cache = build("fails", Leasing::new(tier.clone()));
    let began = Instant::now();
    let got = cache.get_with(&7, calls.load(ms(10), Ok(1))).await;
    assert_eq!((outcome(&got), began.elapsed()), (Some(Outcome::Failed), ms(1_000)));
    let snapshot = cache.snapshot();
    let polls = &snapshot.lease.as_ref().unwrap().polls;
    assert_eq!((snapshot.flights[FlightEnd::Deadline], polls[LeasePoll::GaveUp], polls[LeasePoll::Found]), (1, 1, 0));
    assert!(polls[LeasePoll::Waiting] <= 12, "bounded looks: {polls:?}");
    assert_eq!((calls.started(), lease(&cache).following), (1, 0));
    assert_quiet(&snapshot);
}

/// Z2: a value that comes before a follower's last moment is found, however long its pauses have grown.
#[tokio::test(start_paused = true)]
async fn z2_a_followers_last_look_is_in_time() {
    let tier = MemoryTier::new();
    let build = || {
        let builder = process("last-look", MINUTE, &tier).origin_timeout(ms(400)).flight_deadline(ms(400));
        builder.lease(Leasing::new(tier.clone()).poll(ms(300), ms(5_000))).build().unwrap()
    };
    let (holder, follower, calls) = (build(), build(), calls());
    for key in 0..20 {
        let load = ask(&holder, key, calls.load(ms(340), Ok(key)));
        turns().await;
        let began = Instant::now();
        assert_eq!(get(&follower, key, &calls, (ms(0), 99)).await, key);
        assert!(began.elapsed() <= ms(350), "an operation's timeout before the deadline: {:?}", began.elapsed());
        assert_eq!(value(load.await.unwrap()), key);
    }
    assert_eq!((calls.started(), lease(&follower).polls[LeasePoll::Found]), (20, 20));
}

/// Z2: followers of a holder whose load failed try one after the other; an error is never shared with other processes.
#[tokio::test(start_paused = true)]
async fn z2_after_a_failed_load_one_successor_at_a_time() {
    let tier = MemoryTier::new();
    let fleet: Vec<_> = (0..4).map(|_| leased("sick", MINUTE, &tier).build().unwrap()).collect();
    let calls = calls();
    let callers: Vec<_> = fleet.iter().map(|cache| ask(cache, 7, calls.load(ms(100), Err(DbError("down"))))).collect();
    for caller in callers {
        assert!(matches!(caller.await.unwrap(), Err(GetError::Failed(_))));
    }
    turns().await;
    assert_eq!((calls.started(), calls.peak(), tier.values(), tier.leases()), (4, 1, 0, 0));
}

/// Z1: a lease that is kept elsewhere than the values: followers go by the time that the lease has left.
#[tokio::test(start_paused = true)]
async fn z1_a_lease_may_be_kept_elsewhere() {
    fastrand::seed(3);
    let (values, leases) = (MemoryTier::new(), MemoryTier::new());
    let blind = super::faults::Blind(values.clone());
    let build = || {
        let builder = crate::support::rows("elsewhere", MINUTE).origin_timeout(ms(300)).flight_deadline(ms(2_000));
        builder.shared(blind.clone()).lease(Leasing::new(leases.clone()).time(ms(300))).build().unwrap()
    };
    let fleet: Vec<_> = (0..5).map(|_| build()).collect();
    let first = calls();
    herd(&fleet, 2, (&first, ms(100))).await;
    assert_eq!((first.started(), values.values()), (1, 1));
    // A dead holder's time passes, then one succeeds it.
    values.flush();
    turns().await;
    for cache in &fleet {
        drop(cache.invalidate(&7));
    }
    turns().await;
    die_with(&leases, "elsewhere", 7, ms(300)).await;
    let second = calls();
    let took = herd(&fleet, 2, (&second, ms(100))).await;
    assert_eq!(second.started(), 1);
    assert!(took >= ms(400), "{took:?}");
}

/// G2: a refresh of a key that another process loads takes no permit while it follows, and finds that process's value.
#[tokio::test(start_paused = true)]
async fn g2_a_refresh_follows_without_a_permit() {
    let tier = MemoryTier::new();
    let ttl = Ttl::fresh_for(ms(10_000)).stale_for(ms(60_000));
    let (one, other) = (leased("both", ttl, &tier).build().unwrap(), leased("both", ttl, &tier).build().unwrap());
    let calls = calls();
    get(&one, 7, &calls, (ms(10), 1)).await;
    turns().await;
    assert_eq!(get(&other, 7, &calls, (ms(10), 9)).await, 1);
    sleep(ms(11_000)).await;
    // Both are stale; the first to notice loads, the other follows.
    assert_eq!(get(&one, 7, &calls, (ms(300), 2)).await, 1);
    turns().await;
    assert_eq!(get(&other, 7, &calls, (ms(300), 3)).await, 1);
    turns().await;
    assert_eq!((lease(&other).following, other.gate().snapshot().in_use[PermitClass::Refresh]), (1, 0));
    sleep(ms(1_000)).await;
    assert_eq!((get(&one, 7, &calls, (ms(0), 4)).await, get(&other, 7, &calls, (ms(0), 4)).await), (2, 2));
    assert_eq!((calls.started(), other.snapshot().flights[FlightEnd::Followed]), (2, 1));
    assert_quiet(&other.snapshot());
}
