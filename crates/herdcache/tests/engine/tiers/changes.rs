//! W2, L5: changes of keys, here and in other processes.

use std::sync::Arc;

use herdcache::herdfeed::{DiscardReason, FlightEnd, SharedOperation, SharedRead, SharedWrite};
use herdcache::{Fault, Loaded, MemoryTier, Outcome, Reach, Shared, TierError, Ttl};
use tokio::time::{Instant, sleep};

use super::{calls, get, leased, process, shared};
use crate::support::{Calls, Load, Rows, ask, assert_quiet, ms, outcome, rows, turns, value};

const MINUTE: Ttl = Ttl::fresh_for(ms(60_000));

fn down(tier: &MemoryTier) {
    tier.inject(Fault::Fail(TierError::Connection));
}

/// W2: an invalidation reaches the tier, and says so; a process that looks there afterwards loads anew.
#[tokio::test(start_paused = true)]
async fn w2_an_invalidation_reaches_the_cluster() {
    let tier = MemoryTier::new();
    let build = || process("reaches", MINUTE, &tier).build().unwrap();
    let (one, calls) = (build(), calls());
    get(&one, 7, &calls, (ms(0), 1)).await;
    get(&one, 8, &calls, (ms(0), 1)).await;
    turns().await;
    assert_eq!(one.invalidate(&7).await, Reach::Cluster);
    assert_eq!((tier.values(), tier.operations(SharedOperation::Remove)), (1, 1));
    assert_eq!(get(&build(), 7, &calls, (ms(0), 2)).await, 2);
    assert_eq!(get(&build(), 8, &calls, (ms(0), 3)).await, 1);
    assert_eq!((shared(&one).sent, shared(&one).queued), (1, 0));
    // Many keys: many removals, and nothing else. A cache alone reaches its process.
    assert_eq!(one.invalidate_many(&[1, 2, 3]).await, Reach::Cluster);
    assert_eq!(tier.operations(SharedOperation::Remove), 4);
    assert_eq!(rows("alone", MINUTE).build().unwrap().invalidate(&7).await, Reach::Process);
}

/// L5, case 19 over processes: what one process loads while another invalidates is stored nowhere, with a lease and
/// without; whoever comes afterwards gets the new value.
#[tokio::test(start_paused = true)]
async fn l5_a_load_that_another_process_overtakes_is_not_stored() {
    for with_lease in [false, true] {
        let tier = MemoryTier::new();
        let build = || {
            let builder = process("overtaken", MINUTE, &tier);
            if with_lease { builder.lease(tier.clone()) } else { builder }.build().unwrap()
        };
        let (loads, writes, calls) = (build(), build(), calls());
        let early = ask(&loads, 7, calls.load(ms(100), Ok(1)));
        sleep(ms(50)).await;
        assert_eq!(writes.invalidate(&7).await, Reach::Cluster);
        assert_eq!(value(early.await.unwrap()), 1, "it came before the invalidation");
        turns().await;
        let tiers = shared(&loads);
        assert_eq!((tiers.writes[SharedWrite::RefusedFence], tier.values()), (1, 0), "lease: {with_lease}");
        assert_eq!(loads.snapshot().discards[DiscardReason::Invalidated], 1);
        // Gone here too, though this process never heard of the invalidation.
        assert!(loads.peek(&7).is_none());
        assert_eq!(get(&loads, 7, &calls, (ms(10), 2)).await, 2);
        turns().await;
        assert_eq!(get(&writes, 7, &calls, (ms(10), 3)).await, 2);
        assert_eq!(calls.started(), 2);
        assert_quiet(&loads.snapshot());
    }
}

/// W2: with the tier down, an invalidation holds here and is queued; reads of its key bypass the tier until it has
/// arrived, and it arrives when the tier is back.
#[tokio::test(start_paused = true)]
async fn w2_what_did_not_arrive_is_retried_and_bypassed() {
    let tier = MemoryTier::new();
    let build = || leased("queued", MINUTE, &tier).build().unwrap();
    let (one, other, calls) = (build(), build(), calls());
    get(&one, 7, &calls, (ms(0), 1)).await;
    turns().await;
    tier.inject_on(SharedOperation::Remove, Fault::Fail(TierError::Connection));
    assert_eq!(one.invalidate(&7).await, Reach::Queued);
    assert_eq!((shared(&one).queued, tier.values()), (1, 1));
    let reads = tier.operations(SharedOperation::Read);
    assert_eq!(get(&one, 7, &calls, (ms(10), 2)).await, 2, "not the tier's older value");
    assert_eq!(tier.operations(SharedOperation::Read), reads, "not even asked");
    assert_eq!(shared(&one).writes[SharedWrite::SkippedAfterFault], 1, "the removal comes first");
    // Other keys use the tier as ever.
    get(&one, 8, &calls, (ms(0), 1)).await;
    assert_eq!(tier.operations(SharedOperation::Read), reads + 1);
    // Another process may still read what was there: that is what `Queued` says.
    assert_eq!(get(&other, 7, &calls, (ms(0), 3)).await, 1);
    sleep(ms(5_000)).await;
    assert_eq!(shared(&one).queued, 1);
    tier.heal();
    sleep(ms(6_000)).await;
    assert_eq!((shared(&one).queued, shared(&one).sent), (0, 1));
    assert_eq!(get(&build(), 7, &calls, (ms(0), 4)).await, 4);
    assert_eq!(one.invalidate(&7).await, Reach::Cluster);
    assert_quiet(&one.snapshot());
}

/// L5: while the removal is on its way, a read does not get the tier's older value.
#[tokio::test(start_paused = true)]
async fn l5_a_read_right_behind_an_invalidation_is_not_answered_from_before_it() {
    let tier = MemoryTier::new();
    let (one, calls) = (process("behind", MINUTE, &tier).build().unwrap(), calls());
    get(&one, 7, &calls, (ms(0), 1)).await;
    turns().await;
    tier.inject_on(SharedOperation::Remove, Fault::Slow(ms(40)));
    let spread = one.invalidate(&7);
    assert_eq!(get(&one, 7, &calls, (ms(10), 2)).await, 2);
    assert_eq!(spread.await, Reach::Cluster);
    turns().await;
    assert_eq!((get(&one, 7, &calls, (ms(10), 3)).await, calls.started()), (2, 2));
}

/// L7: the queue is bounded. What it lost is counted, and this process believes nothing older of the tier from then on.
#[tokio::test(start_paused = true)]
async fn l7_lost_invalidations_are_counted_and_distrusted() {
    let tier = MemoryTier::new();
    let build = || rows("lossy", MINUTE).shared(Shared::json(tier.clone()).queue(3)).build().unwrap();
    let (one, calls) = (build(), calls());
    for key in 0..6 {
        get(&one, key, &calls, (ms(0), 1)).await;
    }
    turns().await;
    sleep(ms(1_000)).await;
    down(&tier);
    assert_eq!(one.invalidate_many(&[0, 1, 2, 3, 4]).await, Reach::Queued);
    assert_eq!((shared(&one).queued, shared(&one).lost, shared(&one).queue), (3, 2, 3));
    tier.heal();
    sleep(ms(20_000)).await;
    assert_eq!((shared(&one).queued, tier.values()), (0, 3));
    // Lost, and yet not answered here; nor is anything else that old. Others may.
    assert_eq!(get(&one, 4, &calls, (ms(0), 2)).await, 2);
    assert_eq!(get(&build(), 3, &calls, (ms(0), 3)).await, 1);
    turns().await;
    // What is younger is believed again.
    sleep(ms(1_000)).await;
    get(&build(), 20, &calls, (ms(0), 5)).await;
    turns().await;
    assert_eq!(get(&one, 20, &calls, (ms(0), 6)).await, 5);
}

/// A6, T5: an insert is what other processes find, newer than every load in progress anywhere.
#[tokio::test(start_paused = true)]
async fn t5_an_insert_outranks_loads_of_other_processes() {
    let tier = MemoryTier::new();
    let build = || leased("inserted", MINUTE, &tier).build().unwrap();
    let (one, other, calls) = (build(), build(), calls());
    let early = ask(&other, 7, calls.load(ms(100), Ok(1)));
    sleep(ms(50)).await;
    assert_eq!(one.insert(7, 5).await, Reach::Cluster);
    assert_eq!(value(early.await.unwrap()), 1);
    turns().await;
    assert_eq!((get(&other, 7, &calls, (ms(0), 2)).await, get(&build(), 7, &calls, (ms(0), 3)).await), (5, 5));
    // An older version than the tier's changes nothing there; a failed write leaves a removal behind.
    assert_eq!(one.insert(8, Loaded::value(2).version(2)).await, Reach::Cluster);
    assert_eq!(other.insert(8, Loaded::value(1).version(1)).await, Reach::Cluster);
    assert_eq!(shared(&other).writes[SharedWrite::RefusedVersion], 1);
    assert_eq!(get(&build(), 8, &calls, (ms(0), 3)).await, 2);
    tier.inject_on(SharedOperation::Write, Fault::Fail(TierError::Refused));
    assert_eq!(one.insert(7, 6).await, Reach::Queued);
    assert_eq!(get(&one, 7, &calls, (ms(0), 7)).await, 6);
    sleep(ms(1_000)).await;
    assert_eq!((shared(&one).queued, tier.values()), (0, 1), "removed, since it could not be written");
}

/// L5, W2: a value that waited for a tier in trouble is not written over what another process changed meanwhile.
#[tokio::test(start_paused = true)]
async fn l5_a_queued_insert_does_not_undo_a_later_invalidation() {
    let tier = MemoryTier::new();
    let build = || process("queues", MINUTE, &tier).build().unwrap();
    let (one, other, calls) = (build(), build(), calls());
    down(&tier);
    assert_eq!(one.invalidate(&1).await, Reach::Queued);
    // The tier is not even tried for this one: it is known to be in trouble.
    let tried = tier.operations(SharedOperation::Write);
    assert_eq!(one.insert(7, 1).await, Reach::Queued);
    assert_eq!(tier.operations(SharedOperation::Write), tried);
    tier.heal();
    assert_eq!(other.invalidate(&7).await, Reach::Cluster);
    sleep(ms(10_000)).await;
    assert_eq!((shared(&one).queued, tier.values()), (0, 0));
    assert_eq!(get(&other, 7, &calls, (ms(0), 2)).await, 2);
}

/// A6: after `clear` this process believes nothing of the tier that is older; keys that it held are removed there.
#[tokio::test(start_paused = true)]
async fn a6_a_cleared_cache_believes_nothing_older() {
    let tier = MemoryTier::new();
    let build = || process("cleared", MINUTE, &tier).build().unwrap();
    let (one, other, calls) = (build(), build(), calls());
    get(&one, 1, &calls, (ms(0), 1)).await;
    get(&other, 2, &calls, (ms(0), 1)).await;
    turns().await;
    sleep(ms(1_000)).await;
    assert_eq!(one.clear().await, Reach::Cluster);
    assert_eq!(tier.values(), 1);
    assert_eq!((get(&one, 1, &calls, (ms(0), 2)).await, get(&one, 2, &calls, (ms(0), 2)).await), (2, 2));
    assert_eq!(shared(&one).reads[SharedRead::Miss], 3);
}

/// A load that brings a value with a tag.
fn tagged(calls: &Arc<Calls>, loaded: u64) -> impl FnOnce(herdcache::LoadContext<u64, u64>) -> Pinned {
    let calls = Arc::clone(calls);
    move |_| {
        Box::pin(async move {
            let _call = calls.call();
            Ok(Loaded::value(loaded).tags(["list"]).version(loaded).validator("etag"))
        })
    }
}

type Pinned = std::pin::Pin<Box<dyn Future<Output = Result<Loaded<u64>, crate::support::DbError>> + Send>>;

/// W2: tags travel: a value that this process never held is not believed once its tag was invalidated here, and one that
/// was copied is found by its tag. Version and validator travel too.
#[tokio::test(start_paused = true)]
async fn w2_tags_travel_with_the_value() {
    let tier = MemoryTier::new();
    let ttl = Ttl::fresh_for(ms(60_000)).stale_for(ms(60_000));
    let build = || process("tagged", ttl, &tier).build().unwrap();
    let (one, other, calls) = (build(), build(), calls());
    for key in [1, 2] {
        value(one.get_with(&key, tagged(&calls, 5)).await);
    }
    turns().await;
    assert_eq!(value(other.get_with(&1, tagged(&calls, 6)).await), 5);
    sleep(ms(1_000)).await;
    assert_eq!(other.invalidate_tag("list").await, Reach::Cluster);
    assert!(other.peek(&1).is_none(), "the copy has the tag");
    assert_eq!(tier.values(), 1, "the key that is not here is not known here");
    assert_eq!(value(other.get_with(&2, tagged(&calls, 7)).await), 7);
    turns().await;
    // A copy's version and validator are what its next load is told.
    let third = build();
    assert_eq!(value(third.get_with(&2, tagged(&calls, 8)).await), 7);
    sleep(ms(70_000)).await;
    let (send, told) = std::sync::mpsc::channel();
    let load = move |cx: herdcache::LoadContext<u64, u64>| -> Load {
        send.send((cx.previous_version(), cx.validator().map(str::to_owned))).unwrap();
        Box::pin(async { Ok(9) })
    };
    assert_eq!(outcome(&third.get_with(&2, load).await), Some(Outcome::Stale));
    turns().await;
    assert_eq!(told.try_recv(), Ok((Some(7), Some("etag".to_owned()))));
}

/// W2: what was marked stale is not made fresh again by the same value in the tier; nor does a forced refresh stop there.
#[tokio::test(start_paused = true)]
async fn w2_a_marked_value_is_not_revived_by_the_tier() {
    let tier = MemoryTier::new();
    let ttl = Ttl::fresh_for(ms(60_000)).stale_for(ms(60_000));
    let calls = calls();
    let counted = Arc::clone(&calls);
    let build = || process("marked", ttl, &tier);
    let one = build()
        .build_over(move |cx: herdcache::LoadContext<u64, u64>| {
            let calls = Arc::clone(&counted);
            async move {
                let _call = calls.call();
                Ok::<_, crate::support::DbError>(cx.previous().map_or(1, |previous| **previous + 1))
            }
        })
        .unwrap();
    assert_eq!(value(one.get(&7).await), 1);
    turns().await;
    sleep(ms(5_000)).await;
    one.mark_stale(&7);
    assert_eq!(outcome(&one.get(&7).await), Some(Outcome::Stale));
    turns().await;
    assert_eq!((value(one.get(&7).await), calls.started()), (2, 2));
    sleep(ms(1_000)).await;
    assert_eq!(one.refresh(&7), herdcache::Refreshing::Started);
    turns().await;
    assert_eq!((value(one.get(&7).await), calls.started()), (3, 3));
    // The refreshed value is what another process finds.
    turns().await;
    assert_eq!(get(&build().build().unwrap(), 7, &calls, (ms(0), 9)).await, 3);
}

/// W2: a change from outside of any runtime acts at once, waits, and is sent by the next flight that can.
#[tokio::test(start_paused = true)]
async fn w2_a_change_without_a_runtime_is_sent_later() {
    let tier = MemoryTier::new();
    let (one, calls) = (process("outside", MINUTE, &tier).build().unwrap(), calls());
    get(&one, 7, &calls, (ms(0), 1)).await;
    turns().await;
    let outside = one.clone();
    let spread = std::thread::spawn(move || outside.invalidate(&7)).join().unwrap();
    assert_eq!(spread.await, Reach::Queued);
    assert!(one.peek(&7).is_none());
    assert_eq!((shared(&one).queued, tier.values()), (1, 1));
    get(&one, 8, &calls, (ms(0), 1)).await;
    turns().await;
    assert_eq!((shared(&one).queued, tier.values()), (0, 1));
    assert_eq!(get(&one, 7, &calls, (ms(0), 2)).await, 2);
}

/// X1: a shutdown lets what waits have its first try, and is not held up by a tier that hangs.
#[tokio::test(start_paused = true)]
async fn x1_a_shutdown_sends_what_waits() {
    let tier = MemoryTier::new();
    let build = |name| process(name, MINUTE, &tier).build().unwrap();
    let (one, calls) = (build("sends"), calls());
    get(&one, 7, &calls, (ms(0), 1)).await;
    let written: Rows = one.clone();
    drop(written.invalidate(&7));
    one.shutdown(ms(100)).await;
    assert_eq!((tier.operations(SharedOperation::Remove), tier.values()), (1, 0));
    let one = build("hangs");
    tier.inject(Fault::Hang);
    let spread = one.invalidate(&7);
    let began = Instant::now();
    one.shutdown(ms(100)).await;
    assert!(began.elapsed() <= ms(300), "{:?}", began.elapsed());
    assert_eq!(spread.await, Reach::Queued);
}

/// E2: errors, and values that are not to be stored, are never shared.
#[tokio::test(start_paused = true)]
async fn e2_errors_and_unstored_values_are_not_shared() {
    let tier = MemoryTier::new();
    let (one, calls) = (leased("private", MINUTE, &tier).build().unwrap(), calls());
    let failed = one.get_with(&1, calls.load(ms(10), Err(crate::support::DbError("no")))).await;
    assert_eq!(outcome(&failed), Some(Outcome::Failed));
    let load = |_| async { Ok(Loaded::value(1).do_not_store()) };
    assert_eq!(value(one.get_with(&2, load).await), 1);
    turns().await;
    assert_eq!((tier.values(), tier.leases(), tier.operations(SharedOperation::Write)), (0, 0, 0));
    assert_eq!(one.snapshot().flights[FlightEnd::Failed], 1);
    assert_quiet(&one.snapshot());
}
