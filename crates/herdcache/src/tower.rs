//! Feature `tower`: where a cache meets a stack of services.
//!
//! | you have | you want | use |
//! |---|---|---|
//! | a [`ReadThrough`](crate::ReadThrough) | to call it as a service | it is a `Service<K>` |
//! | a client stack (timeouts, retries, tracing) | it to be a cache's origin | [`ServiceOrigin`] |
//! | a service | some of its requests answered through a cache | [`CacheLayer`] |
//!
//! **Readiness.** What stands here is always ready. A hit needs no capacity, so it must not wait for any; what
//! a load needs is queued by the gate, which bounds the queue and refuses the rest. Limits of concurrency and
//! load shedding belong below the cache, where only loads pass, not above it, where hits would pay for misses.
//!
//! **Cost.** `Service` asks for a future that owns what it needs: each call allocates one, also for a hit.
//! `ReadThrough::get` does not.
//!
//! **Not here:** a cache of HTTP responses (RFC 9111). A response's body is a stream that can be read once, its
//! headers may set cookies, and whom it may be shown to stands in `Vary` and `Authorization`. Cache the data that a
//! handler needs, under a key that names all it depends on, and let the handler write the response.

mod layer;
mod origin;
mod read;

use std::future::{Future, poll_fn};

use tower_service::Service;

pub use layer::{CacheLayer, CacheService};
pub use origin::ServiceOrigin;

/// Waits until the service is ready, then calls it: on one and the same clone, as tower's contract asks.
async fn ready_call<S, R>(mut service: S, request: R) -> Result<S::Response, S::Error>
where
    S: Service<R>,
{
    poll_fn(|cx| service.poll_ready(cx)).await?;
    service.call(request).await
}

/// The future of a service.
type Answering<R, E> = std::pin::Pin<Box<dyn Future<Output = Result<R, E>> + Send>>;
