//! O1: what the measures that are off would have saved. Touched on slow paths, and only while one of them is off.

use std::sync::Arc;

use herdfeed::Saved;

use super::Account;
use super::peaks::{Around, MINUTE};
use crate::clock::Moment;
use crate::sync::plain::atomic::{AtomicU64, Ordering::Relaxed};

/// Why protection would have spared a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spared {
    /// Another load of the key ran, or had landed just then.
    Coalesced,
    /// The key would have cooled.
    Cooled,
}

/// Estimates of what was not saved.
#[derive(Debug)]
pub(crate) struct Savings {
    coalesced: AtomicU64,
    cooled: AtomicU64,
    stale: AtomicU64,
    reserve: AtomicU64,
    over_limit: AtomicU64,
    /// Loads without a permit that protection would not have spared, in progress.
    unlimited: AtomicU64,
    expiries: Around,
    jittered: Around,
}

impl Savings {
    pub(crate) fn new() -> Self {
        Self {
            coalesced: AtomicU64::new(0),
            cooled: AtomicU64::new(0),
            stale: AtomicU64::new(0),
            reserve: AtomicU64::new(0),
            over_limit: AtomicU64::new(0),
            unlimited: AtomicU64::new(0),
            expiries: Around::new(),
            jittered: Around::new(),
        }
    }

    /// An origin call begins that protection would have spared.
    pub(crate) fn spared(&self, why: Spared) {
        match why {
            Spared::Coalesced => self.coalesced.fetch_add(1, Relaxed),
            Spared::Cooled => self.cooled.fetch_add(1, Relaxed),
        };
    }

    /// A request waits though a stale value could have answered it.
    pub(crate) fn stale(&self) {
        self.stale.fetch_add(1, Relaxed);
    }

    /// A request fails though an older value could have stood in.
    pub(crate) fn reserve(&self) {
        self.reserve.fetch_add(1, Relaxed);
    }

    /// A value expired at `soft`; with jitter it would have been apart from its like by `apart` nanoseconds.
    ///
    /// What expired long ago is no part of a peak of the last minute.
    pub(crate) fn expired(&self, soft: Moment, apart: u64, now: Moment) {
        if now.saturating_sub(soft) < MINUTE {
            self.expiries.note(soft);
            self.jittered.note(soft.saturating_add(apart.min(MINUTE)));
        }
    }

    pub(crate) fn read(&self, now: Moment) -> Saved {
        Saved {
            coalesced: self.coalesced.load(Relaxed),
            cooled: self.cooled.load(Relaxed),
            stale: self.stale.load(Relaxed),
            reserve: self.reserve.load(Relaxed),
            over_limit: self.over_limit.load(Relaxed),
            expiries_peak: self.expiries.read(now),
            jittered_peak: self.jittered.read(now),
        }
    }
}

/// An origin call that no permit limits, while it runs.
#[derive(Debug)]
pub(crate) struct Unlimited(Arc<Account>);

impl Unlimited {
    /// One begins where `limit` permits would have been.
    pub(crate) fn begin(account: &Arc<Account>, limit: u64) -> Self {
        let savings = &account.savings;
        if savings.unlimited.fetch_add(1, Relaxed) >= limit {
            savings.over_limit.fetch_add(1, Relaxed);
        }
        Self(Arc::clone(account))
    }
}

impl Drop for Unlimited {
    fn drop(&mut self) {
        self.0.savings.unlimited.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// O1: expiries of one second are told as its peak, and apart by up to a minute with jitter.
    #[test]
    fn o1_peaks_of_expiries_lie_up_to_a_minute_around_now() {
        let savings = Savings::new();
        for n in 0..30 {
            savings.expired(100 * SECOND, n * SECOND, 101 * SECOND);
        }
        let read = |now| {
            let saved = savings.read(now * SECOND);
            (saved.expiries_peak, saved.jittered_peak)
        };
        assert_eq!(read(101), (30, 1));
        assert_eq!(read(159), (30, 1));
        assert_eq!(read(160), (0, 1));
        assert_eq!(read(189), (0, 0));
        savings.expired(200 * SECOND, 0, 260 * SECOND);
        assert_eq!(read(260), (0, 0), "a minute ago is too long ago");
    }

    /// O1: calls beyond the limit are counted as they begin.
    #[test]
    fn o1_calls_beyond_the_limit_are_counted() {
        let account = Arc::new(Account::new("c", &[]));
        let two = [Unlimited::begin(&account, 2), Unlimited::begin(&account, 2)];
        let third = Unlimited::begin(&account, 2);
        assert_eq!(account.savings.read(0).over_limit, 1);
        drop((two, third));
        let _fourth = Unlimited::begin(&account, 2);
        assert_eq!(account.savings.read(0).over_limit, 1);
    }
}
