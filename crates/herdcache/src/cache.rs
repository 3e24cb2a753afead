//! [`Cache`], the handle whose callers bring the loader; `read_through` has the one that brings its own.

mod get;
mod loader;
mod many;
mod read_through;
#[cfg(all(feature = "tracing", not(any(herd_loom, herd_shuttle))))]
mod traced;
mod wait;
mod warm;

use std::borrow::Borrow;
use std::fmt;
use std::future::Future;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use herdfeed::{CacheSnapshot, Outcome};

use crate::answer::Answer;
use crate::builder::Builder;
use crate::clock;
use crate::config::ConfigError;
use crate::core::Core;
use crate::entry::Stored;
use crate::error::{BoxError, Got};
use crate::events::Events;
use crate::freshness::Freshness;
use crate::gate::Gate;
use crate::key::Key;
use crate::loaded::Loaded;
use crate::origin::LoadContext;
use crate::spread::Spread;
use crate::ttl::Ttl;
use crate::tuning::Tuning;
use get::Get;
pub use read_through::ReadThrough;

/// A cache whose callers bring the loader. Cloning gives another handle of the same cache.
///
/// Teach [`ReadThrough`] first: a loader that is bound when the cache is built
/// sees only the key, so it cannot forget what the answer depends on. With
/// [`Cache::get_with`] the leader's loader answers every other caller of the key.
#[doc = include_str!("../docs/examples/cache.md")]
pub struct Cache<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static = BoxError> {
    pub(crate) core: Arc<Core<K, V, E>>,
    wait: Option<Duration>,
}

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static> Cache<K, V, E> {
    /// Starts building a cache.
    ///
    /// `name` (1 to 64 of `a-z0-9_.-`) is its name in telemetry; `ttl` how long its
    /// values may be answered; `gate` bounds its calls to the origin. None of the
    /// three has a default that would be safe.
    pub fn builder(name: impl Into<String>, ttl: Ttl, gate: &Gate) -> Builder<K, V, E> {
        Builder::new(name.into(), ttl, gate.clone())
    }

    pub(crate) fn over(core: Arc<Core<K, V, E>>) -> Self {
        Self { core, wait: None }
    }

    /// The value under `key`, loaded by `load` if need be.
    ///
    /// `load` is called at most once, in the caller, and only if this caller opens
    /// a flight; it may borrow. Its future must not: it outlives its caller. Any
    /// other caller of the same key gets the same answer, so whatever `load` reads
    /// must be part of the key. `load` may give a `V`, an `Option<V>` (`None` is
    /// absent), an `Arc<V>` or a [`Loaded`].
    ///
    /// # Errors
    /// See [`GetError`](crate::GetError): `Failed` and `Cooling` when the load failed and no older value may be
    /// answered, `Rejected` when the origin is protected, `WaitTimeout` by the
    /// handle's own limit, `Reentrant` from within the key's own load, `Closed`.
    ///
    /// # Cancel safety
    /// Dropping the future ends this request as `cancelled`. The load goes on, for
    /// the other callers and for the cache.
    ///
    /// ```
    /// # use std::{convert::Infallible, time::Duration};
    /// # use herdcache::{Cache, Gate, Ttl};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let prices = Cache::<String, u64, Infallible>::builder("prices", Ttl::fresh_for(Duration::from_secs(5)), &Gate::new(8))
    ///     .build()?;
    /// let price = prices.get_with("tea", |cx| async move { Ok(cx.key().len() as u64) }).await?;
    /// assert_eq!(price.as_deref(), Some(&3));
    /// # Ok(()) }
    /// ```
    pub fn get_with<'a, Q, L, F, R>(
        &'a self,
        key: &'a Q,
        load: L,
    ) -> impl Future<Output = Got<V, E>> + use<'a, K, V, E, Q, L, F, R>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
        L: FnOnce(LoadContext<K, V>) -> F,
        F: Future<Output = Result<R, E>> + Send + 'static,
        R: Into<Loaded<V>>,
    {
        Get::new(&self.core, self.wait, key, move |cx| {
            let load = load(cx);
            Box::pin(async move { load.await.map(Into::into) }) as _
        })
    }

    /// This cache through a handle whose callers wait at most `limit`.
    ///
    /// A caller that waits longer gets `WaitTimeout`; the load goes on and fills the
    /// cache. Longer: slower answers. Shorter: more `timed_out`. Default: no limit
    /// but the flight's deadline. 0 gives up at once, unless the answer is ready.
    ///
    /// ```
    /// # use std::{convert::Infallible, time::Duration};
    /// # use herdcache::{Cache, Gate, GetError, LoadContext, Ttl};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let slow = |_: LoadContext<u64, u64>| async {
    ///     tokio::time::sleep(Duration::from_millis(40)).await;
    ///     Ok::<_, Infallible>(1)
    /// };
    /// let users = Cache::builder("users", Ttl::fresh_for(Duration::from_secs(60)), &Gate::new(8)).build_over(slow)?;
    /// let impatient = users.with_wait_timeout(Duration::from_millis(5));
    /// assert!(matches!(impatient.get(&7).await, Err(GetError::WaitTimeout { .. })));
    /// assert_eq!(users.get(&7).await?.as_deref(), Some(&1)); // joins the load that went on
    /// assert_eq!(users.snapshot().origin_calls, 1);
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn with_wait_timeout(&self, limit: Duration) -> Self {
        Self { core: Arc::clone(&self.core), wait: Some(limit) }
    }

    /// The value under `key` if it is fresh or stale. Loads nothing, waits for nothing, counts nothing.
    ///
    /// `None` also for what is known to be absent, and for a value in reserve. Looks at this process's tier only.
    pub fn peek<Q>(&self, key: &Q) -> Option<Answer<V>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let now = clock::coarse();
        match self.core.store.get(key)? {
            Stored::Value(entry) => match self.core.in_force.judge(&entry.stamps, now) {
                Freshness::Fresh => Some(Answer::new(entry, Outcome::Hit, now)),
                Freshness::Stale => Some(Answer::new(entry, Outcome::Stale, now)),
                Freshness::Reserve | Freshness::Expired => None,
            },
            Stored::Absent(_) => None,
        }
    }

    /// Puts a value under `key`, newer than every load in progress: none of them will be stored over it.
    ///
    /// Takes effect in this process at the call; awaiting the result tells how far it got. A [version](Loaded::version)
    /// that comes too late changes nothing, and neither does [`Loaded::not_modified`]; a value that cannot be stored
    /// (too old, not to be stored, too many tags) still ends what was there before.
    ///
    /// Beside [`invalidate`](Self::invalidate) and [`mark_stale`](Self::mark_stale):
    ///
    /// ```
    /// # use std::{convert::Infallible, time::Duration};
    /// # use herdcache::{Answer, Cache, Gate, Loaded, Outcome, Reach, Ttl};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let ttl = Ttl::fresh_for(Duration::from_secs(60)).stale_for(Duration::from_secs(60));
    /// let stock = Cache::<u64, u64, Infallible>::builder("stock", ttl, &Gate::new(8)).build()?;
    /// let reach = stock.insert(7, Loaded::value(10).version(2)).await; // acts at the call; awaiting tells how far
    /// assert_eq!(reach, Reach::Process);
    /// stock.insert(7, Loaded::value(11).version(1)); // comes too late
    /// assert_eq!(stock.peek(&7).as_deref(), Some(&10));
    ///
    /// stock.mark_stale(&7); // answered once more, while a refresh brings the new value
    /// let answer = stock.get_with(&7, |_| async { Ok(Loaded::value(9).version(3)) }).await?.expect("present");
    /// assert_eq!((*answer, Answer::outcome(&answer)), (10, Outcome::Stale));
    ///
    /// stock.invalidate(&7); // the next reader waits for a load
    /// let answer = stock.get_with(&7, |_| async { Ok(8) }).await?.expect("present");
    /// assert_eq!((*answer, Answer::outcome(&answer)), (8, Outcome::Loaded));
    /// # Ok(()) }
    /// ```
    pub fn insert(&self, key: K, value: impl Into<Loaded<V>>) -> Spread {
        let ticket = self.core.ticket();
        self.core.insert(key, value.into(), ticket.as_ref());
        self.core.spread(ticket)
    }

    /// Forgets what is under `key`, and every load of it that is in progress.
    ///
    /// Readers after this call load anew and never get a value whose load began
    /// before it; at most one superseded load runs beside the new one. Takes effect
    /// in this process at the call, also without awaiting the result. The value's memory
    /// is given back when the store next does its maintenance.
    ///
    /// With a shared tier the value is removed there too, and no load that began before is stored there; until that is
    /// confirmed, this process's reads of the key bypass the tier. Awaiting the result tells whether it has been. The local
    /// tiers of other processes keep what they have copied until it expires.
    pub fn invalidate<Q>(&self, key: &Q) -> Spread
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let ticket = self.core.ticket();
        self.core.invalidate(key, ticket.as_ref());
        self.core.spread(ticket)
    }

    /// Forgets what is under each of these keys. As [`Cache::invalidate`], key by key; no other key is touched.
    pub fn invalidate_many<'a, Q>(&self, keys: impl IntoIterator<Item = &'a Q>) -> Spread
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized + 'a,
    {
        let ticket = self.core.ticket();
        keys.into_iter().for_each(|key| self.core.invalidate(key, ticket.as_ref()));
        self.core.spread(ticket)
    }

    /// Forgets every key whose value has this [tag](Loaded::tags), and the loads in progress that turn out to have it.
    ///
    /// Costs what the keys with the tag cost, whatever else is stored. A load whose tags become known only when it
    /// ends is answered to those who joined it before this call and not stored; callers who joined it later load
    /// anew. The last 4,096 tags without any stored key are remembered for that; beyond, loads in progress that
    /// have tags may be discarded needlessly.
    ///
    /// ```
    /// # use std::{convert::Infallible, time::Duration};
    /// # use herdcache::{Cache, Gate, Loaded, Ttl};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let ttl = Ttl::fresh_for(Duration::from_secs(60));
    /// let pages = Cache::<u64, String, Infallible>::builder("pages", ttl, &Gate::new(8)).build()?;
    /// pages.get_with(&1, |_| async { Ok(Loaded::value("tea, 3".to_owned()).tags(["product:tea", "list"])) }).await?;
    /// pages.get_with(&2, |_| async { Ok(Loaded::value("milk, 1".to_owned()).tags(["product:milk", "list"])) }).await?;
    /// pages.invalidate_tag("product:tea");
    /// assert!(pages.peek(&1).is_none() && pages.peek(&2).is_some());
    /// # Ok(()) }
    /// ```
    pub fn invalidate_tag(&self, tag: &str) -> Spread {
        let ticket = self.core.ticket();
        self.core.invalidate_tag(tag, ticket.as_ref());
        self.core.spread(ticket)
    }

    /// Forgets everything, and every load in progress.
    ///
    /// Costs time in proportion to what is stored, and every key is missed once afterwards: behind the gate, but all
    /// at once. Prefer tags or [`Cache::mark_stale`] where they suffice. With a shared tier, the keys that are stored here
    /// are removed there, and this process believes nothing of it that is older; other processes do.
    pub fn clear(&self) -> Spread {
        let ticket = self.core.ticket();
        self.core.clear(ticket.as_ref());
        self.core.spread(ticket)
    }

    /// Makes what is under `key` stale: answered as before, while the next read refreshes it.
    ///
    /// No reader is blocked and at most one refresh runs, however often it is called: the gentle way to spread a
    /// change that readers may see a moment later. The value may be answered for as long as it might have been
    /// without this call. What a load in progress brings is stale on arrival, and refreshed no sooner than the cooling
    /// base after that. Acts in this process: the refresh loads anew whatever a shared tier has. A key that is known to be absent stays so until its time is over: invalidate it if a value
    /// has come to be.
    pub fn mark_stale<Q>(&self, key: &Q) -> Spread
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.core.mark_stale(key);
        Spread::process()
    }

    /// Changes settings while the cache runs, within the bounds that it was built with.
    ///
    /// For an operator in an incident: longer stale bounds act at once on everything that is stored. Each setting that
    /// changes is an event, and the snapshot and the feed's configuration show what is in force. A hit costs the same.
    /// Not to be tuned: `fresh_for`, and the permits, which are the [`gate`](Cache::gate)'s and fixed unless it
    /// [follows the origin](crate::GateBuilder::adaptive).
    ///
    /// # Errors
    /// [`ConfigError`] naming the field, its value, the range and the remedy. Then nothing is changed.
    pub fn tune(&self, tuning: Tuning) -> Result<(), ConfigError> {
        self.core.tune(tuning)
    }

    /// The account now: exact totals since the cache was built, durations in microseconds (`_us`).
    ///
    /// At any moment, also while other threads ask, the requests that have begun are those under one outcome and those
    /// that are `active`, and the origin calls are those under one result and those that are `origin_active`. Other
    /// figures are read one after another, so that two of them can differ by what happened between; at rest they agree
    /// to the unit.
    ///
    /// Does the store's pending maintenance first, and reads every flight: for a screen or a scrape, not for each request.
    ///
    /// ```
    /// # use std::{convert::Infallible, time::Duration};
    /// # use herdcache::{Cache, Gate, Outcome, Ttl};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let ttl = Ttl::fresh_for(Duration::from_secs(60));
    /// let users = Cache::<u64, u64, Infallible>::builder("users", ttl, &Gate::new(8)).build()?;
    /// for _ in 0..3 {
    ///     users.get_with(&7, |_| async { Ok(1) }).await?;
    /// }
    /// let account = users.snapshot();
    /// assert_eq!((account.outcomes[Outcome::Loaded], account.outcomes[Outcome::Hit]), (1, 2));
    /// assert_eq!(account.begun, account.outcomes.total() + account.active);
    /// # Ok(()) }
    /// ```
    pub fn snapshot(&self) -> CacheSnapshot {
        self.core.snapshot()
    }

    /// What happens from now on, for a reader of its own, which asks when it pleases.
    ///
    /// The process keeps its newest 4,096 events; what a slow reader has missed, it is told by [`Events::missed`].
    pub fn events(&self) -> Events {
        Events::new(self.core.name.clone())
    }

    /// The name in telemetry: as given, or with `~2` and so on if another live cache has it.
    pub fn name(&self) -> &str {
        &self.core.name
    }

    /// The gate that its loads pass.
    pub fn gate(&self) -> &Gate {
        &self.core.gate
    }

    /// Starts no more loads, waits for running ones up to `limit`, then ends them: their callers get `Closed`. 0 ends
    /// them at once.
    ///
    /// What is stored is still answered. Blocking work cannot be stopped and ends by itself.
    ///
    /// # Cancel safety
    /// The cache stays closed. Loads that were running go on.
    pub async fn shutdown(&self, limit: Duration) {
        self.core.shutdown(limit).await;
    }

    /// Switches one countermeasure on or off, for labs and demonstrations.
    #[doc = include_str!("../docs/examples/lab.md")]
    #[cfg(feature = "lab")]
    pub fn set_measure(&self, measure: herdfeed::Measure, to: crate::measures::Switch) {
        self.core.measures.set(measure, to);
        let what = format!("{measure} {}", if to == crate::measures::Switch::On { "on" } else { "off" });
        crate::events::tell(&self.core.name, herdfeed::Severity::Info, clock::exact(), herdfeed::Fact::Tuned { what });
        crate::trace::say();
    }

    /// Makes what is under `key` expired, as if its time had run out.
    #[cfg(feature = "lab")]
    pub fn expire<Q>(&self, key: &Q)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        if let Some(stored) = self.core.store.get(key) {
            stored.stamps().expire(clock::coarse());
        }
    }

    /// Makes everything expired, as if all of it had been written together.
    #[cfg(feature = "lab")]
    pub fn expire_all(&self) {
        let now = clock::coarse();
        self.core.store.each(&mut |stored| stored.stamps().expire(now));
    }
}

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static> Clone for Cache<K, V, E> {
    fn clone(&self) -> Self {
        Self { core: Arc::clone(&self.core), wait: self.wait }
    }
}

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static> fmt::Debug for Cache<K, V, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache").field("name", &self.core.name).field("wait", &self.wait).finish_non_exhaustive()
    }
}
