//! Which words of the closed sets the histories reached, and how often.

use std::fmt;

use herdcache::herdfeed::{
    ClosedSet, DiscardReason, FlightEnd, FlightTrigger, MissCause, OriginResult, Outcome, PermitClass, PermitResult,
    RefreshResult, RejectReason, RemovalCause, StaleReason, Tally,
};

use super::check::Account;

/// How often each word must be reached by a run of the usual length.
const OFTEN: u64 = 100;

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
}

impl Reached {
    pub(super) fn add(&mut self, account: &Account) {
        let Account { cache, gate } = account;
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
    }

    /// The words that were not reached often enough.
    ///
    /// Left out are words of parts that do not exist yet, and one that histories
    /// on one thread and paused time cannot reach. It has a test of its own:
    /// `too_old` in `blocking.rs`.
    pub(super) fn rare(&self) -> Vec<String> {
        let sets = [
            rare(&self.outcomes, &[Outcome::Fallback, Outcome::PeekMiss]),
            rare(&self.misses, &[MissCause::Version]),
            rare(&self.triggers, &[FlightTrigger::Forced, FlightTrigger::Warmup]),
            rare(&self.ends, &[FlightEnd::NotModified, FlightEnd::SharedHit, FlightEnd::Followed]),
            rare(&self.rejections, &[]),
            rare(&self.stale, &[StaleReason::LeaseHeld]),
            rare(&self.removals, &[]),
            rare(
                &self.discards,
                &[
                    DiscardReason::OlderVersion,
                    DiscardReason::LeaseLost,
                    DiscardReason::Oversize,
                    DiscardReason::EncodeError,
                    DiscardReason::TooOld,
                ],
            ),
            rare(&self.results, &[OriginResult::NotModified]),
            rare(&self.refreshes, &[RefreshResult::NotModified]),
            rare(&self.permits, &[]),
            rare(&self.classes, &[PermitClass::Warmup]),
        ];
        sets.concat()
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
        line(f, "permits by class", &self.classes)
    }
}

fn line<E: ClosedSet>(f: &mut fmt::Formatter<'_>, what: &str, tally: &Tally<E>) -> fmt::Result {
    write!(f, "{what:>17}:")?;
    for (value, count) in tally.iter().filter(|(_, count)| *count > 0) {
        write!(f, " {} {count}", value.label())?;
    }
    writeln!(f)
}
