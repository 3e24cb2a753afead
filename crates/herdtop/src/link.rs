//! Links: one task for each process, and one that looks for new ones.
//!
//! A link reads lines and puts them into the mailbox; it never waits for the
//! screen, and the screen never waits for it. It reconnects by itself, later
//! each time. Nothing here judges what the lines say.

pub mod backoff;
pub mod mailbox;
mod scout;
mod stream;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use herdfeed::client::AttachError;
use herdfeed::{Address, Token};
use tokio::runtime::Handle;
use tokio::sync::watch;

use crate::msg::{Feed, TargetId};
use crate::targets::Targets;
use mailbox::Mailbox;

/// Snapshots per second that a link asks for.
const HZ: f64 = 4.0;

/// The running links; dropping it ends them.
#[derive(Debug)]
pub struct Links {
    tasks: Vec<tokio::task::JoinHandle<()>>,
    retry: watch::Sender<u64>,
}

/// What every link needs.
#[derive(Clone, Debug)]
struct Common {
    mailbox: Arc<Mailbox>,
    retry: watch::Receiver<u64>,
    token: Option<Token>,
    next_id: Arc<AtomicU32>,
}

impl Common {
    /// A target that the screen shows from now on.
    fn announce(&self, address: &Address, name: &str) -> TargetId {
        let target = TargetId(self.next_id.fetch_add(1, Ordering::Relaxed));
        let feed = Feed::Added { address: address.to_string(), name: name.to_owned() };
        self.mailbox.put(target, feed);
        target
    }
}

impl Links {
    /// Starts the links on `runtime`; what they read comes out of `mailbox`.
    pub fn start(runtime: &Handle, targets: &Targets, token: Option<Token>, mailbox: &Arc<Mailbox>) -> Self {
        let (retry, wishes) = watch::channel(0);
        let common = Common { mailbox: Arc::clone(mailbox), retry: wishes, token, next_id: Arc::default() };
        let tasks = match targets {
            Targets::Listed(addresses) => addresses
                .iter()
                .map(|address| {
                    let target = common.announce(address, &short_name(address));
                    runtime.spawn(stream::watched(common.clone(), address.clone(), target))
                })
                .collect(),
            Targets::Local => vec![runtime.spawn(scout::run(common))],
        };
        Self { tasks, retry }
    }

    /// Every link that waits tries now.
    pub fn retry(&self) {
        self.retry.send_modify(|wishes| *wishes += 1);
    }
}

impl Drop for Links {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

/// Why an address cannot be read, without the address: whoever tells it says that already.
pub fn reason(error: &AttachError) -> String {
    let why = broken(error);
    // A feed whose seats are taken hangs up on some readers before its refusal has arrived.
    let is_hung_up = matches!(error, AttachError::Io { .. }) && HUNG_UP.iter().any(|words| why.contains(words));
    if is_hung_up { "too many connections, or the feed closed before it answered".to_owned() } else { why }
}

/// Why a stream that was open has broken, without the address.
pub(crate) fn broken(error: &AttachError) -> String {
    let told = error.to_string();
    told.strip_prefix(&format!("{}: ", error.address())).unwrap_or(&told).to_owned()
}

/// What the transport says of a connection that the other side closed without an answer.
const HUNG_UP: [&str; 8] = [
    "operation was canceled",
    "connection closed before message completed",
    "error writing a body to connection",
    "connection error",
    "connection was not ready",
    "channel closed",
    "Connection reset",
    "Broken pipe",
];

/// What to call a target before it has said its name.
fn short_name(address: &Address) -> String {
    match address {
        Address::Unix(path) => {
            path.file_stem().map_or_else(|| address.to_string(), |stem| stem.to_string_lossy().into_owned())
        }
        Address::Tcp { host, port } => format!("{host}:{port}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn io(text: &str) -> AttachError {
        AttachError::Io { address: "localhost:9000".parse().unwrap(), error: std::io::Error::other(text.to_owned()) }
    }

    #[test]
    fn a_feed_that_hangs_up_without_an_answer_is_told_as_full_or_closing() {
        let told = "too many connections, or the feed closed before it answered";
        assert_eq!(reason(&io("operation was canceled")), told);
        assert_eq!(reason(&io("connection closed before message completed")), told);
        assert_eq!(
            reason(&io("invalid HTTP version parsed")),
            "the connection failed (invalid HTTP version parsed): is this the address of a feed?"
        );
    }

    #[test]
    fn a_reason_does_not_repeat_the_address() {
        let refused = AttachError::Refused { address: "localhost:9000".parse().unwrap() };
        assert_eq!(reason(&refused), "nobody listens there: is the process still running, with its feed on?");
    }
}
