//! The thread's own part of the hit path: which shard it counts in, and which requests it samples.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// One request in this many is shown to the hot-key summary.
pub(crate) const SAMPLED: u32 = 16;

thread_local! {
    /// High half: shard + 1 (0 = not chosen yet). Low half: requests seen, wrapping.
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
        let (shard, seen) = local.get();
        let shard = if shard == 0 { choose() } else { shard };
        local.set((shard, seen.wrapping_add(1)));
        (shard as usize, if seen % SAMPLED == 0 { Sample::Take } else { Sample::Skip })
    })
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
    fn one_request_in_sixteen_is_sampled() {
        let taken = (0..160).filter(|_| tick().1 == Sample::Take).count();
        assert_eq!(taken, 10);
        let mine = tick().0;
        let other = std::thread::spawn(|| tick().0).join().unwrap();
        assert_ne!(mine, other);
    }
}
