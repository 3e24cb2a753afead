//! What loom decides about: locks, atomics, thread-locals, cells that are set once, and
//! when a call of tokio's channels happens.

mod steps;

pub(crate) use foldhash::fast::FixedState as RandomState;
pub(crate) use loom::thread_local as checkers_thread_local;
pub(crate) use tokio::{pin, runtime, task, time};

pub(crate) use steps::{Notify, oneshot};

pub(crate) use super::modelled::{Mutex, MutexGuard, OnceLock, thread_local};

/// The same in each run, so that a schedule can be played again.
pub(crate) fn hasher(_steady: bool) -> RandomState {
    RandomState::default()
}

pub(crate) mod atomic {
    pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
}
