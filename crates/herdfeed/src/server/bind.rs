//! Making the place where a publisher listens, safely.
//!
//! A socket lies in a directory that only this user (or root) can change, is for
//! its owner and at most one named group, and replaces only a dead socket of ours.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use crate::address::Address;
use crate::server::Listen;
use crate::server::access::Circle;
#[cfg(unix)]
use crate::server::directory::{give_to_group, prepare};
use crate::server::door::Door;
use crate::server::peers::Peers;

/// A place to accept connections, not yet part of a runtime.
#[derive(Debug)]
pub(super) enum Listener {
    #[cfg(unix)]
    Unix(std::os::unix::net::UnixListener),
    Tcp(TcpListener),
}

/// What binding gives.
#[derive(Debug)]
pub(super) struct Bound {
    pub(super) listener: Option<Listener>,
    pub(super) address: Option<Address>,
    pub(super) door: Door,
    /// Removes the socket's file when dropped.
    pub(super) file: Option<SocketFile>,
}

/// Binds where `listen` says.
pub(super) fn bind(listen: Listen) -> io::Result<Bound> {
    match listen {
        Listen::Unix(path) => bind_unix(&path, Circle::Owner),
        Listen::Shared { path, access } => bind_unix(&path, access.circle()?),
        // Nobody comes through this door: a mounted feed has one of its own.
        Listen::Nowhere => Ok(Bound { listener: None, address: None, door: Door::Unix(Peers::Owner), file: None }),
        Listen::Tcp { address, token } => {
            let door = match (address.ip().is_loopback(), token) {
                (true, token) => Door::Loopback(token),
                (false, Some(token)) => Door::Reachable(token),
                (false, None) => return Err(needs_token(address)),
            };
            let listener =
                TcpListener::bind(address).map_err(|error| because(&error, &format!("cannot listen on {address}")))?;
            listener.set_nonblocking(true)?;
            let bound = listener.local_addr()?;
            let address = Address::Tcp { host: bound.ip().to_string(), port: bound.port() };
            Ok(Bound { listener: Some(Listener::Tcp(listener)), address: Some(address), door, file: None })
        }
    }
}

fn needs_token(address: SocketAddr) -> io::Error {
    let text = format!(
        "other machines can reach {address}, so the feed needs a token there: give one, \
         or listen on 127.0.0.1 and use a tunnel (ssh -L, kubectl port-forward)"
    );
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

fn because(error: &io::Error, what: &str) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {error}"))
}

#[cfg(not(unix))]
fn bind_unix(_: &Path, _: Circle) -> io::Result<Bound> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "this system has no Unix sockets: use TCP on 127.0.0.1"))
}

#[cfg(unix)]
fn bind_unix(path: &Path, circle: Circle) -> io::Result<Bound> {
    use std::os::unix::net::UnixListener;

    let shown = Address::Unix(path.to_owned());
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    prepare(directory, circle).map_err(|error| because(&error, &format!("cannot use the directory of {shown}")))?;
    remove_dead(path).map_err(|error| because(&error, &format!("cannot make {shown}")))?;
    let listener = UnixListener::bind(path).map_err(|error| because(&error, &format!("cannot listen on {shown}")))?;
    let file = SocketFile::new(path.to_owned())?;
    share(path, circle).map_err(|error| because(&error, &format!("cannot share {shown}")))?;
    listener.set_nonblocking(true)?;
    let peers = match circle {
        Circle::Owner => Peers::Owner,
        Circle::Group { id, .. } => {
            // Whoever came before the file had its mode was judged by another one, and may come again.
            while listener.accept().is_ok() {}
            Peers::Group { id, file: path.to_owned() }
        }
    };
    let listener = Some(Listener::Unix(listener));
    Ok(Bound { listener, address: Some(shown), door: Door::Unix(peers), file: Some(file) })
}

/// Gives the socket's file its group and mode.
#[cfg(unix)]
fn share(path: &Path, circle: Circle) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;

    let mode = match circle {
        Circle::Owner => 0o600,
        Circle::Group { id, mode } => {
            give_to_group(path, id)?;
            mode
        }
    };
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
}

/// Removes a socket of ours that nobody listens on any more; refuses anything else.
#[cfg(unix)]
fn remove_dead(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::{FileTypeExt, MetadataExt};
    use std::os::unix::net::UnixStream;

    let taken = |text: &str| Err(io::Error::new(io::ErrorKind::AddrInUse, text));
    let meta = match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    if !meta.file_type().is_socket() {
        return taken("something that is not a socket is there: choose another path");
    }
    if meta.uid() != crate::socket::own_uid() {
        return taken("another user's socket is there: choose another path");
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => std::fs::remove_file(path),
        Ok(_) => taken("another process listens there: give each process its own path"),
        Err(error) => Err(error),
    }
}

/// The file of a socket; dropping it removes the file, if it is still the same.
#[derive(Debug)]
pub(super) struct SocketFile {
    path: PathBuf,
    identity: (u64, u64),
}

#[cfg(unix)]
impl SocketFile {
    fn new(path: PathBuf) -> io::Result<Self> {
        let identity = identity(&path)?;
        Ok(Self { path, identity })
    }
}

#[cfg(unix)]
fn identity(path: &Path) -> io::Result<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    std::fs::symlink_metadata(path).map(|meta| (meta.dev(), meta.ino()))
}

#[cfg(not(unix))]
fn identity(_: &Path) -> io::Result<(u64, u64)> {
    Err(io::ErrorKind::Unsupported.into())
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if identity(&self.path).is_ok_and(|now| now == self.identity) {
            // A file that cannot be removed is a dead socket: the next start of its path removes it.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}
