//! Values whose last handle went away where the application's code must not run.
//!
//! A user's `Drop` may call the cache. Running it under a table lock, or within the
//! store's own maintenance, would deadlock, and the store drops entries whenever
//! it pleases. So code that holds such a lock or calls the store opens a [`Vigil`]
//! first; values that die meanwhile are kept until the vigil ends.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::sync::Arc;

use crate::contained::contained;
use crate::sync::thread_local;

/// How many are kept while a cache is dropped: its last million values need not be there at once.
const MOST: usize = 1_024;

thread_local! {
    /// Open vigils, and whether anything was kept: two plain cells, since every hit passes here.
    static OPEN: Cell<u32> = const { Cell::new(0) };
    static ANY: Cell<bool> = const { Cell::new(false) };
    /// Of the open vigils, those under which no lock of ours is held: a cache is being dropped.
    static UNLOCKED: Cell<u32> = const { Cell::new(0) };
    /// Whether this thread is dropping what was kept.
    static RELEASING: Cell<bool> = const { Cell::new(false) };
    static BURIED: RefCell<Vec<Box<dyn Any>>> = const { RefCell::new(Vec::new()) };
}

/// While it lives, values that die on this thread are kept.
///
/// Declare it before the lock guard, so that it is dropped after it.
#[must_use]
pub(crate) struct Vigil {
    // Bound to its thread.
    local: PhantomData<*const ()>,
}

impl Vigil {
    #[inline]
    pub(crate) fn open() -> Self {
        OPEN.with(|open| open.set(open.get() + 1));
        Self { local: PhantomData }
    }
}

impl Drop for Vigil {
    #[inline]
    fn drop(&mut self) {
        let open = OPEN.with(|open| {
            open.set(open.get() - 1);
            open.get()
        });
        if open == 0 && ANY.with(Cell::get) {
            release();
        }
    }
}

/// Drops what was kept. Taken out first: a value's Drop may open the next vigil.
///
/// What dies in such a Drop is dropped after it and not within: values that each remove the next would else go as deep as
/// there are of them.
#[cold]
fn release() {
    if RELEASING.with(|releasing| releasing.replace(true)) {
        return;
    }
    while ANY.with(|any| any.replace(false)) {
        for value in BURIED.with(RefCell::take) {
            // Whoever happens to hold the vigil has nothing to do with a value whose Drop panics.
            let _ = contained(|| drop(value));
        }
    }
    RELEASING.with(|releasing| releasing.set(false));
}

/// A vigil for what dies with whatever has these two, at whose end no lock of ours is held: [`Opens`] as its first field,
/// [`Closes`] as its last, since fields are dropped in their order.
#[derive(Debug)]
pub(crate) struct Opens;

/// See [`Opens`].
#[derive(Debug)]
pub(crate) struct Closes;

impl Drop for Opens {
    fn drop(&mut self) {
        UNLOCKED.with(|unlocked| unlocked.set(unlocked.get() + 1));
        std::mem::forget(Vigil::open());
    }
}

impl Drop for Closes {
    fn drop(&mut self) {
        UNLOCKED.with(|unlocked| unlocked.set(unlocked.get() - 1));
        drop(Vigil { local: PhantomData });
    }
}

/// Keeps `value` alive if this thread holds a vigil. Does nothing otherwise, or if its end runs no code of the application's.
pub(crate) fn bury<V: 'static>(value: &Arc<V>) {
    if std::mem::needs_drop::<V>() && watched() {
        keep(Arc::clone(value));
    }
}

/// Drops `value` now, or at the end of this thread's vigil.
pub(crate) fn keep<T: 'static>(value: T) {
    // During thread exit the locals may be gone; then no lock of ours is held either.
    let Ok(kept) = BURIED.try_with(|buried| buried.borrow().len()) else { return };
    if kept >= MOST && OPEN.with(Cell::get) == UNLOCKED.with(Cell::get) {
        release();
    }
    if watched() {
        BURIED.with(|buried| buried.borrow_mut().push(Box::new(value)));
        ANY.with(|any| any.set(true));
    }
}

fn watched() -> bool {
    OPEN.with(Cell::get) > 0
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
        let outer = Vigil::open();
        let inner = Vigil::open();
        bury(&value);
        drop(value);
        drop(inner);
        assert!(receiver.try_recv().is_err());
        drop(outer);
        assert_eq!(receiver.try_recv(), Ok("dropped"));
        keep(3);
        assert!(!ANY.with(Cell::get), "without a vigil nothing is kept");
    }

    /// W1: what dies with a cache is dropped in portions, so that it is never all there twice; under a lock it is kept whole.
    #[test]
    fn w1_what_dies_with_a_cache_is_dropped_in_portions() {
        let kept = || BURIED.with(|buried| buried.borrow().len());
        let all = || (0..3 * MOST).for_each(|_| keep(String::new()));
        drop(Opens);
        all();
        assert_eq!(kept(), MOST);
        let locked = Vigil::open();
        all();
        assert_eq!(kept(), 4 * MOST);
        drop(locked);
        drop(Closes);
        assert_eq!(kept(), 0);
    }

    /// A value that removes another as it is dropped.
    struct Link(Option<Arc<Link>>);
    impl Drop for Link {
        fn drop(&mut self) {
            let _vigil = Vigil::open();
            if let Some(next) = self.0.take() {
                bury(&next);
            }
        }
    }

    /// W1: values that each remove the next are dropped one after another: the stack is no bound for how many there are.
    #[test]
    fn w1_a_long_chain_of_values_fits_the_stack() {
        let mut first = Arc::new(Link(None));
        let last = Arc::downgrade(&first);
        for _ in 0..200_000 {
            first = Arc::new(Link(Some(first)));
        }
        drop(first);
        assert!(last.upgrade().is_none(), "all have been dropped");
    }
}
