//! The accept loop and its connections.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use crate::server::account::count;
use crate::server::bind::Listener;
use crate::server::door::Door;
use crate::server::hub::Hub;
use crate::server::limits::HEAD;
use crate::server::patience::Patience;
use crate::server::race::{First, race};
use crate::server::route::answer;

/// A pause after a failed accept: a process out of file descriptors needs time, not a busy loop.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What a connection that is one too many gets.
const TURNED_AWAY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\n\
    content-length: 33\r\nconnection: close\r\n\r\n{\"error\":\"too many connections\"}\n";

/// Serves until the publisher closes.
pub(super) async fn serve(listener: Option<Listener>, door: Arc<Door>, hub: Arc<Hub>) {
    let mut connections = JoinSet::new();
    match listener.map(Accepting::from_std).transpose() {
        Ok(Some(listener)) => {
            let accepting = accept_all(&listener, &door, &hub, &mut connections);
            race(race(hub.closing(), keep_past(&hub)), accepting).await;
        }
        Ok(None) => {
            race(hub.closing(), keep_past(&hub)).await;
        }
        Err(_) => return count(&hub.account.accept_errors),
    }
    let all_gone = async {
        while connections.join_next().await.is_some() {}
        // Streams of a mounted feed have no connection here.
        hub.all_left().await;
    };
    // Whoever has not taken its farewell by then loses it.
    let _ = timeout(hub.limits.farewell, all_gone).await;
}

/// Accepts connections, for ever.
async fn accept_all(
    listener: &Accepting,
    door: &Arc<Door>,
    hub: &Arc<Hub>,
    connections: &mut JoinSet<()>,
) -> Infallible {
    loop {
        if let Ok(link) = listener.accept().await {
            welcome(link, door, hub, connections);
        } else {
            count(&hub.account.accept_errors);
            sleep(ACCEPT_PAUSE).await;
        }
    }
}

/// Keeps the past of the caches, one second after the other.
async fn keep_past(hub: &Hub) {
    let mut seconds = interval(Duration::from_secs(1));
    seconds.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        seconds.tick().await;
        hub.sample();
    }
}

fn welcome(link: Link, door: &Arc<Door>, hub: &Arc<Hub>, connections: &mut JoinSet<()>) {
    while connections.try_join_next().is_some() {}
    if !link.may_read(door) {
        return count(&hub.account.refused);
    }
    if connections.len() >= hub.limits.connections {
        count(&hub.account.refused);
        // The buffer of a new connection takes this whole; if not, closing says enough.
        let _ = link.try_write(TURNED_AWAY);
        return;
    }
    let (door, hub) = (Arc::clone(door), Arc::clone(hub));
    match link {
        #[cfg(unix)]
        Link::Unix(stream) => connections.spawn(converse(stream, door, hub)),
        Link::Tcp(stream) => connections.spawn(converse(stream, door, hub)),
    };
}

/// Serves one connection until either side ends it.
pub(super) async fn converse<S>(stream: S, door: Arc<Door>, hub: Arc<Hub>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let io = TokioIo::new(Patience::new(stream, hub.limits.stuck * 2));
    let asked = Arc::clone(&hub);
    let service = service_fn(move |request| answer(Arc::clone(&asked), Arc::clone(&door), request));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        // It covers the wait for a head, thus also an idle connection.
        .header_read_timeout(hub.limits.idle)
        .max_buf_size(HEAD)
        .serve_connection(io, service);
    let mut connection = std::pin::pin!(connection);
    // Errors of a connection are its reader's: hostile bytes, or gone without a word.
    if let First::Two(()) = race(connection.as_mut(), hub.closing()).await {
        connection.as_mut().graceful_shutdown();
        let _ = connection.await;
    }
}

enum Accepting {
    #[cfg(unix)]
    Unix(tokio::net::UnixListener),
    Tcp(tokio::net::TcpListener),
}

enum Link {
    #[cfg(unix)]
    Unix(tokio::net::UnixStream),
    Tcp(tokio::net::TcpStream),
}

impl Accepting {
    fn from_std(listener: Listener) -> io::Result<Self> {
        Ok(match listener {
            #[cfg(unix)]
            Listener::Unix(listener) => Self::Unix(tokio::net::UnixListener::from_std(listener)?),
            Listener::Tcp(listener) => Self::Tcp(tokio::net::TcpListener::from_std(listener)?),
        })
    }

    async fn accept(&self) -> io::Result<Link> {
        Ok(match self {
            #[cfg(unix)]
            Self::Unix(listener) => Link::Unix(listener.accept().await?.0),
            Self::Tcp(listener) => Link::Tcp(listener.accept().await?.0),
        })
    }
}

impl Link {
    fn may_read(&self, door: &Door) -> bool {
        match self {
            #[cfg(unix)]
            Self::Unix(stream) => {
                let Door::Unix(peers) = door else { return false };
                stream.peer_cred().is_ok_and(|peer| peers.admit(peer.uid(), peer.gid(), crate::socket::own_uid()))
            }
            Self::Tcp(stream) => {
                // Lines are small and must not wait for more; without it they are only later.
                let _ = stream.set_nodelay(true);
                true
            }
        }
    }

    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            #[cfg(unix)]
            Self::Unix(stream) => stream.try_write(bytes),
            Self::Tcp(stream) => stream.try_write(bytes),
        }
    }
}
