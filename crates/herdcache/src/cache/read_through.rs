//! [`ReadThrough`]: a cache with its origin.
//!
//! A handle like [`Cache`], over the same entries and flights; what it adds is a loader that
//! sees only the key. Batches (`many`) and warm-ups (`warm`) are its, too, and stand by themselves.

use std::borrow::Borrow;
use std::fmt;
use std::future::Future;
use std::hash::Hash;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use herdfeed::FlightTrigger;

use super::Cache;
use super::get::Get;
use crate::core::refresh::Refreshing;
use crate::error::{BoxError, Got};
use crate::key::Key;
use crate::origin::AnyOrigin;

/// A cache with its origin. Derefs to [`Cache`]: the same entries, the same flights.
#[doc = include_str!("../../docs/examples/read_through.md")]
pub struct ReadThrough<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static = BoxError> {
    pub(super) cache: Cache<K, V, E>,
    pub(super) origin: Arc<dyn AnyOrigin<K, V, E>>,
}

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static> ReadThrough<K, V, E> {
    pub(crate) fn new(cache: Cache<K, V, E>, origin: Arc<dyn AnyOrigin<K, V, E>>) -> Self {
        Self { cache, origin }
    }

    /// The value under `key`, loaded from the origin if need be. `None` is absent; a stale value is an `Ok`.
    ///
    /// ```
    /// # use std::{convert::Infallible, time::Duration};
    /// # use herdcache::{Answer, Cache, Gate, LoadContext, Outcome, Ttl};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let load = |cx: LoadContext<u64, String>| async move {
    ///     Ok::<_, Infallible>((*cx.key() < 100).then(|| format!("user {}", cx.key())))
    /// };
    /// let users = Cache::builder("users", Ttl::fresh_for(Duration::from_secs(60)), &Gate::new(8)).build_over(load)?;
    /// let user = users.get(&7).await?.expect("present");
    /// assert_eq!((user.len(), Answer::outcome(&user)), (6, Outcome::Loaded));
    /// assert!(users.get(&700).await?.is_none());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`Cache::get_with`].
    ///
    /// # Cancel safety
    /// As [`Cache::get_with`].
    pub fn get<'a, Q>(&'a self, key: &'a Q) -> impl Future<Output = Got<V, E>> + use<'a, K, V, E, Q>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let origin = &self.origin;
        Get::new(&self.cache.core, self.cache.wait, key, move |cx| Arc::clone(origin).start(cx))
    }

    /// Loads what is under `key` anew in the background, present or not: for a central refresher, or after a change.
    ///
    /// Never waits: a permit of the gate's refresh share is taken now or the refresh is skipped, as the result says.
    /// Readers get what is there meanwhile; a failed refresh leaves it as it was.
    pub fn refresh<Q>(&self, key: &Q) -> Refreshing
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let core = &self.cache.core;
        let (stored, policy) = (core.store.get(key), core.measures.read());
        let start = |cx| Arc::clone(&self.origin).start(cx);
        core.refresh(key, stored.as_ref(), FlightTrigger::Forced, policy, start)
    }

    /// This cache through a handle whose callers wait at most `limit`. See [`Cache::with_wait_timeout`].
    #[must_use]
    pub fn with_wait_timeout(&self, limit: Duration) -> Self {
        Self { cache: self.cache.with_wait_timeout(limit), origin: Arc::clone(&self.origin) }
    }
}

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static> Deref for ReadThrough<K, V, E> {
    type Target = Cache<K, V, E>;
    fn deref(&self) -> &Cache<K, V, E> {
        &self.cache
    }
}

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static> Clone for ReadThrough<K, V, E> {
    fn clone(&self) -> Self {
        Self { cache: self.cache.clone(), origin: Arc::clone(&self.origin) }
    }
}

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static> fmt::Debug for ReadThrough<K, V, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cache.fmt(f)
    }
}
