//! T5: what is written to the tier, and what it refuses.

use herdcache::herdfeed::{DiscardReason, Fact, FlightEnd, SharedOperation, SharedRead, SharedWrite};
use herdcache::{Failure, Fault, GetError, Loaded, MemoryTier, Reach, Shared, TierError, Ttl, WriteFailure};
use tokio::time::sleep;

use super::{calls, get, leased, process, shared};
use crate::support::{Rows, assert_quiet, ms, rows, turns, value};

const MINUTE: Ttl = Ttl::fresh_for(ms(60_000));

/// A load of a version that takes `latency`, in a task of its own.
fn load(cache: &Rows, latency: u64, version: u64) -> tokio::task::JoinHandle<u64> {
    let cache = cache.clone();
    tokio::spawn(async move {
        let load = |_| async move {
            sleep(ms(latency)).await;
            Ok(Loaded::value(version).version(version))
        };
        value(cache.get_with(&7, load).await)
    })
}

/// T5: a value of an older source version is refused; its callers have it, and the next ones get the newer.
#[tokio::test(start_paused = true)]
async fn t5_an_older_version_is_refused() {
    let tier = MemoryTier::new();
    let (lags, leads) =
        (process("versions", MINUTE, &tier).build().unwrap(), process("versions", MINUTE, &tier).build().unwrap());
    let mut events = lags.events();
    let (old, new) = (load(&lags, 100, 4), load(&leads, 50, 5));
    assert_eq!((new.await.unwrap(), old.await.unwrap()), (5, 4));
    turns().await;
    assert_eq!(shared(&lags).writes[SharedWrite::RefusedVersion], 1);
    assert_eq!(lags.snapshot().discards[DiscardReason::OlderVersion], 1);
    let told = events.take();
    let refused = |fact: &Fact| matches!(fact, Fact::WriteRefused { write: SharedWrite::RefusedVersion, .. });
    assert_eq!(told.iter().filter(|event| refused(&event.fact)).count(), 1);
    assert_eq!(load(&lags, 0, 6).await.unwrap(), 5, "the tier's");
    assert_quiet(&lags.snapshot());
}

/// T5, L5: a value whose time is over still refuses what was loaded before it.
#[tokio::test(start_paused = true)]
async fn t5_a_token_outlives_its_value() {
    let tier = MemoryTier::new();
    let build = || process("brief", MINUTE, &tier).build().unwrap();
    let (lags, leads, calls) = (build(), build(), calls());
    let old = crate::support::ask(&lags, 7, calls.load(ms(800), Ok(1)));
    turns().await;
    assert_eq!(leads.invalidate(&7).await, Reach::Cluster);
    let brief = |_| async { Ok(Loaded::value(2).fresh_for(ms(100))) };
    assert_eq!(value(leads.get_with(&7, brief).await), 2);
    turns().await;
    assert_eq!(shared(&leads).writes[SharedWrite::Stored], 1);
    assert_eq!(value(old.await.unwrap()), 1, "its own callers have it");
    turns().await;
    assert_eq!(shared(&lags).writes[SharedWrite::RefusedFence], 1);
    assert_eq!(get(&build(), 7, &calls, (ms(0), 3)).await, 3);
}

/// T5: a counter that is lost, or everything that is, locks no key.
#[tokio::test(start_paused = true)]
async fn t5_a_lost_counter_locks_no_key() {
    let tier = MemoryTier::new();
    let ttl = Ttl::fresh_for(ms(1_000));
    let (one, calls) = (leased("counters", ttl, &tier).build().unwrap(), calls());
    for round in 0..10 {
        assert_eq!(get(&one, 7, &calls, (ms(10), round)).await, round);
        turns().await;
        assert_eq!(shared(&one).writes[SharedWrite::Stored], round + 1, "{:?}", shared(&one).writes);
        match round % 3 {
            0 => tier.lose_counters(),
            1 => tier.flush(),
            _ => tier.evict(),
        }
        sleep(ms(1_100)).await;
    }
    assert_eq!((calls.started(), shared(&one).reads[SharedRead::Miss]), (10, 10));
}

/// A4: a confirmation is written too, with its new age; loaders' own TTLs travel.
#[tokio::test(start_paused = true)]
async fn a4_a_confirmed_value_is_fresh_for_others() {
    let tier = MemoryTier::new();
    let ttl = Ttl::fresh_for(ms(10_000)).stale_for(ms(20_000));
    let build = || process("confirmed", ttl, &tier).build().unwrap();
    let (one, calls) = (build(), calls());
    let first = |_| async { Ok(Loaded::value(1).fresh_for(ms(4_000)).validator("v1")) };
    assert_eq!(value(one.get_with(&7, first).await), 1);
    turns().await;
    sleep(ms(5_000)).await;
    // Stale for others too, by the loader's word.
    let stale = build();
    assert!(herdcache::Answer::is_stale(&stale.get_with(&7, |_| async { Ok(2) }).await.unwrap().unwrap()));
    tier.flush();
    let confirm = |cx: herdcache::LoadContext<u64, u64>| async move {
        assert_eq!(cx.validator(), Some("v1"));
        Ok(Loaded::not_modified())
    };
    assert_eq!(value(one.get_with(&7, confirm).await), 1);
    turns().await;
    assert_eq!(one.snapshot().flights[FlightEnd::NotModified], 1);
    let other = build();
    let answer = other.get_with(&7, calls.load(ms(0), Ok(3))).await.unwrap().unwrap();
    assert_eq!((*answer, herdcache::Answer::is_stale(&answer), herdcache::Answer::age(&answer)), (1, false, ms(0)));
    assert_eq!(calls.started(), 0);
}

/// F1, T5: many processes write and invalidate one key at random; no process ever answers a value whose load began before
/// an invalidation that it had seen confirmed, and a lease never has two loads.
#[tokio::test(start_paused = true)]
async fn l5_random_processes_never_bring_the_past_back() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
    for seed in 0..30 {
        fastrand::seed(seed);
        let tier = MemoryTier::new();
        if seed % 3 == 1 {
            tier.inject(herdcache::Fault::Slow(ms(3)));
        }
        let ttl = Ttl::fresh_for(ms(400)).stale_for(ms(100));
        let fleet: Vec<Rows> = (0..4)
            .map(|n| {
                let builder = process("random", ttl, &tier).jitter(0.2);
                if (seed + n) % 2 == 0 { builder.lease(tier.clone()) } else { builder }.build().unwrap()
            })
            .collect();
        // The source's version; a load reads it as it begins.
        let source = Arc::new(AtomicU64::new(1));
        let mut tasks = Vec::new();
        for cache in fleet.clone() {
            let source = Arc::clone(&source);
            let mut random = fastrand::Rng::with_seed(fastrand::u64(..));
            tasks.push(tokio::spawn(async move {
                for _ in 0..60 {
                    sleep(ms(random.u64(0..40))).await;
                    let before = source.load(SeqCst);
                    if random.u8(0..8) == 0 {
                        // Changed at the source, then invalidated: from here on this process answers nothing older.
                        let version = source.fetch_add(1, SeqCst) + 1;
                        let _ = cache.invalidate(&7).await;
                        let latency = random.u64(0..30);
                        let read = Arc::clone(&source);
                        let load = move |_| async move {
                            let version = read.load(SeqCst);
                            sleep(ms(latency)).await;
                            Ok(version)
                        };
                        let seen = value(cache.get_with(&7, load).await);
                        assert!(seen >= version, "seed {seed}: {seen} after {version} was confirmed");
                        continue;
                    }
                    let latency = random.u64(0..30);
                    let read = Arc::clone(&source);
                    let load = move |_| async move {
                        let version = read.load(SeqCst);
                        sleep(ms(latency)).await;
                        Ok(version)
                    };
                    let seen = value(cache.get_with(&7, load).await);
                    assert!(seen <= source.load(SeqCst) && before >= 1);
                }
            }));
        }
        for task in tasks {
            task.await.unwrap();
        }
        sleep(ms(200)).await;
        assert_eq!(tier.leases(), 0, "seed {seed}");
        for cache in &fleet {
            assert_quiet(&cache.snapshot());
        }
    }
}

/// W2, T4: who reads just after a change of the key is told of no failed write, unless the tier is in trouble.
#[tokio::test(start_paused = true)]
async fn w2_t4_a_change_on_its_way_is_no_failed_write() {
    let tier = MemoryTier::new();
    let fails = Shared::json(tier.clone()).write_failure(WriteFailure::Fail);
    let cache = rows("change-on-its-way", MINUTE).shared(fails).build().unwrap();
    let calls = calls();
    tier.inject_on(SharedOperation::Remove, Fault::Slow(ms(20)));
    drop(cache.invalidate(&1));
    assert_eq!(get(&cache, 1, &calls, (ms(1), 1)).await, 1);
    sleep(ms(30)).await;
    // The change has arrived; the value was not written behind it.
    assert_eq!((shared(&cache).writes[SharedWrite::SkippedAfterFault], tier.values()), (1, 0));
    tier.inject_on(SharedOperation::Remove, Fault::Fail(TierError::Connection));
    assert_eq!(cache.invalidate(&2).await, Reach::Queued);
    let got = cache.get_with(&2, calls.load(ms(1), Ok(2))).await;
    let write = SharedWrite::SkippedAfterFault;
    assert!(matches!(got, Err(GetError::Failed(Failure::SharedWrite { write: how })) if how == write), "{got:?}");
}
