//! P1: the feed inside the application's own server, an axum one.
#![cfg(unix)]
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "the helpers are tests too")]

#[path = "support/fake.rs"]
#[expect(dead_code, reason = "these tests keep its mood good")]
mod fake;
#[path = "support/room.rs"]
#[expect(dead_code, reason = "these tests need one publisher only that listens")]
mod room;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use fake::Fake;
use herdfeed::client::{AttachError, StreamOptions, attach, fetch};
use herdfeed::server::{Batch, Guard, Limits, Listen, Mount, Publisher, Source};
use herdfeed::{Address, Hello, Line, Snapshot, Token};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

const SECRET: &str = "0f6b3c1d9a8e47528c1f0a9b7d6e5c43";
const LONG: Duration = Duration::from_secs(20);

/// A publisher that listens nowhere, and its source.
fn nowhere() -> (Arc<Fake>, Publisher) {
    let fake = Arc::new(Fake::new(100, 0));
    let publisher = Publisher::start(Listen::Nowhere, Arc::clone(&fake) as Arc<dyn Source>).unwrap();
    assert_eq!(publisher.address(), None);
    (fake, publisher)
}

/// An application that serves `routes`.
async fn application(routes: Router) -> Address {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move { axum::serve(listener, routes).await });
    Address::Tcp { host: "127.0.0.1".into(), port }
}

fn at_herd(mount: Mount) -> Router {
    Router::new().nest_service("/herd", mount)
}

fn options(token: Option<&str>) -> StreamOptions {
    StreamOptions { hz: 20.0, token: token.map(|text| Token::new(text).unwrap()), ..StreamOptions::default() }
}

/// The whole answer to a request, its connection closed.
async fn ask(address: &Address, line: &str, headers: &str) -> String {
    let Address::Tcp { host, port } = address else { panic!("no TCP: {address}") };
    let mut stream = TcpStream::connect((host.as_str(), *port)).await.unwrap();
    let head = format!("{line} HTTP/1.1\r\n{headers}connection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut told = String::new();
    timeout(LONG, stream.read_to_string(&mut told)).await.expect("it answers").unwrap();
    told
}

fn status(told: &str) -> &str {
    told.get(9..12).unwrap_or_default()
}

#[tokio::test]
async fn a_reader_streams_from_the_applications_server_until_the_feed_ends() {
    let (fake, publisher) = nowhere();
    fake.happen(3);
    let address = application(at_herd(publisher.mount(Guard::Application))).await;
    let mut lines = attach(&address, &options(None)).await.unwrap();
    assert!(matches!(lines.next().await.unwrap(), Some(Line::Hello(hello)) if hello.process.service == "api"));
    let (mut events, mut snapshots) = (Vec::new(), 0);
    while snapshots < 3 {
        match lines.next().await.unwrap().expect("the stream goes on") {
            Line::Events { events: told } => events.extend(told.iter().map(|event| event.seq)),
            Line::Snap { .. } => snapshots += 1,
            Line::Past(_) => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(events, [0, 1, 2]);
    let (_, snapshot) = fetch(&address, None).await.unwrap();
    assert_eq!(snapshot.caches[0].name, "users");
    assert_eq!(publisher.stats().subscribers, 1);

    drop(publisher);
    let last = loop {
        match lines.next().await.unwrap() {
            Some(Line::Bye { why }) => break why,
            Some(_) => {}
            None => panic!("it ended without a word"),
        }
    };
    assert_eq!(last, "shutdown");
    let Err(AttachError::Http { status: 503, message, .. }) = fetch(&address, None).await else {
        panic!("the feed is gone")
    };
    assert_eq!(message, "the feed has stopped");
}

#[tokio::test]
async fn a_mount_answers_under_a_router_that_leaves_the_path_whole() {
    let (_fake, publisher) = nowhere();
    let address = application(Router::new().fallback_service(publisher.mount(Guard::Application))).await;
    fetch(&address, None).await.unwrap();
    for (path, code) in [("/herd/v1/hello", "200"), ("/herd/v2/hello", "404"), ("/herd/herd/v1/hello", "404")] {
        assert_eq!(status(&ask(&address, &format!("GET {path}"), "host: shop.example\r\n").await), code, "{path}");
    }
    // Within another folder it is for readers that know of it.
    let address = application(Router::new().nest_service("/internal", publisher.mount(Guard::Application))).await;
    assert_eq!(status(&ask(&address, "GET /internal/herd/v1/hello", "host: shop.example\r\n").await), "200");
}

#[tokio::test]
async fn p1_a_mounted_feed_is_read_only_and_refuses_web_pages() {
    let (_fake, publisher) = nowhere();
    let address = application(at_herd(publisher.mount(Guard::Application))).await;
    for (line, headers, code) in [
        ("GET /herd/v1/hello", "host: shop.example\r\n", "200"),
        ("GET /herd/v1/hello", "host: shop.example\r\norigin: https://shop.example\r\n", "403"),
        ("POST /herd/v1/hello", "host: shop.example\r\ncontent-length: 0\r\n", "405"),
        ("DELETE /herd/v1/stream", "host: shop.example\r\n", "405"),
        ("GET /herd/v1/stream?hz=fast", "host: shop.example\r\n", "400"),
    ] {
        let told = ask(&address, line, headers).await;
        assert_eq!(status(&told), code, "{line}: {told}");
        assert!(!told.to_lowercase().contains("access-control"), "{told}");
    }
    assert_eq!(publisher.stats().refused, 4);
}

#[tokio::test]
async fn p1_a_guard_with_a_token_turns_strangers_away_without_detail() {
    let (_fake, publisher) = nowhere();
    let guard = Guard::Token(Token::new(SECRET).unwrap());
    let mount = publisher.mount(guard.clone());
    // P3: neither the guard nor what it guards shows the secret.
    assert!(!format!("{guard:?} {mount:?}").contains(SECRET));
    let address = application(at_herd(mount)).await;
    attach(&address, &options(Some(SECRET))).await.unwrap();
    for token in [None, Some("0123456789012345678901")] {
        let Err(AttachError::Http { status: 401, message, .. }) = attach(&address, &options(token)).await else {
            panic!("a stranger got in")
        };
        assert_eq!(message, "unauthorized");
    }
    assert_eq!(publisher.stats().refused, 2);
    // A stranger does not learn that there is no feed either.
    let address = application(at_herd(Mount::off(guard))).await;
    assert_eq!(status(&ask(&address, "GET /herd/v1/hello", "host: x\r\n").await), "401");
    let told = ask(&address, "GET /herd/v1/hello", &format!("host: x\r\nauthorization: Bearer {SECRET}\r\n")).await;
    assert_eq!(status(&told), "404");
    assert!(told.contains("HERDCACHE_FEED=off"), "{told}");
}

/// A source that tells on which thread it was asked, and takes its time.
struct Slow(Fake);

impl Source for Slow {
    fn hello(&self) -> Hello {
        Hello { lib: std::thread::current().name().unwrap_or_default().into(), ..self.0.hello() }
    }

    fn snapshot(&self) -> Snapshot {
        self.0.snapshot()
    }

    fn events(&self, since: u64, most: usize) -> Batch {
        self.0.events(since, most)
    }
}

#[tokio::test]
async fn p1_the_applications_threads_never_read_the_account_and_requests_are_bounded() {
    let limits = Limits { connections: 0, subscribers: 1, ..Limits::default() };
    let slow = || Arc::new(Slow(Fake::new(10, 0)));
    let publisher = Publisher::start(Listen::Nowhere, slow()).unwrap();
    let address = application(at_herd(publisher.mount(Guard::Application))).await;
    assert_eq!(fetch(&address, None).await.unwrap().0.lib, "herdfeed");

    let publisher = Publisher::start_within(Listen::Nowhere, slow(), limits).unwrap();
    let address = application(at_herd(publisher.mount(Guard::Application))).await;
    let told = ask(&address, "GET /herd/v1/hello", "host: x\r\n").await;
    assert_eq!(
        (status(&told), told.contains("retry-after: 1"), told.contains("too many requests")),
        ("503", true, true)
    );
}

#[tokio::test]
async fn p1_mount_and_socket_share_their_seats() {
    let limits = Limits { subscribers: 1, ..Limits::default() };
    let publisher = Publisher::start_within(room::loopback(None), Arc::new(Fake::new(10, 0)), limits).unwrap();
    let address = application(at_herd(publisher.mount(Guard::Application))).await;
    let _seated = attach(room::at(&publisher), &options(None)).await.unwrap();
    let Err(AttachError::Http { status: 503, message, .. }) = attach(&address, &options(None)).await else {
        panic!("there was no second seat")
    };
    assert!(message.contains("every stream is taken"), "{message}");
}
