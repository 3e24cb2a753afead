//! Every primitive by which threads and tasks meet, under one name each.
//!
//! Nothing else of this crate names `std::sync`'s locks and atomics, `parking_lot`
//! or tokio, so that one place decides what they are. Services get exactly those;
//! a model checker that wants to decide what runs next gets its own in their place.
//! [`plain`] is what never takes part in that: what belongs to the process rather
//! than to a cache, and counts that nothing but a reader's eye depends on.

pub(crate) use std::sync::OnceLock;
pub(crate) use std::thread_local;

pub(crate) use foldhash::fast::RandomState;
pub(crate) use parking_lot::{Mutex, MutexGuard};
pub(crate) use tokio::sync::{Notify, oneshot};
pub(crate) use tokio::{pin, runtime, task, time};

pub(crate) mod atomic {
    pub(crate) use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
}

/// The same in every build.
///
/// A lock of these may be held over nothing that a model checker decides: whoever
/// waited for it meanwhile would wait for ever.
pub(crate) mod plain {
    pub(crate) use std::sync::{LazyLock, atomic};

    pub(crate) use parking_lot::Mutex;
}
