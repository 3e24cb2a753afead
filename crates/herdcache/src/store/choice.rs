//! Which store a cache keeps its entries in, as the application chooses it.
//!
//! A word of the public surface and nothing else: what each store is stands in its
//! own file. The feature `lab` lets the environment choose for caches that do not, so
//! that a whole program of tests runs on another store.

use std::fmt;

use crate::config::ConfigError;

/// The local store of a cache: how its entries are kept, and which of them make room. Chosen by
/// [`Builder::store`](crate::Builder::store).
///
/// `capacity` is counted in entries, of one unit each whatever their size: there is none that does not fit. It is the room
/// for values. Absences have a store of the same kind beside it, of `capacity` × `negative_share` entries, one at least: with
/// the defaults 10,000 values and 1,000 absences, and with a `capacity` of 1 one of each.
/// What the stores cost and keep is measured in `docs/performance.md`.
///
/// ```
/// # use std::time::Duration;
/// # use herdcache::{Cache, ConfigError, Gate, LocalStore, Ttl};
/// // As a setting of the service names it; what this build has not is told with what it has.
/// let known = || LocalStore::ALL.iter().map(|store| store.label()).collect::<Vec<_>>().join(", ");
/// let named = |label: &str| LocalStore::of_label(label).ok_or_else(|| format!("{label} is none of {}", known()));
/// assert_eq!(named("moka"), Ok(LocalStore::Moka));
/// assert!(named("redis").is_err_and(|error| error.starts_with("redis is none of moka")));
///
/// let users = Cache::<u64, String>::builder("users", Ttl::fresh_for(Duration::from_secs(60)), &Gate::new(8))
///     .store(LocalStore::Moka)
///     .build()?;
/// # Ok::<(), ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LocalStore {
    /// moka with `TinyLFU`: a new key is admitted if it was asked for more often than the one that it would displace. The
    /// default.
    ///
    /// Evicts by and by, in maintenance that reads and writes do for each other: between two of its runs there may be
    /// more values than `capacity`, and more absences than their share of it.
    #[cfg_attr(not(any(herd_loom, herd_shuttle)), default)]
    Moka,
    /// moka with LRU: a new key is always admitted. For comparisons in labs: it answers fewer requests from the same room
    /// than `quick_cache` does, in all traffic that was measured.
    #[cfg(feature = "lab")]
    MokaLru,
    /// `quick_cache`, whose policy is close to S3-FIFO: a hit costs a fraction of one on moka. With the feature
    /// `quick-cache`.
    ///
    /// Evicts with each write, so that there are never more values than `capacity`, nor more absences than their share
    /// of it, which comes on top. Either room is split among shards by
    /// the keys' hash: 4 for each processor, of 256 entries at least, and rounded down to whole shards. One may be full
    /// before the others are; a cache of fewer than 512 entries has one, and is exact. A key's `Eq` is asked under a
    /// shard's lock, so it must not call the cache.
    #[cfg(feature = "quick-cache")]
    Quick,
    /// The model checkers' map, in no other build.
    #[cfg(any(herd_loom, herd_shuttle))]
    #[default]
    Map,
}

/// What [`LocalStore`] has in the place of `Quick` where that is not built: no cache takes it, and the compiler says its
/// name, where "no variant named `Quick`" would not tell what to do.
#[cfg(not(feature = "quick-cache"))]
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct NeedsTheFeatureQuickCacheOfHerdcache;

#[cfg(not(feature = "quick-cache"))]
impl LocalStore {
    #[doc(hidden)]
    #[expect(non_upper_case_globals, reason = "it stands for a variant")]
    pub const Quick: NeedsTheFeatureQuickCacheOfHerdcache = NeedsTheFeatureQuickCacheOfHerdcache;
}

impl LocalStore {
    /// Every store that this build has.
    pub const ALL: &'static [Self] = &[
        Self::Moka,
        #[cfg(feature = "lab")]
        Self::MokaLru,
        #[cfg(feature = "quick-cache")]
        Self::Quick,
        #[cfg(any(herd_loom, herd_shuttle))]
        Self::Map,
    ];

    /// Its name, as the feed and the lab tell it.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Moka => "moka",
            #[cfg(feature = "lab")]
            Self::MokaLru => "moka-lru",
            #[cfg(feature = "quick-cache")]
            Self::Quick => "quick",
            #[cfg(any(herd_loom, herd_shuttle))]
            Self::Map => "map",
        }
    }

    /// The store of that name, if this build has it.
    pub fn of_label(label: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|store| store.label() == label)
    }
}

impl fmt::Display for LocalStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

/// The store that this cache chose, or that of caches that choose none.
pub(crate) fn checked(chosen: Option<LocalStore>, name: &str) -> Result<LocalStore, ConfigError> {
    let wrong = |problem| ConfigError::new(format!("cache {name:?}"), "store", problem);
    chosen.map_or_else(|| unchosen().map_err(wrong), Ok)
}

/// The store of caches that choose none; or what is wrong with the environment's choice.
#[cfg(feature = "lab")]
fn unchosen() -> Result<LocalStore, String> {
    use crate::sync::plain::LazyLock;

    /// Read once: caches of one process that are built alike are alike.
    static CHOSEN: LazyLock<Result<LocalStore, String>> = LazyLock::new(|| match std::env::var("HERDCACHE_STORE") {
        Ok(label) => named(&label),
        Err(_) => Ok(LocalStore::default()),
    });
    CHOSEN.clone()
}

#[cfg(feature = "lab")]
fn named(label: &str) -> Result<LocalStore, String> {
    LocalStore::of_label(label).ok_or_else(|| {
        let known: Vec<_> = LocalStore::ALL.iter().map(|store| store.label()).collect();
        format!("{label:?} of HERDCACHE_STORE is not a store of this build: set one of {}", known.join(", "))
    })
}

/// The store of caches that choose none.
#[cfg(not(feature = "lab"))]
#[expect(clippy::unnecessary_wraps, reason = "with the feature lab the environment may choose badly")]
fn unchosen() -> Result<LocalStore, String> {
    Ok(LocalStore::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_store_is_read_as_it_is_written() {
        for store in LocalStore::ALL {
            assert_eq!(LocalStore::of_label(&store.to_string()), Some(*store));
        }
        assert_eq!(LocalStore::default().label(), "moka");
    }

    /// A1: the compiler says which feature is missing, since that is the name of what is there instead.
    #[cfg(not(feature = "quick-cache"))]
    #[test]
    fn a1_without_its_feature_the_fast_store_says_so() {
        assert_eq!(format!("{:?}", LocalStore::Quick), "NeedsTheFeatureQuickCacheOfHerdcache");
    }

    /// A1: a store that is not there is told with those that are.
    #[cfg(feature = "lab")]
    #[test]
    fn a1_a_store_that_is_not_there_is_told_with_those_that_are() {
        assert_eq!(named("moka-lru"), Ok(LocalStore::MokaLru));
        let problem = named("redis").unwrap_err();
        assert!(
            problem.starts_with(r#""redis" of HERDCACHE_STORE"#) && problem.contains("moka, moka-lru"),
            "{problem}"
        );
    }
}
