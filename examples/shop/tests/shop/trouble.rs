//! Trouble on purpose does what it says, and the account tells it under its own name.

use std::time::Duration;

use herdfeed::{OriginResult, Outcome, RemovalCause, SharedRead};
use shop::Sharing;
use shop::trouble::{SharedTrouble, Trouble};

use crate::support::Running;

/// A failing origin fails queries, and its class is that of the trouble.
#[tokio::test(flavor = "multi_thread")]
async fn a_failing_origin_fails_by_its_own_name() {
    let shop =
        Running::start(|settings| settings.trouble = Trouble { failing_origin: 1.0, ..Trouble::default() }).await;
    let reply = shop.get("/products/77?tenant=acme").await;
    assert_eq!((reply.status, reply.outcome.as_deref()), (502, Some("failed")));
    let cache = shop.products.snapshot();
    assert_eq!(cache.origin_results[OriginResult::Error], 1);
    assert_eq!(cache.origin_errors.get("on_purpose"), Some(&1));
    assert_eq!(shop.stats().queries.total(), 0, "it never came to a query");
    shop.stop().await;
}

/// Trouble that is to come later has not come yet.
#[tokio::test(flavor = "multi_thread")]
async fn trouble_waits_for_its_time() {
    let after = Duration::from_secs(3_600);
    let shop = Running::start(|settings| {
        settings.sharing = Sharing::InMemory;
        settings.trouble =
            Trouble { after, slow_origin: after, failing_origin: 1.0, shared: Some(SharedTrouble::Connection) };
    })
    .await;
    assert_eq!(shop.get("/products/77?tenant=acme").await.status, 200);
    let shared = shop.products.snapshot().shared.unwrap();
    assert_eq!((shared.reads[SharedRead::Miss], shared.connection_errors.total()), (1, 0));
    shop.stop().await;
}

/// A slow origin is stopped at the load's deadline like a slow query.
#[tokio::test(flavor = "multi_thread")]
async fn a_slow_origin_ends_at_its_deadline() {
    let shop = Running::start(|settings| {
        settings.origin_timeout = Duration::from_millis(100);
        settings.trouble = Trouble { slow_origin: Duration::from_secs(3_600), ..Trouble::default() };
    })
    .await;
    assert_eq!(shop.get("/products/77?tenant=acme").await.outcome.as_deref(), Some("failed"));
    shop.until_idle().await;
    assert_eq!(shop.products.snapshot().origin_results[OriginResult::Timeout], 1);
    shop.stop().await;
}

/// T4: a shared tier without a connection is told as such, and nobody but the account notices.
#[tokio::test(flavor = "multi_thread")]
async fn t4_no_connection_to_the_shared_tier_is_no_miss() {
    let shop = Running::start(|settings| {
        settings.sharing = Sharing::InMemory;
        settings.trouble = Trouble { shared: Some(SharedTrouble::Connection), ..Trouble::default() };
    })
    .await;
    let reading = |shop: &Running| shop.products.snapshot().shared.unwrap().reads[SharedRead::ConnectionError];
    // The trouble is made by a task of its own, which may come a moment after the first request.
    for id in 10..60 {
        let reply = shop.get(&format!("/products/{id}?tenant=acme")).await;
        assert_eq!((reply.status, reply.outcome.as_deref()), (200, Some("loaded")));
    }
    assert!(reading(&shop) > 0, "{:?}", shop.products.snapshot().shared);
    assert_eq!(shop.products.snapshot().outcomes[Outcome::Loaded], 50);
    shop.stop().await;
}

/// A small cache evicts, and says so.
#[tokio::test(flavor = "multi_thread")]
async fn a_small_cache_evicts() {
    let shop = Running::start(|settings| settings.capacity = 10).await;
    for id in 10..60 {
        assert_eq!(shop.get(&format!("/products/{id}?tenant=acme")).await.status, 200);
    }
    let cache = shop.products.snapshot();
    assert_eq!((cache.capacity, cache.removals[RemovalCause::Expired]), (10, 0));
    assert!(cache.removals[RemovalCause::Evicted] >= 40, "{:?}", cache.removals);
    shop.stop().await;
}
