//! What readers see: answers that should not have been, and each phase's latencies.
//!
//! Beside the callers' account, which knows outcomes only: here the rows themselves
//! are looked at.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use hdrhistogram::Histogram;
use herdfeed::{Outcome, Tally};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::source::Row;
use crate::quantiles::{self, Quantiles};
use crate::run::Phase;
use crate::scenario::Trouble;

/// Looks at every answer.
pub(super) struct Witness {
    start: Instant,
    /// The first trouble's start, and the last one's end.
    trouble: Option<(Duration, Duration)>,
    phases: Mutex<[Seen; 3]>,
    /// When the last reader got nothing.
    failed_at: Mutex<Option<Duration>>,
    /// Answers that were another key's (L8).
    foreign: AtomicU64,
    /// Answers older than an invalidation that came before the question (L5).
    outdated: AtomicU64,
}

struct Seen {
    latency: Histogram<u64>,
    outcomes: Tally<Outcome>,
    origin_calls: u64,
}

impl Default for Seen {
    fn default() -> Self {
        Self { latency: quantiles::histogram(), outcomes: Tally::default(), origin_calls: 0 }
    }
}

/// One question, asked at a moment.
pub(super) struct Question {
    witness: Arc<Witness>,
    key: u64,
    least: u64,
    asked: Instant,
}

impl Witness {
    pub(super) fn new(trouble: &[Trouble]) -> Self {
        let first = trouble.iter().map(|trouble| trouble.from.0).min();
        let last = trouble.iter().map(|trouble| trouble.until.0).max();
        Self {
            start: Instant::now(),
            trouble: first.zip(last),
            phases: Mutex::default(),
            failed_at: Mutex::default(),
            foreign: AtomicU64::new(0),
            outdated: AtomicU64::new(0),
        }
    }

    /// A reader asks; an answer with less than version `least` would be outdated.
    pub(super) fn ask(self: &Arc<Self>, key: u64, least: u64) -> Question {
        Question { witness: Arc::clone(self), key, least, asked: Instant::now() }
    }

    /// So many origin calls began within the second that ends now.
    pub(super) fn origin_called(&self, calls: u64) {
        // A second belongs to the phase of its middle: at the moment of its end the next one may have begun.
        let now = Instant::now();
        let phase = self.phase(now.checked_sub(Duration::from_millis(500)).unwrap_or(now));
        self.phases.lock()[phase].origin_calls += calls;
    }

    fn phase(&self, at: Instant) -> usize {
        let at = at.saturating_duration_since(self.start);
        match self.trouble {
            Some((_, last)) if at >= last => 2,
            Some((first, _)) if at >= first => 1,
            Some(_) | None => 0,
        }
    }

    /// What was seen before, in and after the trouble; nothing if there was none.
    pub(super) fn phases(&self) -> Vec<Phase> {
        let phases = self.phases.lock();
        let names = ["before", "fault", "after"].into_iter().zip(phases.iter());
        let told = |(name, seen): (&'static str, &Seen)| Phase {
            name,
            latency_ms: Quantiles::of(&seen.latency),
            outcomes: seen.outcomes.clone(),
            origin_calls: seen.origin_calls,
        };
        names.filter(|_| self.trouble.is_some()).map(told).collect()
    }

    /// How long after the trouble's end a reader still got nothing.
    pub(super) fn recovery(&self) -> Option<Duration> {
        let (_, last) = self.trouble?;
        Some(self.failed_at.lock().map_or(Duration::ZERO, |at| at.saturating_sub(last)))
    }

    /// Answers that were another key's.
    pub(super) fn foreign(&self) -> u64 {
        self.foreign.load(Relaxed)
    }

    /// Answers older than an invalidation before the question.
    pub(super) fn outdated(&self) -> u64 {
        self.outdated.load(Relaxed)
    }
}

impl Question {
    /// The answer has come.
    pub(super) fn told(self, outcome: Option<Outcome>, row: Option<&Row>) {
        let witness = &self.witness;
        if row.is_some_and(|row| row.key != self.key) {
            witness.foreign.fetch_add(1, Relaxed);
        }
        if row.is_some_and(|row| row.version < self.least) {
            witness.outdated.fetch_add(1, Relaxed);
        }
        let phase = witness.phase(self.asked);
        let seen = &mut witness.phases.lock()[phase];
        quantiles::record(&mut seen.latency, self.asked.elapsed());
        let Some(outcome) = outcome else { return };
        seen.outcomes[outcome] += 1;
        if outcome.is_success() == Some(false) {
            *witness.failed_at.lock() = Some(witness.start.elapsed());
        }
    }
}
