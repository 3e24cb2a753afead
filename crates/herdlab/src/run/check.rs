//! The checks at the end of a run: the laws, on figures of both sides.
//!
//! A law is judged on counters that were kept apart: the callers' own, the
//! origin's own, the engine's. A check names what was expected and what was
//! measured, so that a failed one explains itself.

use herdfeed::{CacheSnapshot, ClosedSet, GateSnapshot, Outcome};
use serde::Serialize;

use crate::load::LoadFigures;
use crate::origin::OriginCounts;
use crate::run::{TtlMs, whole_ms};

/// One check of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// The law and what of it was checked.
    pub name: String,
    /// What must be so.
    pub expected: String,
    /// What was.
    pub measured: String,
    /// Whether they agree.
    pub pass: bool,
}

impl Check {
    /// Whether it is one of the engine's laws rather than a scenario's own.
    pub fn is_law(&self) -> bool {
        self.name.starts_with("law ")
            || (self.name.starts_with('L') && self.name[1..].starts_with(|c: char| c.is_ascii_digit()))
    }

    /// `measured` must equal `expected`.
    pub fn equal(name: &str, expected: u64, measured: u64) -> Self {
        Self {
            name: name.into(),
            expected: expected.to_string(),
            measured: measured.to_string(),
            pass: measured == expected,
        }
    }

    /// `measured` must not be above `bound`.
    pub fn at_most(name: &str, bound: u64, measured: u64) -> Self {
        Self {
            name: name.into(),
            expected: format!("<= {bound}"),
            measured: measured.to_string(),
            pass: measured <= bound,
        }
    }
}

/// The three accounts of one finished run.
#[derive(Clone, Copy, Debug)]
pub struct Ledger<'a> {
    /// What the callers counted.
    pub callers: &'a LoadFigures,
    /// What the origin counted.
    pub origin: &'a OriginCounts,
    /// What the engine counted.
    pub cache: &'a CacheSnapshot,
    /// What the gate counted.
    pub gate: &'a GateSnapshot,
}

impl Ledger<'_> {
    /// L1, the ledger: every request ended in exactly one outcome, the same for both sides.
    pub fn l1(&self) -> Vec<Check> {
        let (callers, cache) = (self.callers, self.cache);
        // "Does not exist" carries no outcome to its caller, so those are compared in the sum alone.
        let differing =
            Outcome::all().iter().filter(|outcome| callers.outcomes[**outcome] != cache.outcomes[**outcome]).count()
                as u64;
        let flights = cache.flight_starts.total() - cache.flights.total().min(cache.flight_starts.total());
        let mut checks = vec![
            Check::equal("L1 sum of outcomes = requests sent", callers.requests, cache.outcomes.total()),
            Check::equal("L1 begun = sum of outcomes + active", cache.begun, cache.outcomes.total() + cache.active),
            Check::equal("L1 flights started - ended = active", cache.flights_active, flights),
            Check::equal("L1 origin calls of the origin = of the engine", self.origin.started, cache.origin_calls),
        ];
        if callers.absent == 0 {
            checks.push(Check::equal("L1 outcomes on which callers and engine differ", 0, differing));
        }
        checks
    }

    /// L2, one flight: the origin never saw two calls of a key at once; with invalidations, `beside` 1, never three.
    pub fn l2(&self, beside: u64) -> Check {
        Check::at_most("L2 most calls of one key at once", 1 + beside, self.origin.peak_of_a_key)
    }

    /// L3, permits: callers at the origin never exceeded the limit.
    pub fn l3(&self) -> Check {
        Check::at_most("L3 most calls at once", self.gate.limit, self.origin.peak_calling)
    }

    /// L4, age: nobody was answered with a value beyond its hard TTL, nor beyond its last bound when loads failed.
    pub fn l4(&self, ttl: TtlMs) -> Vec<Check> {
        let last = ttl.fresh + ttl.stale.max(ttl.stale_if_error);
        vec![
            Check::at_most("L4 oldest stale answer, ms", ttl.fresh + ttl.stale, whole_ms(self.callers.oldest_stale)),
            Check::at_most("L4 oldest reserve answer, ms", last, whole_ms(self.callers.oldest_reserve)),
        ]
    }

    /// L6, quiescence: nothing runs, so nothing may be left.
    pub fn l6(&self) -> Vec<Check> {
        [
            ("L6 requests active", self.cache.active),
            ("L6 requests waiting", self.cache.waiting),
            ("L6 flights active", self.cache.flights_active),
            ("L6 origin calls active", self.cache.origin_active),
            ("L6 loads queued", self.gate.pending),
            ("L6 permits in use", self.gate.used()),
            ("L6 callers at the origin", self.origin.calling),
            ("L6 callers waiting", self.callers.in_flight),
        ]
        .map(|(name, left)| Check::equal(name, 0, left))
        .into()
    }

    /// L7, bounds: entries, queue and waiters within what was configured, and no law broken inside.
    pub fn l7(&self, queue_peak: u64, waiters_peak: u64, max_waiters: u64) -> Vec<Check> {
        vec![
            // Absences have a room of their own, on top of the values'.
            Check::at_most("L7 values", self.cache.capacity, self.cache.entries.saturating_sub(self.cache.negatives)),
            Check::at_most("L7 absences", self.cache.negative_capacity, self.cache.negatives),
            Check::at_most("L7 most loads queued", self.gate.queue, queue_peak),
            // Its leader waits for it too, on a place of its own.
            Check::at_most("L7 most waiters of one flight", max_waiters.saturating_add(1), waiters_peak),
            Check::equal("law violations seen by the engine", 0, self.cache.law_violations),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use herdfeed::{FlightEnd, FlightTrigger};

    fn balanced() -> (LoadFigures, OriginCounts, CacheSnapshot, GateSnapshot) {
        let mut callers = LoadFigures { requests: 10, ..LoadFigures::default() };
        let mut cache = CacheSnapshot { begun: 10, origin_calls: 1, ..CacheSnapshot::default() };
        for (outcome, count) in [(Outcome::Hit, 9), (Outcome::Loaded, 1)] {
            callers.outcomes[outcome] = count;
            cache.outcomes[outcome] = count;
        }
        cache.flight_starts[FlightTrigger::Miss] = 1;
        cache.flights[FlightEnd::Loaded] = 1;
        let origin = OriginCounts { started: 1, ..OriginCounts::default() };
        (callers, origin, cache, GateSnapshot::default())
    }

    fn failed(accounts: &(LoadFigures, OriginCounts, CacheSnapshot, GateSnapshot)) -> Vec<String> {
        let (callers, origin, cache, gate) = accounts;
        let ledger = Ledger { callers, origin, cache, gate };
        let checks = ledger.l1().into_iter().chain(ledger.l6());
        checks.filter(|check| !check.pass).map(|check| check.name).collect()
    }

    /// L1, L6: each way to be out of balance fails its own check and no other.
    #[test]
    fn l1_l6_each_imbalance_is_found_and_named() {
        assert_eq!(failed(&balanced()), Vec::<String>::new());

        let mut lost = balanced();
        lost.0.requests = 11;
        assert_eq!(failed(&lost), ["L1 sum of outcomes = requests sent"]);

        let mut swapped = balanced();
        swapped.2.outcomes[Outcome::Hit] = 8;
        swapped.2.outcomes[Outcome::Stale] = 1;
        assert_eq!(failed(&swapped), ["L1 outcomes on which callers and engine differ"]);

        let mut uncounted = balanced();
        uncounted.1.started = 2;
        assert_eq!(failed(&uncounted), ["L1 origin calls of the origin = of the engine"]);

        let mut left = balanced();
        left.2.flight_starts[FlightTrigger::Stale] = 1;
        left.2.flights_active = 1;
        assert_eq!(failed(&left), ["L6 flights active"]);
    }

    type Accounts = (LoadFigures, OriginCounts, CacheSnapshot, GateSnapshot);
    /// A check, and what it must not bear.
    type Beyond = (&'static str, fn(&mut Accounts));

    /// L2, L3, L4, L6, L7: each bound is passed by one more than it allows, and by nothing else.
    #[test]
    fn l2_l3_l4_l6_l7_one_too_many_fails_its_check_alone() {
        let ttl = TtlMs { fresh: 1_000, stale: 500, stale_if_error: 2_000 };
        let told = |accounts: &Accounts| -> Vec<String> {
            let (callers, origin, cache, gate) = accounts;
            let ledger = Ledger { callers, origin, cache, gate };
            let all = [ledger.l2(1), ledger.l3()].into_iter().chain(ledger.l4(ttl)).chain(ledger.l6());
            let all = all.chain(ledger.l7(callers.peak_in_flight, callers.dropped_arrivals, 6));
            all.filter(|check| !check.pass).map(|check| check.name).collect()
        };
        // At its bound each passes.
        let mut full: Accounts = balanced();
        (full.1.peak_of_a_key, full.1.peak_calling, full.3.limit, full.3.queue) = (2, 4, 4, 5);
        full.0.oldest_stale = std::time::Duration::from_millis(1_500);
        full.0.oldest_reserve = std::time::Duration::from_secs(3);
        (full.2.capacity, full.2.negative_capacity, full.2.entries, full.2.negatives) = (10, 3, 13, 3);
        (full.0.peak_in_flight, full.0.dropped_arrivals) = (5, 7);
        assert_eq!(told(&full), Vec::<String>::new());
        let beyond: [Beyond; 18] = [
            ("L2 most calls of one key at once", |one| one.1.peak_of_a_key += 1),
            ("L3 most calls at once", |one| one.1.peak_calling += 1),
            ("L4 oldest stale answer, ms", |one| one.0.oldest_stale += std::time::Duration::from_millis(1)),
            ("L4 oldest reserve answer, ms", |one| one.0.oldest_reserve += std::time::Duration::from_millis(1)),
            ("L6 requests active", |one| one.2.active = 1),
            ("L6 requests waiting", |one| one.2.waiting = 1),
            ("L6 flights active", |one| one.2.flights_active = 1),
            ("L6 origin calls active", |one| one.2.origin_active = 1),
            ("L6 loads queued", |one| one.3.pending = 1),
            ("L6 permits in use", |one| one.3.in_use[herdfeed::PermitClass::Refresh] = 1),
            ("L6 callers at the origin", |one| one.1.calling = 1),
            ("L6 callers waiting", |one| one.0.in_flight = 1),
            ("L7 values", |one| one.2.entries += 1),
            ("L7 absences", |one| (one.2.negatives, one.2.entries) = (4, 14)),
            ("L7 most loads queued", |one| one.0.peak_in_flight += 1),
            ("L7 most waiters of one flight", |one| one.0.dropped_arrivals += 1),
            ("law violations seen by the engine", |one| one.2.law_violations = 1),
            ("L7 most loads queued", |one| one.3.queue -= 1),
        ];
        for (name, pass_it) in beyond {
            let mut one = full.clone();
            pass_it(&mut one);
            assert_eq!(told(&one), [name]);
        }
    }
}
