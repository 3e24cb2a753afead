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

/// What to call a target before it has said its name.
fn short_name(address: &Address) -> String {
    match address {
        Address::Unix(path) => {
            path.file_stem().map_or_else(|| address.to_string(), |stem| stem.to_string_lossy().into_owned())
        }
        Address::Tcp { host, port } => format!("{host}:{port}"),
    }
}
