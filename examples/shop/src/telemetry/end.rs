//! An end that comes in time.
//!
//! An SDK's shutdown blocks, on the word of whoever it sends to; some of its limits cannot be set. So it runs on a thread of
//! its own and is waited for as long as there is time. A thread that is left behind ends with the process.

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// How long an end may take, all of its steps together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit(Instant);

impl Limit {
    /// So long from now on.
    pub(super) fn of(limit: Duration) -> Self {
        Self(Instant::now() + limit)
    }

    /// Runs one step, and waits for it at most `most` and no longer than the limit. Gives whether it has ended.
    pub(super) fn step(self, most: Duration, work: impl FnOnce() + Send + 'static) -> bool {
        let (tell, told) = mpsc::channel();
        let step = move || {
            work();
            // Nobody listens any more if it took too long.
            let _ = tell.send(());
        };
        if thread::Builder::new().name("shutdown".to_owned()).spawn(step).is_err() {
            return false;
        }
        let left = self.0.saturating_duration_since(Instant::now());
        told.recv_timeout(left.min(most)).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_share_one_limit() {
        let (held, release) = mpsc::channel::<()>();
        // A busy machine may take its time to start a thread.
        assert!(Limit::of(Duration::from_secs(60)).step(Duration::MAX, || {}));
        let limit = Limit::of(Duration::from_millis(50));
        let began = Instant::now();
        let hangs = move || assert!(release.recv().is_err(), "the other end goes");
        assert!(!limit.step(Duration::MAX, hangs), "it hangs");
        assert!(!limit.step(Duration::MAX, || thread::sleep(Duration::from_secs(1))), "no time is left");
        assert!(began.elapsed() < Duration::from_millis(800), "{:?}", began.elapsed());
        drop(held);
    }
}
