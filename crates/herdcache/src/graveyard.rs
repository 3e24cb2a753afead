//! Values whose last handle went away while this thread held one of our locks.
//!
//! A user's `Drop` may call the cache. Running it under a table lock would
//! deadlock, and the store drops entries whenever it pleases. So code that holds
//! such a lock opens a [`Vigil`] first; values that die meanwhile are kept until
//! the vigil ends, which is after the lock was released.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    static BURIED: RefCell<Vec<Box<dyn Any>>> = const { RefCell::new(Vec::new()) };
}

/// While it lives, values that die on this thread are kept.
///
/// Declare it before the lock guard, so that it is dropped after it.
#[must_use]
pub(crate) struct Vigil {
    // Bound to its thread.
    _local: std::marker::PhantomData<*const ()>,
}

impl Vigil {
    pub(crate) fn open() -> Self {
        DEPTH.with(|depth| depth.set(depth.get() + 1));
        Self { _local: std::marker::PhantomData }
    }
}

impl Drop for Vigil {
    fn drop(&mut self) {
        let ended = DEPTH.with(|depth| {
            depth.set(depth.get() - 1);
            depth.get() == 0
        });
        if ended {
            // Taken out first: a value's Drop may open the next vigil.
            let buried = BURIED.with_borrow_mut(std::mem::take);
            drop(buried);
        }
    }
}

/// Keeps `value` alive if this thread holds a vigil. Does nothing otherwise.
pub(crate) fn bury<V: 'static>(value: &Arc<V>) {
    if watched() {
        keep(Arc::clone(value));
    }
}

/// Drops `value` now, or at the end of this thread's vigil.
pub(crate) fn keep<T: 'static>(value: T) {
    if watched() {
        let _ = BURIED.try_with(|buried| buried.borrow_mut().push(Box::new(value)));
    }
}

/// During thread exit the locals may be gone; then no lock of ours is held either.
fn watched() -> bool {
    DEPTH.try_with(Cell::get).unwrap_or(0) > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Told(std::sync::mpsc::Sender<&'static str>);
    impl Drop for Told {
        fn drop(&mut self) {
            self.0.send("dropped").unwrap();
        }
    }

    /// W1: a value that dies under a lock is dropped after it.
    #[test]
    fn w1_a_value_outlives_the_vigil_it_died_in() {
        let (sender, receiver) = std::sync::mpsc::channel();
        let value = Arc::new(Told(sender));
        let vigil = Vigil::open();
        bury(&value);
        drop(value);
        assert!(receiver.try_recv().is_err());
        drop(vigil);
        assert_eq!(receiver.try_recv(), Ok("dropped"));
    }
}
