//! The page that Prometheus scrapes, on a thread and a runtime of its own.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::thread::JoinHandle;

use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use prometheus::{Encoder, Registry, TextEncoder};
use tokio::sync::oneshot;

/// The page; closed when dropped.
pub(super) struct Page {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Page {
    /// Answers `GET /metrics` at `addr`.
    pub(super) fn open(addr: SocketAddr, registry: Registry) -> io::Result<Self> {
        let listener = TcpListener::bind(addr)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel::<()>();
        let serve = async move {
            let router = Router::new().route("/metrics", get(move || std::future::ready(metrics(&registry))));
            let listener = tokio::net::TcpListener::from_std(listener)?;
            tokio::select! {
                ended = axum::serve(listener, router) => ended,
                _ = stopped => Ok(()),
            }
        };
        let thread = std::thread::Builder::new().name("metrics".to_owned()).spawn(move || {
            // A page that fails is missed by Prometheus, which says so: up is 0.
            let _ = runtime.block_on(serve);
        })?;
        Ok(Self { address, stop: Some(stop), thread: Some(thread) })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It has nothing to tell; a panic in it was printed by then.
            let _ = thread.join();
        }
    }
}

fn metrics(registry: &Registry) -> Response {
    let encoder = TextEncoder::new();
    let mut text = Vec::new();
    match encoder.encode(&registry.gather(), &mut text) {
        Ok(()) => ([(header::CONTENT_TYPE, encoder.format_type().to_owned())], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}
