//! [`Scene`]: one cache of one process, with what a judgement needs around it.

use std::collections::HashMap;
use std::time::Duration;

use herdfeed::words::ClosedSet;
use herdfeed::{CacheConfig, CacheSnapshot, GateConfig, GateSnapshot, Measure, MissCause, Stage, TunedNow};

use super::Finding;
use crate::clock::Now;
use crate::figures;
use crate::model::Target;
use crate::model::pulse::{Beat, Pulse};
use crate::model::window::CacheWindow;

/// Whether something holds at all is judged over this span.
const WINDOW_US: u64 = 10_000_000;
/// Figures that are said to be now are taken over about this span: over a longer one they go on rising while it heals.
const NOW_US: u64 = 2_000_000;

/// One cache of one process, with what a judgement needs around it.
pub(super) struct Scene<'a> {
    pub(super) now: Now,
    pub(super) target: &'a Target,
    pub(super) cache: &'a CacheSnapshot,
    pub(super) config: Option<&'a CacheConfig>,
    pub(super) gate: Option<&'a GateSnapshot>,
}

/// What makes the load on the origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pressure {
    /// Several loads of one key.
    OneKey,
    /// Many keys, most of them missing for this reason, if most are.
    ManyKeys(Option<MissCause>),
    /// Nothing is listed that would tell.
    Unknown,
}

impl<'a> Scene<'a> {
    pub(super) fn of(target: &'a Target, cache: &'a CacheSnapshot, now: Now) -> Self {
        Self {
            now,
            target,
            cache,
            config: target.cache_config(&cache.name),
            gate: target.gates().iter().find(|gate| gate.name == cache.gate),
        }
    }

    pub(super) fn is_off(&self, measure: Measure) -> bool {
        self.cache.off.contains(&measure)
    }

    /// Whether it runs without any measure, as `observe_only()` builds it: then none can be switched on by itself.
    pub(super) fn is_bare(&self) -> bool {
        Measure::all().iter().all(|measure| self.is_off(*measure))
    }

    /// Limit of an origin call, if it is known.
    pub(super) fn origin_timeout_us(&self) -> Option<u64> {
        self.config.map(|config| config.origin_timeout_ms.saturating_mul(1_000)).filter(|us| *us > 0)
    }

    /// Effective settings of its gate.
    pub(super) fn gate_config(&self) -> Option<&'a GateConfig> {
        self.target.gate_config(&self.cache.gate)
    }

    /// When its counters last moved.
    pub(super) fn pulse(&self) -> Option<&'a Pulse> {
        self.target.pulses.cache(&self.cache.name)
    }

    /// What is in force of the settings that may be tuned, if the process says so.
    pub(super) fn tuned(&self) -> Option<&'a TunedNow> {
        Some(&self.cache.tuned).filter(|tuned| tuned.built_stale_ms.is_some())
    }

    /// For how long past freshness values are answered anyway, and while loads fail, in milliseconds. What a process
    /// said of its settings when it was attached to may have been tuned since.
    fn past_freshness_ms(&self) -> Option<(u64, u64)> {
        let tuned = self.tuned().map(|tuned| (tuned.stale_ms, tuned.stale_if_error_ms));
        tuned.or_else(|| self.config.map(|config| (config.stale_ms, config.stale_if_error_ms)))
    }

    /// Whether stale values may be answered; unknown settings count as no.
    pub(super) fn has_stale_cover(&self) -> bool {
        self.past_freshness_ms().is_some_and(|(stale, _)| stale > 0) && !self.is_off(Measure::Stale)
    }

    /// For how long past freshness old values are answered while loads fail; `None` when that is not known.
    pub(super) fn error_cover(&self) -> Option<Duration> {
        let (stale, if_error) = self.past_freshness_ms()?;
        let off = self.is_off(Measure::Stale);
        Some(Duration::from_millis(if off { 0 } else { stale.max(if_error) }))
    }

    pub(super) fn limit(&self) -> u64 {
        self.gate.map_or(0, |gate| gate.limit)
    }

    /// What the cache did within the span that judgements are made over.
    pub(super) fn window(&self) -> Option<CacheWindow> {
        self.target.cache_window(&self.cache.name, WINDOW_US)
    }

    /// What the cache did within about the last `span_us`.
    pub(super) fn within(&self, span_us: u64) -> Option<CacheWindow> {
        self.target.cache_window(&self.cache.name, span_us)
    }

    /// What the cache does now.
    pub(super) fn lately(&self) -> Option<CacheWindow> {
        self.target.cache_window(&self.cache.name, NOW_US)
    }

    /// When the newest snapshot came. Counters are known up to then: a feed that is late has not stood still.
    pub(super) fn told_us(&self) -> u64 {
        self.target.told_us().unwrap_or(self.now.mono_us)
    }

    /// The finding as it stands by the counter that it is about: over once that does not move any more.
    pub(super) fn by(&self, beat: impl Fn(&Pulse) -> &Beat, finding: Finding) -> Finding {
        self.by_beat(self.target.pulses.cache(&self.cache.name).map(beat), finding)
    }

    pub(super) fn by_beat(&self, beat: Option<&Beat>, finding: Finding) -> Finding {
        match beat.filter(|beat| beat.is_still(self.told_us())) {
            Some(still) => {
                let late_us = self.now.since_us(self.told_us());
                finding.over(still.moved_ago_us(self.told_us()).map(|ago| ago.saturating_add(late_us)))
            }
            None => finding,
        }
    }

    /// What makes the load on the origin now.
    pub(super) fn pressure(&self) -> Pressure {
        let mut loads: HashMap<&str, u64> = HashMap::new();
        let flying = self.cache.live.iter().filter(|flight| matches!(flight.stage, Stage::Queued | Stage::Origin));
        for flight in flying {
            *loads.entry(&flight.key).or_default() += 1;
        }
        let all = figures::sum(loads.values().copied());
        let most = loads.values().copied().max().unwrap_or(0);
        if most > 1 && most.saturating_mul(2) >= all {
            return Pressure::OneKey;
        }
        let misses = self.window().map(|window| window.misses).unwrap_or_default();
        let cause =
            misses.iter().max_by_key(|(_, count)| *count).filter(|(_, count)| count.saturating_mul(2) > misses.total());
        match cause {
            Some((cause, _)) => Pressure::ManyKeys(Some(cause)),
            None if all > 1 => Pressure::ManyKeys(None),
            None => Pressure::Unknown,
        }
    }
}
