//! The ledger of one cache: each fact is counted here, once, at one call site.
//!
//! What the hit path counts lies in cache-padded shards, one atomic addition per
//! hit; what slow paths count lies in plain atomics. Nothing is ever reset.

mod counters;
mod errors;
mod histogram;
mod local;
mod peaks;
mod savings;
mod warmth;

use std::time::Duration;

use herdfeed::{
    DiscardReason, FlightEnd, FlightRole, FlightTrigger, Law, MissCause, OriginResult, Outcome, RefreshResult,
    RejectReason, RemovalCause, StaleReason, Tally,
};

pub(crate) use counters::Counters;
use errors::Errors;
pub(crate) use histogram::AtomicHistogram;
pub(crate) use local::{SAMPLED, Sample, Tick, tick};
pub(crate) use peaks::{Peak, Rate};
pub(crate) use savings::{Savings, Spared, Unlimited};
pub(crate) use warmth::Warmth;

use crate::clock::Moment;
use crate::recorder::{self, Measured, QUICK_SAMPLED};
use crate::sync::plain::atomic::Ordering::{Acquire, Relaxed};
use crate::sync::plain::atomic::{AtomicU64, fence};

/// Shards of the hit path's counters. More than cores in use at once rarely helps.
const SHARDS: usize = 16;

/// One shard: a cache line pair of its own, so that cores do not take it from each other.
#[repr(align(128))]
#[derive(Debug, Default)]
struct Shard {
    hit: AtomicU64,
    negative: AtomicU64,
    stale: AtomicU64,
}

/// Answers that need no flight: the three that the hit path can give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quick {
    Hit,
    Negative,
    Stale,
}

/// Everything that one cache counts.
#[derive(Debug)]
pub(crate) struct Account {
    /// The cache's name.
    name: Box<str>,
    quick: [Shard; SHARDS],
    /// Requests that went past the hit path.
    begun: AtomicU64,
    outcomes: Counters<Outcome>,
    pub(crate) misses: Counters<MissCause>,
    pub(crate) stale_serves: Counters<StaleReason>,
    pub(crate) rejections: Counters<RejectReason>,
    /// Of these, those of background refreshes.
    pub(crate) refresh_rejections: Counters<RejectReason>,
    pub(crate) flight_starts: Counters<FlightTrigger>,
    /// Distinct keys that began to load because their time was over or they were invalidated.
    pub(crate) keys_loading: AtomicU64,
    pub(crate) flights: Counters<FlightEnd>,
    pub(crate) participants: Counters<FlightRole>,
    pub(crate) refreshes: Counters<RefreshResult>,
    pub(crate) discards: Counters<DiscardReason>,
    pub(crate) removals: Counters<RemovalCause>,
    /// Of the evictions, those of negative entries: their room is no matter of the capacity.
    pub(crate) negatives_evicted: AtomicU64,
    origin_calls: AtomicU64,
    origin_results: Counters<OriginResult>,
    /// Of these, the errors by class.
    pub(crate) origin_errors: Errors,
    pub(crate) invalidations: AtomicU64,
    pub(crate) warmth: Warmth,
    pub(crate) laws: Counters<Law>,

    /// Requests waiting for a flight now.
    pub(crate) waiting: AtomicU64,
    /// Origin calls in progress, for their peak. What a snapshot shows is read from begins and ends: [`Account::calls`].
    pub(crate) origin_active: AtomicU64,
    /// Calls in progress whose flight has ended.
    pub(crate) origin_abandoned: AtomicU64,

    pub(crate) origin_call: AtomicHistogram,
    pub(crate) flight: AtomicHistogram,
    pub(crate) wait: AtomicHistogram,
    pub(crate) stale_age: AtomicHistogram,
    pub(crate) connection_wait: AtomicHistogram,

    pub(crate) waiting_peak: Peak,
    pub(crate) flight_waiters_peak: Peak,
    pub(crate) origin_active_peak: Peak,
    pub(crate) origin_starts: Rate,
    pub(crate) savings: Savings,
}

impl Account {
    pub(crate) fn new(name: &str, classes: &'static [&'static str]) -> Self {
        Self {
            name: name.into(),
            origin_errors: Errors::new(classes),
            quick: Default::default(),
            begun: AtomicU64::new(0),
            outcomes: Counters::new(),
            misses: Counters::new(),
            stale_serves: Counters::new(),
            rejections: Counters::new(),
            refresh_rejections: Counters::new(),
            flight_starts: Counters::new(),
            keys_loading: AtomicU64::new(0),
            flights: Counters::new(),
            participants: Counters::new(),
            refreshes: Counters::new(),
            discards: Counters::new(),
            removals: Counters::new(),
            negatives_evicted: AtomicU64::new(0),
            origin_calls: AtomicU64::new(0),
            origin_results: Counters::new(),
            invalidations: AtomicU64::new(0),
            warmth: Warmth::default(),
            laws: Counters::new(),
            waiting: AtomicU64::new(0),
            origin_active: AtomicU64::new(0),
            origin_abandoned: AtomicU64::new(0),
            origin_call: AtomicHistogram::new(),
            flight: AtomicHistogram::new(),
            wait: AtomicHistogram::new(),
            stale_age: AtomicHistogram::new(),
            connection_wait: AtomicHistogram::new(),
            waiting_peak: Peak::new(),
            flight_waiters_peak: Peak::new(),
            origin_active_peak: Peak::new(),
            origin_starts: Rate::new(),
            savings: Savings::new(),
        }
    }

    /// Counts a request that began and ended at once.
    #[inline]
    pub(crate) fn quick(&self, shard: usize, end: Quick) {
        let shard = &self.quick[shard % SHARDS];
        let counter = match end {
            Quick::Hit => &shard.hit,
            Quick::Negative => &shard.negative,
            Quick::Stale => &shard.stale,
        };
        counter.fetch_add(1, Relaxed);
    }

    /// L1: a request that may take longer began; [`Account::end`] must follow exactly once.
    pub(crate) fn begin(&self) {
        self.begun.fetch_add(1, Relaxed);
    }

    /// L1: the one end of a request that began; with its whole time and its wait for flights, if they were taken.
    pub(crate) fn end(&self, outcome: Outcome, took: Option<(u64, Option<u64>)>) {
        self.outcomes.add(outcome);
        if let Some((took, waited)) = took {
            self.tell_request(outcome, took, waited, 1);
        }
    }

    /// A request that was answered at once and is timed, from `began` on.
    pub(crate) fn timed(&self, outcome: Outcome, began: Moment, now: Moment) {
        self.tell_request(outcome, now.saturating_sub(began), None, QUICK_SAMPLED);
    }

    fn tell_request(&self, outcome: Outcome, took: u64, waited: Option<u64>, stands_for: u32) {
        recorder::tell(|| Measured::Request {
            cache: &self.name,
            outcome,
            took: Duration::from_nanos(took),
            waited: waited.map(Duration::from_nanos),
            stands_for,
        });
    }

    /// Requests that began, and how those that ended did.
    ///
    /// Ends are read before begins, so that `begun` − Σ outcomes is never negative.
    pub(crate) fn requests(&self) -> (u64, Tally<Outcome>) {
        let mut outcomes = self.outcomes.read();
        let mut quick = [0; 3];
        for shard in &self.quick {
            quick[0] += shard.hit.load(Relaxed);
            quick[1] += shard.negative.load(Relaxed);
            quick[2] += shard.stale.load(Relaxed);
        }
        fence(Acquire);
        let begun = self.begun.load(Relaxed) + quick.iter().sum::<u64>();
        for (outcome, count) in [Outcome::Hit, Outcome::Negative, Outcome::Stale].into_iter().zip(quick) {
            outcomes[outcome] += count;
        }
        (begun, outcomes)
    }

    /// One request more waits for a flight that has `of_flight` waiters now.
    pub(crate) fn wait_begins(&self, now: Moment, of_flight: u64) {
        let waiting = self.waiting.fetch_add(1, Relaxed) + 1;
        self.waiting_peak.note(now, waiting);
        self.flight_waiters_peak.note(now, of_flight);
    }

    /// One request less waits; this is how long it has.
    pub(crate) fn wait_ends(&self, waited: u64) {
        self.waiting.fetch_sub(1, Relaxed);
        self.wait.record(waited);
    }

    /// L1: origin calls that began, and how those that ended did.
    ///
    /// Ends are read before begins: the difference is what is in progress, in every snapshot, and is never negative.
    pub(crate) fn calls(&self) -> (u64, Tally<OriginResult>) {
        let results = self.origin_results.read();
        fence(Acquire);
        (self.origin_calls.load(Relaxed), results)
    }

    /// How the origin calls that ended did.
    pub(crate) fn results(&self) -> Tally<OriginResult> {
        self.origin_results.read()
    }

    /// An origin call starts.
    pub(crate) fn call_begins(&self, now: Moment) {
        self.origin_calls.fetch_add(1, Relaxed);
        self.origin_starts.note(now);
        let active = self.origin_active.fetch_add(1, Relaxed) + 1;
        self.origin_active_peak.note(now, active);
    }

    /// An origin call has really ended; with what its loader reported of its wait for a connection.
    pub(crate) fn call_ends(&self, result: OriginResult, took_ns: u64, connection: Option<Duration>) {
        self.origin_active.fetch_sub(1, Relaxed);
        self.origin_results.add(result);
        self.origin_call.record(took_ns);
        let took = Duration::from_nanos(took_ns);
        recorder::tell(|| Measured::Call { cache: &self.name, result, took, connection });
    }

    /// A flight lands that `waiters` callers had joined. Its end is counted last of all: see `core/land.rs`.
    pub(crate) fn flight_lands(&self, end: FlightEnd, took_ns: u64, waiters: u64) {
        self.flight.record(took_ns);
        let took = Duration::from_nanos(took_ns);
        recorder::tell(|| Measured::Flight { cache: &self.name, end, took, waiters });
    }

    /// A value past freshness was answered, at this part of the age at which it could not have been any more.
    pub(crate) fn stale_served(&self, reason: StaleReason, past_ns: u64, of_bound: f64) {
        self.stale_serves.add(reason);
        self.stale_age.record(past_ns);
        let past = Duration::from_nanos(past_ns);
        recorder::tell(|| Measured::Stale { cache: &self.name, reason, past, of_bound });
    }

    /// What a loader reported of its wait for a connection.
    pub(crate) fn connection_waited(&self, wait: Duration) {
        self.connection_wait.record(crate::clock::nanos(wait));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// L1: begun − Σ outcomes is what has not ended.
    #[test]
    fn l1_requests_balance() {
        let account = Account::new("c", &[]);
        account.quick(0, Quick::Hit);
        account.quick(SHARDS + 3, Quick::Stale);
        account.begin();
        account.begin();
        account.end(Outcome::Loaded, None);
        let (begun, outcomes) = account.requests();
        assert_eq!((begun, outcomes.total()), (4, 3));
        assert_eq!([outcomes[Outcome::Hit], outcomes[Outcome::Stale], outcomes[Outcome::Loaded]], [1, 1, 1]);
    }

    /// L1: whoever reads while calls begin and end never sees an end without its begin, nor a call that is neither in
    /// progress nor over.
    #[test]
    fn l1_calls_balance_while_they_end() {
        const CALLS: u64 = 100_000;
        let account = Account::new("c", &[]);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..CALLS {
                    account.call_begins(0);
                    account.call_ends(OriginResult::Value, 0, None);
                }
            });
            loop {
                let (calls, results) = account.calls();
                let ended = results.total();
                assert!(ended <= calls, "{ended} of {calls} calls have ended");
                if ended == CALLS {
                    break;
                }
            }
        });
        assert_eq!(account.origin_active.load(Relaxed), 0);
    }
}
