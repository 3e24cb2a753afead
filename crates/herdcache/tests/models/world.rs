//! A cache, its gate, and an origin that sees every law that can be seen from outside.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use herdcache::herdfeed::{CacheSnapshot, ClosedSet, FlightEnd, PermitClass};
use herdcache::{Builder, Cache, Gate, Got, LoadContext, Loaded, Ttl};
use shuttle_tokio::task::{JoinHandle, yield_now};

pub(crate) const KEYS: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Down;

impl std::fmt::Display for Down {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("down")
    }
}

/// How a load goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// Ready at its first poll.
    AtOnce,
    /// Waits once, then answers.
    Later,
    /// Waits once, then fails.
    Fails,
    /// Never ends.
    Hangs,
}

/// One of the ways, as the schedule will have it.
pub(crate) fn one_of(ways: &[How]) -> How {
    use shuttle::rand::Rng;
    ways[shuttle::rand::thread_rng().gen_range(0..ways.len())]
}

/// What the origin holds and counts. Its own counting is no step that a schedule could come between.
pub(crate) struct Origin {
    permits: u64,
    /// Versions of each key: what the origin holds, and the least that may be answered from here on.
    rows: Mutex<[(u64, u64); KEYS]>,
    running: Mutex<[u64; KEYS]>,
    pub(crate) loads: AtomicU64,
    /// Entries that the application stored itself.
    written: AtomicU64,
}

/// A load in progress.
struct Running(Arc<Origin>, usize);

impl Origin {
    fn enter(self: &Arc<Self>, key: usize) -> Running {
        self.loads.fetch_add(1, SeqCst);
        let mut running = self.running.lock().unwrap();
        running[key] += 1;
        assert!(running[key] <= 2, "L2: {} loads of one key", running[key]);
        assert!(running.iter().sum::<u64>() <= self.permits, "L3: {running:?} under {} permits", self.permits);
        Running(Arc::clone(self), key)
    }

    fn read(&self, key: usize) -> u64 {
        self.rows.lock().unwrap()[key].0
    }

    fn floor(&self, key: usize) -> u64 {
        self.rows.lock().unwrap()[key].1
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.lock().unwrap()[self.1] -= 1;
    }
}

#[derive(Clone)]
pub(crate) struct World {
    pub(crate) cache: Cache<usize, u64, Down>,
    pub(crate) gate: Gate,
    pub(crate) origin: Arc<Origin>,
}

impl World {
    pub(crate) fn new(permits: usize) -> Self {
        Self::built(permits, Ttl::fresh_for(Duration::from_secs(3_600)), |builder| builder)
    }

    pub(crate) fn built(
        permits: usize,
        ttl: Ttl,
        set: impl FnOnce(Builder<usize, u64, Down>) -> Builder<usize, u64, Down>,
    ) -> Self {
        let gate = Gate::builder(permits).build().unwrap();
        let cache = set(Cache::builder("model", ttl, &gate).jitter(0.0)).build().unwrap();
        let origin = Origin {
            permits: permits as u64,
            rows: Mutex::new([(1, 0); KEYS]),
            running: Mutex::default(),
            loads: AtomicU64::new(0),
            written: AtomicU64::new(0),
        };
        Self { cache, gate, origin: Arc::new(origin) }
    }

    /// A load of `key`, with a tag that names it.
    pub(crate) fn load(
        &self,
        key: usize,
        how: How,
    ) -> impl FnOnce(
        LoadContext<usize, u64>,
    ) -> std::pin::Pin<Box<dyn Future<Output = Result<Loaded<u64>, Down>> + Send>>
    + use<> {
        let origin = Arc::clone(&self.origin);
        move |_| {
            Box::pin(async move {
                let _running = origin.enter(key);
                let read = origin.read(key);
                match how {
                    How::AtOnce => {}
                    How::Later | How::Fails => yield_now().await,
                    How::Hangs => std::future::pending().await,
                }
                if how == How::Fails { Err(Down) } else { Ok(Loaded::value(read).tags([format!("key {key}")])) }
            })
        }
    }

    /// L5: one caller's read; what it gets is not older than the last change that was over when it came.
    pub(crate) async fn read(&self, key: usize, how: How) -> Got<u64, Down> {
        self.read_by(&self.cache, key, how).await
    }

    pub(crate) async fn read_by(&self, cache: &Cache<usize, u64, Down>, key: usize, how: How) -> Got<u64, Down> {
        let floor = self.origin.floor(key);
        let got = cache.get_with(&key, self.load(key, how)).await;
        if let Ok(Some(answer)) = &got {
            assert!(**answer >= floor, "L5: answered {} of key {key}, changed to {floor} before", **answer);
        }
        got
    }

    /// A caller in a task of its own.
    pub(crate) fn ask(&self, key: usize, how: How) -> JoinHandle<Got<u64, Down>> {
        let world = self.clone();
        shuttle_tokio::spawn(async move { world.read(key, how).await })
    }

    /// A caller that waits at most this long.
    pub(crate) fn ask_within(&self, limit: Duration, key: usize, how: How) -> JoinHandle<Got<u64, Down>> {
        let world = self.clone();
        let cache = self.cache.with_wait_timeout(limit);
        shuttle_tokio::spawn(async move { world.read_by(&cache, key, how).await })
    }

    /// The origin's row changes, and then the cache is told by `tell`.
    pub(crate) fn change(&self, key: usize, tell: impl FnOnce(&Self)) {
        let now = {
            let mut rows = self.origin.rows.lock().unwrap();
            rows[key].0 += 1;
            rows[key].0
        };
        tell(self);
        let mut rows = self.origin.rows.lock().unwrap();
        rows[key].1 = rows[key].1.max(now);
    }

    /// The application writes a value of its own.
    pub(crate) fn write(&self, key: usize, value: u64) {
        self.origin.written.fetch_add(1, SeqCst);
        self.cache.insert(key, value);
    }

    /// L1, L3, L5, L6: everything has ended once, and the cache is as good as new.
    pub(crate) async fn rest(&self) {
        for key in 0..KEYS {
            if let Some(kept) = self.cache.peek(&key) {
                assert!(*kept >= self.origin.floor(key), "L5: {} of key {key} came back", *kept);
            }
        }
        // Tasks that were stopped have yet to be dropped.
        for _ in 0..20 {
            for _ in 0..5 {
                yield_now().await;
            }
            if quiet(&self.cache.snapshot()).is_ok() && self.permits_out() == 0 {
                break;
            }
        }
        let cache = self.cache.snapshot();
        quiet(&cache).unwrap();
        let stored = self.origin.written.load(SeqCst) + cache.flights[FlightEnd::Loaded];
        assert_eq!(cache.entries + cache.removals.total(), stored, "L1: an entry left twice or never: {cache:?}");
        let gate = self.gate.snapshot();
        assert_eq!((self.permits_out(), gate.pending, gate.law_violations), (0, 0, 0), "L6: the gate");
        assert_eq!(*self.origin.running.lock().unwrap(), [0; KEYS], "L6: a load that nobody ended");
    }

    fn permits_out(&self) -> u64 {
        let in_use = self.gate.snapshot().in_use;
        PermitClass::all().iter().map(|class| in_use[*class]).sum()
    }
}

/// L1, L6: nothing is left of what began.
fn quiet(cache: &CacheSnapshot) -> Result<(), String> {
    let left = [cache.active, cache.waiting, cache.flights_active, cache.origin_active, cache.origin_abandoned];
    let counts = [
        (cache.begun, cache.outcomes.total()),
        (cache.flight_starts.total(), cache.flights.total()),
        (cache.origin_calls, cache.origin_results.total()),
    ];
    let fine = left == [0; 5] && counts.iter().all(|(began, ended)| began == ended) && cache.law_violations == 0;
    if fine { Ok(()) } else { Err(format!("L1, L6: left over {left:?}, begun and ended {counts:?}")) }
}
