//! One running shop: from settings to a bound port, and to an orderly end.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::serve::ListenerExt;
use herdcache::MemoryTier;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::catalog::{self, Products};
use crate::db::{self, OpenError, OpenOptions, Pool};
use crate::http::{App, router};
use crate::settings::{Settings, Sharing};
use crate::stats::{Stats, StatsPage};
use crate::trouble::Making;

/// How long requests in progress may take after the shop was told to stop.
const DRAIN: Duration = Duration::from_secs(10);
/// How long running loads may take after the last request.
const LOADS_END: Duration = Duration::from_secs(5);

/// Why a shop does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The pool would be empty.
    #[error("a shop needs at least 1 connection: raise --connections")]
    NoConnections,
    /// Loads could empty the pool.
    #[error(
        "{permits} permits are more than {connections} connections, so that loads could wait for connections while they hold permits: lower --permits, or raise --connections"
    )]
    TooManyPermits {
        /// Concurrent loads asked for.
        permits: usize,
        /// Connections asked for.
        connections: u32,
    },
    /// The database cannot be opened.
    #[error(transparent)]
    Database(#[from] OpenError),
    /// The cache refuses its settings.
    #[error(transparent)]
    Config(#[from] herdcache::ConfigError),
    /// The port cannot be bound.
    #[error("cannot listen on {addr}: {source}; choose another with --addr")]
    Listen {
        /// Where.
        addr: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// A thread of the shop ended early.
    #[error("the start was cut short")]
    Cut,
}

/// A shop that listens and does not answer yet.
///
/// ```
/// use shop::{Settings, Shop};
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// let folder = tempfile::tempdir()?;
/// let settings = Settings {
///     addr: ([127, 0, 0, 1], 0).into(),
///     db: folder.path().join("shop.db"),
///     products: 1_000,
///     ..Settings::default()
/// };
/// let shop = Shop::bind(settings).await?;
/// assert_ne!(shop.address()?.port(), 0);
/// shop.run(async { /* ends at once; a service waits for a signal here */ }).await?;
/// # Ok::<_, Box<dyn std::error::Error>>(()) })?;
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
pub struct Shop {
    listener: TcpListener,
    app: App,
    /// Kept for as long as the shop runs.
    trouble: Option<Making>,
}

impl Shop {
    /// Opens the database, builds the cache and binds the port.
    ///
    /// # Errors
    ///
    /// [`StartError`], whose text says what to do.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves at most a complete database file behind.
    pub async fn bind(settings: Settings) -> Result<Self, StartError> {
        check(&settings)?;
        let stats = Arc::new(Stats::default());
        let pool = open_pool(&settings, Arc::clone(&stats)).await?;
        let tier = (settings.sharing == Sharing::InMemory).then(MemoryTier::new);
        let products = catalog::build(&settings, &pool, tier.as_ref())?;
        let trouble = tier.and_then(|tier| settings.trouble.make_for(tier));
        let addr = settings.addr;
        let listener = TcpListener::bind(addr).await.map_err(|source| StartError::Listen { addr, source })?;
        let app = App { products, pool, stats, acquire_timeout: settings.acquire_timeout };
        Ok(Self { listener, app, trouble })
    }

    /// Where it listens.
    ///
    /// # Errors
    ///
    /// When the system cannot tell.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// The cache, to look at it from outside.
    pub fn products(&self) -> Products {
        self.app.products.clone()
    }

    /// The database's connections, to look at them from outside.
    pub fn pool(&self) -> &Pool {
        &self.app.pool
    }

    /// The shop's own counts, as `/stats` gives them.
    pub fn stats(&self) -> impl Fn() -> StatsPage + use<> {
        let (stats, pool) = (Arc::clone(&self.app.stats), self.app.pool.clone());
        move || stats.read(pool.figures(), pool.products())
    }

    /// Answers requests until `stop` ends, then ends in this order:
    ///
    /// 1. accept no more connections and let requests in progress finish, at most 10 s;
    /// 2. shut the cache down, so that loads without a waiter end and give their
    ///    connections back, at most 5 s;
    /// 3. close the pool's connections, by dropping the last handle to it.
    ///
    /// The other order would answer `closed` to requests that could still be served.
    ///
    /// # Errors
    ///
    /// When the listener fails.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future cuts all requests and leaves steps 2 and 3 to the drops.
    pub async fn run(self, stop: impl Future<Output = ()> + Send + 'static) -> io::Result<()> {
        let products = self.app.products.clone();
        let (told, stopping) = oneshot::channel();
        let signal = async move {
            stop.await;
            // The receiver lives until the server has ended, so this cannot fail in a way that matters.
            let _ = told.send(());
        };
        let listener = self.listener.tap_io(|stream| {
            // Answers are small: waiting to fill a packet would add milliseconds. A socket that
            // cannot do without waiting still works.
            let _ = stream.set_nodelay(true);
        });
        let server = axum::serve(listener, router(self.app)).with_graceful_shutdown(signal);
        let drained = async {
            if stopping.await.is_err() {
                std::future::pending::<()>().await;
            }
            tokio::time::sleep(DRAIN).await;
        };
        tokio::select! {
            ended = server.into_future() => ended?,
            () = drained => {}
        }
        products.shutdown(LOADS_END).await;
        drop(self.trouble);
        Ok(())
    }
}

fn check(settings: &Settings) -> Result<(), StartError> {
    let connections = settings.connections;
    let permits = settings.permits();
    if connections == 0 {
        return Err(StartError::NoConnections);
    }
    if usize::try_from(connections).is_ok_and(|most| permits > most) {
        return Err(StartError::TooManyPermits { permits, connections });
    }
    Ok(())
}

/// Creating a database takes a second or so and blocks, which no runtime thread should.
async fn open_pool(settings: &Settings, stats: Arc<Stats>) -> Result<Pool, StartError> {
    let (path, products, connections) = (settings.db.clone(), settings.products, settings.connections);
    let open = move || {
        let options = OpenOptions { path: &path, products, connections };
        db::open(&options, stats)
    };
    Ok(tokio::task::spawn_blocking(open).await.map_err(|_| StartError::Cut)??)
}
