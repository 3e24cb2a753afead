//! Space-Saving for one shard and window.

use std::collections::hash_map::Entry;
use std::sync::Arc;

use super::{Hot, Seen};
use crate::by_hash::ByHash;

/// The counters of at most `places` keys.
pub(super) struct Summary<K> {
    places: ByHash<usize>,
    /// Counts apart from the rest, so that the search for the least reads one array.
    counts: Vec<u64>,
    slots: Vec<Slot<K>>,
    most: usize,
    samples: u64,
    /// Samples of keys that are not followed, by a part of their hash.
    filter: Box<[u32]>,
    /// The least count of a followed key when somebody looked last; it only grows.
    least: u64,
}

/// Cells of the filter.
const CELLS: usize = 1_024;

fn cell(hash: u64) -> usize {
    usize::try_from(hash % CELLS as u64).unwrap_or(0)
}

/// Where a sampled key stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Among the followed.
    Followed,
    /// Asked for often enough to be followed.
    Earned,
    /// Not asked for often enough.
    Filtered,
}

struct Slot<K> {
    key: Arc<K>,
    hash: u64,
    error: u64,
    stale: u64,
    loads: u64,
    coalesced: u64,
    load_ns: u64,
}

impl<K> Summary<K> {
    pub(super) fn new(most: usize) -> Self {
        Self {
            places: ByHash::default(),
            counts: Vec::new(),
            slots: Vec::new(),
            most,
            samples: 0,
            filter: vec![0; CELLS].into_boxed_slice(),
            least: 0,
        }
    }

    pub(super) fn samples(&self) -> u64 {
        self.samples
    }

    /// One sample of a key.
    pub(super) fn see(&mut self, hash: u64, seen: Seen) -> Place {
        self.samples += 1;
        if let Some(place) = self.places.get(&hash) {
            self.counts[*place] += 1;
            self.slots[*place].stale += u64::from(seen == Seen::Stale);
            return Place::Followed;
        }
        let cell = &mut self.filter[cell(hash)];
        *cell = cell.saturating_add(1);
        if self.slots.len() < self.most || u64::from(*cell) > self.least { Place::Earned } else { Place::Filtered }
    }

    /// Follows a key that has earned it: it takes a free place, or that of the least counted key, which is given back.
    ///
    /// Its sample is counted already. What the filter counted before may have been other keys: that is its error.
    pub(super) fn admit(&mut self, hash: u64, key: Arc<K>, seen: Seen) -> Option<Arc<K>> {
        if self.places.contains_key(&hash) {
            return Some(key);
        }
        let count = u64::from(self.filter[cell(hash)]).max(1);
        let stale = u64::from(seen == Seen::Stale);
        let slot = Slot { key, hash, error: count - 1, stale, loads: 0, coalesced: 0, load_ns: 0 };
        if self.slots.len() < self.most {
            self.slots.push(slot);
            self.counts.push(count);
            self.places.insert(hash, self.slots.len() - 1);
            return None;
        }
        let least = (0..self.counts.len()).min_by_key(|place| self.counts[*place])?;
        self.least = self.counts[least];
        if count <= self.least {
            return Some(slot.key);
        }
        let old = std::mem::replace(&mut self.slots[least], slot);
        self.places.remove(&old.hash);
        self.places.insert(hash, least);
        let known = &mut self.filter[cell(old.hash)];
        *known = u32::try_from(self.counts[least]).unwrap_or(u32::MAX).max(*known);
        self.counts[least] = count;
        Some(old.key)
    }

    /// A load of a key, if the key is followed.
    pub(super) fn loaded(&mut self, hash: u64, waiters: u64, load_ns: u64) {
        if let Some(slot) = self.places.get(&hash).and_then(|place| self.slots.get_mut(*place)) {
            slot.loads += 1;
            slot.coalesced += waiters;
            // 0: the load brought nothing, so its duration says nothing.
            if load_ns > 0 {
                slot.load_ns = load_ns;
            }
        }
    }

    /// Tells hash, count and error of each key that this window or the one before follows.
    pub(super) fn joined(&self, before: &Self, mut tell: impl FnMut(u64, (u64, u64))) {
        for (slot, count) in self.slots.iter().zip(&self.counts) {
            let known = before.places.get(&slot.hash);
            let (more, error) = known.map_or((0, 0), |place| (before.counts[*place], before.slots[*place].error));
            tell(slot.hash, (count + more, slot.error + error));
        }
        for (slot, count) in before.slots.iter().zip(&before.counts) {
            if !self.places.contains_key(&slot.hash) {
                tell(slot.hash, (*count, slot.error));
            }
        }
    }

    /// Adds what this window knows to `keys`.
    pub(super) fn merge_into(&self, keys: &mut ByHash<Hot<K>>) {
        for (slot, count) in self.slots.iter().zip(&self.counts) {
            let hot = match keys.entry(slot.hash) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(free) => free.insert(Hot {
                    key: Arc::clone(&slot.key),
                    hash: slot.hash,
                    requests: 0,
                    error: 0,
                    stale: 0,
                    loads: 0,
                    coalesced: 0,
                    load_ns: 0,
                }),
            };
            hot.requests += count;
            hot.error += slot.error;
            hot.stale += slot.stale;
            hot.loads += slot.loads;
            hot.coalesced += slot.coalesced;
            if slot.load_ns > 0 {
                hot.load_ns = slot.load_ns;
            }
        }
    }
}
