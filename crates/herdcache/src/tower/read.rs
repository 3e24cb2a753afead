//! A cache with its origin, as a service from keys to answers.

use std::task::{Context, Poll};

use tower_service::Service;

use super::Answering;
use crate::answer::Answer;
use crate::cache::ReadThrough;
use crate::error::GetError;
use crate::key::Key;

/// Feature `tower`: [`ReadThrough::get`] as a service. `None` is absent.
///
/// Always ready: the gate queues loads by itself, and hits need no capacity. A request begins when its future
/// is first polled.
///
/// # Cancel safety
/// As [`ReadThrough::get`]: a dropped future ends one request as `cancelled`, and the load goes on.
///
/// ```
/// use std::{convert::Infallible, time::Duration};
/// use herdcache::{Cache, Gate, LoadContext, Ttl};
/// use tower::{ServiceBuilder, ServiceExt};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
/// let users = Cache::builder("users", Ttl::fresh_for(Duration::from_secs(60)), &Gate::new(8))
///     .build_over(|cx: LoadContext<u64, String>| async move { Ok::<_, Infallible>(format!("user {}", cx.key())) })?;
///
/// let service = ServiceBuilder::new().timeout(Duration::from_secs(1)).service(users);
/// assert_eq!(service.oneshot(7).await?.as_deref().map(String::as_str), Some("user 7"));
/// # Ok(()) }
/// ```
impl<K, V, E> Service<K> for ReadThrough<K, V, E>
where
    K: Key,
    V: Send + Sync + 'static,
    E: Send + Sync + 'static,
{
    type Response = Option<Answer<V>>;
    type Error = GetError<E>;
    type Future = Answering<Option<Answer<V>>, GetError<E>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), GetError<E>>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, key: K) -> Self::Future {
        let cache = self.clone();
        Box::pin(async move { cache.get(&key).await })
    }
}
