//! Tags: which stored keys depend on what, and which loads a tag's invalidation overtook.
//!
//! A load's tags are known only when it ends. So invalidations are numbered: a flight
//! remembers how many there had been when it opened, and what it brings is outdated if
//! one of its tags was invalidated later. Callers who joined before that get it, those
//! who joined afterwards load anew.
//!
//! Bounded by the entries times their tags, and by [`MOST_IDLE`] tags that no entry has.

use std::collections::HashMap;
use std::sync::Arc;

use crate::clock::{self, Moment};
use crate::graveyard::Vigil;
use crate::kept::Kept;
use crate::marks::{LONGEST_TAG, Marks};
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// The most invalidated tags that are remembered without an entry that has them.
const MOST_IDLE: usize = 4_096;

/// How many invalidations of tags there have been.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Epoch(pub(crate) u64);

/// The tags of one cache.
pub(crate) struct Tags<K: 'static> {
    epoch: AtomicU64,
    index: Mutex<Index<K>>,
}

struct Index<K: 'static> {
    rows: HashMap<Arc<str>, Row<K>>,
    /// Rows without keys.
    idle: usize,
    /// The last invalidation of a tag that is not remembered: every tag may have been invalidated then.
    forgotten: Epoch,
    forgotten_at: Moment,
}

struct Row<K: 'static> {
    /// By the number of the entry that has the tag.
    keys: HashMap<u64, Arc<Kept<K>>>,
    invalidated: Epoch,
    /// The moment of that; 0 if never.
    at: Moment,
}

impl<K> Default for Tags<K> {
    fn default() -> Self {
        let index = Index { rows: HashMap::new(), idle: 0, forgotten: Epoch::default(), forgotten_at: 0 };
        Self { epoch: AtomicU64::new(0), index: Mutex::new(index) }
    }
}

impl<K> std::fmt::Debug for Tags<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tags").field("epoch", &self.epoch).finish_non_exhaustive()
    }
}

impl<K> Tags<K> {
    /// Where a flight that opens now, or a caller who joins one now, stands among the invalidations.
    pub(crate) fn now(&self) -> Epoch {
        Epoch(self.epoch.load(SeqCst))
    }

    /// When what has these tags was last invalidated.
    pub(crate) fn invalidated(&self, tags: &[Arc<str>]) -> Epoch {
        if tags.is_empty() {
            return Epoch::default();
        }
        let index = self.index.lock();
        let last = tags.iter().filter_map(|tag| Some(index.rows.get(tag)?.invalidated)).max();
        last.unwrap_or_default().max(index.forgotten)
    }

    /// The moment at which what has these tags was last invalidated here; 0 if never.
    pub(crate) fn invalidated_at(&self, tags: &[Arc<str>]) -> Moment {
        if tags.is_empty() {
            return 0;
        }
        let index = self.index.lock();
        let last = tags.iter().filter_map(|tag| Some(index.rows.get(tag)?.at)).max();
        last.unwrap_or(0).max(index.forgotten_at)
    }

    /// The entry of these marks is about to be stored under `key`; gives when its tags were last invalidated.
    ///
    /// It is listed whatever that is: under the key's lock, the caller stores it or takes it back by [`Tags::leave`].
    pub(crate) fn admit(&self, marks: &Marks, key: &Arc<Kept<K>>) -> Epoch {
        let _vigil = Vigil::open();
        let mut index = self.index.lock();
        let mut last = index.forgotten;
        for tag in &marks.tags {
            let row = index.row(tag);
            row.keys.insert(marks.entry, Arc::clone(key));
            last = last.max(row.invalidated);
        }
        last
    }

    /// The entry of these marks has left the store.
    pub(crate) fn leave(&self, marks: &Marks) {
        let _vigil = Vigil::open();
        let mut index = self.index.lock();
        for tag in &marks.tags {
            index.leave(tag, marks.entry);
        }
    }

    /// Invalidates a tag from here on; gives the keys that have it.
    pub(crate) fn invalidate(&self, tag: &str) -> Vec<Arc<Kept<K>>> {
        let mut index = self.index.lock();
        let epoch = Epoch(self.epoch.fetch_add(1, SeqCst) + 1);
        if tag.len() > LONGEST_TAG {
            // L7: no entry has it, and it is not kept: whatever tags a load in progress brings, this may be one of them.
            index.forgotten = epoch;
            return Vec::new();
        }
        let tag: Arc<str> = tag.into();
        let row = index.row(&tag);
        row.invalidated = epoch;
        row.at = clock::exact();
        // Their entries leave one by one, and the row's keys with them.
        let keys: Vec<_> = row.keys.values().map(Arc::clone).collect();
        if keys.is_empty() {
            index.idle += 1;
            index.bound();
        }
        keys
    }
}

impl<K> Index<K> {
    /// The row of a tag, to be given a key or a date.
    fn row(&mut self, tag: &Arc<str>) -> &mut Row<K> {
        if let Some(row) = self.rows.get(tag) {
            if row.keys.is_empty() {
                self.idle -= 1;
            }
        }
        let new = || Row { keys: HashMap::new(), invalidated: Epoch::default(), at: 0 };
        self.rows.entry(Arc::clone(tag)).or_insert_with(new)
    }

    fn leave(&mut self, tag: &Arc<str>, entry: u64) {
        let Some(row) = self.rows.get_mut(tag) else { return };
        if row.keys.remove(&entry).is_none() || !row.keys.is_empty() {
            return;
        }
        if row.invalidated == Epoch::default() {
            self.rows.remove(tag);
        } else {
            self.idle += 1;
            self.bound();
        }
    }

    /// L7: too many tags without keys are forgotten together; loads that fly now may then be discarded needlessly.
    fn bound(&mut self) {
        if self.idle <= MOST_IDLE {
            return;
        }
        let (mut forgotten, mut forgotten_at) = (self.forgotten, self.forgotten_at);
        self.rows.retain(|_, row| {
            if row.keys.is_empty() {
                forgotten = forgotten.max(row.invalidated);
                forgotten_at = forgotten_at.max(row.at);
            }
            !row.keys.is_empty()
        });
        (self.forgotten, self.forgotten_at) = (forgotten, forgotten_at);
        self.idle = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(entry: u64, tags: &[&str]) -> Marks {
        Marks { entry, tags: tags.iter().map(|tag| Arc::from(*tag)).collect(), ..Marks::default() }
    }

    fn key(key: u64) -> Arc<Kept<u64>> {
        Arc::new(Kept::new(key))
    }

    fn rows(tags: &Tags<u64>) -> (usize, usize) {
        let index = tags.index.lock();
        (index.rows.len(), index.idle)
    }

    /// W2: a tag names the keys of the entries that have it, and no others.
    #[test]
    fn w2_a_tag_knows_its_keys() {
        let tags = Tags::default();
        tags.admit(&marks(1, &["a", "b"]), &key(10));
        tags.admit(&marks(2, &["b"]), &key(20));
        // The first entry is replaced by another of the same key.
        tags.admit(&marks(3, &["b", "c"]), &key(10));
        tags.leave(&marks(1, &["a", "b"]));
        let named = |tag: &str| {
            let mut keys: Vec<u64> = tags.invalidate(tag).iter().filter_map(|key| key.key().copied()).collect();
            keys.sort_unstable();
            keys
        };
        assert_eq!((named("a"), named("b"), named("c")), (vec![], vec![10, 20], vec![10]));
    }

    /// L5: what was loaded before its tag was invalidated is told apart from what was loaded after.
    #[test]
    fn l5_invalidations_are_ordered() {
        let tags = Tags::<u64>::default();
        let before = tags.now();
        tags.invalidate("a");
        let after = tags.now();
        assert!(tags.admit(&marks(1, &["x", "a"]), &key(1)) > before);
        assert!(tags.invalidated(&marks(0, &["a"]).tags) <= after);
        assert!(tags.invalidated(&marks(0, &["x"]).tags) <= before);
    }

    /// L7, L5: a tag that is too long for any entry is not kept; a load that began before it is discarded needlessly.
    #[test]
    fn l7_a_tag_too_long_to_be_one_is_not_kept() {
        let tags = Tags::<u64>::default();
        let before = tags.now();
        assert!(tags.invalidate(&"x".repeat(LONGEST_TAG + 1)).is_empty());
        assert_eq!(rows(&tags), (0, 0));
        assert!(tags.invalidated(&marks(0, &["y"]).tags) > before);
        assert!(tags.invalidated(&marks(0, &["y"]).tags) <= tags.now());
    }

    /// L7: tags that no entry has are bounded; forgetting them errs on the side of discarding.
    #[test]
    fn l7_idle_tags_are_bounded() {
        let tags = Tags::<u64>::default();
        let before = tags.now();
        for n in 0..10_000 {
            tags.invalidate(&format!("t{n}"));
            assert!(rows(&tags).0 <= MOST_IDLE + 1);
        }
        assert!(tags.invalidated(&marks(0, &["t0"]).tags) > before);
        assert!(tags.invalidated(&marks(0, &["t9999"]).tags) > before);
        // Tags that come and go with their entries leave nothing.
        let tags = Tags::<u64>::default();
        for n in 0..10_000 {
            tags.admit(&marks(n, &[&format!("t{n}")]), &key(n));
            tags.leave(&marks(n, &[&format!("t{n}")]));
        }
        assert_eq!(rows(&tags), (0, 0));
        // One tag, again and again, is one row.
        for n in 0..10_000 {
            tags.admit(&marks(n, &["same"]), &key(n));
            tags.invalidate("same");
            tags.leave(&marks(n, &["same"]));
        }
        assert_eq!(rows(&tags), (1, 1));
    }
}
