//! T1, T2, T3: what a flight reads out of the shared tier, and what it believes of it.

use std::sync::Arc;

use herdcache::herdfeed::{
    DiscardReason, FlightEnd, FlightTrigger, MissCause, SharedOperation, SharedRead, SharedWrite, StaleReason, Tier,
};
use herdcache::{Answer, Loaded, MemoryTier, Outcome, Shared, Ttl};
use tokio::time::sleep;

use super::{calls, get, leased, process, shared};
use crate::support::{ask, assert_quiet, ms, outcome, rows, turns, value};

const MINUTE: Ttl = Ttl::fresh_for(ms(60_000));

/// T1: one round trip for 200 waiters; the first is told `hit`, the others `coalesced`, out of the shared tier.
#[tokio::test(start_paused = true)]
async fn t1_two_hundred_waiters_cost_one_read() {
    let tier = MemoryTier::new();
    let (one, other) =
        (process("herd", MINUTE, &tier).build().unwrap(), process("herd", MINUTE, &tier).build().unwrap());
    let calls = calls();
    assert_eq!(get(&one, 7, &calls, (ms(10), 1)).await, 1);
    turns().await;
    assert_eq!((tier.values(), shared(&one).writes[SharedWrite::Stored]), (1, 1));
    tier.inject(herdcache::Fault::Slow(ms(20)));
    let callers: Vec<_> = (0..200).map(|_| ask(&other, 7, calls.load(ms(10), Ok(2)))).collect();
    let mut outcomes = Vec::new();
    for caller in callers {
        let got = caller.await.unwrap();
        let answer = got.as_ref().unwrap().as_ref().unwrap();
        assert_eq!((**answer, Answer::tier(answer)), (1, Tier::Shared));
        outcomes.extend(outcome(&got));
    }
    let count = |outcome| outcomes.iter().filter(|other| **other == outcome).count();
    assert_eq!((count(Outcome::Hit), count(Outcome::Coalesced), calls.started()), (1, 199, 1));
    let snapshot = other.snapshot();
    let tiers = snapshot.shared.as_ref().unwrap();
    assert_eq!((tiers.reads.total(), tiers.reads[SharedRead::Hit]), (1, 1));
    assert_eq!([tiers.outcomes[Outcome::Hit], tiers.outcomes[Outcome::Coalesced]], [1, 199]);
    assert_eq!(snapshot.flights[FlightEnd::SharedHit], 1);
    assert_eq!((snapshot.origin_calls, snapshot.misses[MissCause::Cold]), (0, 200));
    // From here on it is here.
    let again = other.get_with(&7, calls.load(ms(10), Ok(2))).await.unwrap().unwrap();
    assert_eq!((Answer::outcome(&again), Answer::tier(&again)), (Outcome::Hit, Tier::Local));
    assert_quiet(&other.snapshot());
}

/// T1: a cache without a shared tier says so, and one with an empty tier loads and counts a miss.
#[tokio::test(start_paused = true)]
async fn t1_an_empty_tier_is_a_counted_miss() {
    let alone = rows("alone", MINUTE).build().unwrap();
    assert!(alone.snapshot().shared.is_none() && alone.snapshot().lease.is_none());
    let cache = process("empty", MINUTE, &MemoryTier::new()).build().unwrap();
    let calls = calls();
    let answer = cache.get_with(&7, calls.load(ms(10), Ok(1))).await.unwrap().unwrap();
    assert_eq!((Answer::outcome(&answer), Answer::tier(&answer)), (Outcome::Loaded, Tier::Local));
    assert_eq!((shared(&cache).reads[SharedRead::Miss], cache.snapshot().flights[FlightEnd::Loaded]), (1, 1));
}

/// T1, N1: absences are shared too.
#[tokio::test(start_paused = true)]
async fn t1_absence_is_shared() {
    let tier = MemoryTier::new();
    let build = || process("absent", MINUTE, &tier).negative_ttl(ms(5_000)).build().unwrap();
    let (one, other) = (build(), build());
    assert!(one.get_with(&7, |_| async { Ok(Loaded::absent()) }).await.unwrap().is_none());
    turns().await;
    let load = async || other.get_with(&7, |_| async { Ok(1) }).await.unwrap().map(|answer| *answer);
    assert_eq!(load().await, None);
    assert_eq!((shared(&other).reads[SharedRead::Negative], other.snapshot().outcomes[Outcome::Negative]), (1, 1));
    // It lasts no longer for having been copied.
    sleep(ms(4_900)).await;
    assert_eq!(load().await, None);
    sleep(ms(200)).await;
    assert_eq!(load().await, Some(1));
    assert_eq!(other.snapshot().origin_calls, 1);
}

/// T2, F1: an age goes on through any number of copies; nothing is answered longer for having been copied.
#[tokio::test(start_paused = true)]
async fn t2_age_never_restarts_through_the_tier() {
    let tier = MemoryTier::new();
    let ttl = Ttl::fresh_for(ms(10_000)).stale_for(ms(10_000)).stale_if_error_for(ms(30_000));
    let build = || process("ages", ttl, &tier).build().unwrap();
    let calls = calls();
    let age = async |cache: &crate::support::Rows| {
        let answer = cache.get_with(&7, calls.load(ms(0), Ok(2))).await.unwrap().unwrap();
        (Answer::outcome(&answer), Answer::age(&answer))
    };
    let first = build();
    first.get_with(&7, |_| async { Ok(Loaded::value(1).source_age(ms(1_000))) }).await.unwrap();
    turns().await;
    sleep(ms(4_000)).await;
    let second = build();
    assert_eq!(age(&second).await, (Outcome::Hit, ms(5_000)));
    sleep(ms(3_000)).await;
    let third = build();
    assert_eq!(age(&third).await, (Outcome::Hit, ms(8_000)));
    assert_eq!(age(&second).await, (Outcome::Hit, ms(8_000)));
    // Fresh for 10 s since it was born 1 s before it came.
    sleep(ms(2_000)).await;
    assert_eq!(age(&second).await, (Outcome::Stale, ms(10_000)));
    turns().await;
    assert_eq!(calls.started(), 1, "the refresh, after its own look at the tier");
}

/// T1: a stale value is published at once, and the flight goes on as a refresh that loads it anew.
#[tokio::test(start_paused = true)]
async fn t1_a_stale_value_is_answered_at_once_and_refreshed() {
    let tier = MemoryTier::new();
    let ttl = Ttl::fresh_for(ms(10_000)).stale_for(ms(20_000));
    let build = || process("stale", ttl, &tier).build().unwrap();
    let (one, calls) = (build(), calls());
    get(&one, 7, &calls, (ms(10), 1)).await;
    turns().await;
    sleep(ms(15_000)).await;
    let other = build();
    let began = tokio::time::Instant::now();
    let callers: Vec<_> = (0..20).map(|_| ask(&other, 7, calls.load(ms(500), Ok(2)))).collect();
    for caller in callers {
        let got = caller.await.unwrap();
        assert_eq!((outcome(&got), value(got)), (Some(Outcome::Stale), 1));
    }
    assert_eq!(began.elapsed(), ms(0));
    let snapshot = other.snapshot();
    assert_eq!((snapshot.flights[FlightEnd::SharedHit], snapshot.flight_starts[FlightTrigger::Stale]), (1, 1));
    assert_eq!(snapshot.stale_serves[StaleReason::Revalidating], 20);
    assert_eq!(snapshot.shared.as_ref().unwrap().reads[SharedRead::Stale], 1);
    sleep(ms(600)).await;
    assert_eq!(get(&other, 7, &calls, (ms(10), 3)).await, 2);
    assert_eq!(
        (calls.started(), tier.operations(SharedOperation::Read)),
        (2, 2),
        "one read for the flight and its refresh"
    );
    // The refreshed value is what others find.
    assert_eq!(get(&build(), 7, &calls, (ms(10), 4)).await, 2);
    assert_quiet(&other.snapshot());
}

/// T2: values in reserve survive in the tier, and stand in for a load that failed in a process which never had them.
#[tokio::test(start_paused = true)]
async fn t2_a_value_in_reserve_survives_a_restart() {
    let tier = MemoryTier::new();
    let ttl = Ttl::fresh_for(ms(1_000)).stale_if_error_for(ms(60_000));
    let build = || process("reserve", ttl, &tier).build().unwrap();
    let (one, calls) = (build(), calls());
    get(&one, 7, &calls, (ms(10), 1)).await;
    turns().await;
    sleep(ms(30_000)).await;
    let other = build();
    let failing = || other.get_with(&7, calls.load(ms(10), Err(crate::support::DbError("down"))));
    let got = failing().await;
    assert_eq!((outcome(&got), value(got)), (Some(Outcome::Reserve), 1));
    // And while the key cools.
    let got = failing().await;
    assert_eq!((outcome(&got), value(got)), (Some(Outcome::Reserve), 1));
    assert_eq!(other.snapshot().stale_serves[StaleReason::Cooling], 1);
    // Not beyond the last bound.
    sleep(ms(32_000)).await;
    assert_eq!(tier.values(), 0);
    let late = build().get_with(&7, calls.load(ms(10), Err(crate::support::DbError("down")))).await;
    assert_eq!(outcome(&late), Some(Outcome::Failed));
}

/// T2: a flush under load is a plain miss under the same flights and permits.
#[tokio::test(start_paused = true)]
async fn t2_a_flush_under_load_is_a_plain_miss() {
    let tier = MemoryTier::new();
    let ttl = Ttl::fresh_for(ms(1_000));
    let gate = herdcache::Gate::builder(4).queue(64).queue_timeout(ms(5_000)).build().unwrap();
    let build = || {
        let builder = herdcache::Cache::<u64, u64, crate::support::DbError>::builder("flushed", ttl, &gate);
        builder.jitter(0.0).shared(tier.clone()).build().unwrap()
    };
    let (one, other) = (build(), build());
    let calls = calls();
    for key in 0..40 {
        get(&one, key, &calls, (ms(5), key)).await;
    }
    turns().await;
    assert_eq!((tier.values(), calls.started()), (40, 40));
    tier.flush();
    let callers: Vec<_> = (0..400).map(|n| ask(&other, n % 40, calls.load(ms(50), Ok(n % 40)))).collect();
    for (n, caller) in (0..400).zip(callers) {
        assert_eq!(value(caller.await.unwrap()), n % 40);
    }
    assert_eq!((calls.started(), calls.peak()), (80, 4), "one load for each key, under the gate's permits");
    assert_eq!(shared(&other).reads[SharedRead::Miss], 40);
    assert_quiet(&other.snapshot());
}

/// T3: corrupt, foreign and later bytes are counted misses, and are overwritten by the load.
#[tokio::test(start_paused = true)]
async fn t3_bytes_that_are_no_value_are_counted_misses() {
    type Damage = fn(&mut Vec<u8>);
    let tier = MemoryTier::new();
    let calls = calls();
    let damages: [Damage; 6] = [
        |bytes| bytes.clear(),
        |bytes| bytes[0] ^= 1,
        |bytes| bytes[4] = 9,
        |bytes| bytes.truncate(50),
        |bytes| *bytes = vec![b'{'; 5_000],
        |bytes| bytes.iter_mut().rev().take(20).for_each(|byte| *byte = !*byte),
    ];
    for (n, damage) in (1..).zip(damages) {
        let name = format!("damaged-{n}");
        let build = || process(&name, MINUTE, &tier).build().unwrap();
        let (one, other) = (build(), build());
        get(&one, 7, &calls, (ms(0), 1)).await;
        turns().await;
        tier.tamper(|text, bytes| {
            if text.contains(&name) {
                damage(bytes);
            }
        });
        assert_eq!(get(&other, 7, &calls, (ms(0), 2)).await, 2);
        turns().await;
        assert_eq!((shared(&other).reads[SharedRead::DecodeError], calls.started()), (1, 2 * n));
        // The load has put it right.
        assert_eq!(get(&build(), 7, &calls, (ms(0), 3)).await, 2);
    }
}

/// T3: an envelope that lies under another key's name is a mismatch, not that key's value.
#[tokio::test(start_paused = true)]
async fn t3_another_keys_envelope_is_a_mismatch() {
    let tier = MemoryTier::new();
    let build = || process("swapped", MINUTE, &tier).build().unwrap();
    let (one, other, calls) = (build(), build(), calls());
    get(&one, 1, &calls, (ms(0), 11)).await;
    get(&one, 2, &calls, (ms(0), 22)).await;
    turns().await;
    let mut first = Vec::new();
    tier.tamper(|text, bytes| {
        if text.ends_with("1]") {
            first.clone_from(bytes);
        }
    });
    tier.tamper(|_, bytes| bytes.clone_from(&first));
    assert_eq!(get(&other, 2, &calls, (ms(0), 33)).await, 33);
    assert_eq!(get(&other, 1, &calls, (ms(0), 44)).await, 11);
    assert_eq!((shared(&other).reads[SharedRead::KeyMismatch], shared(&other).reads[SharedRead::Hit]), (1, 1));
}

/// T3: thousands of random and mutated values never panic, and never answer anything but what was loaded.
#[tokio::test(start_paused = true)]
async fn t3_hostile_values_by_the_thousand() {
    let tier = MemoryTier::new();
    let calls = calls();
    let one = process("hostile", MINUTE, &tier).build().unwrap();
    for key in 0..3_000 {
        get(&one, key, &calls, (ms(0), key)).await;
    }
    turns().await;
    fastrand::seed(11);
    tier.tamper(|_, bytes| {
        for _ in 0..fastrand::usize(1..4) {
            let at = fastrand::usize(0..bytes.len());
            match fastrand::u8(0..4) {
                0 => bytes[at] ^= 1 << fastrand::u8(0..8),
                1 => bytes.truncate(at + 1),
                2 => bytes.insert(at, fastrand::u8(..)),
                _ => bytes.fill_with(|| fastrand::u8(..)),
            }
        }
    });
    let other = process("hostile", MINUTE, &tier).capacity(10_000).build().unwrap();
    for key in 0..3_000 {
        assert_eq!(get(&other, key, &calls, (ms(0), key)).await, key);
    }
    let reads = shared(&other).reads;
    assert!(reads[SharedRead::DecodeError] > 2_900, "{reads:?}");
    assert_eq!(reads.total(), 3_000);
    assert_quiet(&other.snapshot());
}

/// K1: another schema version is another key; neither sees what the other wrote.
#[tokio::test(start_paused = true)]
async fn k1_schema_versions_do_not_see_each_other() {
    let tier = MemoryTier::new();
    let build =
        |version| rows("schema", MINUTE).shared(Shared::json(tier.clone()).schema_version(version)).build().unwrap();
    let calls = calls();
    assert_eq!(get(&build(1), 7, &calls, (ms(0), 1)).await, 1);
    turns().await;
    assert_eq!(get(&build(2), 7, &calls, (ms(0), 2)).await, 2);
    turns().await;
    assert_eq!(get(&build(1), 7, &calls, (ms(0), 3)).await, 1);
    assert_eq!(tier.values(), 2);
}

/// F2: a copy is fresh for a random part less, never more, and differs between processes.
#[tokio::test(start_paused = true)]
async fn f2_copies_are_jittered_anew() {
    let tier = MemoryTier::new();
    let calls = calls();
    get(&process("copies", MINUTE, &tier).build().unwrap(), 7, &calls, (ms(0), 1)).await;
    turns().await;
    let others: Vec<_> = (0..40).map(|_| process("copies", MINUTE, &tier).jitter(0.5).build().unwrap()).collect();
    for cache in &others {
        get(cache, 7, &calls, (ms(0), 2)).await;
    }
    let mut fresh = Vec::new();
    for second in [29_900, 30_000, 45_000, 59_900, 60_001] {
        tokio::time::sleep_until(tokio::time::Instant::now() + ms(second - fresh.last().map_or(0, |(at, _)| *at)))
            .await;
        fresh.push((second, others.iter().filter(|cache| cache.peek(&7).is_some()).count()));
    }
    assert_eq!((fresh[0].1, fresh[4].1), (40, 0), "{fresh:?}");
    assert!((8..33).contains(&fresh[2].1), "about half of them after three quarters: {fresh:?}");
    assert_eq!(calls.started(), 1);
}

/// O1: what is discarded on its way is counted, and a doomed flight's callers get the tier's value all the same.
#[tokio::test(start_paused = true)]
async fn l5_a_value_read_before_an_invalidation_is_not_stored_after_it() {
    let tier = MemoryTier::new();
    let build = || leased("read-late", MINUTE, &tier).build().unwrap();
    let (one, other, calls) = (build(), build(), calls());
    get(&one, 7, &calls, (ms(0), 1)).await;
    turns().await;
    tier.inject_on(SharedOperation::Read, herdcache::Fault::Slow(ms(20)));
    let early = ask(&other, 7, calls.load(ms(10), Ok(2)));
    sleep(ms(10)).await;
    other.invalidate(&7).await;
    let late = ask(&other, 7, calls.load(ms(10), Ok(3)));
    assert_eq!(value(late.await.unwrap()), 3);
    let early = value(early.await.unwrap());
    assert!(early == 1 || early == 2, "{early}: it came before the invalidation");
    assert_eq!(get(&other, 7, &calls, (ms(10), 4)).await, 3);
    assert!(other.snapshot().discards[DiscardReason::Invalidated] <= 1);
    assert_eq!(get(&Arc::new(build()), 7, &calls, (ms(10), 5)).await, 3);
    assert_quiet(&other.snapshot());
}
