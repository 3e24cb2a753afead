//! What services get.

pub(crate) use std::sync::OnceLock;
pub(crate) use std::thread_local;

pub(crate) use foldhash::fast::SeedableRandomState as RandomState;
pub(crate) use parking_lot::{Mutex, MutexGuard};
pub(crate) use tokio::sync::{Notify, oneshot};
pub(crate) use tokio::{pin, runtime, task, time};

/// How a cache hashes: by a seed that nobody can guess, unless its runs are to be played again.
pub(crate) fn hasher(steady: bool) -> RandomState {
    if steady { RandomState::fixed() } else { RandomState::random() }
}

pub(crate) mod atomic {
    pub(crate) use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
}
