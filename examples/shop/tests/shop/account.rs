//! The cache's account against the shop's own counts.

use herdfeed::{ClosedSet, Outcome};
use shop::Protection;
use shop::stats::QueryKind;
use tokio::task::JoinSet;

use crate::support::{Running, get};

async fn ask_together(shop: &Running, path: &'static str, callers: usize) {
    let mut asked = JoinSet::new();
    for _ in 0..callers {
        let addr = shop.addr;
        asked.spawn(async move { get(addr, path).await.status });
    }
    while let Some(status) = asked.join_next().await {
        assert_eq!(status.unwrap(), 200);
    }
}

/// L2: fifty callers of one cold bundle cost the database one query.
#[tokio::test(flavor = "multi_thread")]
async fn l2_a_herd_on_a_cold_bundle_is_one_query() {
    let shop = Running::start(|_| {}).await;
    ask_together(&shop, "/products/1?tenant=acme", 50).await;
    let stats = shop.stats();
    assert_eq!(stats.queries[QueryKind::Bundle], 1);
    assert_eq!(stats.outcomes[Outcome::Loaded], 1);
    // A caller that comes after the landing is a hit; nobody is anything else.
    assert_eq!(stats.outcomes[Outcome::Coalesced] + stats.outcomes[Outcome::Hit], 49);
    assert!(stats.outcomes[Outcome::Coalesced] > 0);
    shop.stop().await;
}

/// O1: without protection the same herd empties the pool.
#[tokio::test(flavor = "multi_thread")]
async fn o1_without_protection_a_herd_reaches_the_database() {
    let shop = Running::start(|settings| {
        settings.protection = Protection::Off;
        settings.connections = 4;
    })
    .await;
    ask_together(&shop, "/products/1?tenant=acme", 8).await;
    let stats = shop.stats();
    assert!(stats.queries[QueryKind::Bundle] > 1, "{} queries", stats.queries[QueryKind::Bundle]);
    assert_eq!(stats.queries[QueryKind::Bundle], shop.products.snapshot().origin_calls);
    shop.stop().await;
}

/// L1: at rest the two accounts agree to the unit, whatever happened.
#[tokio::test(flavor = "multi_thread")]
async fn l1_at_rest_both_accounts_agree() {
    let shop = Running::start(|settings| {
        settings.permits = Some(1);
        settings.queue = Some(0);
    })
    .await;
    // Loads, coalesced waits and rejections, in whatever mix the scheduler makes of them.
    let mut asked = JoinSet::new();
    for n in 0..120_u32 {
        let addr = shop.addr;
        asked.spawn(async move { get(addr, &format!("/products/{}?tenant=acme", 1 + n % 12)).await });
    }
    let mut answered = 0;
    while let Some(reply) = asked.join_next().await {
        let reply = reply.unwrap();
        assert!(matches!(reply.status, 200 | 503), "{reply:?}");
        answered += 1;
    }
    assert_eq!(answered, 120);
    // A product that does not exist, twice: one load and one negative entry.
    for _ in 0..2 {
        assert_eq!(shop.get("/products/900000?tenant=acme").await.status, 404);
    }
    // A client that goes away while its bundle is being loaded.
    let addr = shop.addr;
    let impatient = tokio::spawn(async move { get(addr, "/products/5?tenant=initech").await });
    shop.until("a load begins", |shop| shop.products.snapshot().origin_active == 1).await;
    impatient.abort();
    shop.until_idle().await;

    let (cache, stats) = (shop.products.snapshot(), shop.stats());
    assert_eq!(cache.begun, 123);
    assert_eq!(cache.outcomes[Outcome::Cancelled], 1);
    // An absent answer carries no outcome, so the shop cannot tell the one load from the one negative hit.
    assert_eq!(stats.absent, 2);
    assert_eq!(stats.outcomes.total() + stats.absent, cache.begun);
    for outcome in Outcome::all().iter().copied() {
        let absent = match outcome {
            Outcome::Loaded | Outcome::Negative => 1,
            _ => 0,
        };
        assert_eq!(cache.outcomes[outcome], stats.outcomes[outcome] + absent, "{outcome}");
    }
    let queries = stats.queries[QueryKind::Ordinary] + stats.queries[QueryKind::Bundle];
    assert_eq!(cache.origin_calls, queries, "each call of the origin was one query");
    assert_eq!(cache.law_violations, 0);
    shop.stop().await;
}
