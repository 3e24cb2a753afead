//! [`assert_balanced`]: the laws of the account that hold once nothing runs.
//!
//! Each line compares two figures that the engine counts at different places, so that
//! one lost or told twice shows. It cannot see what both places miss: a test that
//! knows its own calls ([`Calls`](super::Calls)) compares those too.

use std::fmt;

use herdfeed::{
    CacheSnapshot, FlightEnd, FlightRole, FlightTrigger, GateSnapshot, OriginResult, Outcome, RefreshResult, Snapshot,
};

use crate::cache::{Cache, ReadThrough};
use crate::gate::Gate;
use crate::key::Key;

/// A figure of the account that is not what it must be at rest.
#[doc = include_str!("../../docs/examples/imbalance.md")]
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Imbalance {
    /// The cache or gate, with its name.
    pub subject: String,
    /// The law: `L1` (every request, flight and call is told once) or `L6` (nothing is left behind) or `L7` (the store keeps its bounds); or
    /// the run-time checks.
    pub law: &'static str,
    /// What is compared, with the fields' names.
    pub what: &'static str,
    /// The figure.
    pub found: u64,
    /// What it must be.
    pub expected: u64,
}

impl fmt::Display for Imbalance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { subject, law, what, found, expected } = self;
        let (by, how) = (found.abs_diff(*expected), if found > expected { "many" } else { "few" });
        write!(f, "{subject}: {law}: {what}: {found} where {expected} must be ({by} too {how})")
    }
}

/// What [`assert_balanced`] can look at: a cache with its gate, a gate, or a snapshot of one, both or all of a process.
pub trait Balanced {
    /// Everything that is not as it must be once nothing runs; empty if all is well.
    fn imbalances(&self) -> Vec<Imbalance>;
}

/// Asserts that nothing runs, and that everything that began has ended and was told exactly once.
///
/// It looks at all that a snapshot tells of what goes on; what it says of the past, as events, peaks and conditions, may stay.
///
/// For the end of a test, when every request has its answer, or was dropped, and its loads have ended
/// ([`settle`](super::settle) or [`pass`](super::pass) lets them). A cache is looked at with its gate, so nothing else may be
/// on its way behind that gate either, nor any [`GatePermit`](crate::GatePermit) be held.
///
/// | law | at rest |
/// |---|---|
/// | L1 | outcomes add up to the requests begun, flight ends to flight starts and their durations, refreshes to the flights that refreshed, results to origin calls and their durations, classes to errors, waits to those who took part; each flight that a request opened has one leader, each discarded one a reason; each answer past freshness has one reason and one age |
/// | L6 | nothing is active, waits, is queued or is abandoned, invalidations on their way to a shared tier included; no permit is out and no lease held, no flight follows another process's; no warm-up runs |
/// | L7 | the store has no more values than `capacity`, nor more absences than `negative_capacity` |
/// | – | the run-time checks of L3, L4 and L5 found nothing |
///
/// ```should_panic
/// use herdcache::testing::assert_balanced;
/// let gate = herdcache::Gate::new(8);
/// # herdcache::testing::run_paused(async {
/// let _permit = gate.acquire().await.expect("free");
/// assert_balanced(&gate); // gate "gate": L6: permits out (in_use): 1 where 0 must be (1 too many)
/// # });
/// ```
///
/// # Panics
/// With one line for each figure that is not as it must be: which, of whom, and by how much.
#[track_caller]
pub fn assert_balanced(what: &impl Balanced) {
    let wrong: Vec<_> = what.imbalances().iter().map(Imbalance::to_string).collect();
    assert!(wrong.is_empty(), "the account is not at rest:\n  {}", wrong.join("\n  "));
}

/// Collects what is not as it must be of one subject.
struct Book {
    subject: String,
    wrong: Vec<Imbalance>,
}

impl Book {
    fn of(kind: &str, name: &str) -> Self {
        Self { subject: format!("{kind} {name:?}"), wrong: Vec::new() }
    }

    fn same(&mut self, law: &'static str, what: &'static str, found: u64, expected: u64) {
        if found != expected {
            self.wrong.push(Imbalance { subject: self.subject.clone(), law, what, found, expected });
        }
    }

    fn none<const N: usize>(&mut self, law: &'static str, all: [(&'static str, u64); N]) {
        for (what, found) in all {
            self.same(law, what, found, 0);
        }
    }
}

impl Balanced for CacheSnapshot {
    fn imbalances(&self) -> Vec<Imbalance> {
        let mut book = Book::of("cache", &self.name);
        book.same("L1", "outcomes of the requests begun", self.outcomes.total(), self.begun);
        book.same("L1", "flight ends (flights) of flight_starts", self.flights.total(), self.flight_starts.total());
        book.same("L1", "origin_results of origin_calls", self.origin_results.total(), self.origin_calls);
        let starts = |trigger| self.flight_starts[trigger];
        let refreshing = [FlightTrigger::Stale, FlightTrigger::Early, FlightTrigger::Forced].map(starts).iter().sum();
        // Those that were skipped opened no flight, as a rule, and are told as well.
        let told = self.refreshes.total().min(refreshing);
        book.same("L1", "ends (refreshes) of the flights that refreshed", told, refreshing);
        let skipped = self.refreshes[RefreshResult::SkippedNoPermit] + self.refreshes[RefreshResult::SkippedCooling];
        let more = self.refreshes.total().saturating_sub(skipped).saturating_sub(refreshing);
        book.same("L1", "ends (refreshes) of no flight that refreshed", more, 0);
        book.same("L1", "durations (flight) of the flight ends", self.flight.count, self.flights.total());
        let results = self.origin_results.total();
        book.same("L1", "durations (origin_call) of the origin_results", self.origin_call.count, results);
        let opened = self.flight_starts[FlightTrigger::Miss] + self.flight_starts[FlightTrigger::Batch];
        let leaders = self.participants[FlightRole::Leader];
        book.same("L1", "leaders of the flights that requests opened", leaders, opened);
        let waited = self.participants.total();
        book.same("L1", "waits that ended (wait) of those that began (participants)", self.wait.count, waited);
        let unexplained = self.flights[FlightEnd::Discarded].saturating_sub(self.discards.total());
        book.same("L1", "flights discarded without a reason (discards)", unexplained, 0);
        let old = self.outcomes[Outcome::Stale] + self.outcomes[Outcome::Reserve];
        book.same("L1", "reasons (stale_serves) of the answers past freshness", self.stale_serves.total(), old);
        book.same("L1", "ages (stale_age) of the answers past freshness", self.stale_age.count, old);
        let classes = self.origin_errors.values().fold(0_u64, |sum, errors| sum.saturating_add(*errors));
        book.same("L1", "classes (origin_errors) of the errors", classes, self.origin_results[OriginResult::Error]);
        let refused = self.rejections.total().saturating_sub(self.refresh_rejections.total());
        let told = self.outcomes[Outcome::Rejected];
        book.same("L1", "requests rejected without a reason (rejections)", told.saturating_sub(refused), 0);
        let warm = &self.warmup;
        let warmed = [warm.loaded, warm.skipped, warm.failed, warm.cancelled].iter().sum();
        book.same("L1", "keys of warm-ups that are done with", warmed, warm.total);
        book.none(
            "L6",
            [
                ("requests in progress (active)", self.active),
                ("requests that wait (waiting)", self.waiting),
                ("flights in progress (flights_active)", self.flights_active),
                ("age of the oldest flight (flight_oldest_us)", self.flight_oldest_us),
                ("flights in progress that are shown (live)", self.live.len() as u64),
                ("flights that nobody waits for (flights_unwatched)", self.flights_unwatched),
                ("background refreshes (refreshes_active)", self.refreshes_active),
                ("origin calls in progress (origin_active)", self.origin_active),
                ("origin calls given up that go on (origin_abandoned)", self.origin_abandoned),
                ("warm-ups in progress (warmup.running)", warm.running),
                ("keys that warm-ups have before them (warmup.left)", warm.left),
                ("keys that warm-ups load at once (warmup.width)", warm.width),
            ],
        );
        let values = self.entries.saturating_sub(self.negatives);
        for (what, found, most) in [
            ("values (entries without negatives) beyond capacity", values, self.capacity),
            ("absences (negatives) beyond negative_capacity", self.negatives, self.negative_capacity),
            ("absences (negatives) that are no entries", self.negatives, self.entries),
        ] {
            book.same("L7", what, found.max(most), most);
        }
        if let Some(shared) = &self.shared {
            book.none("L6", [("invalidations on their way to the tier (shared.queued)", shared.queued)]);
        }
        if let Some(lease) = &self.lease {
            let following = ("flights that follow another process (lease.following)", lease.following);
            book.none("L6", [("leases held (lease.held)", lease.held), following]);
        }
        let laws = ("violations by law (laws)", self.laws.total());
        book.none("run-time checks", [("violations (law_violations)", self.law_violations), laws]);
        book.wrong
    }
}

impl Balanced for GateSnapshot {
    fn imbalances(&self) -> Vec<Imbalance> {
        let mut book = Book::of("gate", &self.name);
        book.none("L6", [("permits out (in_use)", self.used()), ("loads that wait (pending)", self.pending)]);
        book.none("run-time checks", [("violations (law_violations)", self.law_violations)]);
        book.wrong
    }
}

impl Balanced for Snapshot {
    fn imbalances(&self) -> Vec<Imbalance> {
        let caches = self.caches.iter().flat_map(Balanced::imbalances);
        caches.chain(self.gates.iter().flat_map(Balanced::imbalances)).collect()
    }
}

impl Balanced for Gate {
    fn imbalances(&self) -> Vec<Imbalance> {
        self.snapshot().imbalances()
    }
}

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static> Balanced for Cache<K, V, E> {
    fn imbalances(&self) -> Vec<Imbalance> {
        let mut all = self.snapshot().imbalances();
        all.extend(self.gate().imbalances());
        all
    }
}

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static> Balanced for ReadThrough<K, V, E> {
    fn imbalances(&self) -> Vec<Imbalance> {
        Cache::imbalances(self)
    }
}
