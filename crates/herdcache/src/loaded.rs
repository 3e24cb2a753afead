//! [`Loaded`]: what a loader gives back, and how it may be kept.

use std::sync::Arc;
use std::time::Duration;

use crate::ttl::Ttl;

/// A loader's answer: a value or its absence, and how to keep it.
///
/// A plain value, an `Option` (`None` is absent) and an `Arc` convert into it, so
/// most loaders never name it.
///
/// ```
/// use std::time::Duration;
/// use herdcache::Loaded;
/// let hot = Loaded::value("price list").fresh_for(Duration::from_secs(1));
/// let secret = Loaded::value("one-time link").do_not_store();
/// let nothing: Loaded<&str> = None.into();
/// # let _ = (hot, secret, nothing);
/// ```
#[derive(Debug)]
pub struct Loaded<V> {
    pub(crate) value: Option<Arc<V>>,
    pub(crate) fresh_for: Option<Duration>,
    pub(crate) stale_for: Option<Duration>,
    pub(crate) keep: Keep,
}

/// Whether a loaded value goes into the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    Store,
    DoNotStore,
}

impl<V> Loaded<V> {
    /// There is a value.
    pub fn value(value: V) -> Self {
        Self::from(Arc::new(value))
    }

    /// There is none. Remembered for the cache's `negative_ttl`.
    pub fn absent() -> Self {
        Self { value: None, fresh_for: None, stale_for: None, keep: Keep::Store }
    }

    /// Fresh for this long instead of the cache's `fresh_for` (or, when absent, instead of `negative_ttl`).
    ///
    /// Jitter shortens it as usual. 0 means stale at once: the callers of this load are answered, and the
    /// next either load again or, within `stale_for`, get this value while it is refreshed, no sooner than
    /// the cooling base after it arrived.
    #[must_use]
    pub fn fresh_for(mut self, fresh_for: Duration) -> Self {
        self.fresh_for = Some(fresh_for);
        self
    }

    /// Stale for this long instead of the cache's `stale_for`.
    #[must_use]
    pub fn stale_for(mut self, stale_for: Duration) -> Self {
        self.stale_for = Some(stale_for);
        self
    }

    /// Answers the callers who wait for this load and keeps nothing.
    ///
    /// The next caller loads again; callers never load one after another because of it.
    #[must_use]
    pub fn do_not_store(mut self) -> Self {
        self.keep = Keep::DoNotStore;
        self
    }

    /// The TTL of this very value, given the cache's.
    pub(crate) fn ttl(&self, cache: &Ttl, negative_ttl: Duration) -> Ttl {
        if self.value.is_none() {
            return Ttl::fresh_for(self.fresh_for.unwrap_or(negative_ttl));
        }
        Ttl {
            fresh_for: self.fresh_for.unwrap_or(cache.fresh_for),
            stale_for: self.stale_for.unwrap_or(cache.stale_for),
            stale_if_error_for: cache.stale_if_error_for,
        }
    }
}

impl<V> From<V> for Loaded<V> {
    fn from(value: V) -> Self {
        Self::value(value)
    }
}

impl<V> From<Option<V>> for Loaded<V> {
    fn from(value: Option<V>) -> Self {
        value.map_or_else(Self::absent, Self::value)
    }
}

impl<V> From<Arc<V>> for Loaded<V> {
    fn from(value: Arc<V>) -> Self {
        Self { value: Some(value), fresh_for: None, stale_for: None, keep: Keep::Store }
    }
}
