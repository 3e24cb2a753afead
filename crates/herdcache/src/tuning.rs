//! Tuning: what an operator changes while the cache runs, within bounds set when it was built.
//!
//! Entries keep the bounds that they were stored with; what is in force now is worked
//! out when a value past freshness is judged. So a change acts on everything that is
//! stored already, and a hit never asks.

use std::time::Duration;

use crate::clock::{Moment, nanos};
use crate::config::{Check, ConfigError, Settings};
use crate::entry::Stamps;
use crate::freshness::{Bounds, Freshness};
use crate::measures::Switch;
use crate::sync::plain::Mutex;
use crate::sync::plain::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use crate::ttl::Ttl;

/// Changes to a running cache, for [`Cache::tune`](crate::Cache::tune). What is not named stays as it is.
///
/// ```
/// # use std::{convert::Infallible, time::Duration};
/// # use herdcache::{Cache, Gate, Switch, Ttl, Tuning};
/// # let minutes = |n: u64| Duration::from_secs(60 * n);
/// let prices = Cache::<String, u64, Infallible>::builder("prices", Ttl::fresh_for(minutes(1)), &Gate::new(8))
///     .tunable_stale_for(minutes(10))
///     .tunable_stale_if_error_for(minutes(60))
///     .build()?;
/// // A slow morning: readers get a price of a few minutes ago at once, while a refresh runs.
/// prices.tune(Tuning::new().stale_for(minutes(5)))?;
/// assert_eq!(prices.snapshot().tuned.stale_ms, 300_000);
/// // Beyond what the code allows nothing is changed.
/// assert!(prices.tune(Tuning::new().stale_for(minutes(11))).is_err_and(|error| error.field() == "stale_for"));
/// // The database is in trouble: older prices are better than none, and spare it the refreshes.
/// prices.tune(Tuning::new().stale_if_error_for(minutes(60)).refresh(Switch::Off))?;
/// // The trouble is over.
/// prices.tune(Tuning::as_built())?;
/// # Ok::<(), herdcache::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Tuning {
    stale_for: Wish<Duration>,
    stale_if_error_for: Wish<Duration>,
    refresh: Wish<Switch>,
}

/// What is wanted of one setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish<T> {
    Keep,
    AsBuilt,
    To(T),
}

impl<T> Wish<T> {
    fn from(self, now: T, built: T) -> T {
        match self {
            Self::Keep => now,
            Self::AsBuilt => built,
            Self::To(wanted) => wanted,
        }
    }
}

impl Default for Tuning {
    fn default() -> Self {
        Self::new()
    }
}

impl Tuning {
    /// No change yet.
    pub const fn new() -> Self {
        Self { stale_for: Wish::Keep, stale_if_error_for: Wish::Keep, refresh: Wish::Keep }
    }

    /// Everything back to what the cache was built with.
    pub const fn as_built() -> Self {
        Self { stale_for: Wish::AsBuilt, stale_if_error_for: Wish::AsBuilt, refresh: Wish::AsBuilt }
    }

    /// How long past freshness values are answered while a refresh runs: 0 to
    /// [`tunable_stale_for`](crate::Builder::tunable_stale_for). Default: no change.
    ///
    /// Acts on what is stored already. Values whose loader set its own `stale_for` keep that.
    /// Longer: older answers. Shorter: readers wait for the load.
    pub const fn stale_for(mut self, stale_for: Duration) -> Self {
        self.stale_for = Wish::To(stale_for);
        self
    }

    /// How long past freshness values are answered when loads fail: 0 to
    /// [`tunable_stale_if_error_for`](crate::Builder::tunable_stale_if_error_for). Default: no change.
    ///
    /// Acts on what is stored already. Never shorter than the `stale_for` in force.
    /// Longer: older answers while the origin is down. Shorter: errors sooner.
    pub const fn stale_if_error_for(mut self, stale_if_error_for: Duration) -> Self {
        self.stale_if_error_for = Wish::To(stale_if_error_for);
        self
    }

    /// Whether readers of a stale value, and refresh-ahead, start background loads. Built as on.
    ///
    /// Off: stale values are answered without one, and the origin is asked only once nothing
    /// may be answered any more. Refreshes that run already go on.
    pub const fn refresh(mut self, to: Switch) -> Self {
        self.refresh = Wish::To(to);
        self
    }
}

/// The settings in force that tuning may change.
#[derive(Debug)]
pub(crate) struct InForce {
    built: Ttl,
    most: Most,
    /// One change at a time. Readers look at the atomics only.
    ttl: Mutex<Ttl>,
    stale_for: AtomicU64,
    /// As said for failed loads; 0 if not said, so that it follows `stale_for`.
    error_for: AtomicU64,
    refresh_off: AtomicBool,
}

/// How far each may be raised.
#[derive(Clone, Copy, Debug)]
struct Most {
    stale_for: Duration,
    stale_if_error_for: Duration,
}

impl InForce {
    pub(crate) fn new(settings: &Settings) -> Self {
        let built = settings.ttl;
        let most =
            Most { stale_for: settings.most_stale_for(), stale_if_error_for: settings.most_stale_if_error_for() };
        Self {
            built,
            most,
            ttl: Mutex::new(built),
            stale_for: AtomicU64::new(nanos(built.stale_for)),
            error_for: AtomicU64::new(for_errors(&built)),
            refresh_off: AtomicBool::new(false),
        }
    }

    /// Changes what is wanted, all of it or nothing; `tell` hears of each setting that changed.
    pub(crate) fn change(
        &self,
        subject: &str,
        wanted: Tuning,
        mut tell: impl FnMut(String),
    ) -> Result<(), ConfigError> {
        let mut ttl = self.ttl.lock();
        let (then, refresh_then) = (*ttl, self.refresh());
        let now = self.wanted(subject, wanted, then)?;
        let refresh = wanted.refresh.from(refresh_then, Switch::On);
        *ttl = now;
        self.stale_for.store(nanos(now.stale_for), Relaxed);
        self.error_for.store(for_errors(&now), Relaxed);
        self.refresh_off.store(refresh == Switch::Off, Relaxed);
        let show = |duration: Duration| format!("{duration:?}");
        let changes = [
            change("stale_for", then.stale_for, now.stale_for, show),
            change("stale_if_error_for", then.last_for(), now.last_for(), show),
            change("refresh", refresh_then, refresh, |switch| word(switch).to_owned()),
        ];
        changes.into_iter().flatten().for_each(&mut tell);
        Ok(())
    }

    fn wanted(&self, subject: &str, wanted: Tuning, now: Ttl) -> Result<Ttl, ConfigError> {
        let check = Check { subject: format!("cache {subject:?}") };
        let within = |field, setter: &str, wish: Wish<Duration>, most| match wish {
            Wish::To(value) if value > most => check.fail(
                field,
                format!("{value:?} is not within 0ns to {most:?}: lower it, or build the cache with a larger {setter}"),
            ),
            Wish::To(_) | Wish::Keep | Wish::AsBuilt => Ok(()),
        };
        within("stale_for", "tunable_stale_for", wanted.stale_for, self.most.stale_for)?;
        let (wish, most) = (wanted.stale_if_error_for, self.most.stale_if_error_for);
        within("stale_if_error_for", "tunable_stale_if_error_for", wish, most)?;
        let last = match wish {
            Wish::Keep => now.stale_if_error_for,
            Wish::AsBuilt => self.built.stale_if_error_for,
            Wish::To(value) => Some(value),
        };
        let stale_for = wanted.stale_for.from(now.stale_for, self.built.stale_for);
        Ok(Ttl { fresh_for: now.fresh_for, stale_for, stale_if_error_for: last })
    }

    /// Whether stale values are refreshed.
    pub(crate) fn refresh(&self) -> Switch {
        if self.refresh_off.load(Relaxed) { Switch::Off } else { Switch::On }
    }

    /// How long past freshness values are stale, and how long they stand in for a failed load, in nanoseconds.
    pub(crate) fn past(&self) -> (u64, u64) {
        let (stale, error) = (self.stale_for.load(Relaxed), self.error_for.load(Relaxed));
        (stale, error.max(stale))
    }

    /// The most that both may be raised to.
    pub(crate) fn most(&self) -> (Duration, Duration) {
        (self.most.stale_for, self.most.stale_if_error_for)
    }

    /// L4: the bounds of a value that are in force now.
    pub(crate) fn bounds(&self, stamps: &Stamps) -> Bounds {
        stamps.bounds_within(self.stale_for.load(Relaxed), self.error_for.load(Relaxed))
    }

    /// F1: what a value is at `now`.
    pub(crate) fn judge(&self, stamps: &Stamps, now: Moment) -> Freshness {
        if stamps.is_fresh(now) { Freshness::Fresh } else { self.bounds(stamps).judge(now) }
    }
}

/// What a TTL says of failed loads alone, in nanoseconds.
fn for_errors(ttl: &Ttl) -> u64 {
    nanos(ttl.stale_if_error_for.unwrap_or_default())
}

fn word(switch: Switch) -> &'static str {
    match switch {
        Switch::On => "on",
        Switch::Off => "off",
    }
}

/// A change in words, if it is one.
fn change<T: Copy + PartialEq>(field: &str, then: T, now: T, show: impl Fn(T) -> String) -> Option<String> {
    (then != now).then(|| format!("{field} = {} (was {})", show(now), show(then)))
}
