//! A lock and a cell that is set once, made of the model checker's own parts.
//!
//! Both checkers offer the standard library's lock, which may be poisoned; ours may
//! not. Neither offers a cell that is set once: here the value lies in the real one,
//! and a flag of the checker's says whether anybody may see it yet.

use std::sync::{PoisonError, TryLockError};

#[cfg(herd_loom)]
use loom::sync as checker;
#[cfg(herd_shuttle)]
use shuttle::sync as checker;

use checker::atomic::{AtomicBool, Ordering};

pub(crate) use checker::MutexGuard;

/// As the standard library's, for cells whose first value is a constant: the checkers' own know no `const`.
macro_rules! locals {
    ($($(#[$note:meta])* static $name:ident: $of:ty = const $first:block;)*) => {
        $crate::sync::checkers_thread_local! { $($(#[$note])* static $name: $of = $first;)* }
    };
}
pub(crate) use locals as thread_local;

#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(checker::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(checker::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

#[derive(Debug)]
pub(crate) struct OnceLock<T> {
    value: std::sync::OnceLock<T>,
    is_set: AtomicBool,
}

impl<T> OnceLock<T> {
    pub(crate) fn new() -> Self {
        Self { value: std::sync::OnceLock::new(), is_set: AtomicBool::new(false) }
    }

    pub(crate) fn get(&self) -> Option<&T> {
        if self.is_set.load(Ordering::Acquire) { self.value.get() } else { None }
    }

    pub(crate) fn set(&self, value: T) -> Result<(), T> {
        let set = self.value.set(value);
        // Also by who came second: from here on it is set for both.
        self.is_set.store(true, Ordering::Release);
        set
    }

    pub(crate) fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
        if let Some(value) = self.get() {
            return value;
        }
        // Nothing in `make` may be a point at which another thread goes on: it would wait for ever.
        let value = self.value.get_or_init(make);
        self.is_set.store(true, Ordering::Release);
        value
    }
}
