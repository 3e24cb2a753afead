//! What the shop answers, and to whom.

use herdfeed::{Outcome, ProtectionLevel};
use shop::Protection;
use shop::stats::QueryKind;

use crate::support::Running;

#[tokio::test(flavor = "multi_thread")]
async fn a_product_tells_its_outcome_and_age() {
    let shop = Running::start(|_| {}).await;
    let first = shop.get("/products/77?tenant=acme").await;
    assert_eq!((first.status, first.outcome.as_deref(), first.age), (200, Some("loaded"), Some(0)));
    assert_eq!(first.json["name"], "Chair 77");
    let again = shop.get("/products/77?tenant=acme&locale=en-GB&tier=standard&audience=public").await;
    assert_eq!((again.status, again.outcome.as_deref()), (200, Some("hit")), "defaults are part of the key");
    assert_eq!(again.json, first.json);
    assert_eq!(shop.stats().queries[QueryKind::Ordinary], 1);
    shop.stop().await;
}

/// N1: "there is none" is an answer, and it is cached.
#[tokio::test(flavor = "multi_thread")]
async fn n1_what_does_not_exist_is_404_and_asked_for_once() {
    let shop = Running::start(|_| {}).await;
    for _ in 0..2 {
        let reply = shop.get("/products/4000000000?tenant=acme").await;
        assert_eq!((reply.status, reply.outcome.as_deref()), (404, Some("absent")));
    }
    assert_eq!(shop.stats().queries[QueryKind::Ordinary], 1);
    assert_eq!(shop.products.snapshot().outcomes[Outcome::Negative], 1);
    for path in ["/orders/4000000000", "/no/such/page"] {
        assert_eq!(shop.get(path).await.status, 404, "{path}");
    }
    assert_eq!(shop.set_price(4_000_000_000, r#"{"price_cents": 5}"#).await.status, 404);
    shop.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_input_is_400_and_says_what_would_be_right() {
    let shop = Running::start(|_| {}).await;
    for (path, says) in [
        ("/products/x?tenant=acme", "from 1 to"),
        ("/products/0?tenant=acme", "from 1 to"),
        ("/products/99999999999?tenant=acme", "from 1 to"),
        ("/products/7", "tenant"),
        ("/products/7?tenant=", "acme"),
        ("/products/7?tenant=umbrella", "acme"),
        ("/products/7?tenant=acme&tier=free", "gold"),
        ("/products/7?tenant=acme&locale=xx", "en-GB"),
        ("/products/7?tenant=acme&audience=all", "staff"),
        ("/products/7?tenant=acme&tennant=globex", "tennant"),
        ("/products/7?tenant=%1B%5B2J", "\\u{1b}[2J"),
        ("/orders/x", "from 1 to"),
    ] {
        let reply = shop.get(path).await;
        assert_eq!(reply.status, 400, "{path}");
        assert!(reply.error().contains(says), "{path}: {}", reply.error());
    }
    for body in ["", "{", "{}", r#"{"price_cents": 0}"#, r#"{"price_cents": -1}"#, r#"{"price_cents": 1, "x": 2}"#] {
        assert_eq!(shop.set_price(7, body).await.status, 400, "{body}");
    }
    assert_eq!(shop.set_price(7, r#"{"price_cents": 100000001}"#).await.status, 400);
    let stats = shop.stats();
    assert_eq!((stats.queries.total(), stats.outcomes.total()), (0, 0), "nothing of it got further than the parser");
    shop.stop().await;
}

/// W1: a reader that comes after the invalidation sees the new price, also in a bundle that holds the product.
#[tokio::test(flavor = "multi_thread")]
async fn w1_a_new_price_is_seen_by_the_next_reader() {
    let shop = Running::start(|_| {}).await;
    let (part, bundle) = ("/products/6?tenant=globex&tier=gold", "/products/1?tenant=globex");
    let old = shop.get(part).await.number("/price_cents");
    let old_parts = shop.get(bundle).await.number("/parts/list_cents");
    assert_eq!(shop.get(part).await.outcome.as_deref(), Some("hit"));

    let changed = shop.set_price(6, r#"{"price_cents": 50000}"#).await;
    assert_eq!((changed.status, changed.json["invalidated"].to_string()), (200, "[6,1]".to_owned()));

    let new = shop.get(part).await;
    // Globex asks 120 %, gold pays 90 % of that.
    assert_eq!((new.outcome.as_deref(), new.number("/price_cents")), (Some("loaded"), 54_000));
    assert_ne!(old, 54_000);
    let list_of_part = 1_000 + 6 * 37;
    assert_eq!(shop.get(bundle).await.number("/parts/list_cents"), old_parts - list_of_part + 50_000);
    shop.stop().await;
}

/// K1, L8: whatever differs in the key differs in the answer, also when all are asked at once.
#[tokio::test(flavor = "multi_thread")]
async fn l8_tenants_tiers_and_audiences_never_share_an_answer() {
    let shop = Running::start(|settings| settings.queue = Some(200)).await;
    let list = 1_000 + 9 * 37;
    let mut asked = tokio::task::JoinSet::new();
    for _ in 0..3 {
        for (tenant, percent) in [("acme", 100), ("globex", 120), ("initech", 90)] {
            for (tier, paid) in [("standard", 100), ("silver", 95), ("gold", 90)] {
                for audience in ["public", "staff"] {
                    let addr = shop.addr;
                    asked.spawn(async move {
                        let path = format!("/products/9?tenant={tenant}&tier={tier}&audience={audience}");
                        let reply = crate::support::get(addr, &path).await;
                        assert_eq!(reply.status, 200, "{reply:?}");
                        assert_eq!(reply.json["tenant"], tenant);
                        assert_eq!(reply.number("/price_cents"), list * percent * paid / 10_000);
                        assert_eq!(reply.json["cost_cents"].is_u64(), audience == "staff", "{reply:?}");
                    });
                }
            }
        }
    }
    while let Some(result) = asked.join_next().await {
        result.unwrap();
    }
    assert_eq!(shop.stats().queries[QueryKind::Ordinary], 18, "each of the 18 keys was loaded once");
    shop.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn o1_health_tells_how_far_protection_reaches() {
    let shop = Running::start(|settings| settings.permits = Some(3)).await;
    let health = shop.health().await;
    assert_eq!((health.protection, health.off.len()), (Some(ProtectionLevel::Process), 0));
    assert_eq!((health.gate_limit, health.queue_limit, health.gate_used, health.queued), (3, 12, 0, 0));
    shop.stop().await;

    let bare = Running::start(|settings| settings.protection = Protection::Off).await;
    let health = bare.health().await;
    assert_eq!(health.protection, Some(ProtectionLevel::Observe));
    assert!(!health.off.is_empty(), "it names what is off");
    bare.stop().await;
}
