//! The flight table: which keys are being loaded, and the lock under which keys change.
//!
//! Law L5 rests on this file. Every load is registered here from before it reads
//! the origin until it has really ended. Whatever changes a key (a landing, an
//! insert, an invalidation) holds the key's shard lock while it touches the store,
//! so "may this load still be stored?" and "store it" are one step.
//!
//! The shards hold no user values beyond keys, wake nobody and call nothing but
//! the key's own `Eq`; hashes are computed and values dropped outside.

use std::borrow::Borrow;
use std::sync::Arc;

use hashbrown::HashTable;
use herdfeed::RejectReason;

use super::groups::Groups;
use super::{Doom, Flight};
use crate::clock::Moment;
use crate::cooling::{Cooling, Windows};
use crate::graveyard::Vigil;
use crate::group::Group;
use crate::herd::Crowd;
use crate::origin::call::Call;
use crate::sync::atomic::AtomicUsize;
use crate::sync::atomic::Ordering::{Relaxed, SeqCst};
use crate::sync::{Mutex, MutexGuard};

const SHARDS: usize = 64;

type Shared<K, V, E> = Arc<Flight<K, V, E>>;

/// All flights of one cache.
pub(crate) struct Table<K, V: Send + Sync + 'static, E> {
    shards: Box<[Mutex<Shard<K, V, E>>]>,
    flights: AtomicUsize,
    groups: Groups,
}

/// The keys of one lock.
pub(crate) struct Shard<K, V: Send + Sync + 'static, E> {
    rows: HashTable<Row<K, V, E>>,
    pub(crate) cooling: Cooling<K, E>,
}

/// One key that is being loaded.
///
/// Holds at least one flight; its key is theirs.
struct Row<K, V: Send + Sync + 'static, E> {
    hash: u64,
    /// The flight that callers may join.
    current: Option<Shared<K, V, E>>,
    /// Loads that nobody may join: superseded, overrun, or without single-flight.
    beside: Vec<Shared<K, V, E>>,
}

impl<K, V: Send + Sync + 'static, E> Row<K, V, E> {
    /// By identity: what a flight does to its own row must not depend on the application's `Eq`.
    fn holds(&self, flight: &Shared<K, V, E>) -> bool {
        self.current.iter().chain(&self.beside).any(|other| Arc::ptr_eq(other, flight))
    }

    fn is_of<Q: Eq + ?Sized>(&self, hash: u64, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        let first = self.current.as_ref().or(self.beside.first());
        self.hash == hash && first.is_some_and(|flight| flight.key.borrow() == key)
    }
}

impl<K: 'static, V: Send + Sync + 'static, E: 'static> Table<K, V, E> {
    pub(crate) fn new(cooling_places: usize, windows: Windows) -> Self {
        let each = cooling_places.div_ceil(SHARDS);
        let shard = |_| Mutex::new(Shard { rows: HashTable::new(), cooling: Cooling::new(each, windows) });
        Self { shards: (0..SHARDS).map(shard).collect(), flights: AtomicUsize::new(0), groups: Groups::default() }
    }

    /// Locks the shard of a key's hash.
    pub(crate) fn lock(&self, hash: u64) -> MutexGuard<'_, Shard<K, V, E>> {
        // The low bits choose the place within a table; take others.
        let index = usize::try_from((hash >> 48) % SHARDS as u64).unwrap_or(0);
        self.shards[index].lock()
    }

    /// S6: a place for one more flight, of `most`, out of the share of its group if it has one.
    pub(crate) fn reserve(&self, most: usize, group: Option<Group>) -> Result<Reserved<'_>, RejectReason> {
        if group.is_some_and(|group| !self.groups.take(group, most)) {
            return Err(RejectReason::GroupShare);
        }
        if self.flights.fetch_update(SeqCst, Relaxed, |n| (n < most).then_some(n + 1)).is_ok() {
            return Ok(Reserved { flights: &self.flights, groups: &self.groups, group });
        }
        if let Some(group) = group {
            self.groups.give_back(group);
        }
        Err(RejectReason::FlightsFull)
    }

    /// Gives back the place of a flight whose load has really ended.
    pub(crate) fn release(&self, group: Option<Group>) {
        drop(Reserved { flights: &self.flights, groups: &self.groups, group });
    }

    /// Flights whose load has not ended.
    pub(crate) fn len(&self) -> usize {
        self.flights.load(SeqCst)
    }

    /// Locks shard after shard for `visit`, which must be short.
    pub(crate) fn each_shard(&self, visit: impl Fn(&mut Shard<K, V, E>)) {
        for shard in &self.shards {
            let _vigil = Vigil::open();
            visit(&mut shard.lock());
        }
    }

    /// Shows every flight, shard by shard; `visit` must be short, it runs under the shard's lock.
    pub(crate) fn each(&self, mut visit: impl FnMut(&Shared<K, V, E>)) {
        for shard in &self.shards {
            for row in &shard.lock().rows {
                row.current.iter().chain(&row.beside).for_each(&mut visit);
            }
        }
    }
}

impl<K: 'static, V: Send + Sync + 'static, E: 'static> Shard<K, V, E> {
    /// The flight of this key that callers may join.
    pub(crate) fn current<Q: Eq + ?Sized>(&self, hash: u64, key: &Q) -> Option<&Shared<K, V, E>>
    where
        K: Borrow<Q>,
    {
        self.row(hash, key)?.current.as_ref().filter(|flight| !flight.fate.is_sealed())
    }

    /// L2: whether a new load of this key has to wait, since two superseded or overrun ones still run.
    ///
    /// Loads without single-flight that another one merely outran do not count: they were never one at a time.
    pub(crate) fn must_hold<Q: Eq + ?Sized>(&self, hash: u64, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        let over = |flight: &&Shared<K, V, E>| {
            matches!(flight.fate.doomed(), Some(Doom::Invalidated | Doom::NewerWrite)) || flight.has_ended()
        };
        self.row(hash, key).is_some_and(|row| row.beside.iter().filter(over).count() >= 2)
    }

    /// O1: whether a load of this key runs that a caller would share if single-flight were on.
    pub(crate) fn shared_load<Q: Eq + ?Sized>(&self, hash: u64, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        let superseded =
            |flight: &Shared<K, V, E>| matches!(flight.fate.doomed(), Some(Doom::Invalidated | Doom::NewerWrite));
        let shared = |flight: &Shared<K, V, E>| !flight.has_ended() && flight.spared().is_none() && !superseded(flight);
        self.row(hash, key).is_some_and(|row| row.current.iter().chain(&row.beside).any(shared))
    }

    /// S5: whether one of the calls that load this very key `is` so.
    pub(crate) fn any_call<Q: Eq + ?Sized>(&self, hash: u64, key: &Q, is: impl Fn(&Arc<Call>) -> bool) -> bool
    where
        K: Borrow<Q>,
    {
        let Some(row) = self.row(hash, key) else { return false };
        row.current.iter().chain(&row.beside).filter_map(|flight| flight.call()).any(|call| is(&call))
    }

    /// Loads of the key of this hash in progress, joined or not.
    pub(crate) fn loads(&self, hash: u64) -> usize {
        let row = self.rows.find(hash, |row| row.hash == hash);
        row.map_or(0, |row| row.beside.len() + usize::from(row.current.is_some()))
    }

    /// Callers that wait for loads of the key of this hash, and its loads.
    pub(crate) fn crowd(&self, hash: u64) -> Crowd {
        let Some(row) = self.rows.find(hash, |row| row.hash == hash) else { return Crowd { waiters: 0, loads: 0 } };
        let flights = row.current.iter().chain(&row.beside);
        let waiters = flights.clone().map(|flight| flight.waiting()).sum();
        Crowd { waiters, loads: flights.count() as u64 }
    }

    fn row<Q: Eq + ?Sized>(&self, hash: u64, key: &Q) -> Option<&Row<K, V, E>>
    where
        K: Borrow<Q>,
    {
        self.rows.find(hash, |row| row.is_of(hash, key))
    }

    /// Registers a flight: as the one to join, or as one beside it.
    pub(crate) fn open(&mut self, flight: &Shared<K, V, E>, seat: Seat)
    where
        K: Eq,
    {
        let hash = flight.hash;
        let row = self
            .rows
            .entry(hash, |row| row.is_of(hash, &flight.key), |row| row.hash)
            .or_insert_with(|| Row { hash, current: None, beside: Vec::new() })
            .into_mut();
        match seat {
            Seat::Current => row.beside.extend(row.current.replace(Arc::clone(flight))),
            Seat::Beside => row.beside.push(Arc::clone(flight)),
        }
    }

    /// L5: supersedes every load of this key that has begun. Callers from now on start anew.
    ///
    /// A flight that is held back has not begun: its load starts after this and stays current.
    pub(crate) fn doom<Q: Eq + ?Sized>(&mut self, hash: u64, key: &Q, doom: Doom)
    where
        K: Borrow<Q>,
    {
        let Some(row) = self.rows.find_mut(hash, |row| row.is_of(hash, key)) else { return };
        row.beside.extend(row.current.take_if(|current| !current.is_held()));
        if let Some(held) = &row.current {
            held.fate.outdate();
        }
        for flight in &row.beside {
            flight.fate.doom(doom);
        }
    }

    /// W2: what loads of this key bring that have begun may be from before now.
    pub(crate) fn outpace<Q: Eq + ?Sized>(&self, hash: u64, key: &Q)
    where
        K: Borrow<Q>,
    {
        let Some(row) = self.row(hash, key) else { return };
        row.current
            .iter()
            .chain(&row.beside)
            .filter(|flight| !flight.is_held())
            .for_each(|flight| flight.fate.outpace());
    }

    /// L5: supersedes every load that began before `moment`, and ends all cooling.
    pub(crate) fn doom_all(&mut self, moment: Moment) {
        for row in &mut self.rows {
            row.beside.extend(row.current.take_if(|current| !current.is_held() && current.started <= moment));
            if let Some(held) = row.current.iter().find(|current| current.is_held()) {
                held.fate.outdate();
            }
            row.beside
                .iter()
                .filter(|flight| flight.started <= moment)
                .for_each(|flight| flight.fate.doom(Doom::Invalidated));
        }
        self.cooling.clear();
    }

    /// L5: a load has been stored; loads of its key that began before it may not be stored over it.
    pub(crate) fn outrun(&mut self, by: &Shared<K, V, E>) {
        let Some(row) = self.rows.find_mut(by.hash, |row| row.holds(by)) else { return };
        // Only without single-flight can the current flight be older than another that lands.
        row.beside.extend(row.current.take_if(|current| current.began_before(by)));
        row.beside.iter().filter(|flight| flight.began_before(by)).for_each(|flight| flight.fate.doom(Doom::Outrun));
    }

    /// Whether this very flight is registered.
    pub(crate) fn holds(&self, flight: &Shared<K, V, E>) -> bool {
        self.rows.find(flight.hash, |row| row.holds(flight)).is_some()
    }

    /// S7: nobody may join this flight any more, though its load goes on.
    pub(crate) fn set_aside(&mut self, flight: &Shared<K, V, E>) {
        let Some(row) = self.rows.find_mut(flight.hash, |row| row.holds(flight)) else { return };
        row.beside.extend(row.current.take_if(|current| Arc::ptr_eq(current, flight)));
    }

    /// S2: takes out this very flight and no other.
    ///
    /// Gives the flight that may have waited for it to end.
    pub(crate) fn remove(&mut self, flight: &Shared<K, V, E>) -> Removed<K, V, E> {
        let Ok(mut found) = self.rows.find_entry(flight.hash, |row| row.holds(flight)) else {
            return Removed { held: None, gone: None };
        };
        let row = found.get_mut();
        let gone = row.current.take_if(|current| Arc::ptr_eq(current, flight)).or_else(|| {
            let place = row.beside.iter().position(|other| Arc::ptr_eq(other, flight));
            place.map(|place| row.beside.swap_remove(place))
        });
        let held = row.current.clone();
        if row.current.is_none() && row.beside.is_empty() {
            found.remove();
        }
        Removed { held, gone }
    }
}

/// What taking out a flight leaves behind; to be dropped outside the lock.
pub(crate) struct Removed<K, V: Send + Sync + 'static, E> {
    /// The key's current flight, which may have been held back.
    pub(crate) held: Option<Shared<K, V, E>>,
    /// The flight itself, if it was there.
    pub(crate) gone: Option<Shared<K, V, E>>,
}

/// A place in the table, given back if it is dropped before a flight took it.
pub(crate) struct Reserved<'a> {
    flights: &'a AtomicUsize,
    groups: &'a Groups,
    group: Option<Group>,
}

impl Reserved<'_> {
    /// A flight has taken the place, and gives it back when its load has ended.
    pub(crate) fn taken(self) {
        std::mem::forget(self);
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        self.flights.fetch_sub(1, Relaxed);
        if let Some(group) = self.group {
            self.groups.give_back(group);
        }
    }
}

/// Where a flight is registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seat {
    /// Callers of its key may join it.
    Current,
    /// Nobody may join it.
    Beside,
}

#[cfg(test)]
mod tests;
