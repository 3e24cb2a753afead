//! Starts a shop in this process and asks it.

use std::net::SocketAddr;
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::{Request, header};
use hyper_util::rt::TokioIo;
use shop::catalog::Products;
use shop::http::Health;
use shop::stats::StatsPage;
use shop::{Settings, Shop};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// A longest wait for something that should happen at once; reached only on failure.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Settings of a small shop in `folder`, with a fresh time that no test outlasts.
pub(crate) fn small(folder: &TempDir) -> Settings {
    Settings {
        addr: SocketAddr::from(([127, 0, 0, 1], 0)),
        db: folder.path().join("shop.db"),
        products: shop::db::FEWEST_PRODUCTS,
        hot_fresh: Duration::from_secs(600),
        ..Settings::default()
    }
}

/// A shop that answers.
pub(crate) struct Running {
    pub(crate) addr: SocketAddr,
    pub(crate) products: Products,
    stats: Box<dyn Fn() -> StatsPage + Send + Sync>,
    stop: oneshot::Sender<()>,
    task: JoinHandle<std::io::Result<()>>,
    _folder: TempDir,
}

impl Running {
    /// Starts a small shop after `change` has changed its settings.
    pub(crate) async fn start(change: impl FnOnce(&mut Settings)) -> Self {
        Self::start_seen(change, |_| {}).await.0
    }

    /// The same, looked at before it answers: `look` gets it and what it makes of it is given back.
    pub(crate) async fn start_seen<T>(change: impl FnOnce(&mut Settings), look: impl FnOnce(&Shop) -> T) -> (Self, T) {
        let folder = TempDir::new().unwrap();
        let mut settings = small(&folder);
        change(&mut settings);
        let shop = Shop::bind(settings).await.unwrap();
        let seen = look(&shop);
        let (addr, products, stats) = (shop.address().unwrap(), shop.products(), Box::new(shop.stats()));
        let (tell, told) = oneshot::channel();
        let task = tokio::spawn(shop.run(async {
            let _ = told.await;
        }));
        (Self { addr, products, stats, stop: tell, task, _folder: folder }, seen)
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        get(self.addr, path).await
    }

    pub(crate) async fn set_price(&self, id: u32, body: &str) -> Reply {
        let request = Request::post(format!("/products/{id}/price"))
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::from(body.to_owned()))
            .unwrap();
        send(self.addr, request).await
    }

    pub(crate) fn stats(&self) -> StatsPage {
        (self.stats)()
    }

    pub(crate) async fn health(&self) -> Health {
        serde_json::from_value(self.get("/health").await.json).unwrap()
    }

    /// Waits until `done` holds.
    pub(crate) async fn until(&self, what: &str, done: impl Fn(&Self) -> bool) {
        let wait = async {
            while !done(self) {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        tokio::time::timeout(PATIENCE, wait).await.unwrap_or_else(|_| panic!("never: {what}"));
    }

    /// Waits until no request, load or query is in progress.
    pub(crate) async fn until_idle(&self) {
        self.until("idle", |shop| {
            let cache = shop.products.snapshot();
            cache.active == 0 && cache.flights_active == 0 && cache.origin_active == 0 && shop.stats().pool.in_use == 0
        })
        .await;
    }

    /// Tells the shop to stop and waits until it has.
    pub(crate) async fn stop(self) {
        self.stop.send(()).unwrap();
        tokio::time::timeout(PATIENCE, self.task).await.unwrap().unwrap().unwrap();
    }
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) outcome: Option<String>,
    pub(crate) age: Option<u64>,
    pub(crate) retry_after: Option<u64>,
    pub(crate) json: serde_json::Value,
}

impl Reply {
    /// A number in the body.
    pub(crate) fn number(&self, pointer: &str) -> u64 {
        self.json
            .pointer(pointer)
            .and_then(serde_json::Value::as_u64)
            .unwrap_or_else(|| panic!("{pointer} in {self:?}"))
    }

    /// The error's text.
    pub(crate) fn error(&self) -> &str {
        self.json["error"].as_str().unwrap_or_else(|| panic!("an error in {self:?}"))
    }
}

pub(crate) async fn get(addr: SocketAddr, path: &str) -> Reply {
    send(addr, Request::get(path).body(Full::default()).unwrap()).await
}

/// The same, as a part of the caller's trace.
#[cfg(feature = "otlp")]
pub(crate) async fn get_within(addr: SocketAddr, traceparent: &str, path: &str) -> Reply {
    send(addr, Request::get(path).header("traceparent", traceparent).body(Full::default()).unwrap()).await
}

async fn send(addr: SocketAddr, mut request: Request<Full<Bytes>>) -> Reply {
    request.headers_mut().insert(header::HOST, "shop".parse().unwrap());
    let stream = TcpStream::connect(addr).await.unwrap();
    let (mut sender, driver) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    // Part of this future, so that aborting the caller closes the connection too.
    let exchange = async move {
        let response = sender.send_request(request).await.unwrap();
        let (head, body) = response.into_parts();
        (head, body.collect().await.unwrap().to_bytes())
    };
    let drive = async {
        driver.await.unwrap();
        std::future::pending::<()>().await;
    };
    let (head, body) = tokio::select! {
        answer = exchange => answer,
        () = drive => unreachable!("the exchange ends first"),
    };
    let text = |name: &str| head.headers.get(name).map(|value| value.to_str().unwrap().to_owned());
    Reply {
        status: head.status.as_u16(),
        outcome: text("x-outcome"),
        age: text("age").map(|age| age.parse().unwrap()),
        retry_after: text("retry-after").map(|wait| wait.parse().unwrap()),
        json: serde_json::from_slice(&body).unwrap_or_default(),
    }
}
