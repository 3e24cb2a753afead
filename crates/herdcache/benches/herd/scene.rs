//! The stage of one herd: its one load, and who has been answered when.

use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::AcqRel, Ordering::Acquire};
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use tokio::sync::Notify;

/// How long the load takes.
const LOAD: Duration = Duration::from_millis(20);

/// A handle of a herd's stage; what it points to is leaked, a few bytes a herd.
#[derive(Clone, Copy)]
pub(crate) struct Scene(&'static Stage);

struct Stage {
    waiters: usize,
    epoch: Instant,
    loads: AtomicU64,
    /// Nanoseconds since the epoch.
    loaded: AtomicU64,
    last_answer: AtomicU64,
    done: AtomicUsize,
    answered: AtomicUsize,
    all_done: Notify,
    notice: Notify,
}

/// What came of a herd.
pub(crate) struct Herd {
    pub(crate) loads: u64,
    pub(crate) answered: usize,
    /// From the end of the load to the last answer.
    pub(crate) last_wake_ms: f64,
}

impl Scene {
    pub(crate) fn new(waiters: usize) -> Self {
        Self(Box::leak(Box::new(Stage {
            waiters,
            epoch: Instant::now(),
            loads: AtomicU64::new(0),
            loaded: AtomicU64::new(0),
            last_answer: AtomicU64::new(0),
            done: AtomicUsize::new(0),
            answered: AtomicUsize::new(0),
            all_done: Notify::new(),
            notice: Notify::new(),
        })))
    }

    fn now(self) -> u64 {
        u64::try_from(self.0.epoch.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// The load that everyone waits for.
    pub(crate) async fn load(self) -> Result<u64, Infallible> {
        self.0.loads.fetch_add(1, AcqRel);
        tokio::time::sleep(LOAD).await;
        self.0.loaded.store(self.now(), std::sync::atomic::Ordering::Release);
        Ok(1)
    }

    /// A plain notification to wait for instead: what a task alone costs.
    pub(crate) fn notice(self) -> &'static Notify {
        &self.0.notice
    }

    /// Spawns the tasks, each of which asks once and calls `end`, and waits for the last.
    pub(crate) fn play<F>(self, runtime: &Runtime, ask: impl Fn() -> F) -> Herd
    where
        F: Future<Output = ()> + Send + 'static,
    {
        runtime.block_on(async {
            for _ in 0..self.0.waiters {
                // Spawned as it is: a future around it would hold it twice.
                tokio::spawn(ask());
            }
            tokio::time::sleep(LOAD / 2).await;
            if self.0.loads.load(Acquire) == 0 {
                // Nobody loads: the tasks wait for the notice.
                let _ = self.load().await;
                self.0.notice.notify_waiters();
            }
            self.0.all_done.notified().await;
        });
        let stage = self.0;
        let wake = stage.last_answer.load(Acquire).saturating_sub(stage.loaded.load(Acquire));
        Herd {
            loads: stage.loads.load(Acquire),
            answered: stage.answered.load(Acquire),
            last_wake_ms: wake as f64 / 1e6,
        }
    }

    /// A task has its answer, or none.
    pub(crate) fn end(self, answered: bool) {
        let stage = self.0;
        stage.answered.fetch_add(usize::from(answered), AcqRel);
        stage.last_answer.fetch_max(self.now(), AcqRel);
        if stage.done.fetch_add(1, AcqRel) + 1 == stage.waiters {
            stage.all_done.notify_one();
        }
    }
}
