//! Making the place where a publisher listens, safely.
//!
//! A socket lies in a directory that only this user (or root) can change, is
//! readable by its owner alone, and replaces only a dead socket of ours.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use crate::address::Address;
use crate::server::Listen;
use crate::server::door::Door;

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
    pub(super) listener: Listener,
    pub(super) address: Address,
    pub(super) door: Door,
    /// Removes the socket's file when dropped.
    pub(super) file: Option<SocketFile>,
}

/// Binds where `listen` says.
pub(super) fn bind(listen: Listen) -> io::Result<Bound> {
    match listen {
        Listen::Unix(path) => bind_unix(&path),
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
            Ok(Bound { listener: Listener::Tcp(listener), address, door, file: None })
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
fn bind_unix(_: &Path) -> io::Result<Bound> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "this system has no Unix sockets: use TCP on 127.0.0.1"))
}

#[cfg(unix)]
fn bind_unix(path: &Path) -> io::Result<Bound> {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixListener;

    let shown = Address::Unix(path.to_owned());
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    prepare(directory).map_err(|error| because(&error, &format!("cannot use the directory of {shown}")))?;
    remove_dead(path).map_err(|error| because(&error, &format!("cannot make {shown}")))?;
    let listener = UnixListener::bind(path).map_err(|error| because(&error, &format!("cannot listen on {shown}")))?;
    let file = SocketFile::new(path.to_owned())?;
    // Until this line the directory and the check of every peer's user keep strangers out.
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    listener.set_nonblocking(true)?;
    Ok(Bound { listener: Listener::Unix(listener), address: shown, door: Door::Unix, file: Some(file) })
}

/// Makes the directory if it is missing, and checks that no stranger can change it.
#[cfg(unix)]
fn prepare(directory: &Path) -> io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt, MetadataExt};

    let denied = |text: &str| Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let mut meta = std::fs::symlink_metadata(directory)?;
    if meta.is_symlink() {
        // Root's links are part of the system, as /tmp on macOS; anybody else's may lead anywhere.
        if meta.uid() != 0 {
            return denied("it is a symbolic link: name the directory itself");
        }
        meta = std::fs::metadata(directory)?;
    }
    // An administrator may let a group make sockets in a directory of root's, such as /run/herdcache.
    let strangers = if meta.uid() == 0 { 0o002 } else { 0o022 };
    let sticky = meta.mode() & 0o1000 != 0;
    if ![crate::socket::own_uid(), 0].contains(&meta.uid()) {
        return denied("it belongs to another user: choose a directory of your own (HERDCACHE_SOCKET)");
    }
    if meta.mode() & strangers != 0 && !sticky {
        return denied("others can write to it: remove that right (chmod go-w), or choose another (HERDCACHE_SOCKET)");
    }
    Ok(())
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
