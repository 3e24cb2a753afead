//! Two caches worked out exactly: the least recently used key goes, or the least frequently used one.
//!
//! Slow and plain, to be held against: no sketch, no sampling, no window.

use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Keeps what was asked for last.
pub(super) struct Lru {
    room: usize,
    now: u64,
    asked_at: HashMap<u64, u64>,
    oldest: BTreeMap<u64, u64>,
}

impl Lru {
    pub(super) fn new(room: usize) -> Self {
        Self { room, now: 0, asked_at: HashMap::new(), oldest: BTreeMap::new() }
    }

    /// Whether it had the key; it has it now.
    pub(super) fn ask(&mut self, key: u64) -> bool {
        self.now += 1;
        let before = self.asked_at.insert(key, self.now);
        if let Some(before) = before {
            self.oldest.remove(&before);
        }
        self.oldest.insert(self.now, key);
        if self.oldest.len() > self.room
            && let Some((_, gone)) = self.oldest.pop_first()
        {
            self.asked_at.remove(&gone);
        }
        before.is_some()
    }
}

/// Keeps what was asked for most since the start; of those that were asked for as often, what was asked for last.
pub(super) struct Lfu {
    room: usize,
    now: u64,
    /// Of every key, also those that are not kept: how often it was asked for, and when last.
    asked: HashMap<u64, (u64, u64)>,
    kept: BTreeSet<(u64, u64, u64)>,
}

impl Lfu {
    pub(super) fn new(room: usize) -> Self {
        Self { room, now: 0, asked: HashMap::new(), kept: BTreeSet::new() }
    }

    /// Whether it had the key; whether it has it now is decided by how often it was asked for.
    pub(super) fn ask(&mut self, key: u64) -> bool {
        self.now += 1;
        let (count, at) = self.asked.get(&key).copied().unwrap_or_default();
        let had = self.kept.remove(&(count, at, key));
        self.asked.insert(key, (count + 1, self.now));
        self.kept.insert((count + 1, self.now, key));
        if self.kept.len() > self.room {
            self.kept.pop_first();
        }
        had
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hits(mut ask: impl FnMut(u64) -> bool, keys: &[u64]) -> Vec<bool> {
        keys.iter().map(|key| ask(*key)).collect()
    }

    #[test]
    fn a_short_trace_by_hand() {
        let trace = [1, 2, 1, 3, 2, 1, 3];
        let (mut lru, mut lfu) = (Lru::new(2), Lfu::new(2));
        // LRU: 3 takes the place of 2, 2 that of 1, 1 that of 3, 3 that of 2.
        assert_eq!(hits(|key| lru.ask(key), &trace), [false, false, true, false, false, false, false]);
        // LFU: 1 was asked for twice and stays; 3, then 2, then 3 take the other place.
        assert_eq!(hits(|key| lfu.ask(key), &trace), [false, false, true, false, false, true, false]);
    }

    /// Against lists that are searched from end to end.
    #[test]
    fn they_agree_with_what_is_plainer_still() {
        let mut random = fastrand::Rng::with_seed(5);
        for room in [1, 3, 17] {
            let (mut lru, mut lfu) = (Lru::new(room), Lfu::new(room));
            let (mut list, mut counts, mut kept) = (Vec::<u64>::new(), HashMap::new(), Vec::<u64>::new());
            for now in 0..3_000_u64 {
                let key = random.u64(0..6) * random.u64(0..6);
                let had = list.contains(&key);
                list.retain(|one| *one != key);
                list.push(key);
                if list.len() > room {
                    list.remove(0);
                }
                assert_eq!(lru.ask(key), had);
                let had = kept.contains(&key);
                let (count, _) = counts.get(&key).copied().unwrap_or((0, 0));
                counts.insert(key, (count + 1, now));
                if !had {
                    kept.push(key);
                }
                if kept.len() > room {
                    let least = *kept.iter().min_by_key(|one| counts[*one]).unwrap();
                    kept.retain(|one| *one != least);
                }
                assert_eq!(lfu.ask(key), had);
            }
        }
    }
}
