//! A service as the origin of a cache.

use std::future::Future;

use tower_service::Service;

use super::ready_call;
use crate::loaded::Loaded;
use crate::origin::{LoadContext, Origin};

/// A service as an origin: each load clones it, waits until the clone is ready, and calls it with the key.
///
/// The service takes the cache's key; `map_request` of tower makes the real request of it. Its response may
/// be whatever a loader may give: a `V`, an `Option<V>` (`None` is absent), an `Arc<V>` or a [`Loaded`]. A
/// response that says that something went wrong must become an `Err` inside the stack, or it is stored as a value.
///
/// What the stack does within one call is one call of the origin to the gate and the account: its **retries**
/// hold the load's one permit and are not counted one by one, so keep them few and below `origin_timeout`,
/// which ends the whole stack. Its wait for readiness counts as part of the call.
///
/// The service must be `Clone`, `Send` and `Sync`, as `reqwest` clients, `tonic` channels and
/// `BoxCloneSyncService` are; put anything else behind a `Buffer`.
///
/// ```
/// use std::{io, time::Duration};
/// use herdcache::{BoxError, Cache, Gate, Ttl, tower::ServiceOrigin};
/// use tower::{ServiceBuilder, service_fn};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), BoxError> {
/// // A client that exists already, and speaks of paths.
/// let client = service_fn(|path: String| async move {
///     Ok::<_, io::Error>((path != "/users/9").then(|| format!("body of {path}")))
/// });
/// let stack = ServiceBuilder::new()
///     .timeout(Duration::from_secs(1))
///     .map_request(|id: u64| format!("/users/{id}"))
///     .service(client);
///
/// let users = Cache::<u64, String>::builder("users", Ttl::fresh_for(Duration::from_secs(60)), &Gate::new(8))
///     .build_over(ServiceOrigin::new(stack))?;
/// assert_eq!(users.get(&7).await?.as_deref().map(String::as_str), Some("body of /users/7"));
/// assert!(users.get(&9).await?.is_none());
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ServiceOrigin<S> {
    service: S,
}

impl<S> ServiceOrigin<S> {
    /// Makes an origin of this service.
    pub const fn new(service: S) -> Self {
        Self { service }
    }
}

impl<K, V, S> Origin<K, V> for ServiceOrigin<S>
where
    K: Clone + Send + Sync + 'static,
    V: Send + Sync + 'static,
    S: Service<K> + Clone + Send + Sync + 'static,
    S::Response: Into<Loaded<V>>,
    S::Error: Send + Sync + 'static,
    S::Future: Send,
{
    type Error = S::Error;

    fn load(&self, cx: LoadContext<K, V>) -> impl Future<Output = Result<Loaded<V>, S::Error>> + Send {
        let service = self.service.clone();
        async move { ready_call(service, cx.key().clone()).await.map(Into::into) }
    }
}
