//! The conditions of one cache: each begins at a threshold and ends after some quiet.

use std::time::Duration;

use herdfeed::histogram::bucket_of;
use herdfeed::thresholds as at;
use herdfeed::{
    ClosedSet, Event, Fact, Histogram, MissCause, OriginResult, Outcome, RejectReason, RemovalCause, Severity,
};

use super::hot::First;
use super::window::Window;
use super::{Depth, Sample};
use crate::clock::{Moment, nanos};
use crate::events;

/// Looks at samples and tells what starts and ends.
pub(super) struct Watch {
    born: Moment,
    window: Window,
    first: First,
    /// p99 of past origin windows, to know what is usual.
    usual: Vec<u64>,
    usual_at: Moment,
    active: Vec<Active>,
}

/// A condition that has begun.
struct Active {
    kind: Kind,
    since: Moment,
    /// When it was last true.
    last: Moment,
    event: Event,
}

/// The conditions, each with the quiet that ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Avalanche,
    EvictionSurge,
    OriginSlow,
    OriginFailing,
    ConnectionsExhausted,
    Rejecting,
    ColdStart,
}

impl Kind {
    const ALL: [Self; 7] = [
        Self::Avalanche,
        Self::EvictionSurge,
        Self::OriginSlow,
        Self::OriginFailing,
        Self::ConnectionsExhausted,
        Self::Rejecting,
        Self::ColdStart,
    ];

    fn quiet(self) -> Duration {
        match self {
            Self::Avalanche => at::AVALANCHE_QUIET,
            Self::EvictionSurge => at::SURGE_WINDOW,
            // The window itself is the quiet: old calls leave it after ten seconds.
            Self::OriginSlow | Self::OriginFailing | Self::ConnectionsExhausted => Duration::ZERO,
            Self::Rejecting => at::REJECTING_QUIET,
            Self::ColdStart => at::COLD_QUIET,
        }
    }

    fn severity(self) -> Severity {
        match self {
            Self::ColdStart => Severity::Info,
            Self::Rejecting => Severity::Critical,
            Self::Avalanche
            | Self::EvictionSurge
            | Self::OriginSlow
            | Self::OriginFailing
            | Self::ConnectionsExhausted => Severity::Warn,
        }
    }

    fn end(self, duration_us: u64) -> Fact {
        match self {
            Self::Avalanche => Fact::AvalancheEnded { duration_us },
            Self::EvictionSurge => Fact::EvictionSurgeEnded { duration_us },
            Self::OriginSlow => Fact::OriginSlowEnded { duration_us },
            Self::OriginFailing => Fact::OriginFailingEnded { duration_us },
            Self::ConnectionsExhausted => Fact::ConnectionsExhaustedEnded { duration_us },
            Self::Rejecting => Fact::RejectingEnded { duration_us },
            Self::ColdStart => Fact::ColdStartEnded { duration_us },
        }
    }
}

impl Watch {
    pub(super) fn new(now: Moment) -> Self {
        Self {
            born: now,
            window: Window::default(),
            first: First::default(),
            usual: Vec::new(),
            usual_at: now,
            active: Vec::new(),
        }
    }

    /// What the next look wants to know.
    pub(super) fn depth(&self, now: Moment) -> Depth {
        if self.first.is_due(now) { Depth::HotKeys } else { Depth::Counters }
    }

    pub(super) fn active(&self) -> impl Iterator<Item = Event> + '_ {
        self.active.iter().map(|active| active.event.clone())
    }

    /// One look.
    pub(super) fn look(&mut self, sample: &Sample) {
        for kind in Kind::ALL {
            let fact = self.judge(kind, sample);
            self.turn(kind, fact, sample);
        }
        if self.first.is_due(sample.now) {
            if let Some((severity, fact)) = self.first.look(sample.hottest.as_ref(), sample.now) {
                events::tell(&sample.subject, severity, sample.now, fact);
            }
        }
        self.learn(sample);
        self.window.push(sample);
    }

    /// Begins, renews or ends a condition.
    fn turn(&mut self, kind: Kind, fact: Option<Fact>, sample: &Sample) {
        let now = sample.now;
        let place = self.active.iter().position(|active| active.kind == kind);
        match (place, fact) {
            (None, Some(fact)) => {
                let event = events::tell(&sample.subject, kind.severity(), now, fact);
                self.active.push(Active { kind, since: now, last: now, event });
            }
            (Some(place), Some(fact)) => {
                self.active[place].last = now;
                self.active[place].event.fact = fact;
            }
            (Some(place), None) if now.saturating_sub(self.active[place].last) >= nanos(kind.quiet()) => {
                let over = self.active.swap_remove(place);
                let duration_us = now.saturating_sub(over.since) / 1_000;
                events::tell(&sample.subject, Severity::Info, now, kind.end(duration_us));
            }
            (Some(_) | None, None) => {}
        }
    }

    /// Whether a condition holds now.
    fn judge(&self, kind: Kind, sample: &Sample) -> Option<Fact> {
        match kind {
            Kind::Avalanche => self.avalanche(sample),
            Kind::EvictionSurge => self.eviction_surge(sample),
            Kind::OriginSlow => self.origin_slow(sample),
            Kind::OriginFailing => self.origin_failing(sample),
            Kind::ConnectionsExhausted => self.connections_exhausted(sample),
            Kind::Rejecting => self.rejecting(sample),
            Kind::ColdStart => self.cold_start(sample),
        }
    }

    fn is_active(&self, kind: Kind) -> bool {
        self.active.iter().any(|active| active.kind == kind)
    }

    fn avalanche(&self, sample: &Sample) -> Option<Fact> {
        let second = self.window.before(sample.now, Duration::from_secs(1))?;
        let keys = sample.keys.saturating_sub(second.keys);
        let within_us = sample.now.saturating_sub(second.now) / 1_000;
        let mean = self.window.keys_per_second(second);
        let threshold = at::avalanche_keys(sample.permits);
        let enough = if self.is_active(Kind::Avalanche) {
            keys >= threshold / 2
        } else {
            keys >= threshold && keys as f64 >= at::AVALANCHE_OVER_MEAN as f64 * mean
        };
        (enough && within_us <= 2_000_000).then_some(Fact::Avalanche { keys, within_us })
    }

    fn eviction_surge(&self, sample: &Sample) -> Option<Fact> {
        let before = self.window.before(sample.now, at::SURGE_WINDOW)?;
        let evictions = sample.removals[RemovalCause::Evicted].saturating_sub(before.removals[RemovalCause::Evicted]);
        let misses = sample.misses.since(&before.misses);
        let miss_share = misses[MissCause::Evicted] as f64 / misses.total().max(1) as f64;
        let full = evictions as f64 >= at::EVICTION_SURGE_CAPACITY * sample.capacity as f64 && evictions > 0;
        let causes = miss_share > at::EVICTION_SURGE_MISSES && misses.total() >= at::EVICTION_SURGE_MIN_MISSES;
        (full || causes).then_some(Fact::EvictionSurge { evictions, miss_share })
    }

    /// Origin calls of the last ten seconds, if there were enough to judge.
    fn recent_calls(&self, sample: &Sample) -> Option<Histogram> {
        let before = self.window.before(sample.now, at::ORIGIN_WINDOW)?;
        let calls = sample.origin_call.since(&before.origin_call);
        (calls.count >= at::ORIGIN_MIN_CALLS).then_some(calls)
    }

    fn origin_slow(&self, sample: &Sample) -> Option<Fact> {
        let p99_us = self.recent_calls(sample)?.quantile_us(0.99)?;
        let usual_us = self.usual_p99()?;
        (p99_us >= at::SLOW_FACTOR * usual_us.max(1_000)).then_some(Fact::OriginSlow { p99_us, usual_us })
    }

    fn origin_failing(&self, sample: &Sample) -> Option<Fact> {
        let before = self.window.before(sample.now, at::ORIGIN_WINDOW)?;
        let ended = sample.origin_results.since(&before.origin_results);
        let failed = ended[OriginResult::Error] + ended[OriginResult::Timeout] + ended[OriginResult::Panicked];
        let calls = ended.total();
        let ratio = failed as f64 / calls.max(1) as f64;
        (calls >= at::ORIGIN_MIN_CALLS && ratio >= at::FAILING_RATIO).then_some(Fact::OriginFailing { ratio, calls })
    }

    fn connections_exhausted(&self, sample: &Sample) -> Option<Fact> {
        let before = self.window.before(sample.now, at::ORIGIN_WINDOW)?;
        let calls = self.recent_calls(sample)?;
        let waits = sample.connection_wait.since(&before.connection_wait);
        // The mean over loads that really waited: a thousand quick ones must not hide ten that starve.
        let waited: u64 = waits.buckets.iter().skip(bucket_of(1_000)).sum();
        let wait_us = waits.sum_us / waited.max(1);
        let share = waits.sum_us as f64 / calls.sum_us.max(1) as f64;
        let exhausted = share >= at::EXHAUSTED_SHARE && nanos(at::EXHAUSTED_WAIT) / 1_000 <= wait_us;
        exhausted.then(|| Fact::ConnectionsExhausted { wait_us, call_us: calls.sum_us / calls.count.max(1) })
    }

    fn rejecting(&self, sample: &Sample) -> Option<Fact> {
        let second = self.window.before(sample.now, Duration::from_secs(1))?;
        let window = self.window.before(sample.now, at::REJECTING_WINDOW)?;
        let refused = |since: &Sample| sample.outcomes.since(&since.outcomes)[Outcome::Rejected];
        let per_s = refused(second);
        let recent = sample.outcomes.since(&window.outcomes).total();
        let ratio = refused(window) as f64 / recent.max(1) as f64;
        // Over a long silence the "second" is as long as the gap; then it proves no rate.
        let fast = per_s >= at::REJECTING_PER_SECOND && sample.now.saturating_sub(second.now) < 2_000_000_000;
        let many = recent >= at::REJECTING_MIN_REQUESTS && ratio >= at::REJECTING_RATIO && refused(second) > 0;
        if !(fast || many) {
            return None;
        }
        let reasons = sample.rejections.since(&window.rejections);
        let reason = RejectReason::all().iter().copied().max_by_key(|reason| reasons[*reason])?;
        Some(Fact::Rejecting { per_s, reason })
    }

    /// Begins and ends by the same figure, or it would flap: a cache that began cold keeps a low ratio since its birth.
    fn cold_start(&self, sample: &Sample) -> Option<Fact> {
        let age = sample.now.saturating_sub(self.born);
        // Once begun it ends when the cache is warm, however long that takes.
        let is_active = self.is_active(Kind::ColdStart);
        if !(age <= nanos(at::COLD_WITHIN) || is_active) {
            return None;
        }
        let recent = match self.window.before(sample.now, at::ORIGIN_WINDOW) {
            Some(before) if age > nanos(at::ORIGIN_WINDOW) => sample.outcomes.since(&before.outcomes),
            _ => sample.outcomes.clone(),
        };
        let hits = recent[Outcome::Hit] + recent[Outcome::Stale] + recent[Outcome::Negative];
        let hit_ratio = hits as f64 / recent.total().max(1) as f64;
        let enough = if is_active { 1 } else { at::COLD_MIN_REQUESTS };
        (hit_ratio < at::COLD_HIT_RATIO && recent.total() >= enough).then_some(Fact::ColdStart { hit_ratio })
    }

    /// Learns what p99 is usual: one value each ten seconds, of the last five minutes. A lasting change becomes usual.
    fn learn(&mut self, sample: &Sample) {
        const KEPT: usize = 30;
        if sample.now.saturating_sub(self.usual_at) < nanos(at::ORIGIN_WINDOW) {
            return;
        }
        self.usual_at = sample.now;
        let Some(p99) = self.recent_calls(sample).and_then(|calls| calls.quantile_us(0.99)) else {
            return;
        };
        if self.usual.len() >= KEPT {
            self.usual.remove(0);
        }
        self.usual.push(p99);
    }

    fn usual_p99(&self) -> Option<u64> {
        let mut sorted = self.usual.clone();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).copied()
    }
}
