//! What services get.

pub(crate) use std::sync::OnceLock;
pub(crate) use std::thread_local;

pub(crate) use foldhash::fast::RandomState;
pub(crate) use parking_lot::{Mutex, MutexGuard};
pub(crate) use tokio::sync::{Notify, oneshot};
pub(crate) use tokio::{pin, runtime, task, time};

pub(crate) mod atomic {
    pub(crate) use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
}
