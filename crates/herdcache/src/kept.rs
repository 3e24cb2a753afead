//! A key as stores and indexes hold it: its own `Drop` never runs under a lock of ours.
//!
//! moka lets go of keys whenever its garbage is collected, which may be in the
//! middle of a write that holds the key's table lock. A key that dies there waits
//! in the graveyard like a value does.

use crate::graveyard;

/// A key that is buried when it is dropped under a vigil. Never empty before its drop.
pub(crate) struct Kept<K: 'static>(Option<K>);

impl<K> Kept<K> {
    pub(crate) fn new(key: K) -> Self {
        Self(Some(key))
    }

    /// The key itself.
    pub(crate) fn key(&self) -> Option<&K> {
        self.0.as_ref()
    }
}

impl<K: PartialEq> PartialEq for Kept<K> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<K: Eq> Eq for Kept<K> {}

impl<K> Drop for Kept<K> {
    fn drop(&mut self) {
        if std::mem::needs_drop::<K>() {
            if let Some(key) = self.0.take() {
                graveyard::keep(key);
            }
        }
    }
}
