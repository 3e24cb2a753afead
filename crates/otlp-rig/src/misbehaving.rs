//! What stands where a collector should be.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use tokio::net::TcpSocket;

use crate::collector::{Collector, Protocol};

/// An address at which OTLP gets nowhere, until this is dropped.
#[derive(Debug)]
pub struct Misbehaving {
    address: SocketAddr,
    /// Bound, and not listening: the port is nobody else's.
    held: Option<TcpSocket>,
    /// Open, and never read.
    _listener: Option<TcpListener>,
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
        Ok(Self { address: held.local_addr()?, held: Some(held), _listener: None, _queue: Vec::new() })
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
        Ok(Self { address: listener.local_addr()?, held: None, _listener: Some(listener), _queue: Vec::new() })
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
        Ok(Self { address, held: None, _listener: Some(listener), _queue: queue })
    }

    /// Where it is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}
