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
    /// When it becomes hot. Who asks for it before is one of many, and that load no part of the story.
    hot_since: Option<Instant>,
    /// Since then.
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
            hot_since: None,
            loads: 0,
            first: None,
            answered: None,
            fresh_until: warm_since.map(|since| since + fresh_for),
            leads: Vec::new(),
            early_expiries: 0,
        }
    }

    /// It is hot from this moment on only.
    pub(super) fn hot_since(self, since: Instant) -> Self {
        Self { hot_since: Some(since), ..self }
    }

    pub(super) fn key(&self) -> u64 {
        self.key
    }

    pub(super) fn load_started(&mut self, now: Instant, trigger: FlightTrigger) {
        let before = self.expiries.count();
        self.expiries.load_started(now, trigger);
        self.early_expiries += u64::from(is_early(trigger) && self.expiries.count() > before);
        if self.hot_since.is_none_or(|since| since <= now) {
            self.loads += 1;
            self.first.get_or_insert(now);
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// F4: what is told of a key is what was seen of it, worked out by hand.
    #[test]
    fn f4_loads_and_leads_are_told_as_they_were_seen() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut watched = Watched::new(7, Duration::from_secs(10), 0.0, Some(start));
        // Two loads within one expiry, 600 ms and 300 ms ahead of it; the first answer comes while both run.
        watched.load_started(at(9_400), FlightTrigger::Early);
        watched.load_started(at(9_700), FlightTrigger::Early);
        watched.load_answered(at(9_800));
        watched.load_answered(at(10_000));
        // Fresh until 20 s: one 100 ms ahead of it; the last finds the value expired.
        watched.load_started(at(19_900), FlightTrigger::Early);
        watched.load_answered(at(20_000));
        watched.load_started(at(30_000), FlightTrigger::Miss);
        let figures = watched.figures();
        assert_eq!((figures.expiries, figures.loads), (3, 4));
        assert_eq!(figures.first_answer, Some((Duration::from_millis(400), 2)));
        let leads = Leads { count: 3, expiries: 2, mean_ms: Some(1_000.0 / 3.0), median_ms: Some(300.0) };
        assert_eq!(figures.leads, leads);
    }

    #[test]
    fn a_load_before_the_key_is_hot_does_not_count() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut watched = Watched::new(7, Duration::from_secs(60), 0.0, None).hot_since(at(20_000));
        watched.load_started(at(3_000), FlightTrigger::Miss);
        watched.load_answered(at(3_005));
        watched.load_started(at(20_000), FlightTrigger::Miss);
        watched.load_answered(at(20_005));
        let figures = watched.figures();
        assert_eq!((figures.loads, figures.first_answer), (1, Some((Duration::from_millis(5), 1))));
    }

    #[test]
    fn what_was_never_seen_is_no_figure() {
        let nothing = Watched::new(7, Duration::from_secs(10), 0.0, None).figures();
        assert_eq!(nothing, WatchedFigures::default());
    }
}
