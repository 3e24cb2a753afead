//! Judging: from an entry's stamps and the time to what may be done with it.
//!
//! Everything here is pure: time and randomness are arguments.

use std::time::Duration;

use crate::clock::{Moment, nanos};
use crate::ttl::Ttl;

/// Until when a value may be answered, as moments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// Fresh before this.
    pub(crate) soft: Moment,
    /// Stale before this.
    pub(crate) hard: Moment,
    /// Reserve before this.
    pub(crate) last: Moment,
}

/// What a value is at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Freshness {
    /// May be answered.
    Fresh,
    /// May be answered while a refresh runs.
    Stale,
    /// May be answered if a load fails.
    Reserve,
    /// May not be answered.
    Expired,
}

impl Bounds {
    /// F1: the bounds of a value that arrived at `born`.
    ///
    /// F2: `unit` in 0..=1 chooses how much of `jitter` is taken away; all three
    /// bounds move by the same amount, and freshness never shrinks to nothing.
    pub(crate) fn new(born: Moment, ttl: &Ttl, jitter: f64, unit: f64) -> Self {
        let fresh = shorten(ttl.fresh_for, jitter, unit);
        let soft = born.saturating_add(fresh);
        Self { soft, hard: soft.saturating_add(nanos(ttl.stale_for)), last: soft.saturating_add(nanos(ttl.last_for())) }
    }

    /// F2: the bounds of a value copied from the shared tier at `now`: jitter takes a part of the freshness that is left,
    /// and all bounds move by the same amount. What is not fresh any more stays as it is.
    pub(crate) fn jittered(self, now: Moment, jitter: f64, unit: f64) -> Self {
        let left = self.soft.saturating_sub(now);
        if left == 0 {
            return self;
        }
        let cut = left - shorten(Duration::from_nanos(left), jitter, unit);
        Self { soft: self.soft - cut, hard: self.hard.saturating_sub(cut), last: self.last.saturating_sub(cut) }
    }

    /// F1: what the value is at `now`.
    #[inline]
    pub(crate) fn judge(&self, now: Moment) -> Freshness {
        if now < self.soft {
            Freshness::Fresh
        } else if now < self.hard {
            Freshness::Stale
        } else if now < self.last {
            Freshness::Reserve
        } else {
            Freshness::Expired
        }
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the product lies between 0 and the TTL")]
fn shorten(fresh_for: Duration, jitter: f64, unit: f64) -> u64 {
    let full = nanos(fresh_for);
    let cut = (full as f64 * jitter.clamp(0.0, 0.5) * unit.clamp(0.0, 1.0)) as u64;
    full.saturating_sub(cut).max(1)
}

/// F4: whether a read at `now` should refresh ahead of expiry (`XFetch`).
///
/// `load_ns` is the measured duration of the key's last load (δ), `unit` a random
/// number in (0, 1]. Source: Vattani, Chierichetti, Lowenstein, "Optimal
/// Probabilistic Cache Stampede Prevention", VLDB 2015.
pub(crate) fn refresh_early(now: Moment, soft: Moment, load_ns: u64, beta: f64, unit: f64) -> bool {
    if beta <= 0.0 || load_ns == 0 {
        return false;
    }
    // unit = 0 gives infinity: refresh now. 0 · ∞ cannot occur, both factors are above 0.
    let lead = load_ns as f64 * beta * -unit.ln();
    // The difference, since moments themselves are too large for a float to hold exactly.
    soft.saturating_sub(now) as f64 <= lead
}

/// E1: how long a key cools after its `failures`-th failed load in a row (from 1).
///
/// `base` × 2ⁿ × U[1, 1.5], never above `cap`. Near the cap the window is spread below it, between two thirds
/// and the whole: keys and processes that failed together do not probe together. `unit` in 0..=1 chooses.
pub(crate) fn cooling_window(base: Duration, cap: Duration, failures: u32, unit: f64) -> u64 {
    let doublings = failures.saturating_sub(1).min(32);
    let (base, cap) = (nanos(base), nanos(cap));
    let grown = base.saturating_mul(1_u64 << doublings);
    let least = grown.min((cap / 3 * 2).max(base));
    let most = grown.saturating_add(grown / 2).min(cap);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most the whole range")]
    let spread = (most.saturating_sub(least) as f64 * unit.clamp(0.0, 1.0)) as u64;
    least.saturating_add(spread)
}

#[cfg(test)]
mod tests;
