//! What stands where a collector should be.

use std::io::{self, Read};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::net::TcpSocket;

use crate::collector::{Collector, Protocol};

/// Resets every connection, until it is dropped.
#[derive(Debug)]
struct Rude {
    address: SocketAddr,
    over: Arc<AtomicBool>,
    resets: Arc<AtomicUsize>,
    thread: Option<JoinHandle<()>>,
}

impl Rude {
    fn start(listener: TcpListener, address: SocketAddr) -> io::Result<Self> {
        let (over, resets) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let (until, count) = (Arc::clone(&over), Arc::clone(&resets));
        let accept = move || {
            for mut stream in listener.incoming().flatten() {
                if until.load(SeqCst) {
                    return;
                }
                // What is left unread makes the system answer with a reset. A sender that says nothing is not waited for.
                let _ = stream.set_read_timeout(Some(Duration::from_secs(1)));
                let _ = stream.read(&mut [0; 8]);
                count.fetch_add(1, SeqCst);
            }
        };
        let thread = std::thread::Builder::new().name("rude".to_owned()).spawn(accept)?;
        Ok(Self { address, over, resets, thread: Some(thread) })
    }
}

impl Drop for Rude {
    fn drop(&mut self) {
        self.over.store(true, SeqCst);
        // One more connection, so that it looks.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            // A panic in it was printed by then.
            let _ = thread.join();
        }
    }
}

/// An address at which OTLP gets nowhere, until this is dropped.
#[derive(Debug)]
pub struct Misbehaving {
    address: SocketAddr,
    /// Bound, and not listening: the port is nobody else's.
    held: Option<TcpSocket>,
    /// Open, and never read.
    _listener: Option<TcpListener>,
    /// Who hangs up.
    rude: Option<Rude>,
    /// What fills the queue of connections.
    _queue: Vec<TcpStream>,
}

impl Misbehaving {
    /// Nobody listens: connections are refused.
    ///
    /// # Errors
    ///
    /// When there is no free port.
    pub fn absent() -> io::Result<Self> {
        let held = TcpSocket::new_v4()?;
        held.bind(SocketAddr::from(([127, 0, 0, 1], 0)))?;
        Ok(Self { address: held.local_addr()?, held: Some(held), _listener: None, rude: None, _queue: Vec::new() })
    }

    /// A collector comes, at the same address. Only of one that was [absent](Self::absent).
    ///
    /// # Errors
    ///
    /// When the port was somebody's all the time, or there is no thread.
    pub fn replaced(mut self, protocol: Protocol) -> io::Result<Collector> {
        let held = self.held.take().ok_or_else(|| io::Error::from(io::ErrorKind::AddrInUse))?;
        Collector::start_with(protocol, held)
    }

    /// Connections are made, and nothing is ever answered: the system accepts for a program that never looks.
    ///
    /// # Errors
    ///
    /// When there is no free port.
    pub fn silent() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        Ok(Self {
            address: listener.local_addr()?,
            held: None,
            _listener: Some(listener),
            rude: None,
            _queue: Vec::new(),
        })
    }

    /// Connections are neither made nor refused, as behind a firewall: the queue of those not yet accepted is full.
    ///
    /// # Errors
    ///
    /// When there is no free port, or the queue does not fill.
    pub fn deaf() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let mut queue = Vec::new();
        // The system's limit is some thousands at most; a connection that is not made within this time is not made.
        while let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_millis(300)) {
            queue.push(stream);
            if queue.len() > 10_000 {
                return Err(io::Error::other("the queue of connections does not fill"));
            }
        }
        Ok(Self { address, held: None, _listener: Some(listener), rude: None, _queue: queue })
    }

    /// Connections are accepted, some bytes are read, and then they are reset, each of them.
    ///
    /// # Errors
    ///
    /// When there is no free port or no thread.
    pub fn rude() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let rude = Rude::start(listener, address)?;
        Ok(Self { address, held: None, _listener: None, rude: Some(rude), _queue: Vec::new() })
    }

    /// Connections that were reset.
    pub fn resets(&self) -> usize {
        self.rude.as_ref().map_or(0, |rude| rude.resets.load(SeqCst))
    }

    /// Where it is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}
