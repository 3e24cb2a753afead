//! W1, S2: a value whose own `Drop` panics at the worst moment hurts nobody but whoever holds it.
//!
//! A storm of such values on real threads is in `tests/storms/drops.rs`; these are the moments that it seldom meets.

use std::cell::{Cell, RefCell};
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use herdcache::herdfeed::RemovalCause;
use herdcache::{Cache, Gate, KeyView, LocalStore, Ttl};

use crate::support::ms;

thread_local! {
    /// What is done when a key is cloned or shown, or an error is dropped; once.
    static THEN: RefCell<Option<Box<dyn FnOnce()>>> = const { RefCell::new(None) };
    static PANICKED: Cell<u32> = const { Cell::new(0) };
}

/// Does what was left for this moment.
fn now() {
    let then = THEN.with_borrow_mut(Option::take);
    if let Some(then) = then {
        then();
    }
}

fn then(act: impl FnOnce() + 'static) {
    THEN.set(Some(Box::new(act)));
}

/// A key whose clone is a moment of the application's.
#[derive(PartialEq, Eq, serde::Serialize)]
struct Page(u64);

impl Clone for Page {
    fn clone(&self) -> Self {
        now();
        Self(self.0)
    }
}

impl Hash for Page {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.0.hash(hasher);
        let left = FUSE.get();
        FUSE.set(left.saturating_sub(1));
        if left == 1 {
            resume_unwind(Box::new("a key's hash"));
        }
    }
}

thread_local! {
    /// Which hash from now on panics; 0 for none.
    static FUSE: Cell<u32> = const { Cell::new(0) };
}

/// A value whose drop panics if it is rude.
struct Rude(bool);

impl Drop for Rude {
    fn drop(&mut self) {
        if self.0 {
            PANICKED.set(PANICKED.get() + 1);
            resume_unwind(Box::new("a value's drop"));
        }
    }
}

/// An error whose drop is a moment of the application's.
struct Oops;

impl Drop for Oops {
    fn drop(&mut self) {
        now();
    }
}

type Pages = Cache<Page, Rude, Oops>;

fn pages(name: &str) -> Pages {
    let view = KeyView::With(|page: &Page| {
        now();
        page.0.to_string()
    });
    // The store whose walks clone keys, and which frees by and by: the others let no code of ours in at these moments.
    let builder = Cache::builder(name, Ttl::fresh_for(ms(60_000)), &Gate::new(8)).store(LocalStore::Moka);
    builder.show_keys(view).capacity(100).build().unwrap()
}

/// Lets the store free what was removed: it does so by and by.
fn free(pages: &Pages, freed: impl Fn() -> bool) {
    for _ in 0..500 {
        let _ = pages.snapshot();
        if freed() {
            return;
        }
        std::thread::yield_now();
    }
}

/// Leaves it for the next moment to remove this key, and to have the store free what was there.
fn removes(pages: &Pages, key: u64) {
    let pages = pages.clone();
    then(move || {
        pages.invalidate(&Page(key));
        free(&pages, || false);
    });
}

/// The rude value has been dropped, in nobody's code.
fn assert_dropped(pages: &Pages) {
    free(pages, || PANICKED.get() > 0);
    assert_eq!(PANICKED.get(), 1);
    assert!(THEN.with_borrow(Option::is_none), "the moment did not come");
}

/// W1: a value that is removed while it is being stored, by the `Drop` of the error for which its key cooled.
#[tokio::test(start_paused = true)]
async fn w1_a_value_that_dies_as_it_is_stored_does_not_hurt_who_stored_it() {
    let _alone = crate::alone().await;
    let pages = pages("dies-stored");
    drop(pages.get_with(&Page(7), |_| async { Err::<Rude, _>(Oops) }).await);
    removes(&pages, 7);
    pages.insert(Page(7), Rude(true));
    assert_dropped(&pages);
}

/// W1: a value that is removed while all are being forgotten: the walk through the store has the last of it.
#[tokio::test(start_paused = true)]
async fn w1_a_value_that_dies_in_a_walk_does_not_hurt_who_walks() {
    let _alone = crate::alone().await;
    let pages = pages("dies-walked");
    pages.insert(Page(7), Rude(true));
    // The walk clones the key.
    removes(&pages, 7);
    pages.clear();
    assert_dropped(&pages);
}

/// W1: a value that is removed while the account is read: the reader has the last of it.
#[tokio::test(start_paused = true)]
async fn w1_a_value_that_dies_in_a_snapshot_does_not_hurt_who_reads_it() {
    let _alone = crate::alone().await;
    let pages = pages("dies-shown");
    pages.insert(Page(7), Rude(true));
    // One read of sixteen is sampled for the keys that are shown.
    for _ in 0..64 {
        assert!(pages.get_with(&Page(7), |_| async { Ok(Rude(false)) }).await.is_ok());
    }
    assert_eq!(pages.snapshot().hot.len(), 1);
    removes(&pages, 7);
    let _ = pages.snapshot();
    assert_dropped(&pages);
}

/// L1, S2: an entry that leaves is counted without a word of its key: there is no `Hash` that could panic then.
#[tokio::test(start_paused = true)]
async fn l1_an_entry_that_leaves_is_counted_without_its_keys_hash() {
    let _alone = crate::alone().await;
    let pages = pages("unhashed");
    (0..101).for_each(|key| _ = pages.insert(Page(key), Rude(false)));
    FUSE.set(1);
    // What is beyond the capacity leaves now.
    let snapshot = pages.snapshot();
    assert_eq!(FUSE.take(), 1, "no key was hashed");
    assert_eq!((snapshot.removals[RemovalCause::Evicted], snapshot.entries), (1, 100));
    // The fuse burns: the next key that is hashed panics.
    FUSE.set(1);
    assert!(catch_unwind(AssertUnwindSafe(|| drop(pages.peek(&Page(1))))).is_err());
}

/// W1, S2: who lets go of a cache, full as it is, has nothing to do with values whose drop panics.
#[tokio::test(start_paused = true)]
async fn w1_a_cache_full_of_values_that_panic_can_be_dropped() {
    let _alone = crate::alone().await;
    for store in LocalStore::ALL {
        PANICKED.set(0);
        let builder = Cache::<u64, Rude, Oops>::builder("dropped", Ttl::fresh_for(ms(60_000)), &Gate::new(8));
        let cache = builder.capacity(1_000).store(*store).build().unwrap();
        (0..100).for_each(|key| _ = cache.insert(key, Rude(true)));
        assert_eq!(cache.snapshot().entries, 100, "{store}");
        // More than one of them: a second panic amid the first would end the process.
        drop(cache);
        // What is freed by and by is freed by whoever comes: here by another cache.
        let other = pages("comes-by");
        free(&other, || PANICKED.get() == 100);
        assert_eq!(PANICKED.get(), 100, "{store}");
    }
}
