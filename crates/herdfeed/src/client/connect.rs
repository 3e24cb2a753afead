//! From an address to the answer of one GET.

use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{AUTHORIZATION, HOST, HeaderValue, USER_AGENT};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::AbortHandle;
use tokio::time::timeout;

use crate::address::Address;
use crate::client::ANSWER_WITHIN;
use crate::client::error::AttachError;
use crate::client::lines::next_chunk;
use crate::token::Token;

/// The most bytes of an error's body that are read.
const ERROR_BODY: usize = 4 * 1024;
/// The most bytes that the connection buffers.
const BUFFER: usize = 64 * 1024;

/// An answer being received; dropping it closes the connection.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) body: Incoming,
    _driver: Driver,
}

/// The task that moves the connection's bytes.
#[derive(Debug)]
struct Driver(AbortHandle);

impl Drop for Driver {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A connection, ready to ask one question.
pub(super) struct Connection {
    sender: SendRequest<NoBody>,
    driver: Driver,
}

/// Connects, asks for `path` and gives the answer, if it is a good one.
pub(super) async fn get(address: &Address, path: &str, token: Option<&Token>) -> Result<Answer, AttachError> {
    let connection = timeout(ANSWER_WITHIN, connect(address)).await;
    ask(address, connection.map_err(|_| late(address))??, path, token).await
}

fn late(address: &Address) -> AttachError {
    AttachError::Timeout { address: address.clone(), limit: ANSWER_WITHIN }
}

/// Asks for `path` and gives the answer, if it is a good one.
pub(super) async fn ask(
    address: &Address,
    mut connection: Connection,
    path: &str,
    token: Option<&Token>,
) -> Result<Answer, AttachError> {
    let request = request(address, path, token).map_err(|error| AttachError::broken(address, error))?;
    let response = timeout(ANSWER_WITHIN, connection.sender.send_request(request)).await;
    let response = response.map_err(|_| late(address))?.map_err(|error| AttachError::broken(address, error))?;
    let status = response.status();
    let mut answer = Answer { body: response.into_body(), _driver: connection.driver };
    if status == StatusCode::OK {
        return Ok(answer);
    }
    // A reason that does not come in time is no reason.
    let reason = timeout(ANSWER_WITHIN, read_some(&mut answer.body)).await.unwrap_or_default();
    Err(AttachError::answered(address, status.as_u16(), &reason))
}

async fn connect(address: &Address) -> Result<Connection, AttachError> {
    let failed = |error| AttachError::connecting(address, error);
    match address {
        #[cfg(unix)]
        Address::Unix(path) => {
            let stream = tokio::net::UnixStream::connect(path).await.map_err(failed)?;
            handshake(address, stream).await
        }
        #[cfg(not(unix))]
        Address::Unix(_) => {
            Err(failed(std::io::Error::new(std::io::ErrorKind::Unsupported, "this system has no Unix sockets")))
        }
        Address::Tcp { host, port } => {
            let stream = tokio::net::TcpStream::connect((host.as_str(), *port)).await.map_err(failed)?;
            handshake(address, stream).await
        }
    }
}

/// Starts to speak HTTP on a stream that is open.
pub(super) async fn handshake<S>(address: &Address, stream: S) -> Result<Connection, AttachError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (sender, connection) = http1::Builder::new()
        .max_buf_size(BUFFER)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(|error| AttachError::broken(address, error))?;
    // Its errors reach the reader through the body.
    let driver = tokio::spawn(async move { drop(connection.await) });
    Ok(Connection { sender, driver: Driver(driver.abort_handle()) })
}

fn request(address: &Address, path: &str, token: Option<&Token>) -> Result<Request<NoBody>, hyper::http::Error> {
    let host = match address {
        Address::Unix(_) => "localhost".to_owned(),
        Address::Tcp { host, port } if host.contains(':') => format!("[{host}]:{port}"),
        Address::Tcp { host, port } => format!("{host}:{port}"),
    };
    let mut request =
        Request::get(path).header(HOST, host).header(USER_AGENT, concat!("herdfeed/", env!("CARGO_PKG_VERSION")));
    if let Some(token) = token {
        let mut secret = HeaderValue::try_from(token.bearer())?;
        secret.set_sensitive(true);
        request = request.header(AUTHORIZATION, secret);
    }
    request.body(NoBody)
}

async fn read_some(body: &mut Incoming) -> Vec<u8> {
    let mut read = Vec::new();
    while let Some(Ok(chunk)) = next_chunk(body).await {
        read.extend_from_slice(&chunk);
        if read.len() >= ERROR_BODY {
            read.truncate(ERROR_BODY);
            break;
        }
    }
    read
}

/// A request's body: a reader sends none.
struct NoBody;

impl hyper::body::Body for NoBody {
    type Data = hyper::body::Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<hyper::body::Frame<Self::Data>, Self::Error>>> {
        std::task::Poll::Ready(None)
    }

    fn is_end_stream(&self) -> bool {
        true
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        hyper::body::SizeHint::with_exact(0)
    }
}
