//! Why keys left the store, for the keys that left last.
//!
//! A miss asks here whether the key was evicted, expired or invalidated; the
//! cures differ. Holds hashes only, so that two keys of one hash may be
//! confused: that costs a wrong cause once, never a wrong answer.

use std::collections::VecDeque;

use herdfeed::{MissCause, RemovalCause};

use crate::by_hash::ByHash;
use crate::sync::plain::Mutex;

/// How many removed keys are remembered.
pub(crate) const REMEMBERED: usize = 4_096;

/// The causes of the last removals.
#[derive(Debug, Default)]
pub(crate) struct Ghosts(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    causes: ByHash<(RemovalCause, u64)>,
    order: VecDeque<(u64, u64)>,
    next: u64,
}

impl Ghosts {
    /// The key of this hash has left the store.
    pub(crate) fn note(&self, hash: u64, cause: RemovalCause) {
        let mut inner = self.0.lock();
        inner.next += 1;
        let number = inner.next;
        inner.causes.insert(hash, (cause, number));
        inner.order.push_back((hash, number));
        while inner.order.len() > REMEMBERED {
            if let Some((oldest, number)) = inner.order.pop_front() {
                // A key that left again since then is remembered under its later number.
                if inner.causes.get(&oldest).is_some_and(|(_, at)| *at == number) {
                    inner.causes.remove(&oldest);
                }
            }
        }
    }

    /// Why a key of this hash is not in the store.
    pub(crate) fn cause(&self, hash: u64) -> MissCause {
        match self.0.lock().causes.get(&hash) {
            Some((RemovalCause::Expired, _)) => MissCause::Expired,
            Some((RemovalCause::Evicted, _)) => MissCause::Evicted,
            Some((RemovalCause::Invalidated, _)) => MissCause::Invalidated,
            // Replaced entries are still there under the same key.
            Some((RemovalCause::Replaced, _)) | None => MissCause::Cold,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// L7: only the last 4,096 removals are remembered, and a repeated key keeps its latest cause.
    #[test]
    fn l7_ghosts_are_bounded_and_latest_wins() {
        let ghosts = Ghosts::default();
        ghosts.note(1, RemovalCause::Evicted);
        ghosts.note(1, RemovalCause::Invalidated);
        assert_eq!(ghosts.cause(1), MissCause::Invalidated);
        (10..10 + REMEMBERED as u64 - 1).for_each(|hash| ghosts.note(hash, RemovalCause::Expired));
        assert_eq!(ghosts.cause(1), MissCause::Invalidated);
        ghosts.note(9_999_999, RemovalCause::Expired);
        assert_eq!(ghosts.cause(1), MissCause::Cold);
        let inner = ghosts.0.lock();
        assert_eq!(inner.order.len(), REMEMBERED);
        assert!(inner.causes.len() <= REMEMBERED);
    }
}
