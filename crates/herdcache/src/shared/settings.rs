//! [`Shared`] and [`Leasing`]: how a cache uses a shared tier and a lease, each setting with its cost.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::breaker::Breaking;
use super::codec::{Codec, Json};
use super::tier::{Lease, SharedTier};
use crate::config::{Check, ConfigError};

/// What a shared write that failed means for the callers of the load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum WriteFailure {
    /// They get the value; the failure is counted. They do not even wait for the write.
    #[default]
    Ignore,
    /// They wait for the write, and get [`Failure::SharedWrite`](crate::Failure::SharedWrite) if it failed.
    ///
    /// A load whose key has a change on its way to the tier writes nothing, which is no failure while the tier is well.
    Fail,
}

impl WriteFailure {
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Ignore => "ignore",
            Self::Fail => "fail",
        }
    }
}

/// A shared tier as a cache uses it. A tier alone converts into it, with JSON and the defaults.
///
/// ```
/// use std::{convert::Infallible, time::Duration};
/// use herdcache::{Cache, Gate, MemoryTier, Shared, Ttl};
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let tier = MemoryTier::new();
/// let process = || {
///     let ttl = Ttl::fresh_for(Duration::from_secs(60));
///     Cache::<u64, String, Infallible>::builder("users", ttl, &Gate::new(8))
///         .shared(Shared::json(tier.clone()).operation_timeout(Duration::from_millis(20)))
///         .build()
/// };
/// let (one, other) = (process()?, process()?);
/// one.get_with(&7, |_| async { Ok("loaded by one".to_owned()) }).await?;
/// # for _ in 0..20 { tokio::task::yield_now().await; }  // the write goes on behind the answer
/// let there = other.get_with(&7, |_| async { Ok("loaded by the other".to_owned()) }).await?;
/// assert_eq!(there.as_deref().map(String::as_str), Some("loaded by one"));
/// # Ok(()) }
/// ```
#[doc = include_str!("../../docs/examples/shared.md")]
#[must_use]
pub struct Shared<V> {
    pub(crate) tier: Arc<dyn SharedTier>,
    pub(crate) codec: Arc<dyn Codec<V>>,
    pub(crate) settings: SharedSettings,
}

/// What is set of a shared tier.
#[derive(Clone, Debug)]
pub(crate) struct SharedSettings {
    pub(crate) operation_timeout: Duration,
    pub(crate) largest_value: usize,
    pub(crate) schema_version: u32,
    pub(crate) write_failure: WriteFailure,
    pub(crate) breaking: Breaking,
    pub(crate) queue: usize,
}

impl<V: 'static> Shared<V> {
    /// A tier whose values are JSON.
    pub fn json(tier: impl SharedTier) -> Self
    where
        V: Serialize + DeserializeOwned,
    {
        Self::new(tier, Json::new())
    }

    /// A tier whose values are encoded by `codec`.
    pub fn new(tier: impl SharedTier, codec: impl Codec<V>) -> Self {
        let settings = SharedSettings {
            operation_timeout: Duration::from_millis(50),
            largest_value: 1 << 20,
            schema_version: 1,
            write_failure: WriteFailure::Ignore,
            breaking: Breaking { in_a_row: 5, probe_every: Duration::from_secs(1) },
            queue: 10_000,
        };
        Self { tier: Arc::new(tier), codec: Arc::new(codec), settings }
    }

    /// The longest one operation may take, 1 ms to 5 s. Default 50 ms.
    ///
    /// Longer: misses are slow while the tier is in trouble. Shorter: false timeouts.
    pub fn operation_timeout(mut self, limit: Duration) -> Self {
        self.settings.operation_timeout = limit;
        self
    }

    /// The largest value that is written, in encoded bytes: 1 KiB to 64 MiB. Default 1 MiB.
    ///
    /// Larger: one value holds up everything on the connection. Smaller: values that every process loads for itself
    /// (`too_large`).
    pub fn largest_value(mut self, bytes: usize) -> Self {
        self.settings.largest_value = bytes;
        self
    }

    /// The version of what keys and values look like; part of every key. Default 1.
    ///
    /// Raise it with a change that older code could not read: old and new processes then do not see each other's values
    /// while a deployment rolls, and nothing of the old ones is found any more.
    pub fn schema_version(mut self, version: u32) -> Self {
        self.settings.schema_version = version;
        self
    }

    /// What a write that failed means for the callers of the load. Default [`WriteFailure::Ignore`].
    pub fn write_failure(mut self, policy: WriteFailure) -> Self {
        self.settings.write_failure = policy;
        self
    }

    /// How many operations must fail in a row (1 to 1,000, default 5) for the tier to be left alone, and the time between
    /// two probes (10 ms to 1 min, default 1 s). Half of at least 20 operations within 10 s have the same effect.
    ///
    /// More, or longer: slow to open, slow to close. Fewer: it opens on a glitch.
    pub fn breaker(mut self, in_a_row: u64, probe_every: Duration) -> Self {
        self.settings.breaking = Breaking { in_a_row, probe_every };
        self
    }

    /// The most keys whose invalidation may wait for the tier, 1 to 1,000,000. Default 10,000.
    ///
    /// More: memory. Fewer: after a long outage everything in the tier that is older is distrusted here, and other
    /// processes may answer invalidated values until their time is over (`lost`).
    pub fn queue(mut self, keys: usize) -> Self {
        self.settings.queue = keys;
        self
    }
}

impl<V, T> From<T> for Shared<V>
where
    V: Serialize + DeserializeOwned + 'static,
    T: SharedTier,
{
    fn from(tier: T) -> Self {
        Self::json(tier)
    }
}

impl<V> fmt::Debug for Shared<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl SharedSettings {
    pub(crate) fn check(&self, name: &str) -> Result<(), ConfigError> {
        let check = Check { subject: format!("cache {name:?}") };
        let ms = Duration::from_millis;
        check.duration("operation_timeout", self.operation_timeout, ms(1), ms(5_000))?;
        check.number("largest_value", self.largest_value as u64, 1 << 10, 64 << 20)?;
        check.number("breaker", self.breaking.in_a_row, 1, 1_000)?;
        check.duration("breaker", self.breaking.probe_every, ms(10), ms(60_000))?;
        check.number("queue", self.queue as u64, 1, 1_000_000)
    }
}

/// A lease as a cache uses it. A lease alone converts into it, with the defaults.
///
/// One process loads a key, the others follow it: they look into the shared tier until its value is there. A lease
/// holder that dies costs one extra load, after the lease's time.
///
/// A load within another load does not wait for another process's lease: its permit, and the lease of the load around
/// it, would be held meanwhile. It loads without one (`skipped`).
///
/// ```
/// use std::{convert::Infallible, time::Duration};
/// use herdcache::{Cache, Gate, Leasing, MemoryTier, Ttl};
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let tier = MemoryTier::new();
/// let cache = Cache::<u64, String, Infallible>::builder("users", Ttl::fresh_for(Duration::from_secs(60)), &Gate::new(8))
///     .origin_timeout(Duration::from_millis(800))
///     .flight_deadline(Duration::from_millis(800))
///     .shared(tier.clone())
///     .lease(
///         Leasing::new(tier)
///             .time(Duration::from_millis(1_500))
///             .renewals(3)
///             .poll(Duration::from_millis(25), Duration::from_millis(250)) // a follower's first pause, and its longest
///             .follow_for(Duration::from_millis(600)),                     // then it loads by itself
///     )
///     .build()?;
/// assert!(cache.snapshot().lease.is_some_and(|lease| lease.held == 0));
/// # Ok(()) }
/// ```
#[derive(Clone)]
#[must_use]
pub struct Leasing {
    pub(crate) lease: Arc<dyn Lease>,
    pub(crate) settings: LeaseSettings,
}

/// What is set of a lease.
#[derive(Clone, Debug)]
pub(crate) struct LeaseSettings {
    /// As chosen; by default worked out from the flight deadline.
    pub(crate) chosen_time: Option<Duration>,
    pub(crate) renewals: u32,
    pub(crate) poll: Duration,
    pub(crate) poll_most: Duration,
    pub(crate) follow_for: Option<Duration>,
}

impl Leasing {
    /// A lease with the defaults.
    pub fn new(lease: impl Lease) -> Self {
        let settings = LeaseSettings {
            chosen_time: None,
            renewals: 3,
            poll: Duration::from_millis(25),
            poll_most: Duration::from_millis(250),
            follow_for: None,
        };
        Self { lease: Arc::new(lease), settings }
    }

    /// How long a lease lasts, 100 ms to 2 h, never less than `origin_timeout`. Default: the flight deadline and two
    /// operation timeouts.
    ///
    /// Longer: a holder that died blocks its keys for longer. Shorter: more renewals, and loads that outlive their
    /// lease.
    pub fn time(mut self, time: Duration) -> Self {
        self.settings.chosen_time = Some(time);
        self
    }

    /// How often a lease is renewed at most, each time for its whole time, when a third of it has passed. 0 to 1,000.
    /// Default 3.
    ///
    /// More: a load that hangs keeps its key for longer. Fewer: a load that was paused (a stopped process, a stalled
    /// disk) loses its lease sooner.
    pub fn renewals(mut self, most: u32) -> Self {
        self.settings.renewals = most;
        self
    }

    /// A follower's first pause between two looks and its longest one, 5 ms to 5 s; each pause is half as long again as
    /// the one before, ± 50 %. Default 25 ms and 250 ms.
    ///
    /// Longer: followers' callers wait for longer. Shorter: more reads of the tier.
    pub fn poll(mut self, first: Duration, longest: Duration) -> Self {
        (self.settings.poll, self.settings.poll_most) = (first, longest);
        self
    }

    /// How long a flight follows another process at most before it loads by itself, without the lease. Default: until the
    /// flight's deadline, which then fails it.
    ///
    /// Longer: errors while a holder hangs. Shorter: loads of one key in several processes, each behind its gate.
    pub fn follow_for(mut self, limit: Duration) -> Self {
        self.settings.follow_for = Some(limit);
        self
    }
}

impl<L: Lease> From<L> for Leasing {
    fn from(lease: L) -> Self {
        Self::new(lease)
    }
}

impl fmt::Debug for Leasing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leasing").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl LeaseSettings {
    /// Z1: how long a lease lasts.
    pub(crate) fn time(&self, flight_deadline: Duration, operation_timeout: Duration) -> Duration {
        self.chosen_time.unwrap_or(flight_deadline.saturating_add(operation_timeout * 2))
    }

    pub(crate) fn check(&self, name: &str, origin_timeout: Duration) -> Result<(), ConfigError> {
        let check = Check { subject: format!("cache {name:?}") };
        let ms = Duration::from_millis;
        if let Some(time) = self.chosen_time {
            check.duration("lease", time, ms(100), Duration::from_secs(7_200))?;
            if time < origin_timeout {
                return check.fail(
                    "lease",
                    format!(
                        "{time:?} is shorter than origin_timeout {origin_timeout:?}: \
                         a load would outlive its lease: raise the lease or lower the timeout"
                    ),
                );
            }
        }
        check.number("renewals", u64::from(self.renewals), 0, 1_000)?;
        check.duration("poll", self.poll, ms(5), ms(5_000))?;
        check.duration("poll", self.poll_most, self.poll, ms(5_000))?;
        match self.follow_for {
            Some(limit) => check.duration("follow_for", limit, ms(1), Duration::from_secs(3_600)),
            None => Ok(()),
        }
    }
}
