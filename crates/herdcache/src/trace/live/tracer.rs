//! The choice of one cache: who listens, which keys are hot, what is left of the budget, what was refused.

use std::fmt;
use std::sync::Arc;

use tracing::level_filters::LevelFilter;

use super::budget::Budget;
use super::choice::{SampledBy, is_in_share};
use super::herd;
use super::log::Log;
use super::promise::Promise;
use super::settings::Traces;
use crate::clock::Moment;
use crate::sync::plain::RwLock;
use crate::sync::plain::atomic::{AtomicU64, Ordering::Relaxed};

/// How long the list of hot keys is used before it is made anew.
const LOOK_EVERY: u64 = 1_000_000_000;

/// What was traced of a cache since it was built, and what the limits of [`Traces`] left out.
///
/// ```
/// use herdcache::{Cache, Key, TraceCounts};
/// /// The part of the chosen flights that the limit left without a span.
/// fn refused<K: Key, V: Send + Sync>(cache: &Cache<K, V>) -> Option<f64> {
///     let TraceCounts { flights, flights_refused, .. } = cache.traced();
///     (flights + flights_refused > 0).then(|| flights_refused as f64 / (flights + flights_refused) as f64)
/// }
/// # use herdcache::{Gate, Ttl};
/// # let ttl = Ttl::fresh_for(std::time::Duration::from_secs(60));
/// # let users = Cache::<u64, u64>::builder("users", ttl, &Gate::new(8)).build()?;
/// assert_eq!(refused(&users), None); // nothing was loaded yet
/// # Ok::<(), herdcache::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TraceCounts {
    /// Flights that got a span.
    pub flights: u64,
    /// Flights that were chosen and got none, since there were too many in that second.
    pub flights_refused: u64,
    /// Waits for traced flights that got a span.
    pub waits: u64,
    /// Waits for traced flights that got none, since there were too many of that flight.
    pub waits_refused: u64,
    /// Steps of traced flights that got no span, since there were too many of that flight.
    pub steps_refused: u64,
}

/// What flights share with the cache that they are of.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) settings: Traces,
    pub(super) budget: Budget,
    pub(super) flights: AtomicU64,
    pub(super) flights_refused: AtomicU64,
    pub(super) waits: AtomicU64,
    pub(super) waits_refused: AtomicU64,
    pub(super) steps_refused: AtomicU64,
    /// Spans of flights that have not ended.
    pub(super) open: AtomicU64,
}

/// Chooses flights of one cache.
pub(crate) struct Tracer {
    shared: Arc<Shared>,
    hottest: RwLock<Vec<u64>>,
    next_look: AtomicU64,
}

impl Tracer {
    pub(crate) fn new(settings: Traces) -> Self {
        let shared = Shared {
            settings,
            budget: Budget::new(settings.per_second),
            flights: AtomicU64::new(0),
            flights_refused: AtomicU64::new(0),
            waits: AtomicU64::new(0),
            waits_refused: AtomicU64::new(0),
            steps_refused: AtomicU64::new(0),
            open: AtomicU64::new(0),
        };
        Self { shared: Arc::new(shared), hottest: RwLock::new(Vec::new()), next_look: AtomicU64::new(0) }
    }

    /// Whether a flight that is about to be opened is to be traced; nothing is made yet.
    ///
    /// `hottest` gives the hashes of so many of the keys asked for most; asked now and then.
    #[inline]
    pub(crate) fn choose(
        &self,
        (flight, hash): (u64, u64),
        now: Moment,
        hottest: impl FnOnce(usize) -> Vec<u64>,
    ) -> Log {
        // Before anything else: what is off is off whoever listens, and notes nothing for herds.
        if !self.shared.budget.is_any() {
            return Log::off();
        }
        if LevelFilter::current() < LevelFilter::INFO {
            // Herds are told of by recorded times, to who needs no subscriber.
            return if herd::is_any() { Log::none() } else { Log::off() };
        }
        self.choose_heard((flight, hash), now, hottest)
    }

    /// Somebody listens to something.
    #[cold]
    fn choose_heard(&self, (flight, hash): (u64, u64), now: Moment, hottest: impl FnOnce(usize) -> Vec<u64>) -> Log {
        let shared = &self.shared;
        // Whether anybody wants this very span is asked by making it, never by `span_enabled!`: a layer with a filter of
        // its own remembers its answer until something is made, and would leave out the next record of the service.
        let by = if self.is_hot(hash, now, hottest) {
            SampledBy::Hot
        } else if is_in_share(flight, shared.settings.one_in) {
            SampledBy::Uniform
        } else {
            return Log::none();
        };
        if shared.budget.take(by, now) {
            return Log::promised(Promise::new(by, shared));
        }
        shared.flights_refused.fetch_add(1, Relaxed);
        Log::refused()
    }

    fn is_hot(&self, hash: u64, now: Moment, hottest: impl FnOnce(usize) -> Vec<u64>) -> bool {
        let most = self.shared.settings.hot_keys;
        if most == 0 {
            return false;
        }
        let due = self.next_look.load(Relaxed);
        if now >= due && self.next_look.compare_exchange(due, now + LOOK_EVERY, Relaxed, Relaxed).is_ok() {
            let hottest = hottest(most);
            *self.hottest.write() = hottest;
        }
        self.hottest.read().contains(&hash)
    }

    /// A flight was thrown away before it was opened, since somebody else was faster: none was refused.
    pub(crate) fn unopened(&self, log: &Log) {
        if log.is_refused() {
            self.shared.flights_refused.fetch_sub(1, Relaxed);
        }
    }

    /// A flight draws a herd: traced from here on, if anybody wants it, it was not before and the budget allows.
    #[inline]
    pub(crate) fn crowded(&self, log: &Log, now: Moment) {
        if herd::is_any() && self.shared.budget.is_any() {
            log.crowded(&self.shared, now);
        }
    }

    /// X1: whether every flight's span has ended.
    pub(crate) fn is_quiet(&self) -> bool {
        self.shared.open.load(Relaxed) == 0
    }

    pub(crate) fn counts(&self) -> TraceCounts {
        let shared = &self.shared;
        TraceCounts {
            flights: shared.flights.load(Relaxed),
            flights_refused: shared.flights_refused.load(Relaxed),
            waits: shared.waits.load(Relaxed),
            waits_refused: shared.waits_refused.load(Relaxed),
            steps_refused: shared.steps_refused.load(Relaxed),
        }
    }
}

impl fmt::Debug for Tracer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tracer").field(&self.shared).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::super::herd::{HerdFlight, HerdSpan, HerdTracer, trace_herds};
    use super::*;
    use crate::trace::facts::TraceStep;

    struct Bridge;

    impl HerdTracer for Bridge {
        fn begin(&self, _: &HerdFlight<'_>) -> Option<Arc<dyn HerdSpan>> {
            None
        }
    }

    /// Off is off: while herds are traced, a flight of a cache that traces nothing notes none of its steps.
    #[test]
    fn a_cache_that_traces_nothing_notes_nothing_for_herds() {
        let bridge = Arc::new(Bridge);
        trace_herds(&bridge).unwrap();
        for (settings, notes) in
            [(Traces::none(), false), (Traces::default().per_second(0), false), (Traces::default(), true)]
        {
            let tracer = Tracer::new(settings);
            let log = tracer.choose((1, 1), 0, |_| Vec::new());
            log.step(TraceStep::PermitWait).ends();
            tracer.crowded(&log, 0);
            assert_eq!((log.has_notes(), log.is_herd()), (notes, notes), "{settings:?}");
        }
    }
}
