//! What a request is answered with: lines, or an error as JSON.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use hyper::body::{Bytes, Frame};
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Response, StatusCode};
use tokio::sync::mpsc;

use crate::hello::VERSION;

/// The paths of this version.
pub(super) const PATHS: [&str; 3] = ["/herd/v1/hello", "/herd/v1/snapshot", "/herd/v1/stream"];

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Another method than GET.
    Method,
    /// A browser sent it on behalf of a page.
    Origin,
    /// It names a host that is not this machine.
    Host,
    /// The token is missing or wrong.
    Token,
    /// No such path.
    Path,
    /// A version of the feed that is not spoken here.
    Version,
    /// A parameter cannot be understood.
    Query(String),
    /// Readable keys were asked for, and these caches keep theirs hashed.
    Keys(Vec<String>),
    /// Every seat is taken.
    Full,
    /// Too many requests are being answered.
    #[cfg(feature = "mount")]
    Busy,
    /// The publisher has stopped.
    #[cfg(feature = "mount")]
    Stopped,
    /// The environment switched the feed off.
    #[cfg(feature = "mount")]
    Off,
    /// The account could not be read.
    Source,
}

impl Refusal {
    fn status(&self) -> StatusCode {
        match self {
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::Origin | Self::Host | Self::Keys(_) => StatusCode::FORBIDDEN,
            Self::Token => StatusCode::UNAUTHORIZED,
            Self::Path | Self::Version => StatusCode::NOT_FOUND,
            Self::Query(_) => StatusCode::BAD_REQUEST,
            Self::Full => StatusCode::SERVICE_UNAVAILABLE,
            #[cfg(feature = "mount")]
            Self::Busy | Self::Stopped => StatusCode::SERVICE_UNAVAILABLE,
            #[cfg(feature = "mount")]
            Self::Off => StatusCode::NOT_FOUND,
            Self::Source => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    fn message(&self) -> Cow<'_, str> {
        Cow::Borrowed(match self {
            Self::Method => "the feed is read-only: use GET",
            Self::Origin => "requests from web pages are refused",
            Self::Host => "the Host header must be localhost, 127.0.0.1 or [::1]",
            // No detail: whoever guesses learns nothing.
            Self::Token => "unauthorized",
            Self::Path => "no such path",
            Self::Version => "this process does not speak that version of the feed",
            Self::Query(message) => message,
            Self::Keys(hashed) => return Cow::Owned(keys_message(hashed)),
            Self::Full => "every stream is taken: close a reader, or use /herd/v1/snapshot",
            Self::Source => "the account could not be read: the process's log holds a panic",
            #[cfg(feature = "mount")]
            Self::Busy => "too many requests at once",
            #[cfg(feature = "mount")]
            Self::Stopped => "the feed has stopped",
            #[cfg(feature = "mount")]
            Self::Off => "the feed is switched off (HERDCACHE_FEED=off)",
        })
    }

    /// The refusal as a response.
    pub(super) fn response(&self) -> Response<Body> {
        let mut told = serde_json::json!({ "error": self.message() });
        if matches!(self, Self::Path | Self::Version) {
            told["versions"] = serde_json::json!([VERSION[0]]);
            told["paths"] = serde_json::json!(PATHS);
        }
        if let Self::Keys(hashed) = self {
            told["setting"] = "show_keys".into();
            told["hashed"] = serde_json::json!(hashed.iter().take(NAMED).collect::<Vec<_>>());
            told["hashed_count"] = hashed.len().into();
        }
        let mut response = plain(self.status(), "application/json", Body::ready([format!("{told}\n").into()]));
        let (name, value) = match self {
            Self::Method => (ALLOW, "GET"),
            Self::Token => (WWW_AUTHENTICATE, "Bearer"),
            Self::Full => (RETRY_AFTER, "5"),
            #[cfg(feature = "mount")]
            Self::Busy => (RETRY_AFTER, "1"),
            #[cfg(feature = "mount")]
            Self::Stopped | Self::Off => return response,
            Self::Origin | Self::Host | Self::Path | Self::Version | Self::Query(_) | Self::Keys(_) | Self::Source => {
                return response;
            }
        };
        response.headers_mut().insert(name, HeaderValue::from_static(value));
        response
    }
}

/// The most caches that a refusal names: its body stays below what readers take of an error.
const NAMED: usize = 32;

fn keys_message(hashed: &[String]) -> String {
    let first = hashed.first().map_or("", String::as_str);
    let more = match hashed.len() {
        0 | 1 => String::new(),
        many => format!(" and {} more", many - 1),
    };
    // Readers cut an error after 200 characters; a cache's name has at most 64.
    format!("keys=plain: cache {first:?}{more} shows hashes only: allow more by show_keys, or leave keys out")
}

/// A good answer.
pub(super) fn lines(body: Body) -> Response<Body> {
    plain(StatusCode::OK, "application/x-ndjson", body)
}

fn plain(status: StatusCode, kind: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// The body of an answer.
#[derive(Debug)]
pub(super) enum Body {
    /// Known in full.
    Ready(VecDeque<Bytes>),
    /// Written by a stream's task, one line ahead at most.
    Piped {
        /// Lines to send.
        lines: mpsc::Receiver<Bytes>,
        /// What to send when there are no more.
        last: Last,
    },
}

/// The last line of a stream, set when it ends.
pub(super) type Last = Arc<Mutex<Option<Bytes>>>;

impl Body {
    pub(super) fn ready(lines: impl IntoIterator<Item = Bytes>) -> Self {
        Self::Ready(lines.into_iter().collect())
    }
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let line = match self.get_mut() {
            Self::Ready(lines) => lines.pop_front(),
            Self::Piped { lines, last } => match ready!(lines.poll_recv(cx)) {
                Some(line) => Some(line),
                None => last.lock().unwrap_or_else(PoisonError::into_inner).take(),
            },
        };
        Poll::Ready(line.map(|line| Ok(Frame::data(line))))
    }
}
