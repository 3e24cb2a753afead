//! The live feed of this process: every cache and gate, for the dashboard.

use std::fmt;
use std::io;
use std::sync::Arc;

use herdfeed::hello::VERSION;
use herdfeed::server::{Batch, Listen, Publisher, PublisherStats, Source};
use herdfeed::{Clock, Hello, Process, Snapshot, socket};

use crate::{clock, events, registry};

/// The environment variable that decides where the feed goes; it beats the code.
const ENV_FEED: &str = "HERDCACHE_FEED";

/// A feed that is being served. Dropping it stops it and removes its socket.
pub struct Feed {
    // `None` when `HERDCACHE_FEED=off`.
    publisher: Option<Publisher>,
}

/// Serves the account of every cache and gate of this process, on a thread of its own.
///
/// By default on a Unix socket that only this user and root may read; `herdtop`
/// finds it by itself. `HERDCACHE_FEED` = `off`, `unix`, a path, or `tcp:ADDRESS`
/// beats the default; an address that other machines can reach is refused.
/// One feed serves all caches, whenever they are built.
///
/// # Errors
/// When the socket cannot be made. A service should log that and go on.
pub fn serve_feed(service: &str) -> io::Result<Feed> {
    let Some(listen) = listen(service, std::env::var(ENV_FEED).unwrap_or_default().trim())? else {
        return Ok(Feed { publisher: None });
    };
    let source = Account { process: process(service) };
    Ok(Feed { publisher: Some(Publisher::start(listen, Arc::new(source))?) })
}

/// Where the environment, or else the default, wants the feed; `None` for nowhere.
fn listen(service: &str, wish: &str) -> io::Result<Option<Listen>> {
    let is = |word: &str| wish.eq_ignore_ascii_case(word);
    if is("off") || is("0") || is("false") || is("no") {
        return Ok(None);
    }
    if wish.is_empty() || is("unix") {
        return Ok(Some(Listen::Unix(socket::default_path(service))));
    }
    if let Some(address) = wish.strip_prefix("tcp:") {
        return Ok(Some(Listen::Tcp { address: loopback(address)?, token: None }));
    }
    let path = wish.strip_prefix("unix:").unwrap_or(wish);
    // A word without a slash is a slip of the pen, not a socket in whatever directory this is.
    if !path.contains('/') {
        return Err(wrong(wish, "say off, unix, the path of a socket, or tcp:127.0.0.1:PORT"));
    }
    Ok(Some(Listen::Unix(path.into())))
}

fn loopback(text: &str) -> io::Result<std::net::SocketAddr> {
    let address: std::net::SocketAddr =
        text.parse().map_err(|_| wrong(text, "is no address: write it as tcp:127.0.0.1:7077"))?;
    if !address.ip().is_loopback() {
        let remedy =
            "can be reached from other machines: serve it on 127.0.0.1 and reach it by ssh -L or a port-forward";
        return Err(wrong(text, remedy));
    }
    Ok(address)
}

fn wrong(value: &str, remedy: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("{ENV_FEED}={value:?}: {remedy}"))
}

fn process(service: &str) -> Process {
    Process {
        service: service.to_owned(),
        app_version: None,
        host: host(),
        pid: std::process::id(),
        // Random per start, so that a reader tells a restart from a pause.
        boot: format!("{:016x}", fastrand::u64(..)),
        started_unix_us: clock::unix_us(),
    }
}

/// The machine's name, empty where it cannot be had.
fn host() -> String {
    #[cfg(target_os = "linux")]
    return rustix::system::uname().nodename().to_string_lossy().into_owned();
    #[cfg(not(target_os = "linux"))]
    return String::new();
}

impl Feed {
    /// Where it is served; `None` when the environment switched it off.
    pub fn address(&self) -> Option<&herdfeed::Address> {
        self.publisher.as_ref().map(Publisher::address)
    }

    /// How many readers it has, and what it has lost.
    pub fn stats(&self) -> Option<PublisherStats> {
        self.publisher.as_ref().map(Publisher::stats)
    }
}

impl fmt::Debug for Feed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Feed").field("address", &self.address().map(ToString::to_string)).finish()
    }
}

/// The registry as the feed's source.
struct Account {
    process: Process,
}

impl Source for Account {
    fn hello(&self) -> Hello {
        let (caches, gates) = registry::process_config();
        Hello {
            v: VERSION,
            min: VERSION[0],
            lib: concat!("herdcache ", env!("CARGO_PKG_VERSION")).to_owned(),
            process: self.process.clone(),
            clock: Clock { mono_us: clock::exact() / 1_000, unix_us: clock::unix_us() },
            caps: ["flights", "hot_keys", "conditions", "events", "past"].map(String::from).to_vec(),
            caches,
            gates,
        }
    }

    fn snapshot(&self) -> Snapshot {
        registry::process_snapshot()
    }

    fn events(&self, since: u64, most: usize) -> Batch {
        let (events, next) = events::ring().read(since, most);
        // Numbers start at 1, so that a reader who asks from 0 has missed nothing before that.
        let wanted = since.max(1);
        let lag = events.first().map(|event| event.seq).filter(|first| *first > wanted).map(|first| (wanted, first));
        Batch { events: events.iter().map(|event| (**event).clone()).collect(), lag, next }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P1: nothing but what was asked for is opened, and a slip of the pen is an error that says what to write.
    #[test]
    fn p1_the_environment_opens_nothing_by_mistake() {
        for off in ["off", "OFF", "0", "false", "no"] {
            assert!(listen("shop", off).unwrap().is_none(), "{off}");
        }
        let path = |wish| match listen("shop", wish) {
            Ok(Some(Listen::Unix(path))) => path,
            other => panic!("{wish}: {other:?}"),
        };
        assert_eq!(path("/tmp/x.sock"), std::path::Path::new("/tmp/x.sock"));
        assert_eq!(path("unix:/tmp/x.sock"), std::path::Path::new("/tmp/x.sock"));
        assert!(path("").to_string_lossy().contains("shop"));
        for wrong in ["tcp", "on", "tcp:nowhere", "tcp:0.0.0.0:7077", "unix:x"] {
            let error = listen("shop", wrong).unwrap_err().to_string();
            assert!(error.starts_with("HERDCACHE_FEED="), "{error}");
        }
        assert!(matches!(listen("shop", "tcp:127.0.0.1:7077"), Ok(Some(Listen::Tcp { .. }))));
    }
}
