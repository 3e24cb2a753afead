//! [`Loaded`]: what a loader gives back, and how it may be kept.

use std::sync::Arc;
use std::time::Duration;

use crate::marks::Marks;
use crate::ttl::Ttl;

/// A loader's answer: a value, its absence, or that the previous value still holds, and how to keep it.
///
/// A plain value, an `Option` (`None` is absent) and an `Arc` convert into it, so
/// most loaders never name it.
///
/// ```
/// use std::{convert::Infallible, time::Duration};
/// use herdcache::{Cache, Gate, Loaded, Ttl};
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let seconds = Duration::from_secs;
/// let pages = Cache::<&str, &str, Infallible>::builder("pages", Ttl::fresh_for(seconds(60)), &Gate::new(8)).build()?;
/// let hot = Loaded::value("price list").fresh_for(seconds(1)).tags(["prices"]);
/// let row = Loaded::value("row").version(42).source_age(Duration::from_millis(800)); // off a replica that lags
/// // As an HTTP client reads it off `ETag` and `Cache-Control: max-age=60, stale-while-revalidate=600`.
/// let page = Loaded::value("page").validator("\"33a6\"").fresh_for(seconds(60)).stale_for(seconds(600));
/// let secret = Loaded::value("one-time link").do_not_store();
/// let nothing: Loaded<&str> = None.into();
/// for (key, loaded) in [("/prices", hot), ("/row", row), ("/page", page), ("/link", secret), ("/gone", nothing)] {
///     pages.get_with(&key, |_| async { Ok(loaded) }).await?;
/// }
/// assert!(pages.peek(&"/page").is_some() && pages.peek(&"/link").is_none());
/// assert_eq!((pages.snapshot().entries, pages.snapshot().negatives), (4, 1)); // "/gone" is known not to be there
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Loaded<V> {
    pub(crate) what: What<V>,
    pub(crate) fresh_for: Option<Duration>,
    pub(crate) stale_for: Option<Duration>,
    pub(crate) source_age: Duration,
    pub(crate) keep: Keep,
    pub(crate) marks: Option<Box<Marks>>,
}

/// What a load found.
#[derive(Debug)]
pub(crate) enum What<V> {
    Value(Arc<V>),
    Absent,
    /// The previous value still holds.
    NotModified,
}

/// Whether a loaded value goes into the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    Store,
    DoNotStore,
}

impl<V> Loaded<V> {
    fn new(what: What<V>) -> Self {
        Self { what, fresh_for: None, stale_for: None, source_age: Duration::ZERO, keep: Keep::Store, marks: None }
    }

    /// There is a value.
    pub fn value(value: V) -> Self {
        Self::from(Arc::new(value))
    }

    /// There is none. Remembered for the cache's `negative_ttl`.
    pub fn absent() -> Self {
        Self::new(What::Absent)
    }

    /// The previous value still holds: its age starts anew, the value itself is not replaced.
    ///
    /// Only if [`LoadContext::previous`](crate::LoadContext::previous) gave one; without, the load fails as
    /// [`Failure::Contract`](crate::Failure::Contract). Version, validator and tags stay unless they are set here.
    pub fn not_modified() -> Self {
        Self::new(What::NotModified)
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

    /// Stale for this long instead of the cache's `stale_for`. 0 means that it expires with its freshness; absence is
    /// never stale.
    #[must_use]
    pub fn stale_for(mut self, stale_for: Duration) -> Self {
        self.stale_for = Some(stale_for);
        self
    }

    /// How old the value was at its source when it arrived: a replica's lag, an HTTP `Age`. Default 0.
    ///
    /// Its age and its bounds count from there. A value that is past its last bound already is answered
    /// to those who wait for this load and not stored (`too_old`); one that arrives stale is refreshed no sooner
    /// than the cooling base after it arrived.
    #[must_use]
    pub fn source_age(mut self, age: Duration) -> Self {
        self.source_age = age;
        self
    }

    /// The version at the source: a row's counter, a log offset. Larger is newer. Default: none.
    ///
    /// An older version is never stored over a newer one that is fresh or stale (`older_version`); the callers of that
    /// load get the newer value. A value in reserve gives way to whatever the source says. This is how writes that
    /// arrive out of order, or a refresh that read a lagging replica, do no harm.
    #[must_use]
    pub fn version(mut self, version: u64) -> Self {
        self.marks_mut().version = Some(version);
        self
    }

    /// What the source can check the value by later: an HTTP `ETag`, a row hash. Default: nothing. The next load gets it as
    /// [`LoadContext::validator`](crate::LoadContext::validator).
    #[must_use]
    pub fn validator(mut self, validator: impl Into<Arc<str>>) -> Self {
        self.marks_mut().validator = Some(validator.into());
        self
    }

    /// What the value depends on, for [`Cache::invalidate_tag`](crate::Cache::invalidate_tag): up to 64 tags of 256 bytes.
    /// Default: none.
    ///
    /// With more or longer ones the value is answered and not stored (`oversize`), since no invalidation could be
    /// relied upon to find it.
    #[must_use]
    pub fn tags<T: Into<Arc<str>>>(mut self, tags: impl IntoIterator<Item = T>) -> Self {
        self.marks_mut().tags = tags.into_iter().map(Into::into).collect();
        self
    }

    /// Answers the callers who wait for this load and keeps nothing. Default: what is loaded is stored.
    ///
    /// The next caller loads again; callers never load one after another because of it.
    #[must_use]
    pub fn do_not_store(mut self) -> Self {
        self.keep = Keep::DoNotStore;
        self
    }

    fn marks_mut(&mut self) -> &mut Marks {
        self.marks.get_or_insert_default()
    }

    /// The TTL of this very value, given the cache's.
    pub(crate) fn ttl(&self, cache: &Ttl, negative_ttl: Duration) -> Ttl {
        match self.what {
            What::Absent => Ttl::fresh_for(self.fresh_for.unwrap_or(negative_ttl)),
            What::Value(_) | What::NotModified => Ttl {
                fresh_for: self.fresh_for.unwrap_or(cache.fresh_for),
                stale_for: self.stale_for.unwrap_or(cache.stale_for),
                stale_if_error_for: cache.stale_if_error_for,
            },
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
        Self::new(What::Value(value))
    }
}
