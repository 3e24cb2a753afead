//! The handles' part in warming up: which keys were hot, and loading them before they are asked for.

use std::sync::Arc;

use super::{Cache, ReadThrough};
use crate::clock;
use crate::key::Key;
use crate::warmup::WarmUp;

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static> Cache<K, V, E> {
    /// The keys asked for most in the last 30 to 60 seconds, most requested first: up to 512.
    ///
    /// Found by sampling, so a key that was asked for a few times may be missing. Save them and give them to
    /// [`ReadThrough::warm_up`] in the next process.
    pub fn hot_keys(&self) -> Vec<K> {
        let top = self.core.hot.top(usize::MAX, clock::exact());
        top.keys.iter().map(|hot| K::clone(&hot.key)).collect()
    }
}

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static> ReadThrough<K, V, E> {
    /// Loads `keys` before anybody asks for them, in their order: give the most requested first.
    ///
    /// [`hot_keys`](Cache::hot_keys) of the process before, saved by the application, are good ones. They are read at once,
    /// and no more of them than the cache has `capacity`: what comes last would push out what came first.
    ///
    /// Nothing happens until the [`WarmUp`] is polled: await it before the service says that it is ready, or spawn it
    /// beside the traffic. See there for the pace and for what becomes of each key.
    ///
    /// ```
    /// # use std::{convert::Infallible, time::Duration};
    /// # use herdcache::{Cache, Gate, LoadContext, Ttl};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let users = Cache::builder("users", Ttl::fresh_for(Duration::from_secs(60)), &Gate::new(8))
    ///     .build_over(|cx: LoadContext<u64, String>| async move { Ok::<_, Infallible>(format!("user {}", cx.key())) })?;
    /// let saved: Vec<u64> = vec![7, 1, 3];
    ///
    /// // Ready when all are warm, or after ten seconds: dropping the warm-up ends it.
    /// let warm = tokio::time::timeout(Duration::from_secs(10), users.warm_up(saved)).await?;
    /// assert_eq!((warm.loaded, warm.left), (3, 0));
    /// assert!(users.peek(&7).is_some());
    /// # Ok(()) }
    /// ```
    pub fn warm_up(&self, keys: impl IntoIterator<Item = K>) -> WarmUp {
        WarmUp::new(&self.cache.core, Arc::clone(&self.origin), keys.into_iter())
    }
}
