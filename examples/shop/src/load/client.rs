//! An HTTP/1.1 client with a bounded number of kept connections.
//!
//! Requests beyond the bound wait in the order in which they came. An answer is
//! read to its end before its connection is used again.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Request, Uri, header};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

/// Largest answer read, in bytes.
const LARGEST_ANSWER: usize = 1 << 20;

type Sender = SendRequest<Empty<Bytes>>;

/// The host and port of a shop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    authority: String,
}

impl Target {
    /// Reads `http://HOST:PORT`.
    ///
    /// # Errors
    ///
    /// A sentence that says what would be taken.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || "write http://HOST:PORT, without a path (TLS is not spoken)".to_owned();
        let uri: Uri = text.parse().map_err(|_| wrong())?;
        let plain = uri.scheme_str() == Some("http") && matches!(uri.path(), "" | "/") && uri.query().is_none();
        let authority = uri.authority().filter(|_| plain).ok_or_else(wrong)?;
        Ok(Self { authority: format!("{}:{}", authority.host(), authority.port_u16().unwrap_or(80)) })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}", self.authority)
    }
}

/// Why a request brought no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// No connection.
    #[error("no connection: {0}")]
    Connect(std::io::Error),
    /// The connection broke.
    #[error("the connection broke: {0}")]
    Broken(hyper::Error),
    /// The answer was too large or its body broke.
    #[error("the answer could not be read to its end")]
    Body,
    /// It took too long.
    #[error("no answer within {0:?}")]
    Timeout(Duration),
    /// The answer is not what a shop says.
    #[error("its answer is not a shop's")]
    NotAShop,
}

impl AskError {
    /// A short word for the report.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Connect(_) => "connect",
            Self::Broken(_) => "broken",
            Self::Body => "body",
            Self::Timeout(_) => "timeout",
            Self::NotAShop => "not_a_shop",
        }
    }
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// The header `x-outcome`, as sent.
    pub(crate) outcome: Option<String>,
    pub(crate) body: Bytes,
    /// When the request got a connection.
    pub(crate) sent_at: Instant,
}

/// A client of one shop.
#[derive(Debug)]
pub(crate) struct Client {
    target: Target,
    limit: Duration,
    /// One place for each connection.
    places: Semaphore,
    /// Connections between two requests.
    idle: Mutex<Vec<Sender>>,
}

impl Client {
    /// A client with at most `connections` connections, which gives up on a request after `limit`.
    pub(crate) fn new(target: Target, connections: u32, limit: Duration) -> Arc<Self> {
        Arc::new(Self { target, limit, places: Semaphore::new(connections as usize), idle: Mutex::default() })
    }

    /// Asks for `path` and reads the answer to its end.
    pub(crate) async fn ask(&self, path: &str) -> Result<Reply, AskError> {
        let give_up = Instant::now() + self.limit;
        let timed_out = || AskError::Timeout(self.limit);
        // The semaphore is never closed, so its only end without a place is the timeout.
        let Ok(Ok(_place)) = timeout_at(give_up, self.places.acquire()).await else {
            return Err(timed_out());
        };
        let sent_at = Instant::now();
        timeout_at(give_up, self.exchange(path, sent_at)).await.map_err(|_| timed_out())?
    }

    async fn exchange(&self, path: &str, sent_at: Instant) -> Result<Reply, AskError> {
        let mut sender = self.connection().await?;
        let request = Request::get(path)
            .header(header::HOST, &self.target.authority)
            .body(Empty::new())
            .map_err(|_| AskError::NotAShop)?;
        let response = sender.send_request(request).await.map_err(AskError::Broken)?;
        let status = response.status().as_u16();
        let outcome = response.headers().get("x-outcome").and_then(|value| value.to_str().ok()).map(str::to_owned);
        let body = Limited::new(response.into_body(), LARGEST_ANSWER).collect().await.map_err(|_| AskError::Body)?;
        self.idle.lock().push(sender);
        Ok(Reply { status, outcome, body: body.to_bytes(), sent_at })
    }

    /// An idle connection that still works, or a new one.
    async fn connection(&self) -> Result<Sender, AskError> {
        loop {
            let Some(mut sender) = self.idle.lock().pop() else {
                break;
            };
            if sender.ready().await.is_ok() {
                return Ok(sender);
            }
        }
        let stream = TcpStream::connect(&self.target.authority).await.map_err(AskError::Connect)?;
        stream.set_nodelay(true).map_err(AskError::Connect)?;
        let (sender, driver) = http1::handshake(TokioIo::new(stream)).await.map_err(AskError::Broken)?;
        // It ends when the sender is dropped or the shop hangs up; the sender then learns of it.
        tokio::spawn(driver);
        Ok(sender)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_a_host_and_a_port() {
        assert_eq!(Target::parse("http://127.0.0.1:8080").unwrap().to_string(), "http://127.0.0.1:8080");
        assert_eq!(Target::parse("http://[::1]:1/").unwrap().to_string(), "http://[::1]:1");
        assert_eq!(Target::parse("http://shop").unwrap().to_string(), "http://shop:80");
        for text in ["", "127.0.0.1:8080", "https://shop", "http://shop/path", "http://shop/?q"] {
            assert!(Target::parse(text).is_err(), "{text}");
        }
    }
}
