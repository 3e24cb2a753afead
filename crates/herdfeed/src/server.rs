//! The publisher: serves one process's account to those who may read it.
//!
//! It runs on a thread and a runtime of its own, so that a saturated service
//! still answers its dashboard. HTTP/1.1, read-only, three paths:
//!
//! | path | gives |
//! |---|---|
//! | `/herd/v1/hello` | one line: who speaks |
//! | `/herd/v1/snapshot?keys=plain` | hello and one snapshot, then ends |
//! | `/herd/v1/stream?hz=4&events=on&since=0&keys=plain` | hello, the past five minutes, then events and snapshots |
//!
//! Every parameter may be left out; one that is not known here, or a value that is none, is answered 400 with
//! what is known. Keys are shown as the application allows for each cache. `keys=plain` insists on readable ones:
//! it is granted if every cache that lives now allows them, in plain or by a function of its own, and else
//! refused (403) with the caches that show hashes only. It never shows more than without it. There is no
//! `keys=hash` (400): events are kept as they were shown, so nothing here could hash them truthfully.
//!
//! Besides its own listener a publisher can be mounted in the application's HTTP server (feature `mount`).
//!
//! The account is never waited for: each subscriber holds a cursor into the
//! source's ring of events and gets the newest snapshot when it can take one.
//! What is counted and how is the [`Source`]'s part.

mod access;
mod account;
mod answer;
mod bind;
#[cfg(unix)]
mod directory;
mod door;
#[cfg(test)]
#[path = "../tests/support/fake.rs"]
mod fake;
mod fit;
mod hub;
mod limits;
#[cfg(feature = "mount")]
mod mount;
mod past;
mod patience;
mod peers;
mod publisher;
mod query;
mod race;
mod route;
mod serve;
mod stream;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::event::Event;
use crate::hello::Hello;
use crate::snapshot::Snapshot;
use crate::token::Token;

pub use access::{Access, Group};
pub use account::PublisherStats;
pub use limits::Limits;
#[cfg(feature = "mount")]
pub use mount::{Guard, Mount, MountBody, MountFuture};
pub use publisher::Publisher;

/// What the publisher tells: implemented by whoever counts.
///
/// Called on the publisher's thread only, one call at a time. A panic is caught
/// and counted, and the reader gets an error or a later snapshot.
pub trait Source: Send + Sync + 'static {
    /// Who speaks, with its clocks read now.
    fn hello(&self) -> Hello;
    /// State now.
    fn snapshot(&self) -> Snapshot;
    /// At most `most` events in order, from the sequence number `since` on.
    fn events(&self, since: u64, most: usize) -> Batch;
}

/// Some events, and where the next ones begin.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    /// The events in order; empty when there are none yet.
    pub events: Vec<Event>,
    /// A gap `[from, to)` before these events that the ring has overwritten.
    pub lag: Option<(u64, u64)>,
    /// The `since` of the next call.
    pub next: u64,
}

/// Where a publisher listens.
#[derive(Clone, Debug)]
pub enum Listen {
    /// A Unix socket, for this user and root alone. See [`crate::socket::default_path`].
    Unix(PathBuf),
    /// A Unix socket that members of a group may read as well, as [`Access`] says.
    Shared {
        /// The socket's file.
        path: PathBuf,
        /// Who may read, beside this user and root.
        access: Access,
    },
    /// A TCP port in clear text; port 0 takes a free one.
    Tcp {
        /// The address. One that other machines can reach needs a token.
        address: SocketAddr,
        /// The secret that readers must present, if any.
        token: Option<Token>,
    },
    /// Nowhere: the feed is read only where the application mounts it (feature `mount`).
    Nowhere,
}
