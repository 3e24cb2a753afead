//! How many flights may be traced: a bucket of tokens that fills by the second.
//!
//! One number says when the bucket will be full again (the generic cell rate algorithm), so that
//! taking a token is one exchange. What is merely hot leaves half of the bucket to herds, which
//! are rarer and matter more. Pure but for that number.

use super::choice::SampledBy;
use crate::clock::Moment;
use crate::sync::plain::atomic::{AtomicU64, Ordering::Relaxed};

const SECOND: u64 = 1_000_000_000;

/// The tokens of one cache.
#[derive(Debug)]
pub(super) struct Budget {
    /// Nanoseconds that one token takes to come back; 0 if there are none at all.
    each: u64,
    /// How many the bucket holds.
    most: u64,
    /// When the bucket is full again.
    full_at: AtomicU64,
}

impl Budget {
    /// So many tokens a second, and one second's worth at once.
    pub(super) fn new(per_second: u32) -> Self {
        let most = u64::from(per_second);
        Self { each: SECOND.checked_div(most).unwrap_or(0), most, full_at: AtomicU64::new(0) }
    }

    /// Whether there are any tokens, ever.
    pub(super) fn is_any(&self) -> bool {
        self.each > 0
    }

    /// Takes a token if one is left for this purpose.
    pub(super) fn take(&self, by: SampledBy, now: Moment) -> bool {
        let depth = match by {
            SampledBy::Herd => self.most,
            SampledBy::Hot | SampledBy::Uniform => self.most.div_ceil(2),
        };
        let room = depth * self.each;
        let next = |full_at: u64| {
            let full_at = full_at.max(now) + self.each;
            (full_at - now <= room).then_some(full_at)
        };
        self.each > 0 && self.full_at.fetch_update(Relaxed, Relaxed, next).is_ok()
    }

    /// A token that was taken was not needed.
    pub(super) fn give_back(&self) {
        let before = |full_at: u64| Some(full_at.saturating_sub(self.each));
        let _ = self.full_at.fetch_update(Relaxed, Relaxed, before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(budget: &Budget, by: SampledBy, now: Moment) -> usize {
        (0..1_000).filter(|_| budget.take(by, now)).count()
    }

    /// L7: never more than the rate and one second's worth, and herds find what hot keys leave.
    #[test]
    fn l7_the_bucket_holds_a_second_and_keeps_half_of_it_for_herds() {
        let budget = Budget::new(10);
        assert_eq!(taken(&budget, SampledBy::Hot, SECOND), 5);
        assert_eq!(taken(&budget, SampledBy::Uniform, SECOND), 0);
        assert_eq!(taken(&budget, SampledBy::Herd, SECOND), 5);
        // Half a second later five are back, and all of them are the herds'.
        let later = SECOND + SECOND / 2;
        assert_eq!(taken(&budget, SampledBy::Hot, later), 0);
        assert_eq!(taken(&budget, SampledBy::Herd, later), 5);
        // However long it was quiet, there is no more than one second's worth.
        assert_eq!(taken(&budget, SampledBy::Herd, 100 * SECOND), 10);
    }

    #[test]
    fn a_token_that_was_not_needed_comes_back() {
        let budget = Budget::new(1);
        assert!(budget.take(SampledBy::Hot, SECOND) && !budget.take(SampledBy::Herd, SECOND));
        budget.give_back();
        assert!(budget.take(SampledBy::Herd, SECOND));
    }

    #[test]
    fn without_a_rate_there_is_never_a_token() {
        let budget = Budget::new(0);
        assert!(!budget.is_any() && !budget.take(SampledBy::Herd, SECOND));
    }
}
