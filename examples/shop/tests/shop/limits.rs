//! Where the shop says no: permits, connections, deadlines, and the end.

use std::time::Duration;

use herdfeed::Outcome;
use shop::{Settings, Shop, StartError};
use tempfile::TempDir;

use crate::support::{Running, get, small};

/// G1: a load beyond permits and queue is refused at once, with a time to come back.
#[tokio::test(flavor = "multi_thread")]
async fn g1_a_rejected_load_is_503_with_retry_after() {
    let shop = Running::start(|settings| {
        settings.permits = Some(1);
        settings.queue = Some(0);
    })
    .await;
    let addr = shop.addr;
    let slow = tokio::spawn(async move { get(addr, "/products/2?tenant=acme").await });
    shop.until("the bundle has the permit", |shop| shop.products.snapshot().origin_active == 1).await;

    let refused = shop.get("/products/77?tenant=acme").await;
    assert_eq!((refused.status, refused.outcome.as_deref()), (503, Some("rejected")));
    assert!(refused.retry_after >= Some(1), "{refused:?}");
    assert!(refused.error().contains("queue_full"), "{refused:?}");

    assert_eq!(slow.await.unwrap().status, 200);
    shop.until_idle().await;
    assert_eq!(shop.get("/products/77?tenant=acme").await.status, 200);
    assert_eq!(shop.stats().outcomes[Outcome::Rejected], 1);
    shop.stop().await;
}

/// G6: permits are fewer than connections, so orders are answered while every permit is out.
#[tokio::test(flavor = "multi_thread")]
async fn g6_loads_leave_connections_to_other_queries() {
    let shop = Running::start(|settings| settings.connections = 4).await;
    let addr = shop.addr;
    let herd: Vec<_> = (1..=4)
        .map(|id| tokio::spawn(async move { get(addr, &format!("/products/{id}?tenant=acme")).await.status }))
        .collect();
    shop.until("both permits are out", |shop| shop.products.snapshot().origin_active == 2).await;
    let order = shop.get("/orders/3").await;
    assert_eq!((order.status, order.number("/id")), (200, 3));
    for bundle in herd {
        // Those that queue may be rejected on a slow machine; none may take a third connection.
        assert!(matches!(bundle.await.unwrap(), 200 | 503));
    }
    let pool = shop.stats().pool;
    assert_eq!((pool.wait_timeouts, pool.waits), (0, 0), "{pool:?}");
    assert!((2..=3).contains(&pool.peak), "{pool:?}");
    shop.stop().await;
}

/// Without that margin the bystander pays: this is what an empty pool looks like.
#[tokio::test(flavor = "multi_thread")]
async fn an_empty_pool_refuses_orders_with_503() {
    let shop = Running::start(|settings| {
        settings.connections = 1;
        settings.permits = Some(1);
        settings.acquire_timeout = Duration::from_millis(20);
    })
    .await;
    let addr = shop.addr;
    let slow = tokio::spawn(async move { get(addr, "/products/2?tenant=acme").await });
    shop.until("the only connection is out", |shop| shop.stats().pool.in_use == 1).await;
    let refused = shop.get("/orders/3").await;
    assert_eq!((refused.status, refused.retry_after), (503, Some(1)));
    assert_eq!(slow.await.unwrap().status, 200);
    shop.until_idle().await;
    assert_eq!(shop.get("/orders/3").await.status, 200);
    assert_eq!(shop.stats().pool.wait_timeouts, 1);
    shop.stop().await;
}

/// A4: the driver stops the query at the load's deadline, and the connection comes back.
#[tokio::test(flavor = "multi_thread")]
async fn a4_a_query_stops_at_the_deadline_and_returns_its_connection() {
    let shop = Running::start(|settings| {
        settings.connections = 1;
        settings.permits = Some(1);
        settings.origin_timeout = Duration::from_millis(200);
    })
    .await;
    let reply = shop.get("/products/2?tenant=acme").await;
    assert_eq!((reply.status, reply.outcome.as_deref()), (502, Some("failed")));
    shop.until_idle().await;
    let stats = shop.stats();
    assert_eq!((stats.interrupted, stats.pool.in_use), (1, 0), "the query did not run to its end");
    // The only connection works, and the only permit is back.
    assert_eq!(shop.get("/orders/3").await.status, 200);
    assert_eq!(shop.get("/products/77?tenant=acme").await.status, 200);
    assert_eq!(shop.products.snapshot().origin_abandoned, 0);
    shop.stop().await;
}

/// X1: a request in progress is answered, later ones are not accepted, all connections come back.
#[tokio::test(flavor = "multi_thread")]
async fn x1_the_shop_ends_in_order() {
    let shop = Running::start(|_| {}).await;
    let (addr, products) = (shop.addr, shop.products.clone());
    let slow = tokio::spawn(async move { get(addr, "/products/2?tenant=acme").await });
    shop.until("the bundle is being loaded", |shop| shop.products.snapshot().origin_active == 1).await;
    shop.stop().await;
    assert_eq!(slow.await.unwrap().status, 200, "it was in progress when the shop was told to stop");
    assert!(tokio::net::TcpStream::connect(addr).await.is_err(), "nobody listens");
    let cache = products.snapshot();
    assert_eq!((cache.active, cache.flights_active, cache.origin_active), (0, 0, 0), "L6");
    let key = shop::product::ProductKey::variants(77).next().unwrap();
    let closed = products.get(&key).await.unwrap_err();
    assert_eq!(closed.outcome(), Outcome::Closed);
}

async fn start_error(change: impl FnOnce(&mut Settings)) -> StartError {
    let folder = TempDir::new().unwrap();
    let mut settings = small(&folder);
    change(&mut settings);
    Shop::bind(settings).await.err().expect("these settings are refused")
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_that_cannot_work_are_refused_with_a_remedy() {
    let none = start_error(|settings| settings.connections = 0).await;
    assert!(none.to_string().contains("--connections"), "{none}");
    let many = start_error(|settings| settings.permits = Some(11)).await;
    assert!(many.to_string().contains("lower --permits"), "{many}");
    let few = start_error(|settings| settings.products = 3).await;
    assert!(few.to_string().contains("--products"), "{few}");
    let permits = start_error(|settings| settings.permits = Some(0)).await;
    assert!(matches!(permits, StartError::Config(_)), "{permits}");
    let taken = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = taken.local_addr().unwrap();
    let port = start_error(|settings| settings.addr = addr).await;
    assert!(port.to_string().contains("--addr"), "{port}");
}
