//! L6, L7: every public future of the feed, cut at every await: no seat, no connection and no line is lost.
//!
//! The seats are so few that a single one that does not come back locks out whoever comes next.
#![cfg(unix)]
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "the helpers are tests too")]

#[path = "support/fake.rs"]
#[expect(dead_code, reason = "these tests keep its mood good")]
mod fake;
#[path = "support/room.rs"]
#[expect(dead_code, reason = "these tests set their own limits")]
mod room;

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use axum::http::{Request, Response};
use fake::Fake;
use herdfeed::client::{Lines, StreamOptions, attach, fetch};
use herdfeed::server::{Guard, Limits, Listen, MountBody, Publisher, Source};
use herdfeed::{Address, Line};
use hyper::body::Body;
use room::{Room, at};
use tower_service::Service;

/// Far more than anything here takes on a busy machine.
const LONG: Duration = Duration::from_secs(30);
/// No future here takes as many polls, a millisecond apart.
const MOST: usize = 2_000;

/// One stream, and a connection more than it needs.
const FEW: Limits = Limits {
    connections: 2,
    subscribers: 1,
    idle: Duration::from_secs(30),
    stuck: Duration::from_secs(5),
    farewell: Duration::from_millis(500),
};

fn options() -> StreamOptions {
    StreamOptions { hz: 20.0, ..StreamOptions::default() }
}

/// Polls so often, with a moment for the other side in between, then drops it; what it gave if it was ready before.
async fn cut<F: Future>(future: F, polls: usize) -> Option<F::Output> {
    let mut future = pin!(future);
    for _ in 0..polls {
        if let Poll::Ready(given) = poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx))).await {
            return Some(given);
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    None
}

/// Waits for what must come.
async fn comes<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let until = Instant::now() + LONG;
    loop {
        if let Some(it) = look().await {
            return it;
        }
        assert!(Instant::now() < until, "{what}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// L6: nobody reads; L7: whoever comes next finds the one seat free.
async fn assert_free(publisher: &Publisher, address: &Address, cut: usize) {
    comes("a seat is taken for ever", async || (publisher.stats().subscribers == 0).then_some(())).await;
    let lines = comes("the next reader is locked out", async || attach(address, &options()).await.ok()).await;
    assert_eq!(publisher.stats().subscribers, 1, "after {cut} polls");
    drop(lines);
    comes("the next reader's seat is taken for ever", async || (publisher.stats().subscribers == 0).then_some(()))
        .await;
}

/// Cuts what `begin` makes after 0, 1, 2, … polls until it is ready; gives how many it took.
async fn sweep<F: Future<Output: Sized>>(
    publisher: &Publisher,
    address: &Address,
    begin: impl Fn() -> F,
    fine: impl Fn(F::Output) -> bool,
) -> usize {
    for polls in 0..MOST {
        let given = cut(begin(), polls).await;
        let ready = given.is_some_and(&fine);
        assert_free(publisher, address, polls).await;
        if ready {
            return polls;
        }
    }
    panic!("it is not ready after {MOST} polls");
}

/// L6, L7: a reader that gives up while it attaches, or while it fetches a snapshot.
#[tokio::test]
async fn l6_attaching_and_fetching_are_cut_everywhere() {
    let room = Room::new("dropped-attach");
    let listen = Listen::Unix(room.path("feed.sock"));
    let publisher = Publisher::start_within(listen, Arc::new(Fake::new(10, 0)), FEW).unwrap();
    let address = at(&publisher).clone();
    let options = options();
    // One that finds the seat of the reader before it taken is refused, and tries again.
    let attached = sweep(&publisher, &address, || attach(&address, &options), |got| got.is_ok()).await;
    let fetched = sweep(&publisher, &address, || fetch(&address, None), |got| got.is_ok()).await;
    assert!(attached > 1 && fetched > 1, "ready after {attached} and {fetched} polls: nothing was cut");
}

/// The events of a line, by their numbers.
fn told(line: Option<Line>) -> Vec<u64> {
    match line.expect("the stream goes on") {
        Line::Events { events } => events.iter().map(|event| event.seq).collect(),
        Line::Hello(_) | Line::Past(_) | Line::Snap { .. } => Vec::new(),
        other @ (Line::Lag { .. } | Line::Bye { .. } | Line::Unknown) => panic!("{other:?}"),
    }
}

/// Reads with futures that are dropped after ever other numbers of polls, until this many events have come.
async fn read_in_pieces(lines: &mut Lines, events: usize) -> (Vec<u64>, usize) {
    let (mut seen, mut dropped) = (Vec::new(), 0);
    for nth in 0.. {
        match cut(lines.next(), nth % 4).await {
            Some(line) => seen.extend(told(line.unwrap())),
            None => dropped += 1,
        }
        if seen.len() >= events {
            break;
        }
    }
    (seen, dropped)
}

/// L1, L7: a reader that drops its `next` at any await loses no line, and reads none twice.
#[tokio::test]
async fn l1_no_line_is_lost_with_a_dropped_next() {
    let room = Room::new("dropped-next");
    let fake = Arc::new(Fake::new(10_000, 3_000));
    let listen = Listen::Unix(room.path("feed.sock"));
    let publisher = Publisher::start_within(listen, Arc::clone(&fake) as Arc<dyn Source>, FEW).unwrap();
    let mut lines = attach(at(&publisher), &options()).await.unwrap();
    let mut seen = Vec::new();
    for _ in 0..20 {
        fake.happen(50);
        let (more, dropped) =
            tokio::time::timeout(LONG, read_in_pieces(&mut lines, 50)).await.expect("a line is missing");
        assert!(dropped > 0, "no future was dropped before it was ready");
        seen.extend(more);
    }
    assert_eq!(seen, (0..1_000).collect::<Vec<_>>());
    assert_eq!(lines.bad_lines(), 0);
}

/// A request to a mounted feed.
fn request(path: &str) -> Request<()> {
    Request::get(path).header("host", "shop.example").body(()).unwrap()
}

/// Takes bytes of an answer until there is a whole line; the body goes with whoever drops this.
async fn first_line(answer: Response<MountBody>) -> bool {
    let mut body = answer.into_body();
    let mut bytes = Vec::new();
    while !bytes.contains(&b'\n') {
        let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await else { return false };
        bytes.extend_from_slice(&frame.unwrap().into_data().unwrap());
    }
    true
}

/// P1, L6: an application's server that drops a request to the mounted feed, or its answer, at any await.
#[tokio::test]
async fn l6_a_mounted_feed_is_cut_everywhere() {
    let room = Room::new("dropped-mount");
    let listen = Listen::Unix(room.path("feed.sock"));
    let publisher = Publisher::start_within(listen, Arc::new(Fake::new(10, 0)), FEW).unwrap();
    let (address, mount) = (at(&publisher).clone(), publisher.mount(Guard::Application));
    for path in ["/v1/stream?hz=20", "/v1/snapshot", "/v1/hello"] {
        let begin = || {
            let asked = mount.clone().call(request(path));
            async {
                let answer = asked.await.unwrap();
                answer.status() == 200 && first_line(answer).await
            }
        };
        let polls = sweep(&publisher, &address, begin, |fine| fine).await;
        assert!(polls > 0, "{path} was never cut");
    }
}

/// The sweep notices: a seat that is kept locks out the next reader.
#[tokio::test]
async fn a_seat_that_is_kept_is_seen() {
    let room = Room::new("dropped-kept");
    let listen = Listen::Unix(room.path("feed.sock"));
    let publisher = Publisher::start_within(listen, Arc::new(Fake::new(10, 0)), FEW).unwrap();
    let kept = attach(at(&publisher), &options()).await.unwrap();
    let free = async { assert_free(&publisher, at(&publisher), 0).await };
    let mut free = pin!(free);
    for _ in 0..100 {
        assert!(free.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(publisher.stats().subscribers, 1);
    drop(kept);
    free.await;
}
