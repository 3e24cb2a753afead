//! The keys asked for most: sampled, filtered Space-Saving over two rotating windows.
//!
//! One request in 16 is shown to the summary. A key's estimate is too high by at
//! most its `error`. Sources: Metwally, Agrawal, El Abbadi, "Efficient Computation
//! of Frequent and Top-k Elements in Data Streams", ICDT 2005; Homem, Carvalho,
//! "Finding top-k elements in data streams", Information Sciences 2010, whose
//! filter keeps keys that are rarely asked for from being cloned at all.
//!
//! The summary never holds up a request: a sample that finds its shard locked is
//! left out and counted.

mod summary;

use std::sync::Arc;

use crate::account;
use crate::by_hash::ByHash;
use crate::clock::Moment;
use crate::sync::plain::Mutex;
use crate::sync::plain::atomic::{AtomicU64, Ordering::Relaxed};
use summary::{Place, Summary};

/// Keys of one shard are in one lock; the hash chooses it.
const SHARDS: usize = 4;
/// Keys followed at once, over all shards.
const SLOTS: usize = 512;
/// Length of one window.
const WINDOW_NS: u64 = 30_000_000_000;
/// Samples of both windows that make a key a hot one.
const ASKED: u64 = 4;

/// What a sampled request found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    Fresh,
    Stale,
    Missing,
}

/// The summary of one cache.
pub(crate) struct HotKeys<K> {
    shards: [Mutex<Windows<K>>; SHARDS],
    skipped: AtomicU64,
}

/// This window and the one before.
struct Windows<K> {
    now: Summary<K>,
    before: Summary<K>,
    began: Moment,
    before_began: Moment,
}

/// One key, merged over both windows.
pub(crate) struct Hot<K> {
    pub(crate) key: Arc<K>,
    pub(crate) hash: u64,
    pub(crate) requests: u64,
    pub(crate) error: u64,
    pub(crate) stale: u64,
    pub(crate) loads: u64,
    pub(crate) coalesced: u64,
    pub(crate) load_ns: u64,
}

/// The hottest keys, and what they are a part of.
pub(crate) struct Top<K> {
    pub(crate) keys: Vec<Hot<K>>,
    /// Estimated requests of all keys in the windows.
    pub(crate) requests: u64,
    /// Time that the windows cover.
    pub(crate) window_ns: u64,
}

impl<K> HotKeys<K> {
    pub(crate) fn new(now: Moment) -> Self {
        let windows = |_| {
            Mutex::new(Windows {
                now: Summary::new(SLOTS / SHARDS),
                before: Summary::new(SLOTS / SHARDS),
                began: now,
                before_began: now,
            })
        };
        Self { shards: std::array::from_fn(windows), skipped: AtomicU64::new(0) }
    }

    /// A sampled request.
    pub(crate) fn see(&self, hash: u64, key: impl FnOnce() -> K, seen: Seen, now: Moment) {
        let shard = self.shard(hash);
        let Some(mut windows) = shard.try_lock() else {
            self.skipped.fetch_add(1, Relaxed);
            return;
        };
        let over = windows.turn(now);
        let place = windows.now.see(hash, seen);
        drop(windows);
        // Keys are cloned and dropped outside the lock.
        drop(over);
        if place == Place::Earned {
            let key = Arc::new(key());
            let gone = shard.lock().now.admit(hash, key, seen);
            drop(gone);
        }
    }

    /// A load of a key has ended that `waiters` callers had joined.
    pub(crate) fn loaded(&self, hash: u64, waiters: u64, load_ns: u64) {
        self.shard(hash).lock().now.loaded(hash, waiters, load_ns);
    }

    fn shard(&self, hash: u64) -> &Mutex<Windows<K>> {
        &self.shards[usize::try_from((hash >> 32) % SHARDS as u64).unwrap_or(0)]
    }

    /// Estimated requests of the `most` hottest keys, and how much too high they may be, without saying which keys; with
    /// what they are a part of. Costs a fraction of [`HotKeys::top`].
    pub(crate) fn shares(&self, most: usize, now: Moment) -> (Vec<(u64, u64)>, Top<K>) {
        let mut all = Top { keys: Vec::new(), requests: 0, window_ns: 0 };
        let mut hottest: Vec<(u64, u64)> = Vec::with_capacity(most + 1);
        for shard in &self.shards {
            let mut windows = shard.lock();
            let over = windows.turn(now);
            all.window_ns = all.window_ns.max(now.saturating_sub(windows.before_began));
            all.requests += windows.now.samples() + windows.before.samples();
            windows.now.joined(&windows.before, |_, count| {
                if hottest.len() < most || hottest.last().is_some_and(|least| count > *least) {
                    let place = hottest.partition_point(|other| *other >= count);
                    hottest.insert(place, count);
                    hottest.truncate(most);
                }
            });
            drop(windows);
            drop(over);
        }
        let scale = u64::from(account::SAMPLED);
        all.requests *= scale;
        (hottest.into_iter().map(|(requests, error)| (requests * scale, error * scale)).collect(), all)
    }

    /// The hashes of the `most` hottest keys, of those that were asked for often enough to be called so: without their
    /// error at least [`ASKED`] samples.
    pub(crate) fn hottest(&self, most: usize, now: Moment) -> Vec<u64> {
        let mut found = Vec::new();
        for shard in &self.shards {
            let mut windows = shard.lock();
            let over = windows.turn(now);
            windows.now.joined(&windows.before, |hash, (samples, error)| {
                if samples.saturating_sub(error) >= ASKED {
                    found.push((samples, hash));
                }
            });
            drop(windows);
            drop(over);
        }
        if found.len() > most {
            found.select_nth_unstable_by_key(most, |(samples, _)| std::cmp::Reverse(*samples));
            found.truncate(most);
        }
        found.into_iter().map(|(_, hash)| hash).collect()
    }

    /// The `most` hottest keys.
    pub(crate) fn top(&self, most: usize, now: Moment) -> Top<K> {
        let mut top = Top { keys: Vec::new(), requests: 0, window_ns: 0 };
        for shard in &self.shards {
            let mut windows = shard.lock();
            let over = windows.turn(now);
            top.window_ns = top.window_ns.max(now.saturating_sub(windows.before_began));
            top.requests += windows.now.samples() + windows.before.samples();
            let mut keys: ByHash<Hot<K>> = ByHash::default();
            windows.before.merge_into(&mut keys);
            windows.now.merge_into(&mut keys);
            drop(windows);
            drop(over);
            top.keys.extend(keys.into_values());
        }
        let scale = u64::from(account::SAMPLED);
        top.requests *= scale;
        for hot in &mut top.keys {
            hot.requests *= scale;
            hot.error *= scale;
            hot.stale *= scale;
        }
        top.keys.sort_unstable_by_key(|hot| std::cmp::Reverse(hot.requests));
        top.keys.truncate(most);
        top
    }
}

impl<K> Windows<K> {
    /// Starts the next window when this one is over; gives the windows that are forgotten.
    fn turn(&mut self, now: Moment) -> Option<[Summary<K>; 2]> {
        if now.saturating_sub(self.began) < WINDOW_NS {
            return None;
        }
        // After a long silence both windows are over.
        let silent = now.saturating_sub(self.began) >= 2 * WINDOW_NS;
        let over = std::mem::replace(&mut self.now, Summary::new(SLOTS / SHARDS));
        let (before, forgotten) = if silent { (Summary::new(0), over) } else { (over, Summary::new(0)) };
        let oldest = std::mem::replace(&mut self.before, before);
        self.before_began = if silent { now } else { self.began };
        self.began = now;
        Some([oldest, forgotten])
    }
}

#[cfg(test)]
mod tests;
