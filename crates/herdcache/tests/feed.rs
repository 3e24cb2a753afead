//! K2, P1: the feed of a real process, as a reader meets it. One process, thus one test of its caches.
#![cfg(unix)]
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails there")]

use std::convert::Infallible;
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use herdcache::herdfeed::Address;
use herdcache::{Cache, Feed, FeedBuilder, Gate, KeyView, Ttl};

/// A directory of one test's own.
struct Room(PathBuf);

impl Room {
    fn new(name: &str) -> Self {
        use std::os::unix::fs::DirBuilderExt;
        let directory = std::env::temp_dir().join(format!("herdcache-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&directory);
        std::fs::DirBuilder::new().mode(0o755).create(&directory).unwrap();
        Self(directory)
    }

    fn feed(&self, file: &str, with: impl FnOnce(FeedBuilder) -> FeedBuilder) -> Feed {
        with(Feed::builder("shop").socket(self.0.join(file))).start().unwrap()
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn path(feed: &Feed) -> &Path {
    match feed.address().expect("HERDCACHE_FEED must be unset for this test") {
        Address::Unix(path) => path,
        tcp @ Address::Tcp { .. } => panic!("{tcp}: HERDCACHE_FEED must be unset for this test"),
    }
}

/// The whole answer.
fn get(feed: &Feed, target: &str) -> String {
    let mut stream = UnixStream::connect(path(feed)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let head = format!("GET /herd/v1/{target} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut told = String::new();
    stream.read_to_string(&mut told).unwrap();
    told
}

async fn cache(name: &str, view: KeyView<String>) -> Cache<String, u64, Infallible> {
    let ttl = Ttl::fresh_for(Duration::from_secs(60));
    let cache = Cache::builder(name, ttl, &Gate::new(4)).show_keys(view).build().unwrap();
    let key = format!("alice@{name}.example");
    // One request in sixteen is sampled for the summary of hot keys.
    for _ in 0..64 {
        cache.get_with(&key, |_| async { Ok(1) }).await.unwrap();
    }
    cache
}

/// K2: a reader sees of each cache what the application allows, and readable keys all over only where all allow them.
#[tokio::test]
async fn k2_a_reader_never_sees_more_than_the_application_allows() {
    let room = Room::new("keys");
    let feed = room.feed("feed.sock", |builder| builder);
    let _open = cache("open", KeyView::Plain).await;
    let _masked = cache("masked", KeyView::With(|key: &String| format!("{}…", &key[..1]))).await;
    let hashed = cache("hashed", KeyView::Hash).await;

    let told = get(&feed, "snapshot");
    assert!(told.contains("\"key\":\"alice@open.example\"") && told.contains("\"key\":\"a…\""), "{told}");
    assert!(!told.contains("alice@masked") && !told.contains("alice@hashed"), "{told}");

    for target in ["snapshot?keys=plain", "stream?keys=plain"] {
        let refused = get(&feed, target);
        assert!(refused.starts_with("HTTP/1.1 403 "), "{refused}");
        assert!(
            refused.contains("\"setting\":\"show_keys\"") && refused.contains("\"hashed\":[\"hashed\"]"),
            "{refused}"
        );
        assert!(!refused.contains("alice"), "{refused}");
    }
    assert!(get(&feed, "snapshot?keys=hash").starts_with("HTTP/1.1 400 "));

    drop(hashed);
    // Another feed of this process may hold on to it while it takes a snapshot.
    let granted = (0..500).map(|_| get(&feed, "snapshot?keys=plain")).find(|told| told.starts_with("HTTP/1.1 200 "));
    let granted = granted.unwrap_or_default();
    assert!(granted.starts_with("HTTP/1.1 200 ") && granted.contains("alice@open.example"), "{granted}");
    assert!(!granted.contains("alice@masked"), "{granted}");
}

/// P2: the application's version is told, as data.
#[test]
fn p2_hello_tells_the_applications_version() {
    let room = Room::new("version");
    let feed = room.feed("feed.sock", |builder| builder.version("1.4.2\u{1b}[2J \"beta\""));
    let told = get(&feed, "hello");
    assert!(told.contains(r#""service":"shop","app_version":"1.4.2\u001b[2J \"beta\"""#), "{told}");
    let feed = room.feed("none.sock", |builder| builder);
    assert!(!get(&feed, "hello").contains("app_version"));
}

/// P1: path, group and mode are what the builder says.
#[test]
fn p1_a_service_chooses_path_group_and_mode() {
    let room = Room::new("place");
    let own = std::fs::metadata(&room.0).unwrap().gid();
    let modes = |feed: &Feed| {
        let meta = std::fs::metadata(path(feed)).unwrap();
        (meta.mode() & 0o7777, meta.gid())
    };
    let feed = room.feed("private/feed.sock", |builder| builder);
    assert_eq!(modes(&feed).0, 0o600);
    let feed = room.feed("shared/feed.sock", |builder| builder.group(own));
    assert_eq!(modes(&feed), (0o660, own));
    assert!(get(&feed, "hello").starts_with("HTTP/1.1 200 "));
    // A directory gets the usual name.
    let feed = room.feed("many/", |builder| builder.group(own).mode(0o620));
    assert_eq!(modes(&feed), (0o620, own));
    assert_eq!(path(&feed), room.0.join(format!("many/shop-{}.sock", std::process::id())));
    let socket = path(&feed).to_owned();
    drop(feed);
    assert!(!socket.exists());
}
