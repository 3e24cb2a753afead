//! L1, S2: keys whose `Hash`, `Eq` and `Clone` panic now and then, on four threads and every store.
//!
//! Such a panic is its caller's, whose write is not done then. Nobody else is hurt, no entry is lost, and the cache goes
//! on. moka compares keys amid what it does, and loses count of its own entries where that panics: over moka, `Eq` does not.

use std::cell::Cell;
use std::convert::Infallible;
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

use herdcache::{Cache, Gate, LocalStore, Ttl};

use crate::number;

const THREADS: u64 = 4;
const CAPACITY: u64 = 1_000;

thread_local! {
    /// How many more calls of a key's code this thread makes before one panics.
    static FUSE: Cell<u64> = const { Cell::new(u64::MAX) };
    /// Whether a comparison may.
    static EQ: Cell<bool> = const { Cell::new(false) };
}

/// A key with code that panics.
#[derive(serde::Serialize)]
struct Touchy(u64);

fn touch() {
    let left = FUSE.get();
    if left == 0 {
        FUSE.set(fastrand::u64(1..100));
        // A panic without the message that would be printed for each.
        resume_unwind(Box::new("touchy"));
    }
    FUSE.set(left.saturating_sub(1));
}

impl Hash for Touchy {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        touch();
        self.0.hash(hasher);
    }
}

impl PartialEq for Touchy {
    fn eq(&self, other: &Self) -> bool {
        if EQ.get() {
            touch();
        }
        self.0 == other.0
    }
}

impl Eq for Touchy {}

impl Clone for Touchy {
    fn clone(&self) -> Self {
        touch();
        Self(self.0)
    }
}

type Touched = Cache<Touchy, u64, Infallible>;

/// Whether it came back without a panic.
fn done(act: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(act)).is_ok()
}

/// One thread's part; gives how many writes came back, and how many panicked.
fn change(cache: &Touched, part: u64, eq: bool) -> (u64, u64) {
    let (mut stored, mut panicked) = (0, 0);
    EQ.set(eq);
    FUSE.set(1);
    for nth in 0..part {
        // Half of them on few keys, where they are compared.
        let key = if nth % 2 == 0 { fastrand::u64(0..200) } else { fastrand::u64(0..4 * CAPACITY) };
        if done(|| _ = cache.insert(Touchy(key), nth)) {
            stored += 1;
        } else {
            panicked += 1;
        }
        match nth % 16 {
            0..3 => _ = done(|| _ = cache.invalidate(&Touchy(key))),
            3..6 => _ = done(|| drop(cache.peek(&Touchy(key)))),
            6 if nth % 4_096 == 6 => _ = done(|| _ = cache.clear()),
            _ => {}
        }
    }
    FUSE.set(u64::MAX);
    (stored, panicked)
}

/// L1, S2: whatever is stored is there or has left once, on every store.
#[test]
fn l1_keys_whose_code_panics_lose_no_entry() {
    let part = number("HERDCACHE_FLOOD", 100_000) / THREADS;
    for store in LocalStore::ALL {
        let eq = store.label() == "quick";
        let ttl = Ttl::fresh_for(Duration::from_secs(3_600));
        let cache: Touched =
            Cache::builder("touchy", ttl, &Gate::new(8)).capacity(CAPACITY).store(*store).build().unwrap();
        let parts: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(|| change(&cache, part, eq))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let (stored, panicked) = parts.iter().fold((0, 0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
        let snapshot = cache.snapshot();
        assert_eq!(snapshot.removals.total() + snapshot.entries, stored, "{store}: {:?}", snapshot.removals);
        assert!(panicked > part / 1_000, "{store}: {panicked} panics");
        assert_eq!(snapshot.law_violations, 0, "{store}");
        assert!(snapshot.entries <= CAPACITY, "{store}: L7");
        // It goes on: every key can be written, read and forgotten.
        (0..200).for_each(|key| _ = cache.insert(Touchy(key), key));
        assert_eq!(cache.peek(&Touchy(7)).map(|answer| *answer), Some(7), "{store}");
        cache.clear();
        assert_eq!(cache.snapshot().entries, 0, "{store}");
    }
}
