//! [`Mount`]: the feed as a service inside the application's own HTTP server.
//!
//! Judges a request where it arrives and lets the publisher's thread answer it, so
//! that the account is read there and nowhere else, whatever carries the bytes.
//! Connections, their heads and their idle times are the server's.

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

use hyper::body::{Bytes, Frame};
use hyper::http::request::Parts;
use hyper::{Request, Response};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tower_service::Service;

use crate::server::account::count;
use crate::server::answer::{Body, Refusal};
use crate::server::door::Door;
use crate::server::hub::Hub;
use crate::server::route::route;
use crate::token::Token;

/// What keeps strangers from a mounted feed. There is no default: a server that the world can reach would show
/// its caches to the world.
#[derive(Clone, Debug)]
pub enum Guard {
    /// The application's own: it lets nobody get this far who may not read, by its authentication, or by a
    /// listener that only operators reach.
    Application,
    /// A secret that readers present as `Authorization: Bearer …`, as `herdtop` does.
    Token(Token),
}

/// The feed as a [`tower_service::Service`], for the application's own HTTP server.
///
/// Made by [`Publisher::mount`](crate::server::Publisher::mount).
///
/// ```
/// use herdfeed::server::{Guard, Mount};
///
/// /// The application's routes, with the feed at `/herd/v1/…`.
/// fn routes(feed: Mount) -> axum::Router {
///     axum::Router::new().nest_service("/herd", feed)
/// }
///
/// // In a service `publisher.mount(guard)`: for whoever has the secret. It is never shown.
/// let secret = herdfeed::Token::new("0f6b3c1d9a8e47528c1f0a9b7d6e5c43")?;
/// let feed = Mount::off(Guard::Token(secret));
/// assert!(!format!("{feed:?}").contains("0f6b"));
/// let routes = routes(feed);
/// # let _ = routes;
/// # Ok::<(), herdfeed::token::TokenError>(())
/// ```
///
/// Nested at `/herd` it is where `herdtop http://HOST:PORT` looks for it; `fallback_service` and any router that
/// leaves the path whole do as well. Clones are the same feed.
///
/// The same answers and rules as on a socket: GET only, requests with an `Origin` refused, at most
/// [`Limits::subscribers`](crate::server::Limits) streams, and a stream whose reader takes nothing for
/// [`Limits::stuck`](crate::server::Limits) ends. **What stands before it is the application's**: the [`Guard`],
/// TLS, which hosts it answers to, limits of connections and heads. A layer with a timeout cuts streams, one that
/// compresses holds lines back: leave both off this route. Drop the publisher when the server begins to shut
/// down; its streams then end with `bye shutdown`, which a graceful shutdown waits for.
#[derive(Clone)]
pub struct Mount {
    door: Arc<Door>,
    inside: Result<Inside, Refusal>,
}

/// The way to a publisher's thread.
#[derive(Clone)]
pub(super) struct Inside {
    hub: Weak<Hub>,
    runtime: Handle,
    /// Requests being answered at once.
    places: Arc<Semaphore>,
}

impl fmt::Debug for Inside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inside").field("alive", &(self.hub.strong_count() > 0)).finish_non_exhaustive()
    }
}

impl Inside {
    pub(super) fn new(hub: &Arc<Hub>, runtime: Handle) -> Self {
        let places = Arc::new(Semaphore::new(hub.limits.connections));
        Self { hub: Arc::downgrade(hub), runtime, places }
    }
}

impl Mount {
    pub(super) fn new(guard: Guard, inside: Inside) -> Self {
        Self { door: Arc::new(door(guard)), inside: Ok(inside) }
    }

    /// Stands where a feed would, and answers 404: for a feed that the environment has switched off.
    ///
    /// ```
    /// use herdfeed::server::{Guard, Mount, MountBody, MountFuture};
    /// use hyper::{Request, Response};
    /// use tower_service::Service;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// // Any server that takes a `Service` takes it; asked by hand it answers like this.
    /// let mut off = Mount::off(Guard::Application);
    /// let answer: MountFuture = off.call(Request::get("/herd/v1/hello").body(())?);
    /// let response: Response<MountBody> = answer.await?;
    /// assert_eq!(response.status(), 404);
    /// # Ok(()) }
    /// ```
    pub fn off(guard: Guard) -> Self {
        Self { door: Arc::new(door(guard)), inside: Err(Refusal::Off) }
    }

    /// Sends a request that may pass to the publisher's thread.
    fn begin(&self, request: &Parts) -> Result<JoinHandle<Response<Body>>, Refusal> {
        // A stranger is turned away first, and so does not learn whether there is a feed. A wrong token gets no
        // pause here: it would hold the application's resources, and 128 bits are not guessed.
        self.door.judge(request)?;
        let inside = self.inside.as_ref().map_err(Clone::clone)?;
        let hub = inside.hub.upgrade().ok_or(Refusal::Stopped)?;
        let place = Arc::clone(&inside.places).try_acquire_owned().map_err(|_| Refusal::Busy)?;
        let path = whole(request.uri.path());
        let query = request.uri.query().unwrap_or_default().to_owned();
        Ok(inside.runtime.spawn(async move {
            let _place = place;
            route(&hub, &path, &query).unwrap_or_else(|refusal| {
                count(&hub.account.refused);
                refusal.response()
            })
        }))
    }

    fn count_refusal(&self) {
        if let Some(hub) = self.inside.as_ref().ok().and_then(|inside| inside.hub.upgrade()) {
            count(&hub.account.refused);
        }
    }
}

fn door(guard: Guard) -> Door {
    match guard {
        Guard::Application => Door::Mounted(None),
        Guard::Token(token) => Door::Mounted(Some(token)),
    }
}

/// The path as a socket would get it: a router that nests the feed at `/herd` takes that part away.
fn whole(path: &str) -> String {
    if path.starts_with("/herd/") { path.to_owned() } else { format!("/herd{path}") }
}

impl fmt::Debug for Mount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mount").field("door", &self.door).field("inside", &self.inside).finish()
    }
}

impl<B> Service<Request<B>> for Mount {
    type Response = Response<MountBody>;
    type Error = Infallible;
    type Future = MountFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> MountFuture {
        let (parts, _body) = request.into_parts();
        let begun = self.begin(&parts);
        if begun.is_err() {
            self.count_refusal();
        }
        MountFuture(begun.map_err(Some))
    }
}

/// The answer of a [`Mount`], on its way.
///
/// # Cancel safety
/// Dropping it gives the request up.
#[derive(Debug)]
pub struct MountFuture(Result<JoinHandle<Response<Body>>, Option<Refusal>>);

impl Future for MountFuture {
    type Output = Result<Response<MountBody>, Infallible>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let response = match &mut self.get_mut().0 {
            // The thread ended before it answered.
            Ok(answer) => std::task::ready!(Pin::new(answer).poll(cx)).unwrap_or_else(|_| Refusal::Stopped.response()),
            Err(refusal) => refusal.take().unwrap_or(Refusal::Stopped).response(),
        };
        Poll::Ready(Ok(response.map(MountBody)))
    }
}

/// The body of a [`Mount`]'s answer: lines, as they come.
pub struct MountBody(Body);

impl fmt::Debug for MountBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MountBody(…)")
    }
}

impl hyper::body::Body for MountBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Pin::new(&mut self.get_mut().0).poll_frame(cx)
    }
}
