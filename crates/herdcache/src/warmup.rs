//! [`WarmUp`]: keys loaded before anybody asks for them, at a pace that the callers do not notice.
//!
//! This file says what a warm-up is to its application, `warmup/run.rs` in which order keys
//! are loaded, `warmup/ramp.rs` how many at once.

mod ramp;
mod run;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::account::Account;
use crate::core::Core;
use crate::key::Key;
use crate::origin::AnyOrigin;
use crate::sync::plain::atomic::{AtomicU64, Ordering::Relaxed};
use run::Run;

/// A warm-up on its way: a future that gives its [`Progress`] when every key is done with.
///
/// Loads run as everybody else's: one flight per key, which readers may join, under the gate's warm-up share of
/// permits (a quarter of them, at least 1), with the cache's limits. Only [`Origin::load`](crate::Origin::load) is
/// called, with the trigger `warmup`.
///
/// **Pace.** It begins with one load at a time. A *round* is over when as many loads have landed as may be in
/// progress at once, and at least 4. After a round the number doubles, up to the share, unless one of these holds,
/// when it is halved, down to 1:
/// - callers' loads waited for a permit: one waits now, was refused at the queue, or those that waited since the
///   last look did so for more than 5 ms in the mean;
/// - the origin is slower: the mean of the round's loads is more than twice that of the calmest round so far. (If that
///   happens with one load at a time, the calmest is taken to be an eighth more from then on: a slowness that lasts
///   is got used to.)
/// - half of the round's loads failed, or one ran into a timeout.
///
/// Callers' waits are looked at every 100 ms also within a round. A load that finds no permit waits for the next look, or
/// until another warm-up gives one back.
///
/// **Keys.** What is present, even if stale, or under way already is skipped without a load. A key that cools after a
/// failed load is left alone and counts as failed. Each key is tried once; failures end nothing.
///
/// **Several at once** behind one gate take turns at its warm-up permits: one that found none goes before one that has
/// just given one back.
///
/// **Early ends.** A cache that is shut down ends it, with keys left, and so does what it could load nothing with: a
/// runtime without timers, a gate without a share for warm-ups.
///
/// The snapshot shows the progress of all warm-ups of a cache as `warmup`.
///
/// # Cancel safety
/// Dropping it ends it: no more loads start; those in progress land in the cache as usual. Spawn it to let it go on by
/// itself.
#[doc = include_str!("../docs/examples/warm_up.md")]
#[must_use = "nothing is loaded until it is awaited or spawned"]
pub struct WarmUp {
    count: Arc<Count>,
    run: Pin<Box<dyn Future<Output = ()> + Send>>,
}

/// How far a warm-up is: `total` = `loaded` + `skipped` + `failed` + `left`, all of them keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Keys that it was given, at most as many as the cache has `capacity`.
    pub total: u64,
    /// Keys that were loaded: the origin gave a value, or said that there is none.
    pub loaded: u64,
    /// Keys that were there or under way already.
    pub skipped: u64,
    /// Keys whose load failed or was refused, or had failed just before.
    pub failed: u64,
    /// Keys that it is not done with.
    pub left: u64,
    /// Whether there were more keys than `total`, of which it does not know.
    pub more: bool,
}

/// Counts one warm-up, and all of the cache's with it.
struct Count {
    account: Arc<Account>,
    total: u64,
    more: bool,
    loaded: AtomicU64,
    skipped: AtomicU64,
    failed: AtomicU64,
}

/// What became of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Done {
    Loaded,
    Skipped,
    Failed,
}

impl WarmUp {
    pub(crate) fn new<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static>(
        core: &Arc<Core<K, V, E>>,
        origin: Arc<dyn AnyOrigin<K, V, E>>,
        keys: impl Iterator<Item = K>,
    ) -> Self {
        // L7: what comes after would push out what comes first, and an iterator may have no end.
        let (mut keys, room) = (keys, usize::try_from(core.settings.capacity).unwrap_or(usize::MAX));
        let taken: Vec<K> = keys.by_ref().take(room).collect();
        let count = Arc::new(Count {
            account: Arc::clone(&core.account),
            total: taken.len() as u64,
            more: taken.len() == room && keys.next().is_some(),
            loaded: AtomicU64::new(0),
            skipped: AtomicU64::new(0),
            failed: AtomicU64::new(0),
        });
        let run = Run::new(Arc::clone(core), origin, taken, Arc::clone(&count));
        Self { count, run: Box::pin(run.all()) }
    }

    /// How far it is.
    pub fn progress(&self) -> Progress {
        self.count.read()
    }
}

impl Future for WarmUp {
    type Output = Progress;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Progress> {
        let this = self.get_mut();
        this.run.as_mut().poll(cx).map(|()| this.count.read())
    }
}

impl fmt::Debug for WarmUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WarmUp").field(&self.progress()).finish()
    }
}

impl Count {
    fn read(&self) -> Progress {
        let [loaded, skipped, failed] = [&self.loaded, &self.skipped, &self.failed].map(|count| count.load(Relaxed));
        let left = self.total.saturating_sub(loaded + skipped + failed);
        Progress { total: self.total, loaded, skipped, failed, left, more: self.more }
    }

    fn add(&self, done: Done) {
        let all = &self.account.warmth;
        let (own, all) = match done {
            Done::Loaded => (&self.loaded, &all.loaded),
            Done::Skipped => (&self.skipped, &all.skipped),
            Done::Failed => (&self.failed, &all.failed),
        };
        own.fetch_add(1, Relaxed);
        all.fetch_add(1, Relaxed);
    }
}
