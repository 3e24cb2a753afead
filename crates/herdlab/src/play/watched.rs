//! What the origin sees of one key: its expiries, its first answer, and how early it is refreshed.
//!
//! Pure: time is an argument.

use std::time::Duration;

use herdfeed::FlightTrigger;
use tokio::time::Instant;

use super::source::{is_early, ms};
use crate::origin::Expiries;

/// One key under watch.
pub(super) struct Watched {
    key: u64,
    fresh_for: Duration,
    expiries: Expiries,
    loads: u64,
    /// The first load, and its answer with the loads until then.
    first: Option<Instant>,
    answered: Option<(Duration, u64)>,
    /// When the value in the cache ends to be fresh, without jitter.
    fresh_until: Option<Instant>,
    leads: Vec<Duration>,
    early_expiries: u64,
}

/// What was seen of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct WatchedFigures {
    pub(super) expiries: u64,
    pub(super) loads: u64,
    pub(super) first_answer: Option<(Duration, u64)>,
    pub(super) leads: Leads,
}

/// How long before expiry refresh-ahead began.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Leads {
    pub(super) count: u64,
    /// Expiries that one of them was the first load of.
    pub(super) expiries: u64,
    pub(super) mean_ms: Option<f64>,
    pub(super) median_ms: Option<f64>,
}

impl Watched {
    pub(super) fn new(key: u64, fresh_for: Duration, jitter: f64, warm_since: Option<Instant>) -> Self {
        Self {
            key,
            fresh_for,
            expiries: Expiries::new(fresh_for, jitter, warm_since),
            loads: 0,
            first: None,
            answered: None,
            fresh_until: warm_since.map(|since| since + fresh_for),
            leads: Vec::new(),
            early_expiries: 0,
        }
    }

    pub(super) fn key(&self) -> u64 {
        self.key
    }

    pub(super) fn load_started(&mut self, now: Instant, trigger: FlightTrigger) {
        let before = self.expiries.count();
        self.expiries.load_started(now, trigger);
        self.early_expiries += u64::from(is_early(trigger) && self.expiries.count() > before);
        self.loads += 1;
        self.first.get_or_insert(now);
        if let Some(until) = self.fresh_until.filter(|_| is_early(trigger)) {
            self.leads.push(until.saturating_duration_since(now));
        }
    }

    pub(super) fn load_answered(&mut self, now: Instant) {
        self.expiries.load_answered(now);
        self.fresh_until = Some(now + self.fresh_for);
        if let (Some(first), None) = (self.first, self.answered) {
            self.answered = Some((now - first, self.loads));
        }
    }

    pub(super) fn expired_by_hand(&mut self) {
        self.expiries.expired_by_hand();
        self.fresh_until = None;
    }

    pub(super) fn figures(&self) -> WatchedFigures {
        WatchedFigures {
            expiries: self.expiries.count(),
            loads: self.loads,
            first_answer: self.answered,
            leads: Leads { expiries: self.early_expiries, ..leads(self.leads.clone()) },
        }
    }
}

fn leads(mut all: Vec<Duration>) -> Leads {
    all.sort_unstable();
    let count = all.len();
    let mean = all.iter().map(|lead| ms(*lead)).sum::<f64>() / count as f64;
    Leads {
        count: count as u64,
        expiries: 0,
        mean_ms: (count > 0).then_some(mean),
        median_ms: all.get(count / 2).map(|lead| ms(*lead)),
    }
}
