//! A collector that is well: on a thread and a runtime of its own, so that it answers whatever the test's runtime does.

mod grpc;
mod http;
mod raw;

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use parking_lot::Mutex;
use tokio::net::TcpSocket;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::inbox::Inbox;

/// Largest message in bytes, after inflation. An SDK sends hundreds of kilobytes at most.
const LARGEST: usize = 16 << 20;

/// How OTLP is carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// gRPC.
    Grpc,
    /// HTTP/1.1 with protobuf.
    Http,
}

impl Protocol {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::Grpc, Self::Http];

    /// The scheme of its URLs.
    pub fn scheme(self) -> &'static str {
        match self {
            Self::Grpc => "grpc",
            Self::Http => "http",
        }
    }
}

/// A collector that listens until it is stopped or dropped.
#[derive(Debug)]
pub struct Collector {
    protocol: Protocol,
    address: SocketAddr,
    inbox: Arc<Inbox>,
    runtime: Handle,
    /// While it is frozen.
    thaw: Mutex<Option<mpsc::Sender<()>>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Collector {
    /// Listens on a free port of this machine.
    ///
    /// ```
    /// let collector = otlp_rig::Collector::start(otlp_rig::Protocol::Http)?;
    /// assert!(collector.url().starts_with("http://127.0.0.1:"));
    /// assert_eq!(collector.inbox().batches().len(), 0);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When there is no port or no thread.
    pub fn start(protocol: Protocol) -> io::Result<Self> {
        let socket = TcpSocket::new_v4()?;
        socket.bind(SocketAddr::from(([127, 0, 0, 1], 0)))?;
        Self::start_with(protocol, socket)
    }

    /// Listens with a socket that is bound already.
    pub(crate) fn start_with(protocol: Protocol, socket: TcpSocket) -> io::Result<Self> {
        let address = socket.local_addr()?;
        let inbox = Arc::new(Inbox::default());
        let (stop, stopped) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let listener = {
            let _within = runtime.enter();
            socket.listen(1_024)?
        };
        let (into, handle) = (Arc::clone(&inbox), runtime.handle().clone());
        let serve = async move {
            let serving = async {
                match protocol {
                    Protocol::Grpc => grpc::serve(listener, into).await,
                    Protocol::Http => http::serve(listener, into).await,
                }
            };
            tokio::select! {
                ended = serving => ended,
                _ = stopped => Ok(()),
            }
        };
        // Whoever waits for what it should receive says that it did not come; connections end with the runtime.
        let thread =
            std::thread::Builder::new().name("collector".to_owned()).spawn(move || drop(runtime.block_on(serve)))?;
        Ok(Self {
            protocol,
            address,
            inbox,
            runtime: handle,
            thaw: Mutex::new(None),
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where it listens, as `grpc://…` or `http://…`.
    pub fn url(&self) -> String {
        format!("{}://{}", self.protocol.scheme(), self.address)
    }

    /// What it has received.
    pub fn inbox(&self) -> &Inbox {
        &self.inbox
    }

    /// Does nothing at all from now on, as a process that was stopped: the system goes on to accept connections and bytes
    /// for it, until its buffers are full.
    pub fn freeze(&self) {
        let (thaw, thawed) = mpsc::channel::<()>();
        let (tell, told) = mpsc::channel();
        self.runtime.spawn(async move {
            // Whoever asked has gone away if nobody listens.
            let _ = tell.send(());
            // Ends as the other half is dropped.
            let _ = thawed.recv();
        });
        let _ = told.recv();
        *self.thaw.lock() = Some(thaw);
    }

    /// Goes on where it was frozen.
    pub fn thaw(&self) {
        drop(self.thaw.lock().take());
    }

    /// Closes the port and every connection, and waits until that has happened. What was received stays.
    pub fn stop(&mut self) {
        self.thaw();
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic in it was printed by then.
            let _ = thread.join();
        }
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.stop();
    }
}
