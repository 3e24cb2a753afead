//! The cases: each fills a cache, warms it up, and then runs its operations inside the counted window.

use std::error::Error;
use std::future::Future as _;
use std::task::{Context, Waker};

use fastrand::Rng;
use herdcache::LocalStore;

use crate::support::Effort;
use crate::support::caches::{
    self, HERDCACHE, HERDCACHE_QUICK, HERDCACHE_QUICK_WITH, HERDCACHE_WITH, Load, MOKA_FOLDHASH, MOKA_FUTURE, MOKA_LRU,
    MOKA_SYNC, QUICK_CACHE,
};
use crate::support::traffic::{Zipf, keys};

/// What callgrind looks for: the name of the function whose inside is counted.
pub(crate) const WINDOW: &str = "counted_window_of_the_bench";

/// herdcache with a feed and one reader at 10 Hz; only with the feature `feed`.
const WATCHED: &str = "herdcache get, watched";

/// herdcache with a subscriber of `tracing` that wants everything; only with the feature `tracing`.
const HEARD: &str = "herdcache get_with, heard";

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Hit,
    ReadyMiss,
    PendingMiss,
    FullReadyMiss,
    FullInsert,
    /// A caller joins a load that others wait for already, and is answered when it has landed.
    Wait,
}

impl Kind {
    pub(crate) const ALL: [Self; 6] =
        [Self::Hit, Self::ReadyMiss, Self::PendingMiss, Self::FullReadyMiss, Self::FullInsert, Self::Wait];

    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Hit => "hit",
            Self::ReadyMiss => "ready miss",
            Self::PendingMiss => "pending miss",
            Self::FullReadyMiss => "ready miss at a full cache",
            Self::FullInsert => "insert at a full cache",
            Self::Wait => "wait for another's load",
        }
    }

    /// Who does it, as far as this build has them.
    pub(crate) fn subjects(self) -> Vec<&'static str> {
        let all: &[_] = match self {
            Self::Hit => &[
                HERDCACHE,
                HERDCACHE_QUICK,
                WATCHED,
                HERDCACHE_WITH,
                MOKA_FUTURE,
                MOKA_SYNC,
                MOKA_FOLDHASH,
                QUICK_CACHE,
            ],
            Self::ReadyMiss | Self::PendingMiss => {
                &[HERDCACHE_WITH, HEARD, HERDCACHE_QUICK_WITH, MOKA_FUTURE, MOKA_FOLDHASH, QUICK_CACHE]
            }
            Self::FullReadyMiss => &[HERDCACHE_WITH, HERDCACHE_QUICK_WITH, MOKA_FUTURE, MOKA_FOLDHASH, QUICK_CACHE],
            Self::FullInsert => &[HERDCACHE, HERDCACHE_QUICK, MOKA_SYNC, MOKA_LRU, QUICK_CACHE],
            Self::Wait => &[HERDCACHE_WITH, HEARD],
        };
        let optional = [
            (WATCHED, cfg!(feature = "feed")),
            (HEARD, cfg!(feature = "tracing")),
            (HERDCACHE_QUICK, cfg!(feature = "quick-cache")),
            (HERDCACHE_QUICK_WITH, cfg!(feature = "quick-cache")),
        ];
        let built = |name: &str| !optional.contains(&(name, false));
        all.iter().copied().filter(|name| built(name)).collect()
    }

    /// How many operations are counted.
    pub(crate) fn operations(self, effort: Effort) -> usize {
        match self {
            Self::Hit => effort.of(20_000, 100_000),
            Self::ReadyMiss | Self::PendingMiss | Self::FullReadyMiss | Self::FullInsert | Self::Wait => {
                effort.of(2_000, 10_000)
            }
        }
    }
}

#[inline(never)]
fn counted_window_of_the_bench(run: &mut dyn FnMut() -> u64) -> u64 {
    run()
}

/// Runs one case in this process.
pub(crate) fn run(kind: Kind, name: &str, effort: Effort) -> Result<(), Box<dyn Error>> {
    let count = kind.operations(effort);
    let name = if name == HEARD { listen()? } else { name };
    let done = match kind {
        Kind::Hit => hit(name, count, effort.of(10_000, 100_000))?,
        Kind::ReadyMiss => misses(name, Load::Ready, count, 4 * count)?,
        Kind::PendingMiss => misses(name, Load::Pending, count, 4 * count)?,
        Kind::FullReadyMiss => misses(name, Load::Ready, count, 1_000)?,
        Kind::FullInsert => inserts(name, count)?,
        Kind::Wait => waits(count)?,
    };
    if done == count as u64 {
        Ok(())
    } else {
        Err(format!("{name}: {done} of {count} operations did what they should").into())
    }
}

fn hit(name: &str, count: usize, entries: usize) -> Result<u64, Box<dyn Error>> {
    let keys = keys(entries);
    let _reader = if name == WATCHED { Some(watch()?) } else { None };
    let subject = caches::subject(if name == WATCHED { HERDCACHE } else { name }, entries + entries / 2)?;
    for key in &keys {
        subject.put(key.clone());
    }
    let sequence = Zipf::new(entries, 0.99).sequence(2 * count, &mut Rng::with_seed(3));
    // The first half warms up what learns, the second is counted.
    let (warm, counted) = sequence.split_at(count);
    subject.hits(&keys, warm);
    Ok(counted_window_of_the_bench(&mut || subject.hits(&keys, counted)))
}

/// Serves the feed of this process and reads it, ten snapshots a second, until dropped.
#[cfg(all(feature = "feed", unix))]
fn watch() -> Result<impl Sized, Box<dyn Error>> {
    use std::io::{Read, Write};
    let feed = herdcache::serve_feed("bench")?;
    let address = feed.address().ok_or("the feed is switched off by HERDCACHE_FEED")?;
    let herdcache::herdfeed::Address::Unix(path) = address else { return Err("the feed is no Unix socket".into()) };
    let mut stream = std::os::unix::net::UnixStream::connect(path)?;
    stream.write_all(b"GET /herd/v1/stream?hz=10 HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
    let mut first = [0; 64];
    stream.read_exact(&mut first)?;
    if !first.starts_with(b"HTTP/1.1 200") {
        return Err(format!("the feed answers {}", String::from_utf8_lossy(&first)).into());
    }
    // Ends when the feed does.
    std::thread::spawn(move || std::io::copy(&mut stream, &mut std::io::sink()));
    Ok(feed)
}

#[cfg(not(all(feature = "feed", unix)))]
fn watch() -> Result<(), Box<dyn Error>> {
    Err("build with the feature `feed`, on Unix".into())
}

fn misses(name: &str, load: Load, count: usize, capacity: usize) -> Result<u64, Box<dyn Error>> {
    let keys = keys(2 * count);
    let subject = caches::subject(name, capacity)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let (warm, counted) = keys.split_at(count);
    runtime.block_on(subject.misses(warm, load));
    Ok(counted_window_of_the_bench(&mut || runtime.block_on(subject.misses(counted, load))))
}

fn inserts(name: &str, count: usize) -> Result<u64, Box<dyn Error>> {
    let mut keys = keys(2 * count);
    let subject = caches::subject(name, 1_000)?;
    let counted = keys.split_off(count);
    for key in keys {
        subject.put(key);
    }
    let mut counted = Some(counted);
    Ok(counted_window_of_the_bench(&mut || {
        let keys = counted.take().unwrap_or_default();
        keys.into_iter().map(|key| subject.put(key)).count() as u64
    }))
}

/// Callers of one key, polled by hand: once when they join, once when they are answered. Neither their tasks nor the
/// load are counted.
fn waits(count: usize) -> Result<u64, Box<dyn Error>> {
    let cache = caches::herdcache(1_000, LocalStore::Moka)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    Ok(runtime.block_on(async {
        let (land, landing) = tokio::sync::oneshot::channel::<()>();
        let load = |_| async move {
            drop(landing.await);
            Ok::<_, std::convert::Infallible>(caches::value())
        };
        let cx = &mut Context::from_waker(Waker::noop());
        let mut leader = Box::pin(cache.get_with("hot", load));
        let mut waiters: Vec<_> =
            (0..count).map(|_| Box::pin(cache.get_with("hot", |_| Load::Ready.value()))).collect();
        let opened = leader.as_mut().poll(cx).is_pending();
        let joined = counted_window_of_the_bench(&mut || {
            waiters.iter_mut().map(|waiter| u64::from(waiter.as_mut().poll(cx).is_pending())).sum()
        });
        drop(land);
        let landed = leader.await.is_ok();
        let cx = &mut Context::from_waker(Waker::noop());
        let answered = counted_window_of_the_bench(&mut || {
            waiters.iter_mut().map(|waiter| u64::from(waiter.as_mut().poll(cx).is_ready())).sum()
        });
        if opened && landed { joined.min(answered) } else { 0 }
    }))
}

/// Has a subscriber want everything from now on; gives whom to measure.
#[cfg(feature = "tracing")]
fn listen() -> Result<&'static str, Box<dyn Error>> {
    use tracing::span::{Attributes, Id, Record};
    struct Everything;
    impl tracing::Subscriber for Everything {
        fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
            true
        }
        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }
        fn record(&self, _: &Id, _: &Record<'_>) {}
        fn record_follows_from(&self, _: &Id, _: &Id) {}
        fn event(&self, _: &tracing::Event<'_>) {}
        fn enter(&self, _: &Id) {}
        fn exit(&self, _: &Id) {}
    }
    tracing::subscriber::set_global_default(Everything)?;
    Ok(HERDCACHE_WITH)
}

#[cfg(not(feature = "tracing"))]
fn listen() -> Result<&'static str, Box<dyn Error>> {
    Err("build with the feature `tracing`".into())
}
