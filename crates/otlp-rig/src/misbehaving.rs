//! What stands where a collector should be.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};

/// An address at which OTLP gets nowhere, until this is dropped.
#[derive(Debug)]
pub struct Misbehaving {
    address: SocketAddr,
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
        // The port was free a moment ago. Nobody else of this machine is likely to take it, as the system gives others first.
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        Ok(Self { address, _listener: None, _queue: Vec::new() })
    }

    /// Connections are made, and nothing is ever answered: the system accepts for a program that never looks.
    ///
    /// # Errors
    ///
    /// When there is no free port.
    pub fn silent() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        Ok(Self { address: listener.local_addr()?, _listener: Some(listener), _queue: Vec::new() })
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
        while let Ok(stream) = TcpStream::connect_timeout(&address, std::time::Duration::from_millis(300)) {
            queue.push(stream);
            if queue.len() > 10_000 {
                return Err(io::Error::other("the queue of connections does not fill"));
            }
        }
        Ok(Self { address, _listener: Some(listener), _queue: queue })
    }

    /// Where it is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}
