//! What changes of its key have done to a flight while it flew.
//!
//! Written under the key's table lock, by whoever changes the key; read at the landing, under the same lock.

use crate::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};
use crate::tags::Epoch;

/// Why a flight's value may no longer be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doom {
    /// The key was invalidated.
    Invalidated,
    /// The application wrote a newer value.
    NewerWrite,
    /// Another load of the key, without single-flight, was stored first.
    Outrun,
}

/// A flight's fate. It gets worse only.
#[derive(Debug)]
pub(crate) struct Fate {
    /// Why its value may no longer be stored: 0 = it may.
    doom: AtomicU8,
    /// L5: the key was changed while it was held back; what was there before may not be answered any more.
    outdated: AtomicBool,
    /// W2: the key was marked stale: what it brings may be from before.
    outpaced: AtomicBool,
    /// How many invalidations of tags there had been when its load began.
    epoch: AtomicU64,
    /// W2: a tag of what it brought was invalidated since.
    cut: AtomicBool,
    /// W2: what it brought has been judged.
    sealed: AtomicBool,
    /// A4: its loader was given the previous value, and may confirm it.
    offered: AtomicBool,
}

impl Fate {
    pub(crate) fn new(epoch: Epoch) -> Self {
        Self {
            doom: AtomicU8::new(0),
            outdated: AtomicBool::new(false),
            outpaced: AtomicBool::new(false),
            epoch: AtomicU64::new(epoch.0),
            cut: AtomicBool::new(false),
            sealed: AtomicBool::new(false),
            offered: AtomicBool::new(false),
        }
    }

    /// Its value may not be stored any more. The first reason stays.
    pub(crate) fn doom(&self, doom: Doom) {
        let code = match doom {
            Doom::Invalidated => 1,
            Doom::NewerWrite => 2,
            Doom::Outrun => 3,
        };
        // What outran it first may be superseded in turn; an invalidation stays one.
        let _ = self.doom.fetch_update(Relaxed, Relaxed, |old| (old == 0 || old == 3).then_some(code));
    }

    /// Why its value may not be stored, if so.
    pub(crate) fn doomed(&self) -> Option<Doom> {
        match self.doom.load(Relaxed) {
            0 => None,
            1 => Some(Doom::Invalidated),
            2 => Some(Doom::NewerWrite),
            _ => Some(Doom::Outrun),
        }
    }

    /// L5: the key was changed while the flight was held back: nobody may fall back to what was there before.
    pub(crate) fn outdate(&self) {
        self.outdated.store(true, Relaxed);
    }

    pub(crate) fn is_outdated(&self) -> bool {
        self.outdated.load(Relaxed)
    }

    /// W2: the key was marked stale while the load ran.
    pub(crate) fn outpace(&self) {
        self.outpaced.store(true, Relaxed);
    }

    /// W2: whether what it brings is stale on arrival.
    pub(crate) fn is_outpaced(&self) -> bool {
        self.outpaced.load(Relaxed)
    }

    /// How many invalidations of tags there had been when its load began.
    pub(crate) fn epoch(&self) -> Epoch {
        Epoch(self.epoch.load(Relaxed))
    }

    /// L2: it was held back, and its load begins only now.
    pub(crate) fn begin_at(&self, epoch: Epoch) {
        self.epoch.store(epoch.0, Relaxed);
    }

    /// W2: a tag of what it brings was invalidated while it flew.
    pub(crate) fn cut_off(&self) {
        self.cut.store(true, Relaxed);
    }

    /// W2: whether who joined at `epoch` may have come too late for what it brought.
    ///
    /// Which of several invalidations since its load began was the first of its tags is not known: who joined
    /// after any of them loads anew.
    pub(crate) fn is_cut_off_for(&self, epoch: Epoch) -> bool {
        self.cut.load(Relaxed) && epoch > self.epoch()
    }

    /// W2: what it brought has been judged: no later change of its key or tags is looked at.
    pub(crate) fn seal(&self) {
        self.sealed.store(true, Relaxed);
    }

    /// W2: whether it is too late to join it.
    pub(crate) fn is_sealed(&self) -> bool {
        self.sealed.load(Relaxed)
    }

    /// A4: its loader has been given the previous value.
    pub(crate) fn offer(&self) {
        self.offered.store(true, Relaxed);
    }

    /// A4: whether its loader was given the previous value.
    pub(crate) fn was_offered(&self) -> bool {
        self.offered.load(Relaxed)
    }
}
