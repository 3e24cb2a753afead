//! [`FeedBuilder`]: a feed's settings, checked when it starts.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use herdfeed::Token;
use herdfeed::server::{Access, Group, Publisher};

use super::Feed;
use super::place::{self, ENV_FEED, Place, Wish};
use super::source::Account;

/// The settings of a [`Feed`]. Made by [`Feed::builder`].
///
/// ```
/// use herdcache::herdfeed::Token;
/// use herdcache::{Feed, FeedBuilder};
///
/// // On TCP, for readers who have the secret: from a file or the environment, never from the command line.
/// let secret = Token::new("0f6b3c1d9a8e47528c1f0a9b7d6e5c43")?;
/// let feed = Feed::builder("shop").version("1.4.2").tcp(([127, 0, 0, 1], 0).into(), secret).start()?;
/// assert!(feed.stats().is_none_or(|stats| stats.subscribers == 0)); // `None`: the environment switched it off
///
/// // A socket that a group shares. What would open it to everybody is refused, with what to do instead.
/// let shared = |group: &str, mode: u32| -> FeedBuilder { Feed::builder("shop").group(group).mode(mode) };
/// let error = shared("ops", 0o666).start().err();
/// # if std::env::var_os("HERDCACHE_FEED").is_none() {
/// assert!(error.is_some_and(|error| error.to_string().contains("would let every user of this machine connect")));
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a feed is served once `start` is called"]
pub struct FeedBuilder {
    service: String,
    version: Option<String>,
    /// What the code asked for, in order: two places are a mistake, not a choice.
    wishes: Vec<Wish>,
    access: Access,
    token: Option<Token>,
}

impl FeedBuilder {
    pub(super) fn new(service: &str) -> Self {
        Self { service: service.to_owned(), version: None, wishes: Vec::new(), access: Access::default(), token: None }
    }

    /// The application's version, shown beside its name, so that a deploy is seen. Default none.
    ///
    /// Surrounding white space is dropped; at most 64 characters are told.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = Some(version.into());
        self
    }

    /// Where the Unix socket is made: its path, or a directory in which it gets the usual name
    /// `<service>-<pid>.sock`. Default: [`herdfeed::socket::default_path`], where `herdtop` looks by itself.
    ///
    /// One path serves one process: take a directory where several run. `HERDCACHE_SOCKET` and a path in
    /// `HERDCACHE_FEED` beat it. The directory is made if it is missing.
    pub fn socket(mut self, path: impl Into<PathBuf>) -> Self {
        self.wishes.push(Wish::Socket(path.into()));
        self
    }

    /// Lets the members of a group read the socket, by the group's name in `/etc/group` or its number.
    /// Default: only the service's own user and root.
    ///
    /// The service must be a member itself (systemd: `SupplementaryGroups=`). What is checked when somebody
    /// connects: the kernel compares the file's group with *all* groups of the peer. The feed then compares the
    /// peer's user and primary group, which is all that the kernel tells of it, and lets other members in only
    /// while the file's mode gives nothing to the rest of the machine.
    pub fn group(mut self, group: impl Into<Group>) -> Self {
        self.access = self.access.group(group);
        self
    }

    /// The mode of the socket's file. Default `0o600`, or `0o660` with a [`group`](Self::group). Modes that let
    /// everybody connect are refused.
    pub fn mode(mut self, mode: u32) -> Self {
        self.access = self.access.mode(mode);
        self
    }

    /// Serves on a TCP port instead of a socket, in clear text; port 0 takes a free one. Default: a socket.
    ///
    /// An address that other machines reach needs a token, which `herdtop` takes from a file or its environment.
    /// The token holds as well where `HERDCACHE_FEED=tcp:ADDRESS` chooses another address.
    pub fn tcp(mut self, address: SocketAddr, token: impl Into<Option<Token>>) -> Self {
        self.wishes.push(Wish::Tcp(address));
        self.token = token.into();
        self
    }

    /// Opens nothing: the feed is read only where the application mounts it (feature `mount`, `Feed::mount`). Default: a
    /// socket.
    pub fn no_socket(mut self) -> Self {
        self.wishes.push(Wish::Nowhere);
        self
    }

    /// Serves the feed, on a thread of its own, until the [`Feed`] is dropped.
    ///
    /// # Errors
    /// When settings contradict each other or give rights to everybody, when the group does not exist or cannot
    /// enter, and when the place is taken or not safe. The text names the setting, its value and the remedy.
    /// A service should log that and go on.
    pub fn start(self) -> io::Result<Feed> {
        let environment = std::env::var(ENV_FEED).unwrap_or_default();
        self.start_in(environment.trim())
    }

    fn start_in(self, environment: &str) -> io::Result<Feed> {
        let place = self.place()?;
        let Some(listen) = place::listen(&self.service, place, environment)? else {
            return Ok(Feed { publisher: None });
        };
        let source = Account::of(&self.service, self.version.as_deref());
        Ok(Feed { publisher: Some(Publisher::start(listen, Arc::new(source))?) })
    }

    fn place(&self) -> io::Result<Place> {
        let wrong =
            |text: String| Err(io::Error::new(io::ErrorKind::InvalidInput, format!("feed {:?}: {text}", self.service)));
        let wish = match self.wishes.as_slice() {
            [] => Wish::Usual,
            [wish] => wish.clone(),
            [first, second, ..] => {
                return wrong(format!("{} and {} exclude each other: keep one", first.told(), second.told()));
            }
        };
        if matches!(wish, Wish::Tcp(_) | Wish::Nowhere) && !self.access.is_default() {
            let told = wish.told();
            return wrong(format!("group and mode are of a Unix socket, and {told} makes none: drop them, or it"));
        }
        Ok(Place { wish, access: self.access.clone(), token: self.token.clone() })
    }
}

impl Wish {
    fn told(&self) -> String {
        match self {
            Self::Usual => "the usual socket".to_owned(),
            Self::Socket(path) => format!("socket {:?}", path.to_string_lossy()),
            Self::Tcp(address) => format!("tcp {address}"),
            Self::Nowhere => "no_socket".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(builder: FeedBuilder) -> String {
        builder.start_in("").expect_err("it must not start").to_string()
    }

    /// P1: a contradiction opens nothing and says which settings to choose between.
    #[test]
    fn p1_settings_that_contradict_each_other_are_refused() {
        let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
        let twice = Feed::builder("shop").socket("/run/shop/feed.sock").tcp(loopback, None);
        assert_eq!(
            error(twice),
            "feed \"shop\": socket \"/run/shop/feed.sock\" and tcp 127.0.0.1:0 exclude each other: keep one"
        );
        let grouped = error(Feed::builder("shop").no_socket().group(7));
        assert!(grouped.starts_with("feed \"shop\": group and mode are of a Unix socket, and no_socket"), "{grouped}");
        let open = error(Feed::builder("shop").tcp(SocketAddr::from(([0, 0, 0, 0], 0)), None));
        assert!(open.contains("needs a token"), "{open}");
        #[cfg(unix)]
        for (builder, part) in [
            (Feed::builder("shop").mode(0o666), "mode 0666 of the feed's socket would let every user"),
            (Feed::builder("shop").mode(0o660), "none is named: name the group"),
            (Feed::builder("shop").group("no such group"), "is not in /etc/group"),
        ] {
            let told = error(builder);
            assert!(told.contains(part), "{told}");
        }
        // Off is off, whatever the code says of the place; a contradiction is told even so.
        assert!(Feed::builder("shop").mode(0o666).start_in("off").unwrap().address().is_none());
        assert!(Feed::builder("shop").no_socket().no_socket().start_in("off").is_err());
    }

    /// P3: the token of a builder is not shown.
    #[test]
    fn p3_a_builder_shows_no_token() {
        let secret = "0f6b3c1d9a8e47528c1f0a9b7d6e5c43";
        let token = Token::new(secret).unwrap();
        let builder = Feed::builder("shop").tcp(SocketAddr::from(([127, 0, 0, 1], 0)), token);
        assert!(!format!("{builder:?}").contains(secret));
    }
}
