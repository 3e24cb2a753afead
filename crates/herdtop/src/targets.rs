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
            Self::NoSuchPid { pid, found } => {
                write!(f, "process {pid} has no feed that this user may read")?;
                let names: Vec<String> = found.iter().map(name_of).collect();
                if names.is_empty() {
                    write!(f, "; {}", places())
                } else {
                    write!(f, "; there are: {}", names.join(", "))
                }
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
        let found = socket::discover();
        let mine = found.iter().find(|found| found.pid == Some(pid)).map(|found| found.address.clone());
        return mine.ok_or(TargetError::NoSuchPid { pid, found });
    }
    word.parse().map_err(|error| TargetError::Address { word: word.to_owned(), error })
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

    #[test]
    fn an_error_says_what_to_do() {
        let error = Targets::parse(&words(&["https://a:1"])).unwrap_err().to_string();
        assert!(error.starts_with("https://a:1: the feed speaks no TLS: use a tunnel"), "{error}");
        let error = TargetError::NoSuchPid { pid: 9, found: vec![] };
        assert!(error.to_string().contains("looked for sockets in "));
        assert!(TargetError::Nothing.to_string().contains("serve_feed"));
    }
}
