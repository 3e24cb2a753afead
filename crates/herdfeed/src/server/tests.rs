//! The publisher's behaviour over time, on paused time and connections in memory.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::line::Line;
use crate::server::account::Account;
use crate::server::answer::{Body, Refusal};
use crate::server::door::Door;
use crate::server::fake::{Fake, Mood};
use crate::server::hub::{Hub, Phase};
use crate::server::limits::Limits;
use crate::server::peers::Peers;
use crate::server::serve::converse;

const SECOND: Duration = Duration::from_secs(1);

/// A publisher without a listener.
struct Room {
    fake: Arc<Fake>,
    hub: Arc<Hub>,
    phase: watch::Sender<Phase>,
}

impl Room {
    fn new(ring: usize, weight: usize) -> Self {
        let fake = Arc::new(Fake::new(ring, weight));
        let (phase, watched) = watch::channel(Phase::Open);
        let source = Arc::<Fake>::clone(&fake);
        let account = Arc::new(Account::default());
        let hub = Arc::new(Hub::new(source, Limits::default(), account, watched));
        Self { fake, hub, phase }
    }

    /// A connection on which `path` was asked for.
    async fn ask(&self, path: &str) -> Reader {
        let mut reader = self.connect();
        let head = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
        reader.0.write_all(head.as_bytes()).await.unwrap();
        reader
    }

    fn connect(&self) -> Reader {
        let (theirs, ours) = duplex(16 * 1024);
        tokio::spawn(converse(ours, Arc::new(Door::Unix(Peers::Owner)), Arc::clone(&self.hub)));
        Reader(theirs, Vec::new())
    }
}

/// The far end of a connection.
struct Reader(DuplexStream, Vec<u8>);

impl Reader {
    /// Reads for `time`; tells whether the connection is still open.
    async fn read_for(&mut self, time: Duration) -> Connection {
        let until = Instant::now() + time;
        let mut buf = vec![0; 64 * 1024];
        loop {
            match tokio::time::timeout_at(until, self.0.read(&mut buf)).await {
                Ok(Ok(0) | Err(_)) => return Connection::Ended,
                Ok(Ok(count)) => self.1.extend_from_slice(&buf[..count]),
                Err(_) => return Connection::Open,
            }
        }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.1).into_owned()
    }

    fn status(&self) -> String {
        self.text().lines().next().unwrap_or_default().chars().skip(9).take(3).collect()
    }

    /// The lines of the feed so far; sizes of chunks and headers are no JSON objects.
    fn lines(&self) -> Vec<Line> {
        let text = self.text();
        text.lines()
            .filter(|line| line.starts_with('{'))
            .filter_map(|line| Line::decode(line.as_bytes()).ok())
            .collect()
    }

    fn events(&self) -> Vec<u64> {
        let seqs = |line| {
            if let Line::Events { events } = line { events } else { Vec::new() }
        };
        self.lines().into_iter().flat_map(seqs).map(|event| event.seq).collect()
    }

    fn lags(&self) -> Vec<(u64, u64)> {
        self.lines()
            .iter()
            .filter_map(|line| if let Line::Lag { from, to } = line { Some((*from, *to)) } else { None })
            .collect()
    }

    fn snapshots(&self) -> Vec<u64> {
        let seq = |line: &Line| {
            if let Line::Snap { part: [1, _], snapshot } = line { Some(snapshot.seq) } else { None }
        };
        self.lines().iter().filter_map(seq).collect()
    }

    fn bye(&self) -> Option<String> {
        if let Some(Line::Bye { why }) = self.lines().pop() { Some(why) } else { None }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Connection {
    Open,
    Ended,
}

#[tokio::test(start_paused = true)]
async fn a_stream_tells_hello_then_events_then_snapshots_at_its_cadence() {
    let room = Room::new(100, 0);
    room.fake.happen(3);
    let mut reader = room.ask("/herd/v1/stream?hz=2").await;
    assert_eq!(reader.read_for(10 * SECOND + SECOND / 4).await, Connection::Open);
    let lines = reader.lines();
    assert!(matches!(lines[0], Line::Hello(_)));
    assert!(matches!(lines[1], Line::Events { .. }));
    assert_eq!(reader.events(), [0, 1, 2]);
    // One at once, then two a second.
    assert_eq!(reader.snapshots().len(), 21);
    assert_eq!(reader.lags(), []);
}

#[tokio::test(start_paused = true)]
async fn a_stream_begins_where_its_reader_wants() {
    let room = Room::new(5, 0);
    room.fake.happen(10);
    for (query, events, lags) in [
        ("since=7", vec![7, 8, 9], vec![]),
        ("since=10", vec![], vec![]),
        ("since=2", vec![5, 6, 7, 8, 9], vec![(2, 5)]),
        ("", vec![5, 6, 7, 8, 9], vec![(0, 5)]),
        // From another boot of the process: all that there is.
        ("since=99", vec![5, 6, 7, 8, 9], vec![(0, 5)]),
        ("events=off", vec![], vec![]),
    ] {
        let mut reader = room.ask(&format!("/herd/v1/stream?{query}")).await;
        reader.read_for(SECOND).await;
        assert_eq!((reader.events(), reader.lags()), (events, lags), "{query}");
    }
}

#[tokio::test(start_paused = true)]
async fn more_events_than_one_batch_come_at_once() {
    let room = Room::new(4_096, 0);
    room.fake.happen(4_096);
    let mut reader = room.ask("/herd/v1/stream?hz=0.1").await;
    reader.read_for(SECOND).await;
    assert_eq!(reader.events(), (0..4_096).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn subscribers_share_snapshots() {
    let room = Room::new(10, 0);
    let mut readers = Vec::new();
    for _ in 0..16 {
        readers.push(room.ask("/herd/v1/stream?hz=4").await);
        sleep(Duration::from_millis(7)).await;
    }
    let before = room.fake.snapshots();
    let read = readers.into_iter().map(|mut reader| async move { reader.read_for(10 * SECOND).await });
    let ends = read.collect::<JoinSet<_>>().join_all().await;
    assert!(ends.iter().all(|end| *end == Connection::Open));
    assert_eq!(room.fake.snapshots() - before, 40);
}

#[tokio::test(start_paused = true)]
async fn a_subscriber_gets_no_snapshot_twice() {
    let room = Room::new(10, 0);
    // Ten milliseconds before a tick of its cadence.
    sleep(Duration::from_millis(990)).await;
    let mut reader = room.ask("/herd/v1/stream?hz=1").await;
    reader.read_for(3 * SECOND).await;
    assert_eq!(reader.snapshots(), [1, 2, 3]);
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_gets_lag_and_slows_nobody() {
    let room = Room::new(50, 8_000);
    let mut slow = room.ask("/herd/v1/stream?hz=20").await;
    let mut quick = room.ask("/herd/v1/stream?hz=20").await;
    // The slow one reads nothing for four seconds, in which the ring is overwritten often.
    for _ in 0..80 {
        room.fake.happen(10);
        assert_eq!(quick.read_for(SECOND / 20).await, Connection::Open);
    }
    assert_eq!(slow.read_for(SECOND).await, Connection::Open);
    assert_eq!((quick.events(), quick.lags()), ((0..800).collect(), vec![]));
    assert!(quick.snapshots().len() >= 80, "{}", quick.snapshots().len());
    let lost: u64 = slow.lags().iter().map(|(from, to)| to - from).sum();
    assert!(lost > 0);
    assert_eq!(slow.events().len() as u64 + lost, 800, "every event was told or counted as lost");
    // Of its eighty snapshots it got those that fit the buffers, then the newest.
    assert!(slow.snapshots().len() < 30, "{}", slow.snapshots().len());
    assert_eq!(slow.bye(), None);
}

#[tokio::test(start_paused = true)]
async fn a_stuck_reader_is_told_and_then_cut() {
    let room = Room::new(50, 100_000);
    let mut late = room.ask("/herd/v1/stream?hz=20").await;
    let mut never = room.ask("/herd/v1/stream?hz=20").await;
    sleep(5 * SECOND).await;
    assert_eq!((room.hub.account.read().subscribers, room.hub.account.read().slow_closed), (2, 0));
    sleep(SECOND).await;
    assert_eq!((room.hub.account.read().subscribers, room.hub.account.read().slow_closed), (0, 2));
    late.read_for(SECOND).await;
    assert_eq!(late.bye().as_deref(), Some("slow"));
    sleep(5 * SECOND).await;
    assert_eq!(never.read_for(SECOND).await, Connection::Ended);
    assert_eq!(never.bye(), None);
}

#[tokio::test(start_paused = true)]
async fn the_seventeenth_subscriber_is_refused_until_one_leaves() {
    let room = Room::new(10, 0);
    let mut readers = Vec::new();
    for _ in 0..16 {
        let mut reader = room.ask("/herd/v1/stream").await;
        reader.read_for(Duration::from_millis(1)).await;
        readers.push(reader);
    }
    let mut one_too_many = room.ask("/herd/v1/stream").await;
    one_too_many.read_for(Duration::from_millis(1)).await;
    assert_eq!(one_too_many.status(), "503");
    assert!(one_too_many.text().contains("every stream is taken"), "{}", one_too_many.text());
    assert_eq!((room.hub.account.read().subscribers, room.hub.account.read().refused), (16, 1));
    // Snapshots need no seat.
    let mut single = room.ask("/herd/v1/snapshot").await;
    single.read_for(Duration::from_millis(1)).await;
    assert_eq!(single.status(), "200");
    readers.pop();
    sleep(SECOND).await;
    let mut next = room.ask("/herd/v1/stream").await;
    next.read_for(SECOND).await;
    assert_eq!(next.status(), "200");
}

#[tokio::test(start_paused = true)]
async fn a_panicking_source_is_survived_and_counted() {
    let room = Room::new(10, 0);
    let mut stream = room.ask("/herd/v1/stream?hz=1").await;
    stream.read_for(SECOND / 2).await;
    room.fake.set_mood(Mood::Panics);
    let mut hello = room.ask("/herd/v1/hello").await;
    hello.read_for(Duration::from_millis(1)).await;
    assert_eq!(hello.status(), "500");
    assert!(hello.text().contains("\"error\""), "{}", hello.text());
    stream.read_for(2 * SECOND).await;
    assert_eq!(stream.snapshots().len(), 1);
    assert_eq!(room.hub.account.read().source_panics, 3);
    room.fake.set_mood(Mood::Fine);
    stream.read_for(2 * SECOND).await;
    assert_eq!(stream.snapshots().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn closing_says_bye_to_every_stream() {
    let room = Room::new(10, 0);
    let mut reader = room.ask("/herd/v1/stream").await;
    reader.read_for(SECOND).await;
    room.phase.send_replace(Phase::Closing);
    assert_eq!(reader.read_for(SECOND).await, Connection::Ended);
    assert_eq!(reader.bye().as_deref(), Some("shutdown"));
}

#[tokio::test(start_paused = true)]
async fn the_past_comes_before_the_present() {
    let room = Room::new(10, 0);
    for _ in 0..4 {
        room.hub.sample();
    }
    let mut reader = room.ask("/herd/v1/stream").await;
    reader.read_for(SECOND / 10).await;
    let Line::Past(past) = &reader.lines()[1] else { panic!("{:?}", reader.lines()) };
    let hits: Vec<u64> = past.seconds.iter().map(|second| second.outcomes[crate::Outcome::Hit]).collect();
    assert_eq!((past.cache.as_str(), hits), ("users", vec![10, 10, 10]));
}

#[tokio::test(start_paused = true)]
async fn p1_an_idle_connection_and_a_partial_head_end_after_thirty_seconds() {
    let room = Room::new(10, 0);
    for (sent, status) in
        [("GET /herd/v1/hello HTTP/1.1\r\nhost: x\r\n\r\n", "200"), ("GET /herd/v1/hello HTTP/1.1\r\nho", "")]
    {
        let mut reader = room.connect();
        reader.0.write_all(sent.as_bytes()).await.unwrap();
        assert_eq!(reader.read_for(29 * SECOND).await, Connection::Open, "{}", reader.text());
        assert_eq!(reader.read_for(2 * SECOND).await, Connection::Ended);
        assert_eq!(reader.status(), status);
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_not_served_is_refused_in_json() {
    let room = Room::new(10, 0);
    for (path, status, part) in [
        ("/", "404", r#""paths":["/herd/v1/hello","/herd/v1/snapshot","/herd/v1/stream"]"#),
        ("/herd/v2/stream", "404", r#""versions":[1]"#),
        ("/herd/v2", "404", "does not speak that version"),
        ("/herd/v1/", "404", "no such path"),
        ("/herd/v1/stream?hz=fast", "400", "hz must be a number"),
        ("/herd/v1/stream?speed=4", "400", r#"unknown parameter \"speed\": known here: hz, events, since, keys"#),
        ("/herd/v1/snapshot?hz=4", "400", r#"unknown parameter \"hz\": known here: keys"#),
        ("/herd/v1/hello?keys=plain", "400", r#"unknown parameter \"keys\": known here: none"#),
        ("/herd/v1/snapshot?keys=all", "400", "keys must be plain, or left out"),
        ("/herd/v1/stream?keys=hash", "400", "keys=hash is not offered: keys must be plain, or left out"),
    ] {
        let mut reader = room.ask(path).await;
        reader.read_for(Duration::from_millis(1)).await;
        assert_eq!(reader.status(), status, "{path}");
        assert!(reader.text().contains(part), "{path}: {}", reader.text());
    }
}

/// K2: a reader that insists on readable keys gets them where the application opted in for every cache, and else is
/// told which caches keep theirs hashed; without a wish it sees what is allowed.
#[tokio::test(start_paused = true)]
async fn k2_readable_keys_are_refused_where_the_application_keeps_them_hashed() {
    let room = Room::new(10, 0);
    for (keys, status, parts) in [
        (&[][..], "200", &[][..]),
        (&[("users", "plain"), ("orders", "function")], "200", &[]),
        (
            &[("users", "hash"), ("orders", "plain")],
            "403",
            &[r#"keys=plain: cache \"users\" shows hashes only"#, r#""setting":"show_keys""#, r#""hashed":["users"]"#],
        ),
        (
            &[("users", "hash"), ("orders", "hash"), ("odd", "")],
            "403",
            &[r#"\"users\" and 2 more shows"#, r#""hashed":["users","orders","odd"]"#, r#""hashed_count":3"#],
        ),
    ] {
        room.fake.show_keys(keys);
        for path in ["snapshot", "stream"] {
            let mut insisting = room.ask(&format!("/herd/v1/{path}?keys=plain")).await;
            insisting.read_for(Duration::from_millis(1)).await;
            assert_eq!(insisting.status(), status, "{path} {keys:?}: {}", insisting.text());
            assert!(parts.iter().all(|part| insisting.text().contains(part)), "{}", insisting.text());
            let mut content = room.ask(&format!("/herd/v1/{path}")).await;
            content.read_for(Duration::from_millis(1)).await;
            assert_eq!(content.status(), "200");
        }
    }
    // The refused streams took no seat.
    sleep(SECOND).await;
    assert_eq!(room.hub.account.read().refused, 4);
}

/// K2: however many caches there are, a reader can take and show the refusal.
#[test]
fn k2_a_refusal_of_readable_keys_stays_small() {
    let names: Vec<String> = (0..5_000).map(|number| format!("{number:064}")).collect();
    let Body::Ready(lines) = Refusal::Keys(names).response().into_body() else { panic!("it is known in full") };
    assert!(lines[0].len() < 4_000, "{}", lines[0].len());
    let told: serde_json::Value = serde_json::from_slice(&lines[0]).unwrap();
    assert!(told["error"].as_str().is_some_and(|text| text.len() <= 200), "{told}");
    assert_eq!(told["hashed_count"], 5_000);
}
