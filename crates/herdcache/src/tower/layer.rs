//! A cache in front of a service.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use tower_layer::Layer;
use tower_service::Service;

use super::{Answering, ready_call};
use crate::cache::Cache;
use crate::error::{Failure, GetError};
use crate::key::Key;
use crate::loaded::Loaded;

/// Answers a service's requests through a cache: those that have a key. The others pass through.
///
/// The service below is the loader, and its response is the value, cloned for each caller: make it cheap to
/// clone, such as an `Arc` or a message of `Bytes`. That is why this is a layer for clients and for services of
/// your own, and does not fit a server's HTTP responses, whose bodies are streams.
///
/// **The key must say all that the response depends on**: the first request of a key answers everybody else
/// who asks with that key, for as long as the value may be answered. A request that changes something gives `None`.
///
/// Whatever the service answers with `Ok` is a value. A response that tells of a failure (an HTTP 500, say) should
/// become an `Err` below this layer (`map_result` of tower), so that older values stand in and the key cools; one
/// that is right but must not be kept is for [`store_if`](Self::store_if).
///
/// The error is [`GetError`] for both kinds of requests; a failure of one that passed through is
/// `Failed(Failure::Origin(_))` and is not in the cache's account. Always ready: a request waits in its own
/// future until a clone of the service is ready, and one that is answered from the cache does not wait for it.
///
/// # Cancel safety
/// A dropped future ends a request with a key as `cancelled` and its load goes on. One that passed through is dropped.
///
/// ```
/// use std::{convert::Infallible, sync::Arc, time::Duration};
/// use herdcache::{BoxError, Cache, Gate, Ttl, tower::CacheLayer};
/// use tower::{Service, ServiceBuilder, ServiceExt, service_fn};
///
/// #[derive(Clone)]
/// enum Call { Read(u64), Write(u64) }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), BoxError> {
/// let client = service_fn(|call: Call| async move {
///     Ok::<_, Infallible>(Arc::<str>::from(match call { Call::Read(id) => format!("row {id}"), Call::Write(_) => "done".into() }))
/// });
/// let rows = Cache::builder("rows", Ttl::fresh_for(Duration::from_secs(5)), &Gate::new(8)).build()?;
/// let key = |call: &Call| match call { Call::Read(id) => Some(*id), Call::Write(_) => None };
///
/// let mut service = ServiceBuilder::new().layer(CacheLayer::new(rows.clone(), key)).service(client);
/// for _ in 0..3 {
///     assert_eq!(&*service.ready().await?.call(Call::Read(7)).await?, "row 7");
/// }
/// assert_eq!(&*service.ready().await?.call(Call::Write(7)).await?, "done");
/// assert_eq!(rows.snapshot().origin_calls, 1);
/// # Ok(()) }
/// ```
pub struct CacheLayer<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, F> {
    cache: Cache<K, V, E>,
    key: F,
    stored: fn(&V) -> bool,
}

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, F> CacheLayer<K, V, E, F> {
    /// Answers the requests for which `key` gives a key through this cache.
    ///
    /// The cache's values and errors are the service's responses and errors. `cache` may be shared with other
    /// layers and callers, for invalidations above all; nobody may put an absent value into it, since no
    /// response means that: such a request fails as a breach of contract.
    pub fn new<Req>(cache: Cache<K, V, E>, key: F) -> Self
    where
        F: Fn(&Req) -> Option<K>,
    {
        Self { cache, key, stored: |_| true }
    }

    /// Keeps only responses that this function approves of. Others answer the callers who wait for them. Default: all.
    ///
    /// ```
    /// use std::{convert::Infallible, time::Duration};
    /// use herdcache::{BoxError, Cache, Gate, Ttl, tower::{CacheLayer, CacheService}};
    /// use tower::{Layer, Service, ServiceExt, service_fn};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), BoxError> {
    /// let search = service_fn(|word: String| async move { Ok::<_, Infallible>(word.split('x').count() - 1) });
    /// let found = Cache::builder("found", Ttl::fresh_for(Duration::from_secs(60)), &Gate::new(8)).build()?;
    /// let layer = CacheLayer::new(found.clone(), |word: &String| Some(word.clone())).store_if(|hits| *hits > 0);
    /// let mut service: CacheService<_, String, usize, Infallible, _> = layer.layer(search);
    /// for word in ["axb", "axb", "abc", "abc"] {
    ///     service.ready().await?.call(word.to_owned()).await?;
    /// }
    /// assert_eq!(found.snapshot().origin_calls, 3); // what was not found is looked for again
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn store_if(mut self, stored: fn(&V) -> bool) -> Self {
        self.stored = stored;
        self
    }
}

impl<S, K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, F: Clone> Layer<S> for CacheLayer<K, V, E, F> {
    type Service = CacheService<S, K, V, E, F>;

    fn layer(&self, inner: S) -> Self::Service {
        CacheService { inner, layer: self.clone() }
    }
}

/// A service behind a cache. See [`CacheLayer`].
pub struct CacheService<S, K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, F> {
    inner: S,
    layer: CacheLayer<K, V, E, F>,
}

impl<S, Req, K, V, E, F> Service<Req> for CacheService<S, K, V, E, F>
where
    S: Service<Req, Response = V, Error = E> + Clone + Send + 'static,
    S::Future: Send,
    Req: Send + 'static,
    K: Key,
    V: Clone + Send + Sync + 'static,
    E: Send + Sync + 'static,
    F: Fn(&Req) -> Option<K>,
{
    type Response = V;
    type Error = GetError<E>;
    type Future = Answering<V, GetError<E>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), GetError<E>>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Req) -> Self::Future {
        let inner = self.inner.clone();
        let Some(key) = (self.layer.key)(&request) else {
            let passed = async move { ready_call(inner, request).await };
            return Box::pin(async move { passed.await.map_err(|e| GetError::Failed(Failure::Origin(Arc::new(e)))) });
        };
        let (cache, stored) = (self.layer.cache.clone(), self.layer.stored);
        Box::pin(async move {
            let load = |_| async move {
                let response = ready_call(inner, request).await?;
                let keep = stored(&response);
                let loaded = Loaded::value(response);
                Ok(if keep { loaded } else { loaded.do_not_store() })
            };
            match cache.get_with(&key, load).await? {
                Some(answer) => Ok(V::clone(&answer)),
                None => Err(GetError::Failed(Failure::Contract { what: ABSENT })),
            }
        })
    }
}

const ABSENT: &str = "the cache of a layer holds an absent value, which no response stands for";

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, F: Clone> Clone for CacheLayer<K, V, E, F> {
    fn clone(&self) -> Self {
        Self { cache: self.cache.clone(), key: self.key.clone(), stored: self.stored }
    }
}

impl<S: Clone, K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, F: Clone> Clone
    for CacheService<S, K, V, E, F>
{
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), layer: self.layer.clone() }
    }
}

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, F> fmt::Debug for CacheLayer<K, V, E, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CacheLayer").field("cache", &self.cache).finish_non_exhaustive()
    }
}

impl<S: fmt::Debug, K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, F> fmt::Debug
    for CacheService<S, K, V, E, F>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CacheService")
            .field("inner", &self.inner)
            .field("cache", &self.layer.cache)
            .finish_non_exhaustive()
    }
}
