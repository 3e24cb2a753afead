//! What shuttle decides about: locks, atomics, thread-locals, channels, tasks, and time.
//!
//! Whatever else could make two runs of one schedule differ is fixed: hashes have
//! no random seed, and time stands still until a model moves it.

pub(crate) mod time;

pub(crate) use foldhash::fast::FixedState as RandomState;
pub(crate) use shuttle::thread_local as checkers_thread_local;
pub(crate) use shuttle_tokio::sync::{Notify, oneshot};
pub(crate) use shuttle_tokio::{pin, runtime, task};

pub(crate) use super::modelled::{Mutex, MutexGuard, OnceLock, thread_local};

/// The same in each run, so that a schedule can be played again.
pub(crate) fn hasher(_steady: bool) -> RandomState {
    RandomState::default()
}

pub(crate) mod atomic {
    pub(crate) use shuttle::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
}
