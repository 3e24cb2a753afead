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
        Self { places: ByHash::default(), counts: Vec::new(), slots: Vec::new(), most, samples: 0 }
    }

    pub(super) fn samples(&self) -> u64 {
        self.samples
    }

    /// One sample of a key; gives whether the key is followed.
    pub(super) fn see(&mut self, hash: u64, seen: Seen) -> bool {
        let Some(place) = self.places.get(&hash) else {
            return false;
        };
        self.samples += 1;
        self.counts[*place] += 1;
        self.slots[*place].stale += u64::from(seen == Seen::Stale);
        true
    }

    /// One sample of a key that was not followed: it takes a free place, or that of the least counted
    /// key, whose count becomes its error and which is given back.
    pub(super) fn admit(&mut self, hash: u64, key: Arc<K>, seen: Seen) -> Option<Arc<K>> {
        if self.see(hash, seen) {
            return Some(key);
        }
        let slot = |error| Slot { key, hash, error, stale: 0, loads: 0, coalesced: 0, load_ns: 0 };
        let mut gone = None;
        if self.slots.len() < self.most {
            self.slots.push(slot(0));
            self.counts.push(0);
            self.places.insert(hash, self.slots.len() - 1);
        } else if let Some(least) = (0..self.counts.len()).min_by_key(|place| self.counts[*place]) {
            let old = std::mem::replace(&mut self.slots[least], slot(self.counts[least]));
            self.places.remove(&old.hash);
            self.places.insert(hash, least);
            gone = Some(old.key);
        }
        self.see(hash, seen);
        gone
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
