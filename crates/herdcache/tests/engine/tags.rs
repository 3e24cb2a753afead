//! W2, A6: forgetting by tag, many keys, everything; and marking stale.

use std::sync::Arc;

use herdcache::herdfeed::{DiscardReason, FlightEnd, Outcome, RefreshResult, RemovalCause};
use herdcache::{Cache, Gate, Got, Loaded, ReadThrough, Refreshing, Ttl};
use tokio::task::JoinHandle;

use crate::support::{Calls, DbError, Rows, ask, assert_quiet, ms, outcome, rows, turns, value};

const TTL: Ttl = Ttl::fresh_for(ms(60_000));

/// A caller whose load takes `latency` and brings `value` with `tag`.
fn tagged(cache: &Rows, key: u64, value: u64, tag: &'static str, latency: u64) -> JoinHandle<Got<u64, DbError>> {
    let cache = cache.clone();
    tokio::spawn(async move {
        let load = |_| async move {
            tokio::time::sleep(ms(latency)).await;
            Ok(Loaded::value(value).tags([tag]))
        };
        cache.get_with(&key, load).await
    })
}

fn with_tags(count: usize) -> Loaded<u64> {
    Loaded::value(1).tags((0..count).map(|n| n.to_string()))
}

fn present(cache: &Rows, keys: std::ops::Range<u64>) -> u64 {
    keys.filter(|key| cache.peek(key).is_some()).count() as u64
}

/// W2, case 21: invalidating five keys, by name or by tag, touches five keys.
#[tokio::test(start_paused = true)]
async fn w2_invalidation_touches_the_named_keys_only() {
    let cache = Cache::builder("touches", TTL, &Gate::new(8)).capacity(20_000).build().unwrap();
    for key in 0..10_000_u64 {
        cache.insert(key, Loaded::value(key).tags([if key % 2_000 == 0 { "five" } else { "rest" }]));
    }
    let cache: Rows = cache;
    cache.invalidate_tag("five");
    cache.invalidate_tag("nobody has this");
    assert_eq!(present(&cache, 0..10_000), 9_995);
    assert_eq!(cache.snapshot().removals[RemovalCause::Invalidated], 5);
    cache.invalidate_many(&[1, 2, 3, 4, 5]);
    assert_eq!(present(&cache, 0..10_000), 9_990);
    assert_eq!(cache.snapshot().removals[RemovalCause::Invalidated], 10);
    // The other 9,990 cause no load.
    let calls = Arc::new(Calls::default());
    for key in (0..10_000).filter(|key| key % 2_000 != 0 && !(1..=5).contains(key)) {
        assert_eq!(outcome(&cache.get_with(&key, calls.load(ms(0), Ok(0))).await), Some(Outcome::Hit));
    }
    assert_eq!(calls.started(), 0);
}

/// L5, W2, case 19 by tag: the tag becomes known when the load ends. Who joined before gets the value, nobody else does.
#[tokio::test(start_paused = true)]
async fn l5_a_load_whose_tag_was_invalidated_is_not_stored() {
    let cache = rows("late-tag", TTL).build().unwrap();
    let leader = tagged(&cache, 7, 1, "a", 100);
    let before = tagged(&cache, 7, 0, "a", 100);
    tokio::time::sleep(ms(50)).await;
    cache.invalidate_tag("a");
    // It cannot know yet that this flight is outdated, joins it, and loads anew when that turns out.
    let after = tagged(&cache, 7, 2, "a", 100);
    let also = tagged(&cache, 7, 3, "a", 100);
    assert_eq!((value(leader.await.unwrap()), value(before.await.unwrap())), (1, 1));
    assert!(cache.peek(&7).is_none());
    let (after, also) = (after.await.unwrap(), also.await.unwrap());
    assert_eq!((outcome(&after), outcome(&also)), (Some(Outcome::Loaded), Some(Outcome::Coalesced)));
    assert_eq!((value(after), value(also)), (2, 2));
    assert_eq!(cache.peek(&7).map(|answer| *answer), Some(2));
    let snapshot = cache.snapshot();
    assert_eq!((snapshot.discards[DiscardReason::Invalidated], snapshot.origin_calls), (1, 2));
    assert_eq!(snapshot.outcomes.total(), 4);
    assert_quiet(&snapshot);
}

/// L5: that its key is invalidated too, once the latecomer waits, makes the old value no more of an answer to it.
#[tokio::test(start_paused = true)]
async fn l5_a_superseded_load_is_no_answer_to_who_joined_after_its_tag_was_invalidated() {
    let cache = rows("late-tag-and-key", TTL).build().unwrap();
    let leader = tagged(&cache, 7, 1, "a", 100);
    tokio::time::sleep(ms(50)).await;
    cache.invalidate_tag("a");
    let after = tagged(&cache, 7, 2, "a", 100);
    tokio::time::sleep(ms(20)).await;
    cache.invalidate(&7);
    assert_eq!((value(leader.await.unwrap()), value(after.await.unwrap())), (1, 2));
    assert_eq!(cache.peek(&7).map(|answer| *answer), Some(2));
    assert_quiet(&cache.snapshot());
}

/// L5: a value that was evicted while its key is loaded again has left its tags; it is outdated by them all the same.
#[tokio::test(start_paused = true)]
async fn l5_an_evicted_value_whose_tag_was_invalidated_stands_in_for_nobody_who_came_later() {
    let ttl = Ttl::fresh_for(ms(10)).stale_if_error_for(ms(10_000));
    let cache: Rows = rows("evicted-tag", ttl).capacity(1).soft_timeout(ms(70)).build().unwrap();
    let failing = || {
        let cache = cache.clone();
        tokio::spawn(async move {
            let load = |_| async {
                tokio::time::sleep(ms(100)).await;
                Err::<u64, _>(DbError("down"))
            };
            cache.get_with(&7, load).await
        })
    };
    cache.insert(7, Loaded::value(1).tags(["a"]));
    assert_eq!(cache.snapshot().entries, 1);
    tokio::time::sleep(ms(20)).await;
    let before = failing();
    tokio::time::sleep(ms(10)).await;
    // Asked for more often, it takes the room.
    (0..20).for_each(|_| _ = cache.peek(&8));
    cache.insert(8, 8);
    assert_eq!(cache.snapshot().removals[RemovalCause::Expired], 1);
    cache.invalidate_tag("a");
    assert_eq!(cache.snapshot().invalidations, 0, "no key has it");
    let after = failing();
    tokio::time::sleep(ms(50)).await;
    assert_eq!((outcome(&before.await.unwrap())), Some(Outcome::Reserve), "it came before");
    let after = after.await.unwrap();
    assert_eq!(outcome(&after), Some(Outcome::Failed), "{after:?}");
    assert_quiet(&cache.snapshot());
}

/// L5, L2: the same where the flight is held back meanwhile: its load begins after the invalidation, and so does its leader.
#[tokio::test(start_paused = true)]
async fn l5_a_held_flight_falls_back_to_no_evicted_value_whose_tag_was_invalidated() {
    let ttl = Ttl::fresh_for(ms(10)).stale_if_error_for(ms(10_000));
    let cache: Rows = rows("evicted-held", ttl).capacity(1).build().unwrap();
    let calls = Arc::new(Calls::default());
    let mut superseded = Vec::new();
    for row in 0..2 {
        superseded.push(ask(&cache, 7, calls.load(ms(100), Err(DbError("down")))));
        turns().await;
        cache.insert(7, Loaded::value(row).tags(["a"]));
        assert_eq!(cache.snapshot().entries, 1);
        tokio::time::sleep(ms(20)).await;
    }
    let held = ask(&cache, 7, calls.load(ms(10), Err(DbError("down"))));
    turns().await;
    assert_eq!(calls.started(), 2);
    // Asked for more often, it takes the room.
    (0..20).for_each(|_| _ = cache.peek(&8));
    cache.insert(8, 8);
    assert_eq!(cache.snapshot().removals[RemovalCause::Expired], 2, "the one overwritten, the other evicted");
    cache.invalidate_tag("a");
    assert_eq!(cache.snapshot().invalidations, 0, "no key has it");
    let held = held.await.unwrap();
    assert_eq!((outcome(&held), calls.started()), (Some(Outcome::Failed), 3), "{held:?}");
    for caller in superseded {
        drop(caller.await.unwrap());
    }
    assert_quiet(&cache.snapshot());
}

/// W2: a tag's invalidation leaves loads of other keys alone, however many there are.
#[tokio::test(start_paused = true)]
async fn w2_other_loads_are_not_disturbed() {
    let cache = rows("undisturbed", TTL).build().unwrap();
    let load = tagged(&cache, 7, 1, "b", 300);
    for _ in 0..60 {
        tokio::time::sleep(ms(5)).await;
        cache.invalidate_tag("a");
    }
    assert_eq!(value(load.await.unwrap()), 1);
    assert_eq!(cache.peek(&7).map(|answer| *answer), Some(1));
    assert_eq!(cache.snapshot().discards.total(), 0);
}

/// L5: a key that is stored with the tag is invalidated like by its name: its refresh is superseded at once.
#[tokio::test(start_paused = true)]
async fn l5_a_refresh_of_a_tagged_value_is_superseded_at_once() {
    let cache = rows("tagged-refresh", Ttl::fresh_for(ms(100)).stale_for(ms(10_000))).build().unwrap();
    cache.insert(7, Loaded::value(1).tags(["a"]));
    tokio::time::sleep(ms(200)).await;
    assert_eq!(outcome(&tagged(&cache, 7, 1, "a", 100).await.unwrap()), Some(Outcome::Stale));
    cache.invalidate_tag("a");
    let reader = tagged(&cache, 7, 2, "a", 50).await.unwrap();
    assert_eq!((outcome(&reader), value(reader)), (Some(Outcome::Loaded), 2));
    tokio::time::sleep(ms(200)).await;
    assert_eq!(cache.peek(&7).map(|answer| *answer), Some(2));
    assert_eq!(cache.snapshot().refreshes[RefreshResult::Discarded], 1);
}

/// L7: a value with too many tags could not be relied upon to be found; it is answered and not stored.
#[tokio::test(start_paused = true)]
async fn l7_too_many_tags_are_not_stored() {
    let cache = rows("tag-flood", TTL).build().unwrap();
    assert_eq!(value(cache.get_with(&1, |_| async { Ok(with_tags(65)) }).await), 1);
    assert_eq!(value(cache.get_with(&2, |_| async { Ok(with_tags(64)) }).await), 1);
    assert_eq!((cache.peek(&1).is_some(), cache.peek(&2).is_some()), (false, true));
    assert_eq!(cache.snapshot().discards[DiscardReason::Oversize], 1);
    cache.invalidate_tag("63");
    assert!(cache.peek(&2).is_none());
}

/// L5, case 19: `clear` during a load: the old value is never stored, a reader after it loads anew, two loads at most.
#[tokio::test(start_paused = true)]
async fn l5_clear_supersedes_every_load() {
    let cache = rows("cleared", TTL).build().unwrap();
    let calls = Arc::new(Calls::default());
    (100..200).for_each(|key| _ = cache.insert(key, key));
    let first = ask(&cache, 7, calls.load(ms(100), Ok(1)));
    tokio::time::sleep(ms(50)).await;
    cache.clear();
    assert_eq!(present(&cache, 0..200), 0);
    let second = ask(&cache, 7, calls.load(ms(100), Ok(2)));
    assert_eq!(value(first.await.unwrap()), 1);
    let second = second.await.unwrap();
    assert_eq!((outcome(&second), value(second)), (Some(Outcome::Loaded), 2));
    assert_eq!(cache.peek(&7).map(|answer| *answer), Some(2));
    let snapshot = cache.snapshot();
    assert_eq!((calls.peak(), snapshot.discards[DiscardReason::Invalidated]), (2, 1));
    assert_eq!((snapshot.removals[RemovalCause::Invalidated], snapshot.entries), (100, 1));
    assert_quiet(&snapshot);
}

/// E1: `clear` ends cooling, as an invalidation does.
#[tokio::test(start_paused = true)]
async fn e1_clear_ends_cooling() {
    let cache = rows("cleared-cooling", TTL).build().unwrap();
    let calls = Arc::new(Calls::default());
    cache.get_with(&7, calls.load(ms(0), Err(DbError("down")))).await.unwrap_err();
    assert_eq!(outcome(&cache.get_with(&7, calls.load(ms(0), Ok(1))).await), Some(Outcome::Cooling));
    cache.clear();
    assert_eq!(outcome(&cache.get_with(&7, calls.load(ms(0), Ok(1))).await), Some(Outcome::Loaded));
}

/// W2, case 21: 20 changes a second of a key that is read 1,000 times a second: nobody waits, one refresh at a time.
#[tokio::test(start_paused = true)]
async fn w2_marking_stale_blocks_no_reader() {
    // Without stale_for: the freshness that it had is what readers may still use.
    for ttl in [TTL, TTL.stale_for(ms(60_000))] {
        let cache = rows("publish", ttl).build().unwrap();
        let calls = Arc::new(Calls::default());
        cache.insert(7, 0);
        for tick in 0..3_000_u64 {
            if tick % 50 == 0 {
                cache.mark_stale(&7);
            }
            let began = tokio::time::Instant::now();
            let got = cache.get_with(&7, calls.load(ms(20), Ok(tick))).await;
            assert!(matches!(outcome(&got), Some(Outcome::Hit | Outcome::Stale)), "{got:?}");
            assert_eq!(began.elapsed(), ms(0));
            tokio::time::sleep(ms(1)).await;
        }
        assert_eq!((calls.started(), calls.peak()), (60, 1));
        assert_quiet(&cache.snapshot());
    }
}

/// W2: what a load brings that began before the mark is stale on arrival, and is refreshed by the next read.
#[tokio::test(start_paused = true)]
async fn w2_a_load_that_a_mark_overtook_is_stale_on_arrival() {
    let cache = rows("overtaken", TTL.stale_for(ms(60_000))).build().unwrap();
    let calls = Arc::new(Calls::default());
    let load = ask(&cache, 7, calls.load(ms(100), Ok(1)));
    tokio::time::sleep(ms(50)).await;
    cache.mark_stale(&7);
    assert_eq!(value(load.await.unwrap()), 1);
    // R1: as everything that arrives stale it is refreshed no sooner than the cooling base (100 ms) after that.
    for _ in 0..2 {
        let got = cache.get_with(&7, calls.load(ms(10), Ok(2))).await;
        assert_eq!((outcome(&got), value(got)), (Some(Outcome::Stale), 1));
        tokio::time::sleep(ms(100)).await;
    }
    let got = cache.get_with(&7, calls.load(ms(10), Ok(3))).await;
    assert_eq!((outcome(&got), value(got)), (Some(Outcome::Hit), 2));
}

/// A6: a refresh that is asked for runs in the background, whether or not the key is there, and says what became of it.
#[tokio::test(start_paused = true)]
async fn a6_refresh_loads_in_the_background() {
    let gate = Gate::builder(4).refresh_permits(1).build().unwrap();
    let calls = Arc::new(Calls::default());
    let origin = {
        let calls = Arc::clone(&calls);
        move |cx: herdcache::LoadContext<u64, u64>| {
            let key = *cx.key();
            calls.load(ms(10), if key == 9 { Err(DbError("down")) } else { Ok(key) })(cx)
        }
    };
    let cache: ReadThrough<u64, u64, DbError> =
        Cache::builder("forced", TTL, &gate).jitter(0.0).build_over(origin).unwrap();
    assert_eq!(cache.refresh(&1), Refreshing::Started);
    assert_eq!((cache.refresh(&1), cache.refresh(&2)), (Refreshing::NoPermit, Refreshing::NoPermit));
    tokio::time::sleep(ms(11)).await;
    assert_eq!(cache.peek(&1).map(|answer| *answer), Some(1));
    // Present and fresh: loaded anew all the same, and readers are not disturbed.
    cache.insert(1, 77);
    assert_eq!(cache.refresh(&1), Refreshing::Started);
    assert_eq!(outcome(&cache.get(&1).await), Some(Outcome::Hit));
    tokio::time::sleep(ms(11)).await;
    assert_eq!(cache.peek(&1).map(|answer| *answer), Some(1));
    // A failure leaves what is there, and the key cools.
    cache.insert(9, 5);
    assert_eq!(cache.refresh(&9), Refreshing::Started);
    tokio::time::sleep(ms(11)).await;
    assert_eq!((cache.refresh(&9), cache.peek(&9).map(|answer| *answer)), (Refreshing::Cooling, Some(5)));
    cache.shutdown(ms(10)).await;
    assert_eq!(cache.refresh(&1), Refreshing::Closed);
    let snapshot = cache.snapshot();
    assert_eq!(snapshot.refreshes[RefreshResult::SkippedNoPermit], 2);
    assert_eq!(snapshot.flights[FlightEnd::Failed], 1);
    assert_quiet(&snapshot);
}
