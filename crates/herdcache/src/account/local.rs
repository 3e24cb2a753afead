//! The thread's own part of the hit path: which shard it counts in, and which requests it samples and times.

use std::cell::Cell;

use crate::clock::{self, Moment};
use crate::recorder::{self, QUICK_SAMPLED};
use crate::sync::plain::atomic::{AtomicU32, Ordering::Relaxed};
use crate::sync::thread_local;

/// One request in this many is shown to the hot-key summary.
pub(crate) const SAMPLED: u32 = 16;

thread_local! {
    /// Shard + 1 (0 = not chosen yet), and how many requests pass before the next sample.
    static LOCAL: Cell<(u32, u32)> = const { Cell::new((0, 0)) };
}

/// What is done with a request beyond counting it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sample {
    /// It is shown to the hot-key summary, and timed from this moment on; 0 if it is not timed.
    Take(Moment),
    Skip,
}

/// The calling thread's shard, and what is done with this request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tick {
    pub(crate) shard: usize,
    pub(crate) sample: Sample,
}

/// To be called once for each request, at its begin.
#[inline]
pub(crate) fn tick() -> Tick {
    LOCAL.with(|local| {
        let (shard, left) = local.get();
        if left > 0 && shard > 0 {
            local.set((shard, left - 1));
            return Tick { shard: shard as usize, sample: Sample::Skip };
        }
        let shard = if shard == 0 { choose() } else { shard };
        local.set((shard, gap()));
        Tick { shard: shard as usize, sample: Sample::Take(timed_from()) }
    })
}

/// Requests between two samples: random, with the wanted mean. A fixed step would see the same
/// key of a handler that always makes the same calls, and never the others.
#[cold]
fn gap() -> u32 {
    fastrand::u32(0..=2 * (SAMPLED - 1))
}

/// Now, for one sample in as many as make one request in 1,024; 0 for the others, and while nobody is told.
#[cold]
fn timed_from() -> Moment {
    let chosen = recorder::is_any() && fastrand::u32(..QUICK_SAMPLED / SAMPLED) == 0;
    if chosen { clock::exact() } else { 0 }
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
            taken[request % 4] += u32::from(tick().sample != Sample::Skip);
        }
        assert!(taken.iter().all(|count| (850..1_150).contains(count)), "{taken:?}");
        let mine = tick().shard;
        let other = std::thread::spawn(|| tick().shard).join().unwrap();
        assert_ne!(mine, other);
    }
}
