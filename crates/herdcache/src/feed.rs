//! The live feed of this process: every cache and gate, for the dashboard.
//!
//! Decides where the feed goes and what it tells; serving it is herdfeed's part.

mod builder;
mod place;
mod source;

use std::fmt;
use std::io;

#[cfg(feature = "mount")]
use herdfeed::server::{Guard, Mount};
use herdfeed::server::{Publisher, PublisherStats};

pub use builder::FeedBuilder;

/// A feed that is being served. Dropping it stops it and removes its socket.
///
/// ```
/// # let folder = std::env::temp_dir().join(format!("herdcache-feed-{}", std::process::id()));
/// # let path = folder.join("feed.sock");
/// let feed = herdcache::Feed::builder("shop")
///     .socket(&path)                              // in production say /run/shop/feed.sock
///     .version(env!("CARGO_PKG_VERSION"))
///     .start()?;
/// # if std::env::var_os("HERDCACHE_FEED").is_none() && std::env::var_os("HERDCACHE_SOCKET").is_none() {
/// assert_eq!(feed.address().unwrap().to_string(), format!("unix:{}", path.display()));
/// # }
/// drop(feed);
/// assert!(!path.exists());
/// # let _ = std::fs::remove_dir(&folder);
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Who sees what
///
/// Readers see keys as [`Builder::show_keys`](crate::Builder::show_keys) of each cache allows, never more. A
/// reader that insists on readable keys (`?keys=plain`) gets them only if every cache allows them, else 403 with
/// the names of those that do not.
///
/// # A system service (systemd)
///
/// The service makes its socket in a directory that systemd makes for it, and lets the group `ops` read:
///
/// ```no_run
/// let feed = herdcache::Feed::builder("shop").socket("/run/shop/").group("ops").start()?;
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// ```text
/// [Service]
/// User=shop
/// SupplementaryGroups=ops
/// RuntimeDirectory=shop
/// RuntimeDirectoryMode=0755
/// ```
///
/// A member of `ops` then runs `herdtop /run/shop/shop-4711.sock`. For a `herdtop` that finds many services by
/// itself, an administrator makes `/run/herdcache` once (`d /run/herdcache 1775 root ops` in
/// `/etc/tmpfiles.d/herdcache.conf`): services of that group make their sockets there without a path, and with
/// `.group("ops")` its members read them. Without either, a service falls back to a directory for temporary
/// files, which `PrivateTmp=` hides from everybody else.
///
/// # A container
///
/// Share a directory that belongs to the service's user, and let the environment name it:
/// `docker run -v /run/feeds:/run/feeds -e HERDCACHE_FEED=/run/feeds/` gives each process a file of its own. The
/// reader outside is judged by its user id as it looks inside the container: the same as the service's, or 0.
/// Without a shared directory serve loopback TCP (`HERDCACHE_FEED=tcp:127.0.0.1:7077`) and reach it by
/// `kubectl port-forward POD 7077`.
///
/// # Another machine
///
/// There is no TLS; a tunnel has it. `ssh -L 7077:/run/shop/shop-4711.sock HOST`, then
/// `herdtop http://localhost:7077`. The socket sees the user who logged in.
pub struct Feed {
    // `None` when `HERDCACHE_FEED=off`.
    publisher: Option<Publisher>,
}

/// Serves the account of every cache and gate of this process, on a thread of its own.
///
/// The short way of [`Feed::builder`]: on a Unix socket that only this user and root may read; `herdtop`
/// finds it by itself. `HERDCACHE_FEED` = `off`, `unix`, a path, or `tcp:ADDRESS` beats that, and
/// `HERDCACHE_SOCKET` names another path or directory; an address that other machines can reach is refused.
/// One feed serves all caches, whenever they are built.
///
/// ```
/// // A service does without rather than not start.
/// let feed = herdcache::serve_feed("shop").inspect_err(|error| eprintln!("no feed: {error}")).ok();
/// assert!(feed.as_ref().and_then(|feed| feed.stats()).is_none_or(|stats| stats.subscribers == 0));
/// drop(feed); // at the end: readers hear the goodbye
/// ```
///
/// # Errors
/// When the socket cannot be made. A service should log that and go on.
pub fn serve_feed(service: &str) -> io::Result<Feed> {
    Feed::builder(service).start()
}

impl Feed {
    /// The settings of a feed. `service` is the name that the dashboard shows.
    pub fn builder(service: &str) -> FeedBuilder {
        FeedBuilder::new(service)
    }

    /// Where it is served; `None` when the environment switched it off, or it has no place of its own.
    pub fn address(&self) -> Option<&herdfeed::Address> {
        self.publisher.as_ref().and_then(Publisher::address)
    }

    /// How many readers it has, and what it has lost; `None` when the environment switched it off.
    pub fn stats(&self) -> Option<PublisherStats> {
        self.publisher.as_ref().map(Publisher::stats)
    }

    /// The feed as a service for the application's own HTTP server, in addition to wherever it is served.
    ///
    /// The [`Guard`] says what keeps strangers out. Then `HERDTOP_TOKEN=… herdtop http://HOST:PORT` reads it. With
    /// `HERDCACHE_FEED=off` it answers 404. Everything else that the application owes a mounted feed is told at
    /// [`Mount`].
    ///
    /// **Drop the feed when the shutdown begins, not after the server has ended.** A graceful shutdown waits for open
    /// responses, and a reader's stream stays open until the feed is dropped: the server would never end while
    /// somebody watches.
    ///
    /// ```
    /// use axum::Router;
    /// use herdcache::herdfeed::{Token, server::Guard};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let feed = herdcache::Feed::builder("shop").no_socket().start()?;
    /// let secret = "0f6b3c1d9a8e47528c1f0a9b7d6e5c43";        // from a file or the environment
    /// let routes: Router = Router::new().nest_service("/herd", feed.mount(Guard::Token(Token::new(secret)?)));
    ///
    /// # let signal = async {};
    /// let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    /// let shutdown = async move {
    ///     signal.await;                                        // Ctrl-C or SIGTERM
    ///     drop(feed);                                          // readers hear the goodbye, and their streams end
    /// };
    /// axum::serve(listener, routes).with_graceful_shutdown(shutdown).await?;
    /// # Ok(()) }
    /// ```
    #[cfg(feature = "mount")]
    pub fn mount(&self, guard: Guard) -> Mount {
        match &self.publisher {
            Some(publisher) => publisher.mount(guard),
            None => Mount::off(guard),
        }
    }
}

impl fmt::Debug for Feed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Feed").field("address", &self.address().map(ToString::to_string)).finish()
    }
}
