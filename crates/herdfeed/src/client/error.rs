//! [`AttachError`]: what is wrong, and what to do, in one line.

use std::fmt;
use std::io;
use std::time::Duration;

use crate::address::{Address, calm};
use crate::hello::VERSION;

/// Why a feed cannot be read.
///
/// ```
/// use herdfeed::Address;
/// use herdfeed::client::{AttachError, fetch};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let nobody: Address = "127.0.0.1:1".parse()?;
/// let error: AttachError = fetch(&nobody, None).await.err().ok_or("nobody serves a feed there")?;
/// assert_eq!(error.address(), &nobody);
/// // One line for people: where, what is wrong, what to do.
/// assert!(error.to_string().starts_with("http://127.0.0.1:1: "));
/// # Ok(()) }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum AttachError {
    /// Nobody listens there.
    Refused {
        /// Where.
        address: Address,
    },
    /// No such socket or host.
    NotFound {
        /// Where.
        address: Address,
    },
    /// This user may not read it.
    Permission {
        /// Where.
        address: Address,
    },
    /// No answer, or no further line, in time.
    Timeout {
        /// Where.
        address: Address,
        /// The limit that passed.
        limit: Duration,
    },
    /// The other side answered with an error.
    Http {
        /// Where.
        address: Address,
        /// The HTTP status.
        status: u16,
        /// What it said, shortened, without control characters.
        message: String,
    },
    /// The other side speaks other versions of the feed.
    Version {
        /// Where.
        address: Address,
        /// The major versions it speaks.
        theirs: Vec<u16>,
    },
    /// The connection failed in another way, or what is there is no feed.
    Io {
        /// Where.
        address: Address,
        /// How.
        error: io::Error,
    },
}

impl AttachError {
    /// The error of a failed connect.
    pub(super) fn connecting(address: &Address, error: io::Error) -> Self {
        let address = address.clone();
        match error.kind() {
            io::ErrorKind::ConnectionRefused => Self::Refused { address },
            io::ErrorKind::NotFound => Self::NotFound { address },
            io::ErrorKind::PermissionDenied => Self::Permission { address },
            _ => Self::Io { address, error },
        }
    }

    /// The connection broke, or what came is no HTTP.
    pub(super) fn broken(address: &Address, error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Io { address: address.clone(), error: io::Error::other(error) }
    }

    /// An answer that is not a success.
    pub(super) fn answered(address: &Address, status: u16, body: &[u8]) -> Self {
        #[derive(serde::Deserialize, Default)]
        #[serde(default)]
        struct Told {
            error: String,
            versions: Vec<u16>,
        }
        let told: Told = serde_json::from_slice(body).unwrap_or_default();
        let address = address.clone();
        if status == 404 && !told.versions.is_empty() && !told.versions.contains(&VERSION[0]) {
            return Self::Version { address, theirs: told.versions };
        }
        let message = calm(&told.error).chars().take(200).collect();
        Self::Http { address, status, message }
    }

    /// Where it happened.
    pub fn address(&self) -> &Address {
        match self {
            Self::Refused { address }
            | Self::NotFound { address }
            | Self::Permission { address }
            | Self::Timeout { address, .. }
            | Self::Http { address, .. }
            | Self::Version { address, .. }
            | Self::Io { address, .. } => address,
        }
    }
}

impl fmt::Display for AttachError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.address())?;
        match self {
            Self::Refused { .. } => {
                f.write_str("nobody listens there: is the process still running, with its feed on?")
            }
            Self::NotFound { .. } => {
                f.write_str("there is no such socket or host: check the address, and that the service has its feed on")
            }
            Self::Permission { .. } => f.write_str(
                "this user may not read it: run as the service's user, as a member of the group that it shares its \
                 socket with, or as root",
            ),
            Self::Timeout { limit, .. } => {
                write!(f, "no answer within {limit:?}: is the process stopped, or the tunnel down?")
            }
            Self::Http { status: 401, .. } => {
                f.write_str("the feed asks for another token: give the one that the service was started with")
            }
            Self::Http { status, message, .. } if message.is_empty() => {
                write!(f, "it answered {status} without a reason: is this the address of a feed?")
            }
            Self::Http { status, message, .. } => write!(f, "it answered {status}: {message}"),
            Self::Version { theirs, .. } => {
                write!(f, "it speaks {}, this reader {}: {}", Versions(theirs), Versions(&VERSION[..1]), cure(theirs))
            }
            Self::Io { error, .. } => {
                write!(f, "the connection failed ({}): is this the address of a feed?", calm(&error.to_string()))
            }
        }
    }
}

/// Who is behind depends on which version is the later one.
fn cure(theirs: &[u16]) -> &'static str {
    if theirs.iter().all(|version| *version > VERSION[0]) { "upgrade the reader" } else { "upgrade the service" }
}

struct Versions<'a>(&'a [u16]);

impl fmt::Display for Versions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, version) in self.0.iter().take(8).enumerate() {
            write!(f, "{}v{version}", if place == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

impl std::error::Error for AttachError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { error, .. } => Some(error),
            Self::Refused { .. }
            | Self::NotFound { .. }
            | Self::Permission { .. }
            | Self::Timeout { .. }
            | Self::Http { .. }
            | Self::Version { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address() -> Address {
        "localhost:9000".parse().unwrap()
    }

    fn answered(status: u16, body: &str) -> String {
        AttachError::answered(&address(), status, body.as_bytes()).to_string()
    }

    #[test]
    fn an_error_says_what_is_wrong_and_what_to_do() {
        let place = "http://localhost:9000: ";
        for (told, text) in [
            (
                answered(404, r#"{"error":"no such path","versions":[2,3]}"#),
                "it speaks v2, v3, this reader v1: upgrade the reader",
            ),
            (answered(404, r#"{"versions":[0]}"#), "it speaks v0, this reader v1: upgrade the service"),
            (answered(404, r#"{"error":"no such path","versions":[1]}"#), "it answered 404: no such path"),
            (answered(502, "<html>"), "it answered 502 without a reason: is this the address of a feed?"),
            (answered(401, ""), "the feed asks for another token: give the one that the service was started with"),
        ] {
            assert_eq!(told, format!("{place}{text}"));
        }
    }

    #[test]
    fn p2_a_hostile_answer_cannot_move_the_cursor() {
        let told = answered(500, r#"{"error":"\u001b[2J\nboo"}"#);
        assert!(told.ends_with("it answered 500: ·[2J·boo"), "{told}");
        let long = answered(500, &format!(r#"{{"error":"{}"}}"#, "x".repeat(10_000)));
        assert!(long.len() < 300, "{}", long.len());
    }
}
