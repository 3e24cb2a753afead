//! The thread's own part of the hit path: which shard it counts in, and which requests it samples.

use std::cell::Cell;

use crate::sync::plain::atomic::{AtomicU32, Ordering::Relaxed};
use crate::sync::thread_local;

/// One request in this many is shown to the hot-key summary.
pub(crate) const SAMPLED: u32 = 16;

thread_local! {
    /// Shard + 1 (0 = not chosen yet), and how many requests pass before the next sample.
    static LOCAL: Cell<(u32, u32)> = const { Cell::new((0, 0)) };
}

/// Whether a request is shown to the hot-key summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sample {
    Take,
    Skip,
}

/// The calling thread's shard, and whether this request is one of the sampled.
#[inline]
pub(crate) fn tick() -> (usize, Sample) {
    LOCAL.with(|local| {
        let (shard, left) = local.get();
        if left > 0 && shard > 0 {
            local.set((shard, left - 1));
            return (shard as usize, Sample::Skip);
        }
        let shard = if shard == 0 { choose() } else { shard };
        local.set((shard, gap()));
        (shard as usize, Sample::Take)
    })
}

/// Requests between two samples: random, with the wanted mean. A fixed step would see the same
/// key of a handler that always makes the same calls, and never the others.
#[cold]
fn gap() -> u32 {
    fastrand::u32(0..=2 * (SAMPLED - 1))
}

/// Threads take shards in turn.
#[cold]
fn choose() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    NEXT.fetch_add(1, Relaxed).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_request_in_sixteen_is_sampled_whatever_the_pattern() {
        // 64,000 requests in a pattern of four: 1,000 samples each, σ of a place about 30.
        fastrand::seed(7);
        let mut taken = [0; 4];
        for request in 0..64_000 {
            taken[request % 4] += u32::from(tick().1 == Sample::Take);
        }
        assert!(taken.iter().all(|count| (850..1_150).contains(count)), "{taken:?}");
        let mine = tick().0;
        let other = std::thread::spawn(|| tick().0).join().unwrap();
        assert_ne!(mine, other);
    }
}
