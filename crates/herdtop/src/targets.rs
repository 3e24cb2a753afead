//! Which processes to watch: those that the operator names, or all that can be found.

use std::fmt;

use herdfeed::Address;
use herdfeed::address::AddressError;
use herdfeed::socket::{self, ENV_SOCKET, Found};

/// Which processes to watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Targets {
    /// These, whether they can be reached or not.
    Listed(Vec<Address>),
    /// Every process of this machine whose socket this user may read, also those that start later.
    Local,
}

/// Why there is nothing to watch.
#[derive(Debug)]
pub enum TargetError {
    /// A word is no address.
    Address {
        /// The word.
        word: String,
        /// Why.
        error: AddressError,
    },
    /// The process with this id is dead: it left its socket behind, or no process has this id.
    Dead {
        /// The id.
        pid: u32,
        /// Those that live and have a feed.
        found: Vec<Found>,
    },
    /// No process with this id has a feed.
    NoSuchPid {
        /// The id.
        pid: u32,
        /// Those that have one.
        found: Vec<Found>,
    },
    /// No process was found at all.
    Nothing,
}

impl fmt::Display for TargetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address { word, error } => write!(f, "{}: {error}", crate::text::clean(word)),
            Self::Dead { pid, found } => {
                write!(f, "process {pid} is not running (any more); {}", instead(found))
            }
            Self::NoSuchPid { pid, found } => {
                write!(
                    f,
                    "process {pid} has no feed that this user may read: it must call herdcache::serve_feed, and herdtop must \
                     run as its user; {}",
                    instead(found)
                )
            }
            Self::Nothing => write!(
                f,
                "no process with a feed was found; {}.\n\
                 A service shows itself with herdcache::serve_feed(\"name\"). Watch one elsewhere with `herdtop http://HOST:PORT` \
                 or a socket's path; `herdtop --wait` opens the screen and waits for one to start.",
                places()
            ),
        }
    }
}

impl std::error::Error for TargetError {}

/// What to do when a process id names nothing.
fn instead(found: &[Found]) -> String {
    let names: Vec<String> = found.iter().map(name_of).collect();
    if names.is_empty() {
        return places();
    }
    format!("these have a feed: {}; `herdtop` without a name watches them all", crate::text::clean(&names.join(", ")))
}

fn places() -> String {
    let beside = socket::default_path("SERVICE");
    let here = beside.parent().map_or_else(String::new, |place| place.display().to_string());
    format!("looked for sockets in {}, /run/herdcache and where {ENV_SOCKET} points", crate::text::clean(&here))
}

/// What to call a process before it has said its name.
pub fn name_of(found: &Found) -> String {
    match found.pid {
        Some(pid) => format!("{}-{pid}", found.service),
        None => found.service.clone(),
    }
}

impl Targets {
    /// The targets that words name: addresses, or process ids. No words mean all of this machine.
    ///
    /// # Errors
    /// [`TargetError`] when a word is no address or a process has no feed.
    pub fn parse(words: &[String]) -> Result<Self, TargetError> {
        if words.is_empty() {
            return Ok(Self::Local);
        }
        words.iter().map(|word| address(word)).collect::<Result<_, _>>().map(Self::Listed)
    }

    /// The addresses as of now.
    ///
    /// # Errors
    /// [`TargetError::Nothing`] when no process was named and none is found.
    pub fn addresses(&self) -> Result<Vec<Address>, TargetError> {
        match self {
            Self::Listed(addresses) => Ok(addresses.clone()),
            Self::Local => {
                let found = socket::discover().into_iter().map(|found| found.address);
                let found: Vec<Address> = found.filter(is_alive).collect();
                if found.is_empty() { Err(TargetError::Nothing) } else { Ok(found) }
            }
        }
    }
}

/// Whether somebody is behind a socket that was found. A process that was killed leaves its socket behind, which
/// must not make a look at the living ones fail for ever.
fn is_alive(address: &Address) -> bool {
    #[cfg(unix)]
    if let Address::Unix(path) = address {
        use std::io::ErrorKind::{ConnectionRefused, NotFound};
        let error = std::os::unix::net::UnixStream::connect(path).err().map(|error| error.kind());
        return !matches!(error, Some(ConnectionRefused | NotFound));
    }
    true
}

fn address(word: &str) -> Result<Address, TargetError> {
    if let Ok(pid) = word.parse::<u32>() {
        // A socket that a dead process left behind would be tried for ever.
        let (found, dead): (Vec<Found>, Vec<Found>) =
            socket::discover().into_iter().partition(|found| is_alive(&found.address));
        let mine = found.iter().find(|found| found.pid == Some(pid)).map(|found| found.address.clone());
        let is_dead = dead.iter().any(|found| found.pid == Some(pid)) || !runs(pid);
        return mine.ok_or(if is_dead {
            TargetError::Dead { pid, found }
        } else {
            TargetError::NoSuchPid { pid, found }
        });
    }
    word.parse().map_err(|error| TargetError::Address { word: word.to_owned(), error })
}

/// Whether a process has this id; where that cannot be asked the answer is yes.
fn runs(pid: u32) -> bool {
    #[cfg(unix)]
    {
        // An id that is no process id names none. A process of another user runs too: it only may not be touched.
        let id = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
        id.is_some_and(|id| rustix::process::test_kill_process(id) != Err(rustix::io::Errno::SRCH))
    }
    #[cfg(not(unix))]
    {
        let _ = pid;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn words_are_addresses_and_none_means_all() {
        assert_eq!(Targets::parse(&[]).unwrap(), Targets::Local);
        let listed = Targets::parse(&words(&["/run/a.sock", "http://localhost:9000"])).unwrap();
        assert_eq!(listed.addresses().unwrap().len(), 2);
    }

    #[cfg(unix)]
    #[test]
    fn a_socket_that_a_killed_process_left_behind_is_not_alive() {
        let path = std::env::temp_dir().join(format!("herdtop-left-{}.sock", std::process::id()));
        let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        assert!(is_alive(&Address::Unix(path.clone())));
        drop(listener);
        assert!(path.exists() && !is_alive(&Address::Unix(path.clone())));
        std::fs::remove_file(&path).unwrap();
        assert!(!is_alive(&Address::Unix(path)));
    }

    #[cfg(unix)]
    #[test]
    fn a_process_id_that_no_process_has_is_told_as_dead() {
        assert!(runs(std::process::id()));
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = child.id();
        child.wait().unwrap();
        assert!(!runs(pid) && !runs(u32::MAX) && !runs(0));
        let error = Targets::parse(&words(&[&pid.to_string()])).unwrap_err();
        assert!(matches!(error, TargetError::Dead { pid: dead, .. } if dead == pid), "{error:?}");
    }

    #[test]
    fn an_error_says_what_to_do() {
        let error = Targets::parse(&words(&["https://a:1"])).unwrap_err().to_string();
        assert!(error.starts_with("https://a:1: the feed speaks no TLS: use a tunnel"), "{error}");
        let error = TargetError::NoSuchPid { pid: 9, found: vec![] };
        assert!(error.to_string().contains("looked for sockets in "));
        let found =
            || vec![Found { address: Address::Unix("/run/a.sock".into()), service: "api".into(), pid: Some(7) }];
        let error = TargetError::NoSuchPid { pid: 9, found: found() }.to_string();
        assert!(error.contains("serve_feed, and herdtop must run as its user; these have a feed: api-7"), "{error}");
        let error = TargetError::Dead { pid: 9, found: found() }.to_string();
        let expected =
            "process 9 is not running (any more); these have a feed: api-7; `herdtop` without a name watches them all";
        assert_eq!(error, expected);
        assert!(TargetError::Nothing.to_string().contains("serve_feed"));
    }
}
