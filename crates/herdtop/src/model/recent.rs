//! [`Recent`]: the snapshots of the last seconds, for differences.
//!
//! All of the last two and a half seconds and one for each second before are
//! kept, so that a rate has a span of about two seconds and a judgement one of ten.

use std::collections::VecDeque;
use std::sync::Arc;

use herdfeed::Snapshot;

/// A snapshot and when it came.
#[derive(Clone, Debug)]
pub struct Received {
    /// On our monotonic clock.
    pub at_us: u64,
    /// What came.
    pub snapshot: Arc<Snapshot>,
}

/// The snapshots of the last seconds, newest last.
#[derive(Clone, Debug, Default)]
pub struct Recent {
    frames: VecDeque<Received>,
}

const ALL_WITHIN_US: u64 = 2_500_000;
const KEPT_US: u64 = 12_000_000;
const MOST: usize = 80;

impl Recent {
    /// Takes in the newest.
    pub fn add(&mut self, at_us: u64, snapshot: Arc<Snapshot>) {
        self.frames.push_back(Received { at_us, snapshot });
        self.thin(at_us);
    }

    /// Forgets all: the counters have started anew.
    pub fn clear(&mut self) {
        self.frames.clear();
    }

    /// The newest.
    pub fn newest(&self) -> Option<&Received> {
        self.frames.back()
    }

    /// Of those that know what is asked for the youngest that is at least `span_us` older than the newest, else the
    /// oldest: a cache that was built a moment ago has a short past, not none.
    pub fn before(&self, span_us: u64, knows: impl Fn(&Snapshot) -> bool) -> Option<&Received> {
        let newest = self.newest()?;
        let wanted = newest.snapshot.mono_us.saturating_sub(span_us);
        let mut knowing = self.frames.iter().filter(|frame| knows(&frame.snapshot));
        let found = knowing.clone().rev().find(|frame| frame.snapshot.mono_us <= wanted);
        let found = found.or_else(|| knowing.next())?;
        (found.snapshot.mono_us < newest.snapshot.mono_us).then_some(found)
    }

    fn thin(&mut self, now_us: u64) {
        let mut last_second = None;
        self.frames.retain(|frame| {
            let age = now_us.saturating_sub(frame.at_us);
            if age <= ALL_WITHIN_US {
                return true;
            }
            let second = frame.at_us / 1_000_000;
            let first_of_its_second = last_second.replace(second) != Some(second);
            age <= KEPT_US && first_of_its_second
        });
        while self.frames.len() > MOST {
            self.frames.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_thin_out_and_spans_are_found() {
        let mut recent = Recent::default();
        for step in 0..240_u64 {
            let at_us = step * 250_000;
            let snapshot = Snapshot { mono_us: at_us, ..Snapshot::default() };
            recent.add(at_us, Arc::new(snapshot));
        }
        assert!(recent.frames.len() <= 22, "{}", recent.frames.len());
        let newest = recent.newest().unwrap().at_us;
        assert_eq!(newest - recent.before(2_000_000, |_| true).unwrap().at_us, 2_000_000);
        let ten = newest - recent.before(10_000_000, |_| true).unwrap().at_us;
        assert!((10_000_000..=11_000_000).contains(&ten), "{ten}");
    }

    #[test]
    fn one_snapshot_has_no_difference() {
        let mut recent = Recent::default();
        recent.add(5, Arc::new(Snapshot::default()));
        assert!(recent.before(1, |_| true).is_none());
    }

    #[test]
    fn what_is_new_has_a_short_past() {
        let mut recent = Recent::default();
        for at_us in [1_000_000, 2_000_000, 3_000_000, 4_000_000] {
            recent.add(at_us, Arc::new(Snapshot { mono_us: at_us, ..Snapshot::default() }));
        }
        let span = |from: u64| recent.before(10_000_000, |snapshot| snapshot.mono_us >= from).map(|f| f.at_us);
        assert_eq!([span(0), span(3_000_000), span(4_000_000)], [Some(1_000_000), Some(3_000_000), None]);
    }
}
