//! A herd that arrives as HTTP requests.

use std::net::SocketAddr;
use std::time::Duration;

use herdcache::{Gate, LoadContext, Outcome};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::support::{Count, DbError, FAILS, Products, SECRET, app, ask, builder, load, ms};

const HERD: u64 = 200;

/// A longest wait for what should happen at once; reached only on failure.
const PATIENCE: Duration = Duration::from_secs(30);

/// A7, L2: 200 requests for one cold key are one load.
#[tokio::test(start_paused = true)]
async fn a7_a_herd_of_requests_is_one_load() {
    let calls = Count::default();
    let counted = calls.clone();
    let slow = move |_: LoadContext<u64, String>| {
        counted.add();
        async {
            tokio::time::sleep(ms(100)).await;
            Ok::<_, DbError>("hot".to_owned())
        }
    };
    let products = builder(&Gate::new(8)).build_over(slow).unwrap();
    let mut herd = JoinSet::new();
    for _ in 0..HERD {
        let products = products.clone();
        herd.spawn(async move { ask(&products, 7).await });
    }
    while let Some(reply) = herd.join_next().await {
        let reply = reply.unwrap();
        assert_eq!((reply.status, reply.body.as_str(), reply.header("age")), (200, "\"hot\"", Some("0")));
    }
    assert_eq!(calls.get(), 1);
    let outcomes = products.snapshot().outcomes;
    assert_eq!((outcomes[Outcome::Loaded], outcomes[Outcome::Coalesced]), (1, HERD - 1));
}

/// Serves the products on a port of this machine until the test ends.
async fn serve(products: &Products) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, app) = (listener.local_addr().unwrap(), app(products));
    tokio::spawn(async move { axum::serve(listener, app).await });
    address
}

/// Status line, head and body as they come over the wire.
async fn over_tcp(address: SocketAddr, id: u64) -> (String, String) {
    let exchange = async {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!("GET /products/{id} HTTP/1.1\r\nhost: shop\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        text
    };
    let text = tokio::time::timeout(PATIENCE, exchange).await.expect("an answer in time");
    let (head, body) = text.split_once("\r\n\r\n").expect("a head and a body");
    (head.to_ascii_lowercase(), body.to_owned())
}

/// A7, L2: the same over 200 connections. The load ends only when all of them wait for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a7_a_herd_over_tcp_is_one_load() {
    let calls = Count::default();
    let (open, opened) = watch::channel(());
    let counted = calls.clone();
    let gated = move |_: LoadContext<u64, String>| {
        counted.add();
        let mut opened = opened.clone();
        async move {
            opened.changed().await.map_err(|_| DbError)?;
            Ok::<_, DbError>("hot".to_owned())
        }
    };
    let limit = PATIENCE * 2;
    let products = builder(&Gate::new(8)).origin_timeout(limit).flight_deadline(limit).build_over(gated).unwrap();
    let address = serve(&products).await;
    let mut herd = JoinSet::new();
    for _ in 0..HERD {
        herd.spawn(over_tcp(address, 7));
    }
    let all_wait = async {
        while products.snapshot().active < HERD {
            tokio::time::sleep(ms(2)).await;
        }
    };
    tokio::time::timeout(PATIENCE, all_wait).await.expect("all of them wait");
    open.send(()).unwrap();
    while let Some(reply) = herd.join_next().await {
        let reply = reply.unwrap();
        assert!(reply.0.starts_with("http/1.1 200 ok\r\n"), "{reply:?}");
        assert_eq!(reply.1, "\"hot\"");
    }
    assert_eq!(calls.get(), 1);
    let outcomes = products.snapshot().outcomes;
    assert_eq!((outcomes[Outcome::Loaded], outcomes[Outcome::Coalesced]), (1, HERD - 1));
}

/// A7, P3: refusals as they stand on the wire.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a7_p3_refusals_over_tcp() {
    // Cooling lasts longer than this test can.
    let minute = ms(60_000);
    let products = builder(&Gate::new(8)).cooling(minute, minute).build_over(load).unwrap();
    let address = serve(&products).await;
    let failed = over_tcp(address, FAILS).await;
    assert!(failed.0.starts_with("http/1.1 502 bad gateway\r\n"), "{failed:?}");
    let cooling = over_tcp(address, FAILS).await;
    assert!(cooling.0.starts_with("http/1.1 503 service unavailable\r\n"), "{cooling:?}");
    assert!(cooling.0.contains("\r\ncontent-type: application/problem+json\r\n"), "{cooling:?}");
    let after = cooling.0.lines().find_map(|line| line.strip_prefix("retry-after: ")).expect("a time to come back");
    assert!((20..=90).contains(&after.parse::<u64>().unwrap()), "{after}");
    for (head, body) in [&failed, &cooling] {
        assert!(!head.contains(SECRET) && !body.contains(SECRET), "{head} {body}");
    }
    products.shutdown(ms(10)).await;
    let closed = over_tcp(address, 1).await;
    assert!(closed.0.starts_with("http/1.1 503 ") && !closed.0.contains("retry-after"), "{closed:?}");
}
