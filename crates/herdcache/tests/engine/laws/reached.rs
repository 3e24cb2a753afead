//! Which words of the closed sets the histories reached, and how often.

use std::fmt;

use herdcache::Refreshing;
use herdcache::herdfeed::{
    CacheSnapshot, CircuitState, ClosedSet, DiscardReason, FlightEnd, FlightRole, FlightTrigger, GateSnapshot, Measure,
    MissCause, OriginResult, Outcome, PermitClass, PermitResult, ProtectionLevel, RefreshResult, RejectReason,
    RemovalCause, StaleReason, Tally,
};

use super::check::Account;

/// How often each word must be reached by a run of the usual length.
const OFTEN: u64 = 100;

/// What one history showed beside its account.
#[derive(Clone, Default)]
pub(super) struct Seen {
    circuits: Tally<CircuitState>,
    protection: Tally<ProtectionLevel>,
    off: Tally<Measure>,
    /// By the words of [`REFRESHING`].
    refreshing: [u64; REFRESHING.len()],
}

/// What a wish for a refresh can come to, where there is a runtime and the application itself asks.
const REFRESHING: [Refreshing; 6] = [
    Refreshing::Started,
    Refreshing::UnderWay,
    Refreshing::Cooling,
    Refreshing::NoPermit,
    Refreshing::Full,
    Refreshing::Closed,
];

impl Seen {
    /// After a step.
    pub(super) fn look(&mut self, cache: &CacheSnapshot, gate: &GateSnapshot) {
        gate.circuit.iter().for_each(|circuit| self.circuits[*circuit] += 1);
        cache.protection.iter().for_each(|level| self.protection[*level] += 1);
        cache.off.iter().for_each(|measure| self.off[*measure] += 1);
    }

    pub(super) fn refreshing(&mut self, came: Refreshing) {
        if let Some(place) = REFRESHING.iter().position(|word| *word == came) {
            self.refreshing[place] += 1;
        }
    }
}

/// Sums over histories.
#[derive(Default)]
pub(super) struct Reached {
    pub(super) histories: u64,
    requests: u64,
    outcomes: Tally<Outcome>,
    misses: Tally<MissCause>,
    triggers: Tally<FlightTrigger>,
    ends: Tally<FlightEnd>,
    rejections: Tally<RejectReason>,
    stale: Tally<StaleReason>,
    removals: Tally<RemovalCause>,
    discards: Tally<DiscardReason>,
    results: Tally<OriginResult>,
    refreshes: Tally<RefreshResult>,
    permits: Tally<PermitResult>,
    classes: Tally<PermitClass>,
    roles: Tally<FlightRole>,
    circuits: Tally<CircuitState>,
    protection: Tally<ProtectionLevel>,
    off: Tally<Measure>,
    refreshing: [u64; REFRESHING.len()],
}

impl Reached {
    pub(super) fn add(&mut self, account: &Account) {
        let Account { cache, gate, seen } = account;
        self.histories += 1;
        self.requests += cache.begun;
        self.outcomes.add(&cache.outcomes);
        self.misses.add(&cache.misses);
        self.triggers.add(&cache.flight_starts);
        self.ends.add(&cache.flights);
        self.rejections.add(&cache.rejections);
        self.stale.add(&cache.stale_serves);
        self.removals.add(&cache.removals);
        self.discards.add(&cache.discards);
        self.results.add(&cache.origin_results);
        self.refreshes.add(&cache.refreshes);
        self.permits.add(&gate.results);
        self.classes.add(&gate.granted);
        self.roles.add(&cache.participants);
        self.circuits.add(&seen.circuits);
        self.protection.add(&seen.protection);
        self.off.add(&seen.off);
        self.refreshing.iter_mut().zip(seen.refreshing).for_each(|(sum, count)| *sum += count);
    }

    /// Outcomes that a caller can have, and none had.
    pub(super) fn unreached_on_threads(&self) -> Vec<Outcome> {
        let never = |(outcome, count): &(Outcome, u64)| *count == 0 && *outcome != Outcome::PeekMiss;
        self.outcomes.iter().filter(never).map(|(outcome, _)| outcome).collect()
    }

    /// The words that were not reached often enough.
    ///
    /// Left out are those of the shared tier and the lease, which no cache has yet, and one of each of two sets for
    /// which the engine has no occasion: a look is not counted, and only a shared tier holds values of another schema.
    /// They must stay at 0, so that whoever brings them to life comes by here. A tier is told by no account.
    pub(super) fn rare(&self) -> Vec<String> {
        let uncounted = [Outcome::PeekMiss];
        let shared_ends = [FlightEnd::SharedHit, FlightEnd::Followed];
        let shared_discards = [DiscardReason::LeaseLost, DiscardReason::EncodeError];
        let leased = [ProtectionLevel::Cluster, ProtectionLevel::Degraded];
        let sets = [
            rare(&self.outcomes, &uncounted),
            rare(&self.misses, &[MissCause::Version]),
            rare(&self.triggers, &[]),
            rare(&self.ends, &shared_ends),
            rare(&self.rejections, &[]),
            rare(&self.stale, &[StaleReason::LeaseHeld]),
            rare(&self.removals, &[]),
            rare(&self.discards, &shared_discards),
            rare(&self.results, &[]),
            rare(&self.refreshes, &[]),
            rare(&self.permits, &[]),
            rare(&self.classes, &[]),
            rare(&self.roles, &[]),
            rare(&self.circuits, &[]),
            rare(&self.protection, &leased),
            rare(&self.off, &[]),
        ];
        let words = REFRESHING.iter().zip(self.refreshing).filter(|(_, count)| *count < OFTEN);
        sets.concat().into_iter().chain(words.map(|(word, count)| format!("{word:?} {count}"))).collect()
    }
}

fn rare<E: ClosedSet>(tally: &Tally<E>, elsewhere: &[E]) -> Vec<String> {
    let enough = |value: E, count: u64| if elsewhere.contains(&value) { count == 0 } else { count >= OFTEN };
    tally.iter().filter(|(value, count)| !enough(*value, *count)).map(|(value, n)| format!("{value:?} {n}")).collect()
}

impl fmt::Display for Reached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} histories, {} requests", self.histories, self.requests)?;
        line(f, "outcomes", &self.outcomes)?;
        line(f, "miss causes", &self.misses)?;
        line(f, "flight triggers", &self.triggers)?;
        line(f, "flight ends", &self.ends)?;
        line(f, "rejections", &self.rejections)?;
        line(f, "stale serves", &self.stale)?;
        line(f, "removals", &self.removals)?;
        line(f, "discards", &self.discards)?;
        line(f, "origin results", &self.results)?;
        line(f, "refreshes", &self.refreshes)?;
        line(f, "permit waits", &self.permits)?;
        line(f, "permits by class", &self.classes)?;
        line(f, "roles", &self.roles)?;
        line(f, "circuits", &self.circuits)?;
        line(f, "protection", &self.protection)?;
        line(f, "measures off", &self.off)?;
        writeln!(f, "{:>17}: {:?} {:?}", "wished refreshes", REFRESHING, self.refreshing)
    }
}

fn line<E: ClosedSet>(f: &mut fmt::Formatter<'_>, what: &str, tally: &Tally<E>) -> fmt::Result {
    write!(f, "{what:>17}:")?;
    for (value, count) in tally.iter().filter(|(_, count)| *count > 0) {
        write!(f, " {} {count}", value.label())?;
    }
    writeln!(f)
}
