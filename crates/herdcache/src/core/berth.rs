//! A place in the flight table that a caller has reserved and may not need.
//!
//! X1: a shutdown waits until no place is taken. One that is given back unused, since
//! somebody else opened the flight or the cache was closed meanwhile, is news for it
//! just as the end of a load is.

use herdfeed::RejectReason;

use super::Core;
use crate::flight::table::Reserved;
use crate::group::Group;
use crate::key::Key;
use crate::store::Store;

/// A reserved place. Dropped, it is given back, and a shutdown is told.
pub(super) struct Berth<'a, K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> {
    core: &'a Core<K, V, E, S>,
    place: Option<Reserved<'a>>,
}

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> Core<K, V, E, S> {
    /// S6: a place for one more flight, if the cache and the group have one left.
    pub(super) fn reserve(&self, group: Option<Group>) -> Result<Berth<'_, K, V, E, S>, RejectReason> {
        let place = self.table.reserve(self.settings.max_flights, group)?;
        Ok(Berth { core: self, place: Some(place) })
    }
}

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> Berth<'_, K, V, E, S> {
    /// A flight has taken the place.
    pub(super) fn taken(mut self) {
        if let Some(place) = self.place.take() {
            place.taken();
        }
    }
}

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> Drop for Berth<'_, K, V, E, S> {
    fn drop(&mut self) {
        if let Some(place) = self.place.take() {
            drop(place);
            self.core.tell_quiet();
        }
    }
}
