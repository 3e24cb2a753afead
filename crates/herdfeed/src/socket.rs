//! Where feeds have their sockets, and which of them this user may read.
//!
//! A service makes one socket per process in a private directory, so that
//! processes never clash; a reader lists the directories. Making and binding
//! sockets is the server's part. Nothing here removes anything.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::address::Address;

/// The environment variable that overrides the socket's place: a path, or a directory.
pub const ENV_SOCKET: &str = "HERDCACHE_SOCKET";

/// The most sockets that [`discover`] lists.
pub const MAX_FOUND: usize = 1_024;

const SYSTEM_DIRECTORY: &str = "/run/herdcache";

/// A feed's socket that was found.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Found {
    /// The service's name, from the file name.
    pub service: String,
    /// The process, if the file name tells it.
    pub pid: Option<u32>,
    /// Where to attach.
    pub address: Address,
}

/// The places that decide where sockets are.
#[derive(Clone, Debug)]
struct Places {
    forced: Option<PathBuf>,
    runtime: Option<PathBuf>,
    system: PathBuf,
    temp: PathBuf,
    uid: u32,
}

impl Places {
    fn of_this_process() -> Self {
        let path = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        Self {
            forced: path(ENV_SOCKET),
            // The specification of this variable tells readers to ignore relative paths.
            runtime: path("XDG_RUNTIME_DIR").filter(|directory| directory.is_absolute()),
            system: SYSTEM_DIRECTORY.into(),
            temp: std::env::temp_dir(),
            uid: own_uid(),
        }
    }

    /// The environment's place, else the wish, else the default.
    fn socket(&self, wish: Option<&Path>, file: &str) -> PathBuf {
        match self.forced.as_deref().or(wish) {
            Some(place) => within(place, file),
            None => self.directory().join(file),
        }
    }

    fn directory(&self) -> PathBuf {
        if let Some(runtime) = &self.runtime {
            return runtime.join("herdcache");
        }
        if writable(&self.system) {
            return self.system.clone();
        }
        self.temp.join(format!("herdcache-{}", self.uid))
    }

    /// Whose sockets in this place are feeds that this user may trust to be what they say.
    fn owners(&self, place: &Path) -> Owners {
        if self.uid == 0 || place == self.system || self.forced.as_deref() == Some(place) {
            Owners::WhoeverLetsUsWrite
        } else {
            Owners::Only(self.uid)
        }
    }

    /// Every directory in which sockets may be, and the overriding path.
    fn to_search(&self) -> Vec<PathBuf> {
        let mut places: Vec<PathBuf> = self.forced.iter().cloned().collect();
        places.extend(self.runtime.iter().map(|runtime| runtime.join("herdcache")));
        places.push(self.system.clone());
        places.push(self.temp.join(format!("herdcache-{}", self.uid)));
        if self.uid == 0 {
            // An administrator may read everybody's, and has another runtime directory than the services.
            places.extend(children(Path::new("/run/user")).map(|user| user.join("herdcache")));
            places.extend(children(&self.temp).filter(|path| has_prefix(path, "herdcache-")));
        }
        places
    }
}

/// Whose sockets are listed.
#[derive(Clone, Copy, Debug)]
enum Owners {
    /// This user's.
    Only(u32),
    /// Anybody's who lets this user connect: a service may share its socket with a group. Only where an
    /// administrator or this user chose the place.
    WhoeverLetsUsWrite,
}

/// Where a process of `service` with this process's id makes its socket.
///
/// [`ENV_SOCKET`] wins (a directory gets the usual file name); then
/// `$XDG_RUNTIME_DIR/herdcache/<service>-<pid>.sock`; then `/run/herdcache`, if it
/// is there and writable; then `herdcache-<uid>` in the directory for temporary files.
/// Characters of the name that do not suit a file become `_`, and 64 of them are kept.
///
/// ```
/// use std::path::Path;
/// use herdfeed::socket::{ENV_SOCKET, default_path, path_at, wished_path};
/// let file = format!("web_shop-{}.sock", std::process::id());
/// if std::env::var_os(ENV_SOCKET).is_none() {
///     assert!(default_path("web shop").ends_with(&file));
///     // Where the code wishes for a place: a path, or a directory.
///     assert_eq!(wished_path("web shop", Path::new("/run/shop/")), Path::new("/run/shop").join(&file));
///     assert_eq!(wished_path("web shop", Path::new("/run/shop.sock")), Path::new("/run/shop.sock"));
/// }
/// // The same, whatever the environment says.
/// assert_eq!(path_at("web shop", Path::new("/run/shop/")), Path::new("/run/shop").join(&file));
/// ```
pub fn default_path(service: &str) -> PathBuf {
    Places::of_this_process().socket(None, &file_name(service))
}

/// Where a process of `service` makes its socket when its code wishes for `place`: a path, or a directory.
///
/// [`ENV_SOCKET`] wins over the wish. A directory, or a path that ends in `/`, gets the usual file name.
pub fn wished_path(service: &str, place: &Path) -> PathBuf {
    Places::of_this_process().socket(Some(place), &file_name(service))
}

/// The socket at `place`, whatever the environment says: the path, or the usual file name in a directory.
pub fn path_at(service: &str, place: &Path) -> PathBuf {
    within(place, &file_name(service))
}

fn file_name(service: &str) -> String {
    format!("{}-{}.sock", file_safe(service), std::process::id())
}

fn within(place: &Path, file: &str) -> PathBuf {
    let is_directory = place.is_dir() || place.as_os_str().to_string_lossy().ends_with('/');
    if is_directory { place.join(file) } else { place.to_owned() }
}

/// Every socket that this user may read, in all the directories of [`default_path`],
/// ordered by service and process; at most [`MAX_FOUND`].
///
/// A socket whose process has died is listed too: only connecting tells.
///
/// ```
/// use herdfeed::socket::{Found, MAX_FOUND, discover};
/// let found = discover();
/// assert!(found.is_sorted() && found.len() <= MAX_FOUND);
/// for Found { service, pid, address } in found {
///     let pid = pid.map_or_else(|| "?".to_owned(), |pid| pid.to_string());
///     println!("{service} {pid} {address}"); // api 4711 unix:/run/herdcache/api-4711.sock
/// }
/// ```
pub fn discover() -> Vec<Found> {
    search(&Places::of_this_process())
}

fn search(places: &Places) -> Vec<Found> {
    let in_place = |place: PathBuf| {
        let owners = places.owners(&place);
        let paths = if place.is_dir() { children(&place).collect() } else { vec![place] };
        paths.into_iter().filter(move |path| readable_socket(path, owners))
    };
    let mut found: Vec<Found> =
        places.to_search().into_iter().flat_map(in_place).map(describe).take(MAX_FOUND).collect();
    found.sort();
    found.dedup();
    found
}

/// What the file name of a socket tells.
fn describe(path: PathBuf) -> Found {
    let stem = path.file_stem().map(OsString::from).unwrap_or_default().to_string_lossy().into_owned();
    let named = stem.rsplit_once('-').and_then(|(service, pid)| Some((service.to_owned(), pid.parse().ok()?)));
    let (service, pid) = named.map_or((stem, None), |(service, pid)| (service, Some(pid)));
    Found { service, pid, address: Address::Unix(path) }
}

fn children(directory: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path())
}

fn has_prefix(path: &Path, prefix: &str) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix))
}

fn file_safe(service: &str) -> String {
    let name: String = service
        .chars()
        .take(64)
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '_' })
        .collect();
    if name.is_empty() || name.starts_with('.') { format!("_{name}") } else { name }
}

/// The user that this process acts as.
#[cfg(unix)]
pub(crate) fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

#[cfg(not(unix))]
pub(crate) fn own_uid() -> u32 {
    0
}

/// Whether a socket is there that this user may connect to and has a reason to.
#[cfg(unix)]
fn readable_socket(path: &Path, owners: Owners) -> bool {
    use rustix::fs::{Access, access};
    use std::os::unix::fs::{FileTypeExt, MetadataExt};
    let Ok(meta) = std::fs::symlink_metadata(path) else { return false };
    meta.file_type().is_socket()
        && match owners {
            Owners::Only(uid) => meta.uid() == uid,
            Owners::WhoeverLetsUsWrite => access(path, Access::WRITE_OK).is_ok(),
        }
}

#[cfg(not(unix))]
fn readable_socket(_: &Path, _: Owners) -> bool {
    false
}

/// Whether this process may make files in `directory`.
#[cfg(unix)]
fn writable(directory: &Path) -> bool {
    use rustix::fs::{Access, access};
    directory.is_dir() && access(directory, Access::WRITE_OK | Access::EXEC_OK).is_ok()
}

#[cfg(not(unix))]
fn writable(_: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests;
