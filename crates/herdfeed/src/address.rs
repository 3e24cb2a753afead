//! [`Address`]: where a feed can be read.
//!
//! Knows how people write addresses and nothing of how to reach them. A process
//! id is no address: [`crate::socket::discover`] turns it into one.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Where a feed can be read.
///
/// ```
/// use herdfeed::Address;
/// let socket: Address = "/run/herdcache/api-4711.sock".parse()?;
/// assert_eq!(socket, Address::Unix("/run/herdcache/api-4711.sock".into()));
/// let tunnel: Address = "http://localhost:9000".parse()?;
/// assert_eq!(tunnel.to_string(), "http://localhost:9000");
///
/// // What is none says what to write instead.
/// use herdfeed::address::AddressError;
/// assert_eq!("4711".parse::<Address>(), Err(AddressError::OnlyNumber));
/// assert!(AddressError::Tls.to_string().contains("use a tunnel"));
/// # Ok::<(), herdfeed::address::AddressError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Address {
    /// A Unix socket of this machine.
    Unix(PathBuf),
    /// A TCP port, in clear text: loopback, or the near end of a tunnel.
    Tcp {
        /// Host name or IP address, without brackets.
        host: String,
        /// Port.
        port: u16,
    },
}

/// Why a text is no address.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AddressError {
    /// It asks for TLS.
    Tls,
    /// It is only a number.
    OnlyNumber,
    /// It has no port.
    NoPort,
    /// Its port is not a number from 1 to 65535.
    BadPort,
    /// It has no host or path.
    Empty,
}

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tls => {
                "the feed speaks no TLS: use a tunnel (ssh -L 9000:localhost:9000 HOST) and http://localhost:9000"
            }
            Self::OnlyNumber => "a number alone is no address: give a socket path or HOST:PORT",
            Self::NoPort => "the address has no port: give HOST:PORT, or a socket path with a / in it",
            Self::BadPort => "the port is not a number from 1 to 65535",
            Self::Empty => "the address is empty: give a socket path or HOST:PORT",
        })
    }
}

impl std::error::Error for AddressError {}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        if let Some(path) = text.strip_prefix("unix:") {
            return unix(path.strip_prefix("//").unwrap_or(path));
        }
        if text.starts_with("https:") {
            return Err(AddressError::Tls);
        }
        for prefix in ["http://", "tcp://", "tcp:"] {
            if let Some(rest) = text.strip_prefix(prefix) {
                return tcp(rest.split('/').next().unwrap_or(rest));
            }
        }
        if text.contains(['/', '\\']) || Path::new(text).extension().is_some_and(|end| end == "sock") {
            return unix(text);
        }
        tcp(text)
    }
}

fn unix(path: &str) -> Result<Address, AddressError> {
    if path.is_empty() {
        return Err(AddressError::Empty);
    }
    Ok(Address::Unix(path.into()))
}

fn tcp(text: &str) -> Result<Address, AddressError> {
    if text.is_empty() {
        return Err(AddressError::Empty);
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(AddressError::OnlyNumber);
    }
    let (host, port) = text.rsplit_once(':').ok_or(AddressError::NoPort)?;
    let bare = host.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')).unwrap_or(host);
    if bare.is_empty() {
        return Err(AddressError::Empty);
    }
    // An IPv6 address without brackets would lose its last group to the port.
    if bare.contains(':') && bare.len() == host.len() {
        return Err(AddressError::NoPort);
    }
    match port.parse() {
        Ok(port) if port > 0 => Ok(Address::Tcp { host: bare.to_owned(), port }),
        Ok(_) | Err(_) => Err(AddressError::BadPort),
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix:{}", calm(&path.to_string_lossy())),
            Self::Tcp { host, port } if host.contains(':') => write!(f, "http://[{}]:{port}", calm(host)),
            Self::Tcp { host, port } => write!(f, "http://{}:{port}", calm(host)),
        }
    }
}

/// Text from outside without control characters, so that it may reach a terminal (P2).
pub(crate) fn calm(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '·' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp(host: &str, port: u16) -> Address {
        Address::Tcp { host: host.into(), port }
    }

    #[test]
    fn every_way_to_write_an_address_is_read() {
        for (text, address) in [
            ("/run/x.sock", Address::Unix("/run/x.sock".into())),
            ("./x", Address::Unix("./x".into())),
            ("x.sock", Address::Unix("x.sock".into())),
            ("unix:/run/x.sock", Address::Unix("/run/x.sock".into())),
            ("unix:///run/x.sock", Address::Unix("/run/x.sock".into())),
            ("http://localhost:9000", tcp("localhost", 9000)),
            ("http://localhost:9000/herd/v1/stream", tcp("localhost", 9000)),
            ("tcp:127.0.0.1:9000", tcp("127.0.0.1", 9000)),
            ("db1:9000", tcp("db1", 9000)),
            ("[::1]:9000", tcp("::1", 9000)),
        ] {
            let read: Address = text.parse().unwrap();
            assert_eq!(read, address, "{text}");
            assert_eq!(read.to_string().parse::<Address>(), Ok(address), "{text}");
        }
    }

    #[test]
    fn what_is_no_address_says_why() {
        for (text, error) in [
            ("", AddressError::Empty),
            ("unix:", AddressError::Empty),
            ("http://", AddressError::Empty),
            (":9000", AddressError::Empty),
            ("4711", AddressError::OnlyNumber),
            ("db1", AddressError::NoPort),
            ("::1", AddressError::NoPort),
            ("db1:0", AddressError::BadPort),
            ("db1:70000", AddressError::BadPort),
            ("https://db1:9000", AddressError::Tls),
        ] {
            assert_eq!(text.parse::<Address>(), Err(error), "{text}");
        }
    }

    #[test]
    fn p2_a_hostile_path_cannot_move_the_cursor() {
        let shown = Address::Unix("/tmp/\u{1b}[2Jx.sock".into()).to_string();
        assert_eq!(shown, "unix:/tmp/·[2Jx.sock");
    }
}
