//! [`Publisher`]: the thread that serves a feed, as a value.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use tokio::sync::watch;

use crate::address::Address;
use crate::server::account::{Account, PublisherStats};
use crate::server::bind::{Bound, SocketFile, bind};
use crate::server::hub::{Hub, Phase};
use crate::server::limits::Limits;
#[cfg(feature = "mount")]
use crate::server::mount::{Guard, Inside, Mount};
use crate::server::serve::serve;
use crate::server::{Listen, Source};

/// A feed being served, until this value is dropped.
///
/// Dropping it ends every stream with `bye shutdown`, waits for the thread (at
/// most [`Limits::farewell`] beyond a call of the source that is running) and
/// removes the socket.
///
/// ```
/// use std::sync::Arc;
/// use herdfeed::hello::{Clock, Hello, Process, VERSION};
/// use herdfeed::server::{Batch, Listen, Publisher, Source};
/// struct Quiet;
/// impl Source for Quiet {
///     fn hello(&self) -> Hello {
///         let process = Process { service: "api".into(), pid: std::process::id(), ..Process::default() };
///         let (caps, caches, gates) = (vec![], vec![], vec![]);
///         let lib = "example 1.0".into();
///         Hello { v: VERSION, min: VERSION[0], lib, process, clock: Clock::default(), caps, caches, gates }
///     }
///     fn snapshot(&self) -> herdfeed::Snapshot { herdfeed::Snapshot::default() }
///     fn events(&self, since: u64, _most: usize) -> Batch { Batch { next: since, ..Batch::default() } }
/// }
/// # let folder = std::env::temp_dir().join(format!("herdfeed-example-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// # #[cfg(unix)] std::fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
/// # let path = folder.join("api.sock"); // a service takes herdfeed::socket::default_path("api")
/// let publisher = Publisher::start(Listen::Unix(path), Arc::new(Quiet))?;
/// assert!(publisher.address().is_some_and(|address| address.to_string().ends_with("api.sock")));
/// # drop(publisher);
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Publisher {
    address: Option<Address>,
    account: Arc<Account>,
    phase: watch::Sender<Phase>,
    thread: Option<JoinHandle<()>>,
    // Weak: the source may not outlive the thread that asks it.
    #[cfg(feature = "mount")]
    inside: Inside,
    _file: Option<SocketFile>,
}

impl Publisher {
    /// Listens, and serves on a thread named `herdfeed` with a runtime of its own, within the
    /// default [`Limits`].
    ///
    /// # Errors
    /// As [`Publisher::start_within`].
    pub fn start(listen: Listen, source: Arc<dyn Source>) -> io::Result<Self> {
        Self::start_within(listen, source, Limits::default())
    }

    /// Listens and serves within other limits.
    ///
    /// # Errors
    /// When the place cannot be used safely, is taken, or is reachable from other machines
    /// without a token; when the thread or its runtime cannot be made. The text says what to do.
    pub fn start_within(listen: Listen, source: Arc<dyn Source>, limits: Limits) -> io::Result<Self> {
        let Bound { listener, address, door, file } = bind(listen)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let (phase, watched) = watch::channel(Phase::Open);
        let account = Arc::new(Account::default());
        let hub = {
            // The hub reads the clock of the runtime that it will live on.
            let _clock = runtime.enter();
            Arc::new(Hub::new(source, limits, Arc::clone(&account), watched))
        };
        #[cfg(feature = "mount")]
        let inside = Inside::new(&hub, runtime.handle().clone());
        let thread = std::thread::Builder::new().name("herdfeed".into()).spawn(move || {
            runtime.block_on(serve(listener, Arc::new(door), hub));
        })?;
        Ok(Self {
            address,
            account,
            phase,
            thread: Some(thread),
            #[cfg(feature = "mount")]
            inside,
            _file: file,
        })
    }

    /// Where readers attach; `None` if it listens [nowhere](Listen::Nowhere).
    pub fn address(&self) -> Option<&Address> {
        self.address.as_ref()
    }

    /// The feed as a service for the application's own HTTP server, beside whatever it listens on.
    ///
    /// It answers as long as this publisher lives, then 503.
    #[cfg_attr(feature = "mount", doc = include_str!("../../docs/examples/mount.md"))]
    #[cfg(feature = "mount")]
    pub fn mount(&self, guard: Guard) -> Mount {
        Mount::new(guard, self.inside.clone())
    }

    /// What it has done so far.
    pub fn stats(&self) -> PublisherStats {
        self.account.read()
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        self.phase.send_replace(Phase::Closing);
        if let Some(thread) = self.thread.take() {
            // A source that owned its publisher could drop it here, on the thread itself.
            if thread.thread().id() != std::thread::current().id() {
                let _ = thread.join();
            }
        }
    }
}
