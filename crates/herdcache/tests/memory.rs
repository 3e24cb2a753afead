//! L7: a million keys pass through a small cache and leave no memory behind. A process of its own, since it is weighed.
//!
//! Weighed twice: by the bytes that one thread has allocated and not freed, which is exact, and by the pages of the
//! whole process while four threads work, which is what an operator sees. Each key is asked for once and comes to one of many
//! ends: stored under a tag, not to be stored, absent, failed, panicked, hanging, invalidated by itself or by its tag.
//!
//! `HERDCACHE_FLOOD` is the number of keys; `.ci/run` takes a million.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails there")]

#[path = "engine/support.rs"]
#[expect(dead_code, reason = "these tests need a part of it")]
mod support;

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use allocation_counter::measure;
use herdcache::{Cache, Gate, Loaded, Ttl, WhenUnwatched};
use tokio::runtime::Builder;

use support::{Calls, DbError, Rows, assert_quiet, ms};

/// Callers at once, and so the most flights that there can be.
const CALLERS: u32 = 64;
const CAPACITY: u64 = 1_000;
/// The fewest keys of the first half, after which every bounded room is full: the store and the absences, the 4,096 removals
/// that are remembered, the 4,096 tags without a key (a quarter of the keys leaves one), the keys that cool, the hot keys.
const FILLED: u64 = 32_000;
/// What one thread's memory may grow by in the second half, however many keys come. Tags without a key are forgotten
/// together, so there are any number of them up to 4,096, of about 110 bytes; and a table may double once more, the
/// largest of which has 16,384 rows of 80 bytes then. A pointer that leaks with each key is more in half a million.
const GROWN: i64 = 2 * 1_024 * 1_024;
/// The same for the process: threads come and go in the allocator's arenas. It is 16 bytes a key, the least that any
/// allocation takes, in half a million.
const HEAVIER: u64 = 8 * 1_024 * 1_024;

/// One test at a time: they weigh the process.
static SCALE: Mutex<()> = Mutex::new(());

/// Half of the keys, which has all kinds of keys alike.
fn half() -> u64 {
    let flood: u64 = std::env::var("HERDCACHE_FLOOD").map_or(2 * FILLED, |text| text.parse().unwrap());
    (flood / 32 * 16).max(FILLED)
}

fn places(callers: u32) -> usize {
    callers.try_into().unwrap()
}

fn rows(flights: usize) -> (Rows, Arc<Calls>) {
    let gate = Gate::builder(places(CALLERS)).without_fail_fast().build().unwrap();
    let builder = Cache::builder("memory", Ttl::fresh_for(Duration::from_secs(3_600)), &gate);
    let builder = builder.capacity(CAPACITY).max_flights(flights).cooling(ms(10), ms(10));
    (builder.when_unwatched(WhenUnwatched::Abandon).build().unwrap(), Arc::default())
}

/// Whether loads of some keys hang until their callers give up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hang {
    Some,
    None,
}

/// Asks once for this key, which is like no other.
async fn ask(cache: &Rows, calls: &Arc<Calls>, key: u64, hang: Hang) {
    let kind = key % 16;
    let hangs = kind == 4 && hang == Hang::Some;
    let calls = Arc::clone(calls);
    let load = move |_| async move {
        let _call = calls.call();
        tokio::task::yield_now().await;
        match kind {
            0 => return Err(DbError("down")),
            1 => return Ok(Loaded::absent()),
            2 => return Ok(Loaded::value(key).do_not_store()),
            3 => std::panic::resume_unwind(Box::new("a loader panics")),
            _ if hangs => std::future::pending().await,
            _ => {}
        }
        Ok(Loaded::value(key).tags([format!("tag {key}")]))
    };
    if hangs {
        // With its only caller the load is given up.
        return drop(tokio::time::timeout(Duration::ZERO, cache.get_with(&key, load)).await);
    }
    drop(cache.get_with(&key, load).await);
    match kind {
        5 => _ = cache.invalidate(&key),
        6..10 => _ = cache.invalidate_tag(&format!("tag {key}")),
        10 => _ = cache.insert(key, key),
        _ => {}
    }
}

/// Asks for each of these keys once, from as many callers at once as there may be.
async fn pour(cache: &Rows, calls: &Arc<Calls>, keys: Range<u64>, hang: Hang) {
    let next = Arc::new(AtomicU64::new(keys.start));
    let callers = (0..CALLERS).map(|_| {
        let (cache, calls, next, end) = (cache.clone(), Arc::clone(calls), Arc::clone(&next), keys.end);
        tokio::spawn(async move {
            loop {
                let key = next.fetch_add(1, SeqCst);
                if key >= end {
                    return;
                }
                ask(&cache, &calls, key, hang).await;
            }
        })
    });
    for caller in callers.collect::<Vec<_>>() {
        caller.await.unwrap();
    }
}

/// L6, L7: the table is empty, the store within its bound, and no more ran at once than could.
fn assert_bounded(cache: &Rows, calls: &Calls, keys: u64) {
    let snapshot = cache.snapshot();
    assert_quiet(&snapshot);
    assert!(snapshot.entries <= CAPACITY + snapshot.negative_capacity, "{}", snapshot.entries);
    assert!(calls.peak() <= CALLERS.into(), "L3: {} at once", calls.peak());
    assert_eq!((snapshot.begun, snapshot.rejections.total()), (keys, 0));
}

/// L7: what is allocated and not freed does not grow with the keys.
#[test]
fn l7_a_flood_of_keys_leaves_no_byte_behind() {
    let _alone = SCALE.lock().unwrap_or_else(PoisonError::into_inner);
    // Loads that are given up are in the table until their tasks have gone.
    let (cache, calls) = rows(1_024);
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let pours = |keys: Range<u64>| {
        let pours = || {
            runtime.block_on(pour(&cache, &calls, keys, Hang::Some));
            assert_eq!(cache.snapshot().flights_active, 0);
        };
        measure(pours).bytes_current
    };
    let first = pours(0..half());
    let second = pours(half()..2 * half());
    println!("{first} bytes after {} keys, {second} more after as many keys more", half());
    assert!(second <= GROWN, "{second} bytes more");
    assert_bounded(&cache, &calls, 2 * half());
}

/// The check can fail: a pointer that is kept of each key of half a million is seen.
#[test]
fn a_leak_of_a_pointer_a_key_is_seen() {
    let mut kept: Vec<u64> = Vec::new();
    let leaked = measure(|| (0..500_000).for_each(|key| kept.push(key))).bytes_current;
    assert!(leaked > GROWN, "{leaked}");
}

/// How much memory the process has in use, in bytes, where the system says.
fn weight() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1_024)
}

/// L7, L6: a million different keys through 64 callers on four threads: at most 64 flights, none at the end, no memory.
#[test]
fn l7_a_flood_of_keys_through_64_callers_is_flat() {
    let _alone = SCALE.lock().unwrap_or_else(PoisonError::into_inner);
    // The table has a place for each caller: with one row more than callers, one of them would be refused.
    let (cache, calls) = rows(places(CALLERS));
    let runtime = Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap();
    runtime.block_on(pour(&cache, &calls, 0..half(), Hang::None));
    let before = weight();
    let end = 2 * half();
    runtime.block_on(pour(&cache, &calls, half()..end, Hang::None));
    let after = weight();
    println!("{before:?} bytes in use after {} keys, {after:?} after {end}; at most {} loads", half(), calls.peak());
    assert_bounded(&cache, &calls, end);
    assert!(calls.peak() > 1, "callers who never meet show nothing");
    if let (Some(before), Some(after)) = (before, after) {
        assert!(after.saturating_sub(before) <= HEAVIER, "{} bytes heavier", after - before);
    }
}
