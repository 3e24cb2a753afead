//! Writing: what a load brought, what the application inserts, what it invalidates.
//!
//! L5 is held here. Each of the three takes the key's shard lock, so that a load
//! that began before a change of its key can never be stored after it.

use std::borrow::Borrow;
use std::hash::Hash;
use std::sync::Arc;

use herdfeed::{DiscardReason, Law, Measure};

use super::Core;
use crate::clock::{self, Moment, nanos};
use crate::entry::{Entry, Stamps, Stored, Word};
use crate::flight::{Doom, Flight};
use crate::freshness::{Bounds, Freshness};
use crate::graveyard::Vigil;
use crate::kept::Kept;
use crate::key::Key;
use crate::loaded::{Keep, Loaded, What};
use crate::marks::{LONGEST_TAG, MOST_TAGS, Marks};
use crate::measures::Policy;
use crate::shared::outbox::Change;
use crate::spread::Ticket;
use crate::store::Store;
use crate::sync::atomic::Ordering::Relaxed;
use crate::tags::{Epoch, Tags};

/// What became of a load's value.
pub(super) enum Written<V: Send + Sync + 'static> {
    Stored,
    Discarded(DiscardReason),
    /// A newer version is there, and is what callers get.
    Older(Stored<V>),
}

/// The load that brought a value.
pub(super) struct LoadedBy<'a, V: Send + Sync + 'static> {
    /// How long it took, in nanoseconds; 0 if the application wrote the value itself.
    pub(super) took_ns: u64,
    /// The value that the load may have confirmed.
    pub(super) previous: Option<&'a Arc<Entry<V>>>,
}

/// A value that has less freshness left than this when it arrives is taken for stale.
const NEARLY: Moment = 1_000_000;

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> Core<K, V, E, S> {
    /// The store's form of a loaded value that arrived at `now`; `None` if it confirms a value that there is not.
    pub(super) fn stored(
        &self,
        loaded: Loaded<V>,
        policy: Policy,
        now: Moment,
        load: &LoadedBy<'_, V>,
    ) -> Option<Stored<V>> {
        let ttl = loaded.ttl(&self.settings.ttl, self.settings.negative_ttl);
        let born = now.saturating_sub(nanos(loaded.source_age));
        let jitter = if policy.has(Measure::Jitter) { self.settings.jitter } else { 0.0 };
        let bounds = Bounds::new(born, &ttl, jitter, fastrand::f64());
        let word = match (&loaded.what, loaded.stale_for) {
            (What::Value(_) | What::NotModified, None) => Word::Cache,
            (What::Value(_) | What::NotModified, Some(_)) => Word::Loader,
            (What::Absent, _) => Word::Fixed,
        };
        let (value, mut marks) = match loaded.what {
            What::Value(value) => (Some(value), loaded.marks),
            What::Absent => (None, loaded.marks),
            What::NotModified => {
                let confirmed = load.previous?;
                (Some(Arc::clone(&confirmed.value)), Marks::or(loaded.marks, confirmed.stamps.marks()))
            }
        };
        if let Some(marks) = &mut marks {
            marks.number();
        }
        let stamps = Stamps::new(born, load.took_ns, bounds, word, marks);
        // R1: what arrives stale, or nearly so, is not refreshed at every read.
        if bounds.soft <= now.saturating_add(NEARLY) {
            stamps.cool_until(now.saturating_add(nanos(self.settings.cooling_base)));
        }
        Some(match value {
            Some(value) => Stored::Value(Arc::new(Entry { value, stamps })),
            None => Stored::Absent(Arc::new(stamps)),
        })
    }

    /// W1: stores what a flight brought, if it may still be stored, and ends the key's cooling.
    pub(super) fn write_back(
        &self,
        flight: &Arc<Flight<K, V, E>>,
        stored: &Stored<V>,
        keep: Keep,
        now: Moment,
    ) -> Written<V> {
        let key = flight.key.clone();
        let tagged = Tagged::new(stored, &key);
        let _vigil = Vigil::open();
        let mut shard = self.table.lock(flight.hash);
        // Asked first: who joined after a tag's invalidation must not get it, whatever else has become of the flight.
        let overtaken = self.leavings.tags.invalidated(stored.stamps().tags()) > flight.fate.epoch();
        if overtaken {
            flight.fate.cut_off();
        }
        if let Some(doom) = flight.fate.doomed() {
            return Written::Discarded(match doom {
                Doom::Invalidated => DiscardReason::Invalidated,
                Doom::NewerWrite | Doom::Outrun => DiscardReason::NewerWrite,
            });
        }
        if !shard.holds(flight) {
            // Law L5: a load that is not registered has no business here.
            self.account.laws.add(Law::L5);
            return Written::Discarded(DiscardReason::Invalidated);
        }
        shard.cooling.end(flight.hash, &flight.key);
        if flight.has_ended() {
            // W2: whether its tags were invalidated is asked here for the last time. Who joined between this and its leaving
            // the table would get what an invalidation in between forgot, where nothing of it is in the store to be found.
            flight.fate.seal();
        }
        if overtaken {
            return Written::Discarded(DiscardReason::Invalidated);
        }
        match keep {
            Keep::DoNotStore => Written::Discarded(DiscardReason::DoNotStore),
            Keep::Store => {
                if let Some(reason) = self.unfit(stored, now) {
                    return Written::Discarded(reason);
                }
                if let Some(newer) = self.newer(&key, stored, now) {
                    // R1: the next read would find the same lagging source.
                    newer.stamps().cool_until(now.saturating_add(nanos(self.settings.cooling_base)));
                    return Written::Older(newer);
                }
                if flight.fate.is_outpaced() {
                    stored.stamps().mark_stale(now);
                    // R1: as for everything that arrives stale.
                    stored.stamps().cool_until(now.saturating_add(nanos(self.settings.cooling_base)));
                }
                // Listed before it is stored: an invalidation of a tag from here on finds the key, and waits for this lock.
                let overtaken = tagged.map_or(Epoch::default(), |tagged| tagged.admit(&self.leavings.tags));
                if overtaken > flight.fate.epoch() {
                    // Its tag was invalidated between the look and the listing.
                    if let Some(marks) = stored.stamps().marks() {
                        self.leavings.tags.leave(marks);
                    }
                    flight.fate.cut_off();
                    return Written::Discarded(DiscardReason::Invalidated);
                }
                self.store.put(key, stored.clone());
                shard.outrun(flight);
                Written::Stored
            }
        }
    }

    /// What is stored under the key, if it is of a newer version and may still be answered.
    fn newer(&self, key: &K, stored: &Stored<V>, now: Moment) -> Option<Stored<V>> {
        let version = stored.stamps().marks()?.version?;
        let there = self.store.get(key)?;
        let newer = there.stamps().marks()?.version? > version;
        (newer && self.in_force.judge(there.stamps(), now) <= Freshness::Stale).then_some(there)
    }

    /// Why a value may not be stored at all.
    fn unfit(&self, stored: &Stored<V>, now: Moment) -> Option<DiscardReason> {
        let stamps = stored.stamps();
        if stamps.tags().len() > MOST_TAGS || stamps.tags().iter().any(|tag| tag.len() > LONGEST_TAG) {
            return Some(DiscardReason::Oversize);
        }
        (self.in_force.judge(stamps, now) == Freshness::Expired).then_some(DiscardReason::TooOld)
    }

    /// The application's own value: newer than every load in progress.
    pub(crate) fn insert(&self, key: K, loaded: Loaded<V>, ticket: Option<&Arc<Ticket>>) {
        let hash = self.hash(&key);
        let (now, keep) = (clock::exact(), loaded.keep);
        let load = LoadedBy { took_ns: 0, previous: None };
        let stored = self.stored(loaded, self.measures.read(), now, &load);
        // It confirms nothing: there is no load that was given a value.
        let Some(stored) = stored else { return };
        let unfit = if keep == Keep::Store { self.unfit(&stored, now) } else { Some(DiscardReason::DoNotStore) };
        let tagged = if unfit.is_none() { Tagged::new(&stored, &key) } else { None };
        // T5: what comes too late here is not told to others either.
        if let Some(ticket) = ticket.filter(|_| self.newer(&key, &stored, now).is_none()) {
            let change = if unfit.is_none() { Change::Write(stored.clone()) } else { Change::Remove };
            self.post(&key, change, ticket);
        }
        let _vigil = Vigil::open();
        let mut shard = self.table.lock(hash);
        // A version that comes too late changes nothing, and no load that reads a newer one.
        if self.newer(&key, &stored, now).is_some() {
            self.account.discards.add(DiscardReason::OlderVersion);
            return;
        }
        shard.doom(hash, &key, Doom::NewerWrite);
        shard.cooling.end(hash, &key);
        if let Some(reason) = unfit {
            // What cannot be stored is newer than what is there all the same.
            self.account.discards.add(reason);
            return self.store.remove(&key);
        }
        tagged.map(|tagged| tagged.admit(&self.leavings.tags));
        // The only handle: a value that is removed at once dies with whoever removes it, not in this caller's hands.
        self.store.put(key, stored);
    }

    /// W1: forgets the key, and every load of it that is in progress.
    pub(crate) fn invalidate<Q>(&self, key: &Q, ticket: Option<&Arc<Ticket>>)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        if let Some(ticket) = ticket {
            self.post(&key.to_owned(), Change::Remove, ticket);
        }
        let hash = self.hash(key);
        self.account.invalidations.fetch_add(1, Relaxed);
        let _vigil = Vigil::open();
        let mut shard = self.table.lock(hash);
        shard.doom(hash, key, Doom::Invalidated);
        shard.cooling.end(hash, key);
        self.store.remove(key);
    }
}

/// An entry's tags and its key, to be listed; made before any lock is taken, since it clones the key.
struct Tagged<'a, K: 'static> {
    marks: &'a Marks,
    key: Arc<Kept<K>>,
}

impl<'a, K: Clone> Tagged<'a, K> {
    fn new<V: Send + Sync + 'static>(stored: &'a Stored<V>, key: &K) -> Option<Self> {
        let marks = stored.stamps().marks().filter(|marks| !marks.tags.is_empty())?;
        Some(Self { marks, key: Arc::new(Kept::new(key.clone())) })
    }

    fn admit(self, tags: &Tags<K>) -> Epoch {
        tags.admit(self.marks, &self.key)
    }
}
