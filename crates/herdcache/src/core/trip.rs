//! What one flight has to do with the shared tier, and whether it may ask it.

use std::sync::Arc;

use herdfeed::SharedRead;

use super::lease::Held;
use super::{Core, SharedOf};
use crate::clock::Moment;
use crate::entry::Stored;
use crate::key::Key;
use crate::shared::{LeaseSight, SharedKey, Tail};
use crate::store::Store;
use crate::sync::Mutex;
use crate::trace::Kept;

/// What one flight has to do with the shared tier.
pub(super) struct Trip<V: Send + Sync + 'static> {
    pub(super) tiers: Arc<SharedOf<V>>,
    /// `None` if the key has no text.
    pub(super) key: Option<SharedKey>,
    pub(super) state: Mutex<TripState<V>>,
}

pub(super) struct TripState<V: Send + Sync + 'static> {
    pub(super) way: Way,
    /// When the tier was asked last, and its answer judged.
    pub(super) looked: Moment,
    /// The token under the key when it was read.
    pub(super) seen: u64,
    pub(super) held: Option<Arc<Held>>,
    /// Whether tier and lease count by one counter. A lease that is kept elsewhere fences nothing.
    pub(super) sight: LeaseSight,
    /// What the load brought and the tier is to have.
    pub(super) brought: Option<Stored<V>>,
    /// What a shutdown waits for that by.
    pub(super) tail: Option<Tail>,
    /// The flight's span, of which that is a part.
    pub(super) kept: Kept,
    /// When another process's lease is over, where the tier itself cannot tell.
    pub(super) lease_over: Moment,
}

/// Whether a flight may ask the tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Clear,
    /// T4: an operation of this flight has failed.
    Faulty,
    /// T4: the circuit is open.
    Shut,
    /// W2: a change of the key waits that the tier has not heard of.
    Bypass,
    /// The key has no text.
    Nameless,
}

impl<V: Send + Sync + 'static> Trip<V> {
    pub(super) fn is_clear(&self) -> bool {
        self.state.lock().way == Way::Clear
    }

    pub(super) fn looked(&self) -> Moment {
        self.state.lock().looked
    }

    /// When another process's lease is over, where nothing but its time tells; 0 where the tier does.
    pub(super) fn lease_is_over_at(&self) -> Moment {
        let state = self.state.lock();
        if state.sight == LeaseSight::Unknown { state.lease_over } else { 0 }
    }

    /// T4: an operation has failed; no other is sent.
    pub(super) fn faulted(&self) {
        let mut state = self.state.lock();
        state.way = Way::Faulty;
        if let Some(held) = &state.held {
            held.has_failed();
        }
    }

    pub(super) fn way(&self) -> Way {
        let state = self.state.lock();
        if state.held.as_ref().is_some_and(|held| held.is_faulty()) { Way::Faulty } else { state.way }
    }
}

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> Core<K, V, E, S> {
    /// What a flight of this key has to do with the shared tier; `None` where there is none.
    pub(super) fn trip(&self, key: &K, now: Moment) -> Option<Box<Trip<V>>> {
        let tiers = self.shared.as_ref()?;
        let key = tiers.key(key);
        let way = match &key {
            None => Way::Nameless,
            Some(key) if tiers.outbox.holds(key) => Way::Bypass,
            Some(_) if tiers.link.shut_until().is_some_and(|until| now < until) => {
                tiers.link.account.reads.add(SharedRead::BreakerOpen);
                Way::Shut
            }
            Some(_) => Way::Clear,
        };
        let state = Mutex::new(TripState {
            way,
            looked: now,
            seen: 0,
            held: None,
            sight: LeaseSight::Unknown,
            brought: None,
            tail: None,
            kept: Kept::nothing(),
            lease_over: 0,
        });
        Some(Box::new(Trip { tiers: Arc::clone(tiers), key, state }))
    }
}
