//! Where the feed goes: what the code wishes, and the environment that beats it.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use herdfeed::server::{Access, Listen};
use herdfeed::{Token, socket};

/// The environment variable that decides where the feed goes; it beats the code.
pub(super) const ENV_FEED: &str = "HERDCACHE_FEED";

/// Where the code wants the feed.
#[derive(Clone, Debug, Default)]
pub(super) enum Wish {
    /// On the usual socket.
    #[default]
    Usual,
    /// On a socket at this path, or in this directory.
    Socket(PathBuf),
    /// On a TCP port.
    Tcp(SocketAddr),
    /// On nothing of its own.
    Nowhere,
}

/// What the code says of the place.
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    pub(super) wish: Wish,
    /// Who may read a socket, wherever it is made.
    pub(super) access: Access,
    /// What readers over TCP present, whoever opened the port.
    pub(super) token: Option<Token>,
}

/// Where the feed is served after all; `None` when the environment switched it off.
pub(super) fn listen(service: &str, place: Place, environment: &str) -> io::Result<Option<Listen>> {
    let is = |word: &str| environment.eq_ignore_ascii_case(word);
    if is("off") || is("0") || is("false") || is("no") {
        return Ok(None);
    }
    let Place { wish, access, token } = place;
    let listen = match (environment, wish) {
        ("", Wish::Socket(path)) => on_socket(socket::wished_path(service, &path), access),
        ("", Wish::Tcp(address)) => Listen::Tcp { address, token },
        ("", Wish::Nowhere) => Listen::Nowhere,
        ("", Wish::Usual) => on_socket(socket::default_path(service), access),
        // Only the place that the code chose is set aside.
        (_, Wish::Socket(path)) if is("unix") => on_socket(socket::wished_path(service, &path), access),
        (_, _) if is("unix") => on_socket(socket::default_path(service), access),
        (wanted, _) => match wanted.strip_prefix("tcp:") {
            Some(address) => Listen::Tcp { address: reachable_with(wanted, address, token.as_ref())?, token },
            None => on_socket(socket::path_at(service, path_of(wanted)?), access),
        },
    };
    Ok(Some(listen))
}

fn on_socket(path: PathBuf, access: Access) -> Listen {
    if access.is_default() { Listen::Unix(path) } else { Listen::Shared { path, access } }
}

fn path_of(wanted: &str) -> io::Result<&Path> {
    let path = wanted.strip_prefix("unix:").unwrap_or(wanted);
    // A word without a slash is a slip of the pen, not a socket in whatever directory this is. So is an address as
    // the dashboard takes it, which has slashes.
    if path.contains('/') && !path.contains("://") {
        Ok(Path::new(path))
    } else {
        Err(wrong(wanted, "say off, unix, the path of a socket, or tcp:127.0.0.1:PORT"))
    }
}

fn reachable_with(wanted: &str, address: &str, token: Option<&Token>) -> io::Result<SocketAddr> {
    let no_address = |_| wrong(wanted, "is no address: write it as tcp:127.0.0.1:7077");
    let address: SocketAddr = address.parse().map_err(no_address)?;
    if !address.ip().is_loopback() && token.is_none() {
        let remedy = "can be reached from other machines, and the code gives no token for that: serve it on 127.0.0.1 \
                      and reach it by ssh -L or a port-forward";
        return Err(wrong(wanted, remedy));
    }
    Ok(address)
}

fn wrong(value: &str, remedy: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("{ENV_FEED}={value:?}: {remedy}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "0f6b3c1d9a8e47528c1f0a9b7d6e5c43";

    fn at(wish: Wish, environment: &str) -> io::Result<Option<Listen>> {
        listen("shop", Place { wish, ..Place::default() }, environment)
    }

    fn path(wish: Wish, environment: &str) -> PathBuf {
        match at(wish, environment) {
            Ok(Some(Listen::Unix(path))) => path,
            other => panic!("{environment}: {other:?}"),
        }
    }

    /// P1: nothing but what was asked for is opened, and a slip of the pen is an error that says what to write.
    #[test]
    fn p1_the_environment_opens_nothing_by_mistake() {
        for off in ["off", "OFF", "0", "false", "no"] {
            assert!(at(Wish::Usual, off).unwrap().is_none(), "{off}");
        }
        assert_eq!(path(Wish::Usual, "/tmp/x.sock"), Path::new("/tmp/x.sock"));
        assert_eq!(path(Wish::Usual, "unix:/tmp/x.sock"), Path::new("/tmp/x.sock"));
        assert_eq!(path(Wish::Usual, "/run/shop/"), Path::new(&format!("/run/shop/shop-{}.sock", std::process::id())));
        assert!(path(Wish::Usual, "").to_string_lossy().contains("shop"));
        for wrong in
            ["tcp", "on", "tcp:nowhere", "tcp:0.0.0.0:7077", "unix:x", "http://localhost:7077", "tcp://[::1]:1"]
        {
            let error = at(Wish::Usual, wrong).unwrap_err().to_string();
            assert!(error.starts_with(&format!("HERDCACHE_FEED={wrong:?}: ")), "{error}");
        }
        assert!(matches!(at(Wish::Usual, "tcp:127.0.0.1:7077"), Ok(Some(Listen::Tcp { token: None, .. }))));
    }

    /// P1: the environment beats the code's place, and never its token or its circle of readers.
    #[test]
    fn p1_the_environment_beats_the_place_and_keeps_the_guards() {
        let wishes = || {
            let tcp = Wish::Tcp(SocketAddr::from(([127, 0, 0, 1], 7077)));
            [Wish::Usual, Wish::Socket("/srv/x.sock".into()), tcp, Wish::Nowhere]
        };
        for wish in wishes() {
            assert!(at(wish.clone(), "off").unwrap().is_none());
            assert_eq!(path(wish, "/run/y.sock"), Path::new("/run/y.sock"));
        }
        assert_eq!(path(Wish::Socket("/srv/x.sock".into()), "unix"), Path::new("/srv/x.sock"));
        assert_eq!(path(Wish::Socket("/srv/x.sock".into()), ""), Path::new("/srv/x.sock"));
        assert!(path(Wish::Nowhere, "unix").to_string_lossy().contains("shop"));
        assert!(matches!(at(Wish::Nowhere, ""), Ok(Some(Listen::Nowhere))));

        let guarded = || Place {
            access: Access::default().group(7),
            token: Some(Token::new(SECRET).unwrap()),
            ..Place::default()
        };
        let Ok(Some(Listen::Shared { path, access })) = listen("shop", guarded(), "/run/y.sock") else {
            panic!("the group was lost")
        };
        assert_eq!((path.as_path(), access), (Path::new("/run/y.sock"), Access::default().group(7)));
        let open = listen("shop", guarded(), "tcp:0.0.0.0:7077");
        assert!(matches!(open, Ok(Some(Listen::Tcp { token: Some(_), .. }))), "{open:?}");
    }
}
