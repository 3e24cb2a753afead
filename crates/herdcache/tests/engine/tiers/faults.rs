//! T4: what a tier in trouble costs, and that it costs no more.

use std::sync::Arc;

use herdcache::herdfeed::{
    CircuitState, Fact, OriginResult, ProtectionLevel, Severity, SharedOperation, SharedRead, SharedWrite,
};
use herdcache::{
    Codec, CodecError, Failure, Fault, Gate, GetError, LeaseSight, MemoryTier, Operation, Outcome, Reading, Shared,
    SharedKey, SharedTier, TierError, Ttl, Write, WriteFailure, Writing,
};
use tokio::time::{Instant, sleep};

use super::{assert_quiet_but_queued, calls, get, leased, process, shared};
use crate::support::{DbError, Rows, ask, assert_quiet, ms, outcome, rows, turns, value};

const MINUTE: Ttl = Ttl::fresh_for(ms(60_000));

/// A tier that does not know of leases.
#[derive(Clone)]
pub(super) struct Blind(pub(super) MemoryTier);

impl SharedTier for Blind {
    fn read<'a>(&'a self, key: &'a SharedKey) -> Operation<'a, Reading> {
        Box::pin(async move { Ok(Reading { lease: LeaseSight::Unknown, ..self.0.read(key).await? }) })
    }

    fn write<'a>(&'a self, key: &'a SharedKey, writing: Writing<'a>) -> Operation<'a, Write> {
        self.0.write(key, writing)
    }

    fn remove<'a>(&'a self, key: &'a SharedKey, keep_for: std::time::Duration) -> Operation<'a, ()> {
        self.0.remove(key, keep_for)
    }
}

/// T4, case 24: a black hole costs one timeout in a row of calls, opens the circuit after five, then nothing but a probe
/// each second; permits hold, nothing is written back after a failed read, and the outage has two records.
#[tokio::test(start_paused = true)]
async fn t4_a_black_hole_costs_one_timeout_and_opens_the_circuit() {
    let tier = MemoryTier::new();
    let gate = Gate::new(64);
    let builder = herdcache::Cache::<u64, u64, DbError>::builder("black-hole", MINUTE, &gate).jitter(0.0);
    let cache = builder.shared(tier.clone()).lease(tier.clone()).build().unwrap();
    let mut events = cache.events();
    tier.inject(Fault::Hang);
    let calls = calls();
    let began = Instant::now();
    assert_eq!(get(&cache, 1_000_000, &calls, (ms(10), 1)).await, 1);
    assert_eq!(began.elapsed(), ms(60), "one timeout, not four");
    assert_eq!(tier.operations(SharedOperation::Read), 1);
    let began = Instant::now();
    let mut callers = Vec::new();
    for key in 0..5_000 {
        let (cache, calls) = (cache.clone(), Arc::clone(&calls));
        callers.push(tokio::spawn(async move {
            let began = Instant::now();
            assert_eq!(get(&cache, key, &calls, (ms(10), key)).await, key);
            began.elapsed()
        }));
        sleep(ms(1)).await;
    }
    let mut late = Vec::new();
    for (key, caller) in (0_u64..).zip(callers) {
        let took = caller.await.unwrap();
        assert!(took <= ms(60), "{took:?}");
        if took > ms(10) {
            late.push(key);
        }
    }
    // Those that had asked before the fifth timeout, and one probe a second.
    let (first, probes): (Vec<u64>, Vec<u64>) = late.iter().copied().partition(|key| *key < 100);
    assert!(first.len() <= 55 && (4..=5).contains(&probes.len()), "{first:?} {probes:?}");
    let late = late.len() as u64;
    assert_eq!(tier.operations(SharedOperation::Read), 1 + late);
    let operations = SharedOperation::Write;
    assert_eq!((tier.operations(operations), tier.operations(SharedOperation::Acquire)), (0, 0));
    assert!(gate.snapshot().usage_peak <= 64);
    let snapshot = cache.snapshot();
    assert_eq!(snapshot.protection, Some(ProtectionLevel::Degraded));
    assert!(snapshot.conditions.iter().any(|event| matches!(event.fact, Fact::SharedDown { .. })));
    let tiers = snapshot.shared.as_ref().unwrap();
    assert_eq!((tiers.reads[SharedRead::Miss], tiers.reads[SharedRead::Timeout]), (0, 1 + late));
    assert_eq!(tiers.reads.total(), 5_001);
    assert_eq!(tiers.timeouts[SharedOperation::Read], tiers.reads[SharedRead::Timeout]);
    assert_eq!(tiers.writes[SharedWrite::SkippedAfterFault], 1 + late);
    assert_eq!(tiers.writes[SharedWrite::BreakerOpen], 5_000 - late);
    // Healed, it is in use again within a second and a bit.
    tier.heal();
    let healed = Instant::now();
    while shared(&cache).circuit != Some(CircuitState::Closed) {
        sleep(ms(10)).await;
        get(&cache, 2_000_000 + u64::try_from(healed.elapsed().as_millis()).unwrap(), &calls, (ms(0), 1)).await;
    }
    assert!(healed.elapsed() <= ms(1_100), "{:?}", healed.elapsed());
    assert_eq!(cache.snapshot().protection, Some(ProtectionLevel::Cluster));
    let told: Vec<_> = events.take().iter().map(|event| (event.severity, event.fact.clone())).collect();
    let records: Vec<_> =
        told.iter().filter(|(_, fact)| matches!(fact, Fact::SharedDown { .. } | Fact::SharedUp { .. })).collect();
    assert_eq!(records.len(), 2, "{records:?}");
    assert!(matches!(records[0], (Severity::Critical, Fact::SharedDown { operation: SharedOperation::Read, .. })));
    let SharedRecord::Up(duration_us) = up(&records[1].1) else { panic!("{records:?}") };
    assert!(duration_us >= 4_900_000 && began.elapsed() >= ms(5_000), "{duration_us}");
    let half_open = told.iter().filter(|(_, fact)| *fact == Fact::CircuitChanged { state: CircuitState::HalfOpen });
    assert_eq!(half_open.count() as u64, shared(&cache).transitions[CircuitState::HalfOpen]);
    assert_quiet(&cache.snapshot());
}

enum SharedRecord {
    Up(u64),
    Other,
}

fn up(fact: &Fact) -> SharedRecord {
    match fact {
        Fact::SharedUp { duration_us } => SharedRecord::Up(*duration_us),
        _ => SharedRecord::Other,
    }
}

/// T4: a refused connection costs no time at all, is never told as a miss, and local protection goes on.
#[tokio::test(start_paused = true)]
async fn t4_a_dead_tier_is_no_miss_and_no_delay() {
    for error in [TierError::Connection, TierError::Refused] {
        let tier = MemoryTier::new();
        let cache = process("dead", MINUTE, &tier).build().unwrap();
        tier.inject(Fault::Fail(error));
        let calls = calls();
        for key in 0..7 {
            let callers: Vec<_> = (0..20).map(|_| ask(&cache, key, calls.load(ms(10), Ok(key)))).collect();
            let began = Instant::now();
            for caller in callers {
                assert_eq!(value(caller.await.unwrap()), key);
            }
            assert_eq!(began.elapsed(), ms(10));
        }
        assert_eq!(calls.started(), 7, "single-flight goes on");
        let tiers = shared(&cache);
        let expected = [(SharedRead::ConnectionError, 5), (SharedRead::BreakerOpen, 2), (SharedRead::Miss, 0)];
        for (read, count) in expected {
            assert_eq!(tiers.reads[read], count, "{read}");
        }
        let failed = [tiers.connection_errors.total(), tiers.refusals.total(), tiers.timeouts.total()];
        assert_eq!(failed, if error == TierError::Connection { [5, 0, 0] } else { [0, 5, 0] });
        assert_eq!(cache.snapshot().protection, Some(ProtectionLevel::Process));
        assert_quiet(&cache.snapshot());
    }
}

/// T4: a slow tier below its limit is used; the wait is bounded by what is left of the flight too.
#[tokio::test(start_paused = true)]
async fn t4_a_slow_tier_is_waited_for_within_limits() {
    let tier = MemoryTier::new();
    let cache = process("slow", MINUTE, &tier).origin_timeout(ms(30)).flight_deadline(ms(30)).build().unwrap();
    let calls = calls();
    tier.inject(Fault::Slow(ms(20)));
    let began = Instant::now();
    assert_eq!(get(&cache, 1, &calls, (ms(5), 1)).await, 1);
    assert_eq!(began.elapsed(), ms(25));
    // Longer than the flight: the caller gets the flight's deadline, and the circuit learns nothing from that.
    tier.inject(Fault::Slow(ms(45)));
    for key in 2..12 {
        let got = cache.get_with(&key, calls.load(ms(5), Ok(1))).await;
        assert!(matches!(got, Err(GetError::Failed(Failure::Deadline { .. }))), "{got:?}");
    }
    assert_eq!(shared(&cache).circuit, Some(CircuitState::Closed));
    sleep(ms(100)).await;
    assert_quiet(&cache.snapshot());
}

/// T4: callers do not wait for the write; with `Fail` they do, and learn that it failed.
#[tokio::test(start_paused = true)]
async fn t4_a_failed_write_is_counted_or_fails_by_policy() {
    let tier = MemoryTier::new();
    let calls = calls();
    let build = |name: &str, policy| {
        let shared = Shared::json(tier.clone()).write_failure(policy);
        rows(name, MINUTE).shared(shared).lease(tier.clone()).build().unwrap()
    };
    let (ignores, fails) = (build("ignores", WriteFailure::Ignore), build("fails", WriteFailure::Fail));
    let timed = async |cache: &Rows, key| {
        let began = Instant::now();
        let got = cache.get_with(&key, calls.load(ms(10), Ok(key))).await;
        (got, began.elapsed())
    };
    tier.inject_on(SharedOperation::Write, Fault::Slow(ms(30)));
    let ((one, first), (other, second)) = (timed(&ignores, 1).await, timed(&fails, 1).await);
    assert_eq!((value(one), first, value(other), second), (1, ms(10), 1, ms(40)));
    tier.inject_on(SharedOperation::Write, Fault::Fail(TierError::Connection));
    let ((one, first), (other, second)) = (timed(&ignores, 2).await, timed(&fails, 2).await);
    assert_eq!((value(one), first, second), (2, ms(10), ms(10)));
    let failed = |got: &herdcache::Got<u64, DbError>, write| matches!(got, Err(GetError::Failed(Failure::SharedWrite { write: how })) if *how == write);
    assert!(failed(&other, SharedWrite::ConnectionError), "{other:?}");
    assert_eq!(outcome(&other), Some(Outcome::Failed));
    assert!(fails.peek(&2).is_none() && ignores.peek(&2).is_some());
    // The load itself was good.
    assert_eq!(fails.snapshot().origin_results[OriginResult::Value], 2);
    // A read that failed means that nothing is written.
    sleep(ms(1_000)).await;
    tier.inject(Fault::Fail(TierError::Connection));
    let (got, _) = timed(&fails, 3).await;
    assert!(failed(&got, SharedWrite::SkippedAfterFault), "{got:?}");
    tier.heal();
    turns().await;
    assert_eq!((tier.leases(), shared(&ignores).writes[SharedWrite::ConnectionError]), (0, 1));
    for cache in [ignores, fails] {
        assert_quiet(&cache.snapshot());
    }
}

/// A tier whose code panics.
struct Panics;
impl SharedTier for Panics {
    fn read<'a>(&'a self, _: &'a SharedKey) -> Operation<'a, Reading> {
        Box::pin(async { panic!("a tier's own fault") })
    }
    fn write<'a>(&'a self, _: &'a SharedKey, _: Writing<'a>) -> Operation<'a, Write> {
        Box::pin(async { panic!("a tier's own fault") })
    }
    fn remove<'a>(&'a self, _: &'a SharedKey, _: std::time::Duration) -> Operation<'a, ()> {
        Box::pin(async { panic!("a tier's own fault") })
    }
}

/// S2: a panic in a tier is a broken connection.
#[tokio::test(start_paused = true)]
async fn s2_a_tier_that_panics_is_a_fault_like_others() {
    let cache = rows("panicky-tier", MINUTE).shared(Panics).build().unwrap();
    let calls = calls();
    assert_eq!(get(&cache, 7, &calls, (ms(10), 1)).await, 1);
    assert_eq!(shared(&cache).reads[SharedRead::ConnectionError], 1);
    assert_eq!(cache.invalidate(&7).await, herdcache::Reach::Queued);
    assert_quiet_but_queued(&cache, 1);
}

/// A codec that panics, or refuses, at some values.
struct Picky;
impl Codec<u64> for Picky {
    fn id(&self) -> u32 {
        9
    }
    fn name(&self) -> &'static str {
        "picky"
    }
    fn encode(&self, value: &u64, into: &mut Vec<u8>) -> Result<(), CodecError> {
        match value {
            1 => panic!("no one"),
            2 => Err(CodecError),
            3 => {
                into.resize(2_000, 0);
                Ok(())
            }
            _ => {
                into.extend(value.to_le_bytes());
                Ok(())
            }
        }
    }
    fn decode(&self, bytes: &[u8]) -> Result<u64, CodecError> {
        let value = bytes.try_into().map(u64::from_le_bytes).map_err(|_| CodecError)?;
        assert_ne!(value, 4, "no four");
        if value == 5 { Err(CodecError) } else { Ok(value) }
    }
}

/// S2, T3: a codec that panics or refuses costs the write or is a miss; callers get what was loaded. So does a value that
/// is too large, and one of another codec.
#[tokio::test(start_paused = true)]
async fn s2_a_codec_that_panics_costs_the_write_or_is_a_miss() {
    let tier = MemoryTier::new();
    let build = || rows("picky", MINUTE).shared(Shared::new(tier.clone(), Picky).largest_value(1_024)).build().unwrap();
    let (one, other, calls) = (build(), build(), calls());
    for key in 1..=6 {
        assert_eq!(get(&one, key, &calls, (ms(0), key)).await, key);
        turns().await;
        assert_eq!(get(&other, key, &calls, (ms(0), key)).await, key);
        turns().await;
    }
    let (writes, reads) = (shared(&one).writes, shared(&other).reads);
    let count = [SharedWrite::EncodeError, SharedWrite::TooLarge, SharedWrite::Stored].map(|write| writes[write]);
    assert_eq!(count, [2, 1, 3]);
    let count = [SharedRead::Miss, SharedRead::DecodeError, SharedRead::Hit].map(|read| reads[read]);
    assert_eq!(count, [3, 2, 1]);
    assert_eq!((calls.started(), tier.values()), (11, 3));
    // JSON where another codec's bytes lie.
    let json = process("picky", MINUTE, &tier).build().unwrap();
    assert_eq!(get(&json, 6, &calls, (ms(0), 60)).await, 60);
    assert_eq!(shared(&json).reads[SharedRead::DecodeError], 1);
    assert_quiet(&one.snapshot());
}

/// T4: what runs when the tier breaks still ends: a write, a lease, a follower.
#[tokio::test(start_paused = true)]
async fn t4_a_tier_that_breaks_on_the_way_reaches_no_caller() {
    let tier = MemoryTier::new();
    let fleet: Vec<_> = (0..3).map(|_| leased("breaks", MINUTE, &tier).build().unwrap()).collect();
    let calls = calls();
    let began = Instant::now();
    let callers: Vec<_> = fleet.iter().map(|cache| ask(cache, 7, calls.load(ms(200), Ok(1)))).collect();
    sleep(ms(100)).await;
    assert_eq!(calls.started(), 1);
    tier.inject(Fault::Hang);
    for caller in callers {
        assert_eq!(value(caller.await.unwrap()), 1);
    }
    // The followers' next look timed out; they loaded for themselves.
    assert_eq!(calls.started(), 3);
    assert!(began.elapsed() <= ms(600), "{:?}", began.elapsed());
    sleep(ms(200)).await;
    assert_eq!(fleet.iter().map(|cache| super::lease(cache).held).sum::<u64>(), 0);
    for cache in &fleet {
        assert_quiet(&cache.snapshot());
    }
}

/// O1: a cache that only observes reads and writes the tier, takes no lease, and says so.
#[tokio::test(start_paused = true)]
async fn o1_an_observing_cache_uses_the_tier_without_a_lease() {
    let tier = MemoryTier::new();
    let build = || leased("observes", MINUTE, &tier).observe_only().build().unwrap();
    let (one, other, calls) = (build(), build(), calls());
    get(&one, 7, &calls, (ms(10), 1)).await;
    turns().await;
    assert_eq!(get(&other, 7, &calls, (ms(10), 2)).await, 1);
    assert_eq!((tier.operations(SharedOperation::Acquire), calls.started()), (0, 1));
    assert_eq!(one.snapshot().protection, Some(ProtectionLevel::Observe));
    assert_quiet(&other.snapshot());
}
