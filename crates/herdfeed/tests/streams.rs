//! Publisher and reader over real sockets: attach, fetch, restart, refusal, curl.
#![cfg(unix)]
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "the helpers are tests too")]

#[path = "support/fake.rs"]
#[expect(dead_code, reason = "these tests count no snapshots")]
mod fake;
#[path = "support/room.rs"]
mod room;

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use fake::{Fake, Mood};
use herdfeed::client::{AttachError, Lines, StreamOptions, attach, fetch};
use herdfeed::server::{Limits, Listen, Publisher};
use herdfeed::{Address, Line, Outcome};
use room::{Room, at};

fn fast() -> StreamOptions {
    StreamOptions { hz: 20.0, ..StreamOptions::default() }
}

/// Reads until a line satisfies `wanted`; the client's own limits end a vain wait.
async fn until<T>(lines: &mut Lines, wanted: impl Fn(&Line) -> Option<T>) -> T {
    loop {
        let line = lines.next().await.unwrap().expect("the stream ended early");
        if let Some(found) = wanted(&line) {
            return found;
        }
    }
}

fn seqs(line: &Line) -> Option<Vec<u64>> {
    if let Line::Events { events } = line { Some(events.iter().map(|event| event.seq).collect()) } else { None }
}

#[tokio::test]
async fn a_reader_attaches_and_follows_over_both_kinds_of_socket() {
    let room = Room::new("follow");
    for listen in [Listen::Unix(room.path("api-1.sock")), room::loopback(None)] {
        let fake = Arc::new(Fake::new(100, 0));
        fake.happen(2);
        let publisher = Publisher::start(listen, Arc::<Fake>::clone(&fake)).unwrap();
        let mut lines = attach(at(&publisher), &fast()).await.unwrap();
        let Some(Line::Hello(hello)) = lines.next().await.unwrap() else { panic!("no hello") };
        assert_eq!(hello.process.service, "api");
        assert_eq!(until(&mut lines, seqs).await, [0, 1]);
        fake.happen(1);
        assert_eq!(until(&mut lines, seqs).await, [2]);
        let hits = |line: &Line| match line {
            Line::Snap { part: [2, 2], snapshot } => Some(snapshot.caches[0].outcomes[Outcome::Hit]),
            _ => None,
        };
        let first = until(&mut lines, hits).await;
        assert!(until(&mut lines, hits).await > first);
        assert_eq!((publisher.stats().subscribers, lines.bad_lines()), (1, 0));
    }
}

#[tokio::test]
async fn fetch_gives_one_whole_snapshot() {
    let room = Room::new("fetch");
    let publisher = room.publisher("api-1.sock", Arc::new(Fake::new(1, 50_000)));
    let (hello, snapshot) = fetch(at(&publisher), None).await.unwrap();
    assert_eq!(hello.process.pid, 4711);
    assert_eq!((snapshot.caches.len(), snapshot.caches[0].gate.len()), (1, 50_000));
}

#[tokio::test]
async fn a_restart_is_a_bye_then_nobody_then_a_new_stream() {
    let room = Room::new("restart");
    let fake = Arc::new(Fake::new(10, 0));
    let publisher = room.publisher("api-1.sock", Arc::<Fake>::clone(&fake));
    let address = at(&publisher).clone();
    let mut lines = attach(&address, &fast()).await.unwrap();
    until(&mut lines, |line| matches!(line, Line::Snap { .. }).then_some(())).await;
    drop(publisher);
    let why = until(&mut lines, |line| if let Line::Bye { why } = line { Some(why.clone()) } else { None }).await;
    assert_eq!(why, "shutdown");
    assert_eq!(lines.next().await.unwrap(), None);
    assert!(!room.path("api-1.sock").exists(), "the socket is removed");
    let gone = attach(&address, &fast()).await.unwrap_err();
    assert!(matches!(gone, AttachError::NotFound { .. }), "{gone}");
    let _again = room.publisher("api-1.sock", fake);
    attach(&address, &fast()).await.unwrap();
}

#[tokio::test]
async fn sixteen_subscribers_and_no_more() {
    let room = Room::new("sixteen");
    let publisher = room.publisher("api-1.sock", Arc::new(Fake::new(10, 0)));
    let mut streams = Vec::new();
    for _ in 0..16 {
        streams.push(attach(at(&publisher), &fast()).await.unwrap());
    }
    let error = attach(at(&publisher), &fast()).await.unwrap_err();
    assert!(matches!(error, AttachError::Http { status: 503, .. }), "{error}");
    assert!(error.to_string().contains("every stream is taken"), "{error}");
    for lines in &mut streams {
        until(lines, |line| matches!(line, Line::Snap { .. }).then_some(())).await;
    }
    assert_eq!((publisher.stats().subscribers, publisher.stats().refused), (16, 1));
}

#[tokio::test]
async fn a_source_that_panics_is_an_error_and_not_the_end() {
    let room = Room::new("panics");
    let fake = Arc::new(Fake::new(10, 0));
    let publisher = room.publisher("api-1.sock", Arc::<Fake>::clone(&fake));
    fake.set_mood(Mood::Panics);
    let error = fetch(at(&publisher), None).await.unwrap_err();
    assert!(matches!(error, AttachError::Http { status: 500, .. }), "{error}");
    assert!(publisher.stats().source_panics >= 1);
    fake.set_mood(Mood::Fine);
    fetch(at(&publisher), None).await.unwrap();
}

#[tokio::test]
async fn what_is_wrong_with_an_address_is_said() {
    let room = Room::new("errors");
    let dead = room.path("dead.sock");
    drop(std::os::unix::net::UnixListener::bind(&dead).unwrap());
    let refused = attach(&Address::Unix(dead), &fast()).await.unwrap_err();
    assert!(
        refused.to_string().ends_with("nobody listens there: is the process still running, with its feed on?"),
        "{refused}"
    );
    // Something that accepts and never answers.
    let mute = room.path("mute.sock");
    let _listener = std::os::unix::net::UnixListener::bind(&mute).unwrap();
    let silent = attach(&Address::Unix(mute), &fast()).await.unwrap_err();
    assert!(matches!(silent, AttachError::Timeout { .. }), "{silent}");
}

#[tokio::test]
async fn dropping_a_publisher_does_not_wait_for_a_reader_that_does_not_read() {
    let room = Room::new("drop");
    let limits = Limits { farewell: Duration::from_millis(50), ..Limits::default() };
    let listen = Listen::Unix(room.path("api-1.sock"));
    let publisher = Publisher::start_within(listen, Arc::new(Fake::new(10, 200_000)), limits).unwrap();
    let lines = attach(at(&publisher), &fast()).await.unwrap();
    while publisher.stats().lines_sent < 3 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let dropped = tokio::task::spawn_blocking(move || drop(publisher));
    tokio::time::timeout(Duration::from_secs(20), dropped).await.expect("the drop hangs").unwrap();
    drop(lines);
}

/// What curl prints, and its exit code; `--max-time` ends a stream.
fn curl(arguments: &[&str]) -> (String, Option<i32>) {
    let output = Command::new("curl").args(["--silent", "--max-time", "2"]).args(arguments).output();
    let output = output.expect("this test needs curl: install it");
    (String::from_utf8(output.stdout).unwrap(), output.status.code())
}

#[test]
fn curl_reads_every_path() {
    const OUT_OF_TIME: Option<i32> = Some(28);
    let room = Room::new("curl");
    let fake = Arc::new(Fake::new(10, 0));
    fake.happen(1);
    let publisher = room.publisher("api-1.sock", fake);
    let socket = room.path("api-1.sock").to_string_lossy().into_owned();
    let ask =
        |path: &str| curl(&["--no-buffer", "--unix-socket", &socket, &format!("http://localhost/herd/v1/{path}")]);
    let kinds = |text: &str| -> Vec<Line> { text.lines().map(|line| Line::decode(line.as_bytes()).unwrap()).collect() };

    let (text, code) = ask("hello");
    assert!(matches!(kinds(&text)[..], [Line::Hello(_)]), "{text}");
    assert_eq!(code, Some(0));
    let (text, code) = ask("snapshot");
    assert!(matches!(kinds(&text)[..], [Line::Hello(_), Line::Snap { .. }, Line::Snap { .. }]), "{text}");
    assert_eq!(code, Some(0));
    let (text, code) = ask("stream");
    let lines = kinds(&text);
    assert_eq!(code, OUT_OF_TIME, "a stream does not end by itself");
    assert!(matches!(lines[0], Line::Hello(_)));
    assert!(lines.iter().any(|line| matches!(line, Line::Events { .. })));
    assert!(lines.iter().filter(|line| matches!(line, Line::Snap { .. })).count() >= 4, "{text}");
    assert_eq!(publisher.stats().slow_closed, 0);
}
