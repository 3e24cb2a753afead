//! What the store holds: a value or the knowledge of its absence, with stamps.
//!
//! Stamps are moments on our own clock; the store's idea of time is never asked.

use std::sync::Arc;

use crate::clock::Moment;
use crate::freshness::Bounds;
use crate::graveyard;
use crate::marks::Marks;
use crate::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};

/// One key's state in the store. Cheap to clone.
#[derive(Debug)]
pub(crate) enum Stored<V: Send + Sync + 'static> {
    /// There is a value.
    Value(Arc<Entry<V>>),
    /// The origin said that there is none.
    Absent(Arc<Stamps>),
}

impl<V: Send + Sync + 'static> Clone for Stored<V> {
    #[inline]
    fn clone(&self) -> Self {
        match self {
            Self::Value(entry) => Self::Value(Arc::clone(entry)),
            Self::Absent(stamps) => Self::Absent(Arc::clone(stamps)),
        }
    }
}

impl<V: Send + Sync + 'static> Stored<V> {
    /// Whether both are the very same state.
    pub(crate) fn is(&self, other: &Self) -> bool {
        std::ptr::eq(self.stamps(), other.stamps())
    }

    #[inline]
    pub(crate) fn stamps(&self) -> &Stamps {
        match self {
            Self::Value(entry) => &entry.stamps,
            Self::Absent(stamps) => stamps,
        }
    }
}

/// A value with its stamps.
#[derive(Debug)]
pub(crate) struct Entry<V: Send + Sync + 'static> {
    pub(crate) value: Arc<V>,
    pub(crate) stamps: Stamps,
}

impl<V: Send + Sync + 'static> Drop for Entry<V> {
    /// The store may drop its last handle while a lock of ours is held. The user's
    /// own `Drop` must not run there, so the value is set aside until the lock is free.
    fn drop(&mut self) {
        graveyard::bury(&self.value);
    }
}

/// When a value arrived and until when it may be answered.
#[derive(Debug)]
pub(crate) struct Stamps {
    /// When the origin's answer arrived.
    pub(crate) born: Moment,
    /// How long its load took, in nanoseconds; 0 for an inserted value.
    pub(crate) load_ns: u64,
    /// What the source said of it.
    marks: Option<Box<Marks>>,
    /// The end of freshness as stored: bounds past freshness count from it, also once `soft` has been moved.
    ends: Moment,
    // The bounds are atomic since `expire` moves them in place; readers see either.
    soft: AtomicU64,
    hard: AtomicU64,
    last: AtomicU64,
    /// No refresh starts before this: the key cools, or the value arrived stale.
    refresh_from: AtomicU64,
    /// A refresh of this very value is in flight or being started.
    refreshing: AtomicBool,
    /// The key's newer state lies in the other store.
    superseded: AtomicBool,
    /// Whose word the bounds past freshness are.
    word: AtomicU8,
    /// O1: its expiry is in the account.
    expiry_told: AtomicBool,
}

/// Whose word the bounds past freshness are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    /// The cache's, as in force when the value is judged.
    Cache,
    /// The loader set `stale_for`; the cache says how much longer the value stands in for failed loads.
    Loader,
    /// Nobody moves them.
    Fixed,
}

impl Word {
    /// As it travels; what is not known is nobody's to move.
    pub(crate) fn from_code(code: u8) -> Self {
        match code {
            0 => Self::Cache,
            1 => Self::Loader,
            _ => Self::Fixed,
        }
    }
}

impl Stamps {
    pub(crate) fn new(born: Moment, load_ns: u64, bounds: Bounds, word: Word, marks: Option<Box<Marks>>) -> Self {
        Self {
            born,
            load_ns,
            marks,
            ends: bounds.soft,
            soft: AtomicU64::new(bounds.soft),
            hard: AtomicU64::new(bounds.hard),
            last: AtomicU64::new(bounds.last),
            refresh_from: AtomicU64::new(0),
            refreshing: AtomicBool::new(false),
            superseded: AtomicBool::new(false),
            word: AtomicU8::new(word as u8),
            expiry_told: AtomicBool::new(false),
        }
    }

    /// What the source said of it, if anything.
    pub(crate) fn marks(&self) -> Option<&Marks> {
        self.marks.as_deref()
    }

    /// Its tags.
    pub(crate) fn tags(&self) -> &[Arc<str>] {
        self.marks().map_or(&[], |marks| &marks.tags)
    }

    /// W2: stale from `now` on, if it was fresh; may be answered for as long as before.
    pub(crate) fn mark_stale(&self, now: Moment) {
        // The other bounds stay: what may be stale for no time at all is answered until its freshness would have ended.
        self.soft.fetch_min(now, Relaxed);
    }

    /// When it was marked stale, if it was before its time.
    pub(crate) fn marked_stale(&self) -> Option<Moment> {
        let soft = self.soft();
        (soft < self.ends).then_some(soft)
    }

    /// Whose word its bounds are.
    pub(crate) fn word(&self) -> Word {
        Word::from_code(self.word.load(Relaxed))
    }

    /// When it stops being fresh.
    #[inline]
    pub(crate) fn soft(&self) -> Moment {
        self.soft.load(Relaxed)
    }

    /// Most readers need this one comparison.
    #[inline]
    pub(crate) fn is_fresh(&self, now: Moment) -> bool {
        now < self.soft()
    }

    /// The bounds, where the cache's values are stale for `stale` nanoseconds and stand in for failed loads for `error`,
    /// or as long as they are stale.
    pub(crate) fn bounds_within(&self, stale: u64, error: u64) -> Bounds {
        let (soft, word) = (self.soft(), self.word.load(Relaxed));
        let stamped = Bounds { soft, hard: self.hard.load(Relaxed), last: self.last.load(Relaxed) };
        if word == Word::Fixed as u8 {
            return stamped;
        }
        let hard = if word == Word::Loader as u8 { stamped.hard } else { self.ends.saturating_add(stale) };
        Bounds { soft, hard, last: self.ends.saturating_add(error).max(hard) }
    }

    #[cfg(feature = "lab")]
    /// Moves every bound that lies ahead to `now`: the value is expired from here on.
    pub(crate) fn expire(&self, now: Moment) {
        self.word.store(Word::Fixed as u8, Relaxed);
        for bound in [&self.soft, &self.hard, &self.last] {
            bound.fetch_min(now, Relaxed);
        }
    }

    /// O1: claims the right to count that this value expired.
    pub(crate) fn claim_expiry(&self) -> bool {
        !self.expiry_told.load(Relaxed) && !self.expiry_told.swap(true, Relaxed)
    }

    /// Claims the right to start the one refresh of this value.
    pub(crate) fn claim_refresh(&self) -> Option<RefreshClaim<'_>> {
        let free = !self.refreshing.load(Relaxed) && !self.refreshing.swap(true, Relaxed);
        free.then(|| RefreshClaim(self))
    }

    /// N1: a value took an absence's place, or the other way round: it leaves as replaced.
    pub(crate) fn supersede(&self) {
        self.superseded.store(true, Relaxed);
    }

    /// Whether it leaves because the key's newer state lies in the other store.
    pub(crate) fn is_superseded(&self) -> bool {
        self.superseded.load(Relaxed)
    }

    /// Gives the claim back: the refresh is over or did not start.
    pub(crate) fn release_refresh(&self) {
        self.refreshing.store(false, Relaxed);
    }

    /// E1: no refresh before `moment`.
    pub(crate) fn cool_until(&self, moment: Moment) {
        self.refresh_from.fetch_max(moment, Relaxed);
    }

    /// Whether a refresh has to wait for the key's cooling to end.
    pub(crate) fn is_cooling(&self, now: Moment) -> bool {
        now < self.refresh_from.load(Relaxed)
    }
}

/// The right to start the one refresh of a value; given back if dropped.
pub(crate) struct RefreshClaim<'a>(&'a Stamps);

impl RefreshClaim<'_> {
    /// The refresh is under way and gives the claim back when it is over.
    pub(crate) fn hand_over(self) {
        std::mem::forget(self);
    }
}

impl Drop for RefreshClaim<'_> {
    fn drop(&mut self) {
        self.0.release_refresh();
    }
}
