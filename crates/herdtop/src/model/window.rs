//! Differences of two snapshots: what a cache and a gate did within a span.

use herdfeed::{
    CacheSnapshot, FlightEnd, GateSnapshot, Histogram, MissCause, OriginResult, Outcome, PermitResult, RejectReason,
    Snapshot, StaleReason, Tally,
};

use crate::figures;

/// What a cache did within a span.
#[derive(Clone, Debug, Default)]
pub struct CacheWindow {
    /// Length of the span.
    pub span_us: u64,
    /// Requests that ended.
    pub outcomes: Tally<Outcome>,
    /// Requests that found nothing servable.
    pub misses: Tally<MissCause>,
    /// Refusals.
    pub rejections: Tally<RejectReason>,
    /// Stale answers.
    pub stale_serves: Tally<StaleReason>,
    /// Flights that ended.
    pub flights: Tally<FlightEnd>,
    /// Origin calls that started.
    pub origin_calls: u64,
    /// Origin calls that ended.
    pub origin_results: Tally<OriginResult>,
    /// Durations of origin calls.
    pub origin_call: Histogram,
    /// Waits for a flight.
    pub wait: Histogram,
    /// Ages of stale answers past freshness.
    pub stale_age: Histogram,
    /// Waits for a connection.
    pub connection_wait: Histogram,
}

/// What a gate did within a span.
#[derive(Clone, Debug, Default)]
pub struct GateWindow {
    /// Length of the span.
    pub span_us: u64,
    /// Waits for a foreground permit.
    pub results: Tally<PermitResult>,
    /// How long they took.
    pub wait: Histogram,
}

impl CacheWindow {
    /// What `now` has counted since `then`.
    pub fn between(then: &CacheSnapshot, now: &CacheSnapshot, span_us: u64) -> Self {
        Self {
            span_us,
            outcomes: now.outcomes.since(&then.outcomes),
            misses: now.misses.since(&then.misses),
            rejections: now.rejections.since(&then.rejections),
            stale_serves: now.stale_serves.since(&then.stale_serves),
            flights: now.flights.since(&then.flights),
            origin_calls: now.origin_calls.saturating_sub(then.origin_calls),
            origin_results: now.origin_results.since(&then.origin_results),
            origin_call: now.origin_call.since(&then.origin_call),
            wait: now.wait.since(&then.wait),
            stale_age: now.stale_age.since(&then.stale_age),
            connection_wait: now.connection_wait.since(&then.connection_wait),
        }
    }

    /// Adds what another cache did within about the same span.
    pub fn add(&mut self, other: &Self) {
        self.span_us = self.span_us.max(other.span_us);
        self.outcomes.add(&other.outcomes);
        self.misses.add(&other.misses);
        self.rejections.add(&other.rejections);
        self.stale_serves.add(&other.stale_serves);
        self.flights.add(&other.flights);
        self.origin_calls = self.origin_calls.saturating_add(other.origin_calls);
        self.origin_results.add(&other.origin_results);
        self.origin_call.add(&other.origin_call);
        self.wait.add(&other.wait);
        self.stale_age.add(&other.stale_age);
        self.connection_wait.add(&other.connection_wait);
    }

    /// A count of the window as a rate per second.
    pub fn rate(&self, count: u64) -> f64 {
        rate(count, self.span_us)
    }
}

impl GateWindow {
    fn between(then: &GateSnapshot, now: &GateSnapshot, span_us: u64) -> Self {
        Self { span_us, results: now.results.since(&then.results), wait: now.wait.since(&then.wait) }
    }

    /// Refusals per second.
    pub fn refused_per_s(&self) -> f64 {
        let ends = [
            PermitResult::QueueFull,
            PermitResult::QueueTimeout,
            PermitResult::Deadline,
            PermitResult::GroupShare,
            PermitResult::OriginDown,
        ];
        rate(figures::sum(ends.into_iter().map(|end| self.results[end])), self.span_us)
    }
}

/// A count within a span as a rate per second.
pub fn rate(count: u64, span_us: u64) -> f64 {
    if span_us == 0 { 0.0 } else { count as f64 * 1e6 / span_us as f64 }
}

/// What the cache called `name` did between two snapshots; `None` unless both know it.
pub fn cache(then: &Snapshot, now: &Snapshot, name: &str) -> Option<CacheWindow> {
    let find = |snapshot: &Snapshot| snapshot.caches.iter().position(|cache| cache.name == name);
    let (before, after) = (find(then)?, find(now)?);
    let span_us = now.mono_us.saturating_sub(then.mono_us);
    Some(CacheWindow::between(&then.caches[before], &now.caches[after], span_us))
}

/// What the gate called `name` did between two snapshots; `None` unless both know it.
pub fn gate(then: &Snapshot, now: &Snapshot, name: &str) -> Option<GateWindow> {
    let find = |snapshot: &Snapshot| snapshot.gates.iter().position(|gate| gate.name == name);
    let (before, after) = (find(then)?, find(now)?);
    let span_us = now.mono_us.saturating_sub(then.mono_us);
    Some(GateWindow::between(&then.gates[before], &now.gates[after], span_us))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_cache_has_no_window() {
        let then = CacheSnapshot { name: "a".into(), origin_calls: 10, ..CacheSnapshot::default() };
        let mut now = then.clone();
        now.origin_calls = 40;
        let before = Snapshot { caches: vec![then], ..Snapshot::default() };
        let after = Snapshot { mono_us: 2_000_000, caches: vec![now], ..Snapshot::default() };
        let window = cache(&before, &after, "a").unwrap();
        assert!((window.rate(window.origin_calls) - 15.0).abs() < 1e-9);
        assert!(cache(&Snapshot::default(), &after, "a").is_none());
    }
}
