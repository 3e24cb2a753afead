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

use super::phases::{NAMES, Phases};
use super::source::Row;
use crate::quantiles::{self, Quantiles};
use crate::run::Phase;

/// Looks at every answer.
pub(super) struct Witness {
    phases: Phases,
    seen: Mutex<[Seen; 3]>,
    /// When the last reader got nothing.
    failed_at: Mutex<Option<Duration>>,
    /// When the last reader was told anything.
    told_at: Mutex<Option<Duration>>,
    /// Answers that were another key's (L8).
    foreign: AtomicU64,
    /// Answers older than an invalidation that came before the question (L5).
    outdated: AtomicU64,
}

struct Seen {
    latency: Histogram<u64>,
    outcomes: Tally<Outcome>,
}

impl Default for Seen {
    fn default() -> Self {
        Self { latency: quantiles::histogram(), outcomes: Tally::default() }
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
    pub(super) fn new(phases: Phases) -> Self {
        Self {
            phases,
            seen: Mutex::default(),
            failed_at: Mutex::default(),
            told_at: Mutex::default(),
            foreign: AtomicU64::new(0),
            outdated: AtomicU64::new(0),
        }
    }

    /// A reader asks; an answer with less than version `least` would be outdated.
    pub(super) fn ask(self: &Arc<Self>, key: u64, least: u64) -> Question {
        Question { witness: Arc::clone(self), key, least, asked: Instant::now() }
    }

    /// What was seen before, in and after the trouble, with the calls that began then; nothing if there was none.
    pub(super) fn phases(&self, origin_calls: [u64; 3]) -> Vec<Phase> {
        let seen = self.seen.lock();
        let told = |((name, seen), origin_calls): ((&'static str, &Seen), u64)| Phase {
            name,
            latency_ms: Quantiles::of(&seen.latency),
            outcomes: seen.outcomes.clone(),
            origin_calls,
        };
        let all = NAMES.into_iter().zip(seen.iter()).zip(origin_calls);
        all.filter(|_| self.phases.trouble_ends().is_some()).map(told).collect()
    }

    /// How long after the trouble's end a reader still got nothing. Where nobody was told anything after it, nobody can say.
    pub(super) fn recovery(&self) -> Option<Duration> {
        let last = self.phases.trouble_ends()?;
        self.told_at.lock().filter(|at| *at > last)?;
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
        let phase = witness.phases.at(self.asked);
        let seen = &mut witness.seen.lock()[phase];
        quantiles::record(&mut seen.latency, self.asked.elapsed());
        let now = witness.phases.since_start(Instant::now());
        *witness.told_at.lock() = Some(now);
        let Some(outcome) = outcome else { return };
        seen.outcomes[outcome] += 1;
        if outcome.is_success() == Some(false) {
            *witness.failed_at.lock() = Some(now);
        }
    }
}
