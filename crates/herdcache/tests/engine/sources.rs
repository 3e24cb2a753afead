//! A4: what a loader may say beside the value: not modified, version, age at the source, validator.

use std::sync::Arc;

use herdcache::herdfeed::{DiscardReason, FlightEnd, OriginResult, Outcome, RefreshResult};
use herdcache::{Answer, Failure, GetError, Loaded, Ttl};

use crate::support::{Rows, assert_quiet, ms, outcome, rows, value};

const TTL: Ttl = Ttl::fresh_for(ms(1_000)).stale_for(ms(1_000));

/// Reads, loading `loaded` if need be.
async fn read(cache: &Rows, loaded: Loaded<u64>) -> herdcache::Got<u64, crate::support::DbError> {
    cache.get_with(&7, |_| async { Ok(loaded) }).await
}

/// A4: the loader sees the previous value and what to check it by; an answer of "not modified" starts its age anew.
#[tokio::test(start_paused = true)]
async fn a4_not_modified_renews_the_value_that_is_there() {
    let cache = rows("not-modified", Ttl::fresh_for(ms(1_000))).build().unwrap();
    let first = read(&cache, Loaded::value(1).validator("e1").version(3)).await.unwrap().unwrap();
    tokio::time::advance(ms(5_000)).await;
    let load = |cx: herdcache::LoadContext<u64, u64>| async move {
        assert_eq!(
            (cx.previous().map(|value| **value), cx.validator(), cx.previous_version()),
            (Some(1), Some("e1"), Some(3))
        );
        Ok(Loaded::not_modified())
    };
    let second = cache.get_with(&7, load).await.unwrap().unwrap();
    assert_eq!((*second, Answer::outcome(&second), Answer::age(&second)), (1, Outcome::Loaded, ms(0)));
    assert!(Arc::ptr_eq(&Answer::into_value(first), &Answer::into_value(second)), "the value itself stays");
    tokio::time::advance(ms(999)).await;
    let third = read(&cache, Loaded::value(9)).await.unwrap().unwrap();
    assert_eq!((*third, Answer::outcome(&third), Answer::age(&third)), (1, Outcome::Hit, ms(999)));
    // What it could be checked by stays as well.
    tokio::time::advance(ms(1)).await;
    let load = |cx: herdcache::LoadContext<u64, u64>| async move {
        assert_eq!((cx.validator(), cx.previous_version()), (Some("e1"), Some(3)));
        Ok(Loaded::value(2))
    };
    assert_eq!(value(cache.get_with(&7, load).await), 2);
    let snapshot = cache.snapshot();
    assert_eq!((snapshot.flights[FlightEnd::NotModified], snapshot.flights[FlightEnd::Loaded]), (1, 2));
    assert_eq!(snapshot.origin_results[OriginResult::NotModified], 1);
    assert_quiet(&snapshot);
}

/// A4: a refresh that is not modified counts as one, and its waiters are coalesced.
#[tokio::test(start_paused = true)]
async fn a4_a_refresh_may_be_not_modified() {
    let cache = rows("refresh-304", TTL).build().unwrap();
    read(&cache, Loaded::value(1)).await.unwrap();
    tokio::time::advance(ms(1_500)).await;
    assert_eq!(outcome(&read(&cache, Loaded::not_modified()).await), Some(Outcome::Stale));
    tokio::time::sleep(ms(1)).await;
    assert_eq!(outcome(&read(&cache, Loaded::value(9)).await), Some(Outcome::Hit));
    assert_eq!(cache.snapshot().refreshes[RefreshResult::NotModified], 1);
}

/// A4: without a value to confirm the answer is a breach, which cools like any failure; an invalidated value is none.
#[tokio::test(start_paused = true)]
async fn a4_not_modified_without_a_value_is_a_breach() {
    let cache = rows("no-previous", TTL).build().unwrap();
    for _ in 0..2 {
        let load = |cx: herdcache::LoadContext<u64, u64>| async move {
            assert!(cx.previous().is_none());
            Ok(Loaded::not_modified())
        };
        let got = cache.get_with(&7, load).await;
        assert!(matches!(got, Err(GetError::Failed(Failure::Contract { .. }))), "{got:?}");
        let got = read(&cache, Loaded::value(1)).await;
        assert!(matches!(got, Err(GetError::Cooling { last: Failure::Contract { .. }, .. })), "{got:?}");
        cache.insert(7, 5);
        cache.invalidate(&7);
    }
    assert_eq!(cache.snapshot().flights[FlightEnd::Failed], 2);
    assert_quiet(&cache.snapshot());
}

/// L5: a value that is confirmed by a load which an invalidation overtook is answered to its callers and not stored.
#[tokio::test(start_paused = true)]
async fn l5_a_confirmation_that_an_invalidation_overtook_is_not_stored() {
    let cache = rows("late-304", Ttl::fresh_for(ms(1_000))).build().unwrap();
    read(&cache, Loaded::value(1)).await.unwrap();
    tokio::time::advance(ms(2_000)).await;
    let slow = |_| async {
        tokio::time::sleep(ms(100)).await;
        Ok(Loaded::not_modified())
    };
    let caller = tokio::spawn({
        let cache = cache.clone();
        async move { cache.get_with(&7, slow).await }
    });
    tokio::time::sleep(ms(50)).await;
    cache.invalidate(&7);
    assert_eq!(value(caller.await.unwrap()), 1);
    assert!(cache.peek(&7).is_none());
    assert_eq!(cache.snapshot().discards[DiscardReason::Invalidated], 1);
    assert_eq!(cache.snapshot().flights[FlightEnd::Discarded], 1);
}

/// A4, F1: the age at the source counts from the start, and moves every bound.
#[tokio::test(start_paused = true)]
async fn f1_age_at_the_source_counts() {
    let cache = rows("replica", TTL).build().unwrap();
    let first = read(&cache, Loaded::value(1).source_age(ms(400))).await.unwrap().unwrap();
    assert_eq!(Answer::age(&first), ms(400));
    tokio::time::advance(ms(599)).await;
    assert_eq!(outcome(&read(&cache, Loaded::value(2)).await), Some(Outcome::Hit));
    tokio::time::advance(ms(1)).await;
    assert_eq!(outcome(&read(&cache, Loaded::value(2)).await), Some(Outcome::Stale));
}

/// R1: a value that is stale when it arrives is refreshed no sooner than the cooling base (100 ms) after that.
#[tokio::test(start_paused = true)]
async fn r1_a_lagging_replica_is_not_asked_in_a_loop() {
    let cache = rows("lagging", TTL).build().unwrap();
    for _ in 0..1_000 {
        let got = read(&cache, Loaded::value(1).source_age(ms(1_200))).await;
        assert!(matches!(outcome(&got), Some(Outcome::Loaded | Outcome::Stale)), "{got:?}");
        tokio::time::sleep(ms(1)).await;
    }
    // One load, and a refresh each 100 ms or a little more.
    assert!((9..=11).contains(&cache.snapshot().origin_calls), "{}", cache.snapshot().origin_calls);
}

/// A4, L4: what is too old on arrival answers its callers and is not kept.
#[tokio::test(start_paused = true)]
async fn l4_a_value_past_its_last_bound_on_arrival_is_not_stored() {
    let cache = rows("ancient", TTL).build().unwrap();
    assert_eq!(value(read(&cache, Loaded::value(1).source_age(ms(2_000))).await), 1);
    assert!(cache.peek(&7).is_none());
    let snapshot = cache.snapshot();
    assert_eq!((snapshot.discards[DiscardReason::TooOld], snapshot.flights[FlightEnd::Discarded]), (1, 1));
    // Saturating: older than the clock itself.
    assert_eq!(value(read(&cache, Loaded::value(2).source_age(std::time::Duration::MAX)).await), 2);
    assert!(cache.peek(&7).is_none());
}

/// A4, L5: an older version is never stored over a newer one that may still be answered, whoever brings it.
#[tokio::test(start_paused = true)]
async fn l5_an_older_version_never_replaces_a_newer_one() {
    let cache = rows("versions", TTL).build().unwrap();
    cache.insert(7, Loaded::value(20).version(2));
    // Out of order: an event of an older change comes late.
    cache.insert(7, Loaded::value(10).version(1));
    assert_eq!(cache.peek(&7).map(|answer| *answer), Some(20));
    // A refresh reads a replica that lags behind; readers keep the newer value.
    tokio::time::advance(ms(1_500)).await;
    for _ in 0..50 {
        let got = read(&cache, Loaded::value(10).version(1)).await;
        assert_eq!((outcome(&got), value(got)), (Some(Outcome::Stale), 20));
        tokio::time::sleep(ms(1)).await;
    }
    let snapshot = cache.snapshot();
    assert_eq!((snapshot.discards[DiscardReason::OlderVersion], snapshot.origin_calls), (2, 1));
    assert_eq!(snapshot.refreshes[RefreshResult::Discarded], 1);
    // The same version, and newer ones, are stored.
    cache.insert(7, Loaded::value(21).version(2));
    assert_eq!(cache.peek(&7).map(|answer| *answer), Some(21));
    // Once the newer value may no longer be answered, the source's word is taken again.
    tokio::time::advance(ms(2_000)).await;
    assert_eq!(value(read(&cache, Loaded::value(10).version(1)).await), 10);
    assert_eq!(cache.peek(&7).map(|answer| *answer), Some(10));
    // A value without a version is taken as it comes.
    cache.insert(7, 5);
    assert_eq!(cache.peek(&7).map(|answer| *answer), Some(5));
}

/// A4: what is not to be stored is not stored, whatever else is said of it.
#[tokio::test(start_paused = true)]
async fn a4_do_not_store_wins() {
    let cache = rows("secret", TTL).build().unwrap();
    let got = read(&cache, Loaded::value(1).version(1).tags(["a"]).do_not_store()).await;
    assert_eq!(value(got), 1);
    assert!(cache.peek(&7).is_none());
    assert_eq!(cache.snapshot().discards[DiscardReason::DoNotStore], 1);
}
