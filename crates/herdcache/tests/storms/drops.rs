//! W1, L1: values whose own `Drop` panics, calls the cache and blocks, on four threads.
//!
//! There is no listener of removals that an application could give; its code runs at a removal where a value or a key
//! is dropped. Whoever removes an entry must not be hurt by that, and no lock of ours may be held meanwhile.

use std::cell::Cell;
use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::SeqCst};
use std::sync::mpsc;
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use herdcache::herdfeed::FlightEnd;
use herdcache::{Cache, Gate, Ttl};
use tokio::runtime::{Builder, Runtime};

use crate::number;
use crate::support::ms;

const THREADS: u64 = 4;
const CAPACITY: u64 = 1_000;
/// A deadlock is told after this long.
const HUNG: Duration = Duration::from_secs(300);

/// What each value has come to: how often it was dropped, by its number.
static DROPPED: OnceLock<Vec<AtomicU8>> = OnceLock::new();
static CACHE: OnceLock<Cache<u64, Rude, Infallible>> = OnceLock::new();
/// Held while the cache is called, and wanted by drops that block.
static HELD: Mutex<()> = Mutex::new(());
static CALLED: AtomicU64 = AtomicU64::new(0);
static BLOCKED: AtomicU64 = AtomicU64::new(0);
static PANICKED: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// Whether this thread holds what a blocking drop would wait for, or is within a drop.
    static BUSY: Cell<bool> = const { Cell::new(false) };
}

/// A value with a number, and bad manners.
struct Rude(u64);

impl Drop for Rude {
    fn drop(&mut self) {
        DROPPED.get().unwrap()[usize::try_from(self.0).unwrap()].fetch_add(1, SeqCst);
        match self.0 % 64 {
            1 if !std::thread::panicking() => {
                PANICKED.fetch_add(1, SeqCst);
                // A panic without the message that would be printed for each.
                resume_unwind(Box::new("rude"));
            }
            2 => alone(|| {
                CALLED.fetch_add(1, SeqCst);
                let (cache, key) = (CACHE.get().unwrap(), self.0 % 3_000);
                drop(cache.peek(&key));
                cache.invalidate(&key);
                cache.mark_stale(&(key + 1));
                let _ = cache.snapshot().entries;
            }),
            3 => alone(|| {
                BLOCKED.fetch_add(1, SeqCst);
                drop(HELD.lock());
            }),
            _ => {}
        }
    }
}

/// Not within another drop, nor with the lock in hand, which would be the application's own deadlock.
fn alone(act: impl FnOnce()) {
    if !BUSY.replace(true) {
        act();
        BUSY.set(false);
    }
}

/// Calls the cache with the lock in hand that drops on other threads wait for.
fn with_the_lock(act: impl FnOnce()) {
    let before = BUSY.replace(true);
    let held = HELD.lock();
    act();
    drop(held);
    BUSY.set(before);
}

/// Whether a panic came out of it.
fn panics(act: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(act)).is_err()
}

/// A read whose load brings this value, unless somebody else's does. What was read is dropped by its reader.
fn read(runtime: &Runtime, key: u64, number: u64) -> u64 {
    let (cache, value) = (CACHE.get().unwrap(), Rude(number));
    let mut answer = None;
    let load = |_| async {
        tokio::task::yield_now().await;
        Ok(value)
    };
    let reads = || answer = Some(runtime.block_on(cache.get_with(&key, load)));
    let escaped = panics(reads);
    // Its own business: it may be the last who has it.
    panics(|| drop(answer));
    u64::from(escaped)
}

/// One thread's part; gives how many drops of others' values panicked into its own code.
fn change(first: u64, part: u64) -> u64 {
    let (cache, mut escaped) = (CACHE.get().unwrap(), 0);
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    for number in first..first + part {
        let key = fastrand::u64(0..3_000);
        let insert = || _ = cache.insert(key, Rude(number));
        escaped += match number % 16 {
            0 => u64::from(panics(|| with_the_lock(insert))),
            4 => u64::from(panics(insert)) + u64::from(panics(|| _ = cache.invalidate(&key))),
            // A few keys, so that they meet on them.
            5..8 => read(&runtime, key % 8, number) + u64::from(panics(|| _ = cache.invalidate(&(key % 8)))),
            _ => u64::from(panics(insert)),
        };
        if number % 8_192 == 0 {
            escaped += u64::from(panics(|| _ = cache.clear()));
            escaped += u64::from(panics(|| _ = cache.snapshot()));
        }
    }
    runtime.block_on(settles());
    escaped
}

/// The loads of this runtime have ended.
async fn settles() {
    while CACHE.get().unwrap().snapshot().flights_active > 0 {
        tokio::time::sleep(ms(1)).await;
    }
}

/// Everything that was stored is there or left once, and was dropped once.
fn judge(stored: u64) {
    let cache = CACHE.get().unwrap();
    let snapshot = cache.snapshot();
    let stored = stored + snapshot.flights[FlightEnd::Loaded];
    assert_eq!(snapshot.removals.total() + snapshot.entries, stored, "L1: {:?}", snapshot.removals);
    cache.clear();
    assert_eq!(cache.snapshot().entries, 0);
    // What left is freed by the store's later maintenance.
    let dropped = || DROPPED.get().unwrap().iter().map(|times| times.load(SeqCst));
    for _ in 0..2_000 {
        if dropped().all(|times| times == 1) {
            break;
        }
        let _ = cache.snapshot();
        std::thread::sleep(ms(1));
    }
    let (lost, twice) = (dropped().filter(|times| *times == 0).count(), dropped().filter(|times| *times > 1).count());
    assert_eq!((lost, twice), (0, 0), "values that were never dropped, and that were dropped twice");
    assert_eq!(snapshot.law_violations, 0);
}

/// W1, S2, L1: a million such values: nobody hangs, nobody else is hurt, none is lost, none leaves twice.
#[test]
fn w1_values_may_panic_call_and_block_as_they_are_dropped() {
    let stored = number("HERDCACHE_FLOOD", 100_000) / 64 * 64;
    assert!(DROPPED.set((0..stored).map(|_| AtomicU8::new(0)).collect()).is_ok());
    let ttl = Ttl::fresh_for(Duration::from_secs(3_600));
    let cache = Cache::builder("rude", ttl, &Gate::new(8)).capacity(CAPACITY).build().unwrap();
    assert!(CACHE.set(cache).is_ok());
    let (ends, ended) = mpsc::channel();
    for thread in 0..THREADS {
        let (ends, part) = (ends.clone(), stored / THREADS);
        std::thread::spawn(move || ends.send(change(thread * part, part)));
    }
    let escaped: u64 = (0..THREADS).map(|_| ended.recv_timeout(HUNG).expect("a deadlock, or a thread died")).sum();
    assert_eq!(escaped, 0, "panics of values that others had stored, in the code of whoever removed them");
    // Three of sixteen were read, not written.
    judge(stored - stored / 16 * 3);
    let did = [&PANICKED, &CALLED, &BLOCKED].map(|count| count.load(SeqCst));
    println!("of {stored} values, {did:?} panicked, called and blocked as they were dropped");
    assert!(did.iter().all(|count| *count > stored / 1_000), "{did:?}");
}
