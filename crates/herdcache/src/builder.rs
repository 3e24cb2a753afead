//! [`Builder`]: the settings of a cache, each with its default and what both directions cost.

use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use crate::cache::{Cache, ReadThrough};
use crate::classes::Classes;
use crate::config::{ConfigError, Settings};
use crate::core::{Core, Hooks};
use crate::error::GetError;
use crate::fallback::Fallback;
use crate::gate::Gate;
use crate::group::Grouping;
use crate::key::{Key, KeyNames, KeyView};
use crate::measures::{Measures, Policy};
use crate::origin::Origin;
use crate::registry;
use crate::shared::{Leasing, Shared, Tiers};
use crate::store::choice::{self, LocalStore};
use crate::ttl::Ttl;
use crate::unwatched::WhenUnwatched;

/// Builds a [`Cache`] or a [`ReadThrough`].
#[doc = include_str!("../docs/examples/builder.md")]
#[derive(Debug)]
#[must_use]
pub struct Builder<K, V, E> {
    name: String,
    pub(crate) settings: Settings,
    store: Option<LocalStore>,
    negative_ttl: Option<Duration>,
    gate: Gate,
    view: KeyView<K>,
    groups: Option<Grouping<K>>,
    policy: Policy,
    fallback: Fallback<K, V, E>,
    shared: Option<Shared<V>>,
    leasing: Option<Leasing>,
    pub(crate) classes: Classes<E>,
}

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static> Builder<K, V, E> {
    pub(crate) fn new(name: String, ttl: Ttl, gate: Gate) -> Self {
        Self {
            name,
            settings: Settings::new(ttl),
            store: None,
            negative_ttl: None,
            gate,
            view: KeyView::Hash,
            groups: None,
            policy: Policy::FULL,
            fallback: Fallback::none(),
            shared: None,
            leasing: None,
            classes: Classes::none(),
        }
    }

    /// The most values in the local store: 1 to 2³². Default 10,000. Absences come on top, see
    /// [`negative_share`](Self::negative_share); and moka may be above for a moment, see [`LocalStore`].
    ///
    /// More: memory. Fewer: evictions, and misses because of them.
    pub fn capacity(mut self, entries: u64) -> Self {
        self.settings.capacity = entries;
        self
    }

    /// Where entries are kept, and which of them make room. Default: [`LocalStore::Moka`].
    ///
    /// `Moka`: a hit costs about as much as moka's own. `Quick` (feature `quick-cache`): a fraction of that, and never a
    /// value more than `capacity`; a key that becomes hot at a full cache is loaded twice where moka, which sees those
    /// who wait, loads it once.
    pub fn store(mut self, store: LocalStore) -> Self {
        self.store = Some(store);
        self
    }

    /// The largest part of freshness that is randomly taken away, 0 to 0.5. Default 0.10.
    ///
    /// More: more loads. Less: entries that were written together expire together (avalanche).
    pub fn jitter(mut self, part: f64) -> Self {
        self.settings.jitter = part;
        self
    }

    /// β of refresh-ahead (`XFetch`), 0 (off) to 10. Default 0; 1.0 is advised when `stale_for` is 0.
    ///
    /// More: more loads. Less: readers wait at expiry.
    pub fn early_refresh(mut self, beta: f64) -> Self {
        self.settings.early_refresh = beta;
        self
    }

    /// How long a caller waits for a load before an older value that may be answered is answered, while the load goes on.
    /// Up to `flight_deadline`. Default: none.
    ///
    /// Longer: slower answers. Shorter: older answers.
    pub fn soft_timeout(mut self, limit: Duration) -> Self {
        self.settings.soft_timeout = Some(limit);
        self
    }

    /// The longest one origin call may take (hard timeout), 1 ms to 1 h. Default 5 s.
    ///
    /// Longer: a hung key is dead for longer. Shorter: healthy slow loads are given up.
    pub fn origin_timeout(mut self, limit: Duration) -> Self {
        self.settings.origin_timeout = limit;
        self
    }

    /// The longest a whole flight may take, its wait for a permit included: `origin_timeout` to 1 h. Default 10 s.
    ///
    /// Longer: a hung key is dead for longer. Shorter: healthy slow loads are given up.
    pub fn flight_deadline(mut self, limit: Duration) -> Self {
        self.settings.flight_deadline = limit;
        self
    }

    /// How long "does not exist" is remembered, 0 to `fresh_for`. Default 1 s, or `fresh_for` if that is shorter.
    ///
    /// Longer: new rows stay hidden. Shorter: absent keys reach the origin.
    pub fn negative_ttl(mut self, ttl: Duration) -> Self {
        self.negative_ttl = Some(ttl);
        self
    }

    /// Room for "does not exist", as a part of `capacity` that comes on top of it: 0.01 to 0.5. Default 0.10, at least
    /// one entry.
    ///
    /// An absence holds no value and evicts none, however many keys that do not exist are asked for. More: memory.
    /// Less: absent keys reach the origin.
    pub fn negative_share(mut self, part: f64) -> Self {
        self.settings.negative_share = part;
        self
    }

    /// How long a key cools after a failed load: `base` × 2ⁿ with each failure in a row, × U\[1, 1.5\], never above `cap`.
    /// 10 ms to 1 min. Default 100 ms and 5 s.
    ///
    /// Longer: errors go on after healing. Shorter: a sick origin is probed more often.
    pub fn cooling(mut self, base: Duration, cap: Duration) -> Self {
        self.settings.cooling_base = base;
        self.settings.cooling_cap = cap;
        self
    }

    /// The most flights at once, about 1 KiB each: 1 to 1,000,000. Default 10,000.
    ///
    /// Beyond it loads are refused as `flights_full`. More: memory in a flood of different keys. Fewer: refusals in it.
    pub fn max_flights(mut self, flights: usize) -> Self {
        self.settings.max_flights = flights;
        self
    }

    /// The most waiters of one flight, 16 bytes each beside their own tasks: 1 to 10,000,000. Default 100,000.
    ///
    /// Beyond it callers are refused as `waiters_full`, or get an older value. More: memory in a herd. Fewer: refusals in it.
    pub fn max_waiters(mut self, waiters: usize) -> Self {
        self.settings.max_waiters = waiters;
        self
    }

    /// Groups keys, say by tenant: one group holds at most this part of the cache's flights and of the gate's queue,
    /// above 0 and at most 1. Beyond it its loads are refused as `group_share`. Default: no groups.
    ///
    /// Groups that wait at the gate are served in turn, so that a flood of one delays another by a permit at a time,
    /// and neither fills the queue against it nor lets it time out there. The share limits who waits, not who holds a
    /// permit: one group alone uses the whole gate, and slow loads of one keep their permits until they end. A group is
    /// known by the hash of what `group` gives: the same for every cache behind the gate, and gone with its last load.
    ///
    /// More: one group can crowd the rest out when a few flood at once (shares that add up to more than 1 fill the
    /// queue). Less: a short burst of one group is rejected.
    #[doc = include_str!("../docs/examples/group_share.md")]
    pub fn group_share<G: Hash>(mut self, share: f64, group: impl Fn(&K) -> G + Send + Sync + 'static) -> Self {
        self.groups = Some(Grouping::new(share, group));
        self
    }

    /// The most that [`tune`](Cache::tune) may raise `stale_for` to: from `stale_for` as built to 10 years.
    /// Default: as built, so that tuning only shortens.
    ///
    /// Longer: an operator may choose older answers in an incident. It takes no memory: values stay stored anyway.
    pub fn tunable_stale_for(mut self, most: Duration) -> Self {
        self.settings.tunable_stale_for = Some(most);
        self
    }

    /// The most that [`tune`](Cache::tune) may raise `stale_if_error_for` to: from `stale_if_error_for` as built to
    /// 10 years. Default: as built, so that tuning only shortens.
    ///
    /// Longer: an operator may choose older answers while the origin is down.
    pub fn tunable_stale_if_error_for(mut self, most: Duration) -> Self {
        self.settings.tunable_stale_if_error_for = Some(most);
        self
    }

    /// A degraded value when nothing else can be answered: no load helped, and no older value may be answered either.
    /// Default: none, callers get the error.
    ///
    /// `fallback` is told the key and the error and may decline with `None`. Its value is answered to this one caller as
    /// [`Outcome::Fallback`](crate::Outcome::Fallback) and never stored. It runs in the caller, once for each request
    /// that needs it, so it should be quick; if it panics, the caller gets the error. It is not asked about `Reentrant`,
    /// which is a mistake in a loader.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use herdcache::{Answer, Cache, Gate, GetError, Outcome, Ttl};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let stock = Cache::<String, Vec<u64>, &str>::builder("stock", Ttl::fresh_for(Duration::from_secs(5)), &Gate::new(8))
    ///     .fallback(|_, error| (!matches!(error, GetError::Closed)).then(Vec::new))
    ///     .build()?;
    /// let answer = stock.get_with("tea", |_| async { Err::<Vec<u64>, _>("down") }).await?.expect("degraded");
    /// assert_eq!((answer.len(), Answer::outcome(&answer)), (0, Outcome::Fallback));
    /// # Ok(()) }
    /// ```
    pub fn fallback(mut self, fallback: impl Fn(&K, &GetError<E>) -> Option<V> + Send + Sync + 'static) -> Self {
        self.fallback = Fallback::of(fallback);
        self
    }

    /// What becomes of a load when the last caller that waited for it has left. Default: it finishes.
    ///
    /// Finish: loads that nobody waits for. Abandon: values that are not cached when callers are impatient.
    pub fn when_unwatched(mut self, what: WhenUnwatched) -> Self {
        self.settings.when_unwatched = what;
        self
    }

    /// How keys appear on screens, in events and in the feed. Default: as a hash.
    ///
    /// Readable: personal data on screens and in recordings. As a hash: keys that an operator cannot read.
    pub fn show_keys(mut self, view: KeyView<K>) -> Self {
        self.view = view;
        self
    }

    /// A tier that other processes share: a [`SharedTier`](crate::SharedTier) as it is (values become JSON), or a
    /// [`Shared`] with settings of its own. Default: none.
    ///
    /// A miss reads it before it loads, once for each flight, and what is loaded is written to it; a fault of it never
    /// reaches a caller. Loaders' futures are made before the read, and polled only if it comes to a load.
    ///
    /// With: processes share each other's loads, for a round trip on every miss. Without: each process loads for
    /// itself.
    pub fn shared(mut self, shared: impl Into<Shared<V>>) -> Self {
        self.shared = Some(shared.into());
        self
    }

    /// A lease over all processes: a [`Lease`](crate::Lease) as it is, or a [`Leasing`] with settings of its own. Needs
    /// [`Builder::shared`]. Default: none.
    ///
    /// With: one process loads a key and the others follow it, for one round trip more on every load. Without: as many
    /// loads of a key as there are processes.
    pub fn lease(mut self, lease: impl Into<Leasing>) -> Self {
        self.leasing = Some(lease.into());
        self
    }

    /// Runs the cache without any countermeasure: bare cache-aside, fully counted.
    ///
    /// For measuring before protection is switched on, or when the cache itself is under
    /// suspicion. Every miss loads, nothing is coalesced or limited, failures are not shared.
    /// Snapshot and screen say `observe`. It holds for the life of the cache: protection is switched on by building
    /// the cache without it, at the next start.
    ///
    /// The snapshot's [`saved`](herdfeed::Saved) estimates what protection would have done with the same requests:
    ///
    /// | figure | counts | assumes |
    /// |---|---|---|
    /// | `coalesced` | origin calls that began while another load of their key (of each key of a batch) ran, or just after it had landed | that the load which they would have shared takes as long as it does |
    /// | `cooled` | origin calls that began while their key would have cooled | that the first load after a window fails or succeeds as it does |
    /// | `stale` | requests that a value within `stale_for` could have answered at once | that the refresh behind it takes as long as the load does |
    /// | `reserve` | requests that ended in an error though a value within `stale_if_error_for` was there, and are not in `stale` | that the origin's healing is noticed at once; cooling lets older values stand in for a moment longer |
    /// | `over_limit` | loads, without those in the first two rows, that began while as many as the gate's permits ran | that no other cache uses the gate, and that loads which wait hold nobody back: too low in a long overload |
    /// | `expiries_peak`, `jittered_peak` | values that expired within one second of the last 60 and were asked for since; the same with jitter | that jitter spreads over at most a minute: with a TTL that long the true peak is lower |
    ///
    /// Origin calls would have been fewer by about `coalesced` + `cooled`. Not taken into account: the loads that jitter
    /// (half of it, in parts of all loads) and refresh-ahead add, those that the gate's fail-fast refuses, and keys that are evicted earlier or later. A
    /// measure that is on adds nothing to its figure.
    pub fn observe_only(mut self) -> Self {
        self.policy = Policy::NONE;
        self
    }

    /// Makes runs that can be played again to the letter, for labs: which entries make room does not go by the machine's
    /// time nor by a hash that differs in each process. Slower, and open to keys that are made to collide: not for services.
    #[cfg(feature = "lab")]
    pub fn steady(mut self) -> Self {
        self.settings.steady = true;
        self
    }

    /// Builds a cache whose callers bring the loader.
    ///
    /// # Errors
    /// [`ConfigError`] naming the cache, the field, its value and the remedy.
    pub fn build(mut self) -> Result<Cache<K, V, E>, ConfigError> {
        let fresh_for = self.settings.ttl.fresh_for;
        self.settings.negative_ttl = self.negative_ttl.unwrap_or(self.settings.negative_ttl.min(fresh_for));
        self.settings.store = choice::checked(self.store, &self.name)?;
        self.settings.check(&self.name)?;
        self.check_refresh()?;
        self.check_queue_timeout()?;
        self.check_groups()?;
        self.check_tiers()?;
        self.classes.check(&self.name)?;
        let Self { name: given, settings, gate, view, groups, policy, fallback, shared, leasing, classes, .. } = self;
        let deadline = settings.flight_deadline;
        let core = registry::add_cache(&given, |name| {
            let names = (given.clone(), name.as_str());
            let shared = shared.map(|shared| Tiers::new(names, shared, leasing, deadline));
            let hooks = Hooks { names: KeyNames::new(&name, view), fallback, groups, shared, classes };
            Arc::new(Core::new(name, settings, Measures::new(policy), gate, hooks))
        });
        Ok(Cache::over(core))
    }

    /// Builds a cache over its origin.
    ///
    /// # Errors
    /// As [`Builder::build`].
    pub fn build_over<O: Origin<K, V, Error = E>>(self, origin: O) -> Result<ReadThrough<K, V, E>, ConfigError> {
        Ok(ReadThrough::new(self.build()?, Arc::new(origin)))
    }

    fn check_tiers(&self) -> Result<(), ConfigError> {
        if let Some(shared) = &self.shared {
            shared.settings.check(&self.name)?;
        }
        let Some(leasing) = &self.leasing else { return Ok(()) };
        if self.shared.is_none() {
            return Err(ConfigError::new(
                format!("cache {:?}", self.name),
                "lease",
                "is set but shared is not: who follows a lease's holder reads the shared tier: set both",
            ));
        }
        leasing.settings.check(&self.name, self.settings.origin_timeout)
    }

    fn check_groups(&self) -> Result<(), ConfigError> {
        match &self.groups {
            Some(groups) if !(groups.share > 0.0 && groups.share <= 1.0) => Err(ConfigError::new(
                format!("cache {:?}", self.name),
                "group_share",
                format!("{} is not above 0 and at most 1", groups.share),
            )),
            Some(_) | None => Ok(()),
        }
    }

    /// A wait that is longer than any flight may take could only end as `deadline`. The default is cut without a word.
    fn check_queue_timeout(&self) -> Result<(), ConfigError> {
        let (chosen, deadline) = (self.gate.0.settings.chosen_queue_timeout, self.settings.flight_deadline);
        match chosen.filter(|chosen| *chosen > deadline) {
            Some(chosen) => Err(ConfigError::new(
                format!("cache {:?}", self.name),
                "queue_timeout",
                format!(
                    "{chosen:?} of its gate {:?} is longer than flight_deadline {deadline:?}: \
                     lower the timeout or raise the deadline",
                    self.gate.name()
                ),
            )),
            None => Ok(()),
        }
    }

    fn check_refresh(&self) -> Result<(), ConfigError> {
        let field = match (self.settings.ttl.stale_for, self.settings.most_stale_for()) {
            (Duration::ZERO, Duration::ZERO) => return Ok(()),
            (Duration::ZERO, _) => "tunable_stale_for",
            _ => "stale_for",
        };
        if self.gate.0.settings.refresh_permits == 0 && self.policy == Policy::FULL {
            return Err(ConfigError::new(
                format!("cache {:?}", self.name),
                field,
                "is set but refresh_permits of its gate is 0: stale values would never be refreshed",
            ));
        }
        Ok(())
    }
}
