//! A flight: one running load of one key, and those who wait for it.
//!
//! A flight lands once. What it brought is set first and the waiters are woken
//! after that, outside every lock. It knows nothing of loading or storing.

mod crew;
mod fate;
mod groups;
mod landing;
mod stage;
pub(crate) mod table;
mod waiters;

use std::sync::Arc;
use std::task::Waker;

use herdfeed::{FlightTrigger, MissCause, Stage};

use crate::account::Spared;
use crate::clock::Moment;
use crate::contained::contained;
use crate::entry::{Entry, Stored};
use crate::group::Group;
use crate::measures::Policy;
use crate::origin::call::Call;
use crate::sync::atomic::Ordering::{AcqRel, Relaxed};
use crate::sync::atomic::{AtomicBool, AtomicU8, AtomicU64};
use crate::sync::plain::atomic as plain;
use crate::sync::task::AbortHandle;
use crate::sync::{Mutex, Notify, OnceLock};
use crate::tags::Epoch;
use crate::trace::Log;

use crew::Crew;
pub(crate) use crew::{Leash, Serves};
pub(crate) use fate::{Doom, Fate};
pub(crate) use landing::Landing;
use stage::{STAGES, stage_code};
use waiters::Waiters;

/// One running load of one key.
pub(crate) struct Flight<K, V: Send + Sync + 'static, E> {
    pub(crate) id: u64,
    pub(crate) key: K,
    pub(crate) hash: u64,
    pub(crate) trigger: FlightTrigger,
    pub(crate) cause: Option<MissCause>,
    /// S6: whose share it is of.
    pub(crate) group: Option<Group>,
    pub(crate) started: Moment,
    pub(crate) deadline: Moment,
    /// O1: the measures that were on when it opened.
    pub(crate) policy: Policy,
    /// What the store held when the flight was registered, for those whom the load fails.
    previous: OnceLock<Stored<V>>,
    landed: OnceLock<Landing<V, E>>,
    waiters: Mutex<Waiters>,
    stage: AtomicU8,
    /// The runtime that it opened on; 0 if on none.
    home: u64,
    /// What changes of its key have done to it.
    pub(crate) fate: Fate,
    crew: Mutex<Crew>,
    /// Whether a task at home watches over its limits.
    watched: AtomicBool,
    /// Whether its one end has been claimed.
    ended: AtomicBool,
    /// Whether its start was told as an event.
    told: AtomicBool,
    /// F5: a caller was answered an older value and left the load to go on.
    wanted: AtomicBool,
    /// L5: its load's place among all loads of the process, by when they began to read; 0 before.
    begun: AtomicU64,
    /// O1: why protection would have spared it; set as it is registered, if at all.
    spared: OnceLock<Spared>,
    call: Mutex<Option<Arc<Call>>>,
    /// When the origin call must be over; 0 before it starts.
    pub(crate) call_deadline: AtomicU64,
    /// Told when an older load of the key has ended.
    pub(crate) may_start: Notify,
    pub(crate) trace: Log,
}

/// Loads are numbered as they begin, from 1.
static NEXT_LOAD: plain::AtomicU64 = plain::AtomicU64::new(1);

/// A caller's place among a flight's waiters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot(u32);

/// What became of a request to wait.
pub(crate) enum Joined {
    /// Among the waiters, of whom there are `waiters` now.
    Waiting { slot: Slot, waiters: u64 },
    /// It had landed already.
    Landed,
    /// There are as many waiters as there may be.
    Full,
}

/// What opens a flight.
pub(crate) struct Opening<K> {
    pub(crate) id: u64,
    pub(crate) key: K,
    pub(crate) hash: u64,
    pub(crate) trigger: FlightTrigger,
    pub(crate) cause: Option<MissCause>,
    pub(crate) group: Option<Group>,
    pub(crate) started: Moment,
    pub(crate) deadline: Moment,
    pub(crate) policy: Policy,
    /// The runtime that it opens on; 0 if on none.
    pub(crate) home: u64,
    /// How many invalidations of tags there have been.
    pub(crate) epoch: Epoch,
    pub(crate) trace: Log,
}

impl<K, V: Send + Sync + 'static, E> Flight<K, V, E> {
    pub(crate) fn new(opening: Opening<K>) -> Self {
        let Opening { id, key, hash, trigger, cause, group, started, deadline, policy, home, epoch, trace } = opening;
        Self {
            id,
            key,
            hash,
            trigger,
            cause,
            group,
            started,
            deadline,
            policy,
            home,
            fate: Fate::new(epoch),
            previous: OnceLock::new(),
            landed: OnceLock::new(),
            waiters: Mutex::new(Waiters::default()),
            stage: AtomicU8::new(stage_code(Stage::Queued)),
            crew: Mutex::new(Crew::default()),
            watched: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            told: AtomicBool::new(false),
            wanted: AtomicBool::new(false),
            begun: AtomicU64::new(0),
            spared: OnceLock::new(),
            call: Mutex::new(None),
            call_deadline: AtomicU64::new(0),
            may_start: Notify::new(),
            trace,
        }
    }

    /// What it brought, once it has landed.
    pub(crate) fn landing(&self) -> Option<&Landing<V, E>> {
        self.landed.get()
    }

    /// Remembers what the store holds as the flight is registered.
    pub(crate) fn set_previous(&self, stored: Option<Stored<V>>) {
        if let Some(stored) = stored {
            let _ = self.previous.set(stored);
        }
    }

    /// What the store held when the flight was registered.
    pub(crate) fn previous(&self) -> Option<&Stored<V>> {
        self.previous.get()
    }

    /// What those whom the load fails may fall back to.
    pub(crate) fn reserve(&self) -> Option<&Stored<V>> {
        if self.fate.is_outdated() { None } else { self.previous() }
    }

    /// The value to fall back to, if there is one.
    pub(crate) fn previous_entry(&self) -> Option<&Arc<Entry<V>>> {
        match self.reserve() {
            Some(Stored::Value(entry)) => Some(entry),
            Some(Stored::Absent(_)) | None => None,
        }
    }

    /// Adds a waiter, of `most` at once.
    pub(crate) fn join(&self, waker: Waker, most: usize) -> Joined {
        let mut waiters = self.waiters.lock();
        if self.landed.get().is_some() {
            return Joined::Landed;
        }
        match waiters.add(waker, most) {
            Some(slot) => Joined::Waiting { slot: Slot(slot), waiters: waiters.len() },
            None => Joined::Full,
        }
    }

    /// Renews a waiter's waker; its landing if there is one by now.
    pub(crate) fn poll(&self, slot: Slot, waker: &Waker) -> Option<&Landing<V, E>> {
        if let Some(landing) = self.landed.get() {
            return Some(landing);
        }
        // Cloned outside the lock: a waker's clone is foreign code.
        let fresh = waker.clone();
        let replaced = {
            let mut waiters = self.waiters.lock();
            if self.landed.get().is_none() { waiters.renew(slot.0, fresh) } else { None }
        };
        drop(replaced);
        self.landed.get()
    }

    /// Takes a waiter out who goes before the landing.
    pub(crate) fn leave(&self, slot: Slot) {
        let gone = self.waiters.lock().remove(slot.0);
        drop(gone);
    }

    /// How many wait now.
    pub(crate) fn waiting(&self) -> u64 {
        self.waiters.lock().len()
    }

    /// The most that waited at once.
    pub(crate) fn most_waiting(&self) -> u64 {
        self.waiters.lock().most()
    }

    /// L1: claims the flight's one end: its load, its deadline or a shutdown, whichever comes first.
    pub(crate) fn claim_end(&self) -> bool {
        !self.ended.swap(true, AcqRel)
    }

    /// Sets what the flight brought, wakes everyone and stops its tasks. Only for who has claimed the end.
    pub(crate) fn land(&self, landing: Landing<V, E>) {
        let _ = self.landed.set(landing);
        self.set_stage(Stage::Landed);
        let wakers = self.waiters.lock().take();
        for waker in wakers {
            // S2: foreign code. One that panics must not let the others sleep for ever.
            let _ = contained(|| waker.wake());
        }
        let crew = std::mem::take(&mut self.crew.lock().serving);
        crew.into_iter().for_each(Serves::dismiss);
    }

    /// The call to the origin that this flight makes, instead of the one that it was to make.
    pub(crate) fn set_call(&self, call: &Arc<Call>) {
        let old = self.call.lock().replace(Arc::clone(call));
        drop(old);
        // Whoever came before is left in the crew; whoever comes later finds this call.
        let patron = self.crew.lock().patron.clone();
        if let Some(patron) = patron {
            call.take_patron(patron);
        }
    }

    /// S5: the loader of `patron` waits for this flight, whose call may be made anew, or not have been made yet.
    pub(crate) fn take_patron(&self, patron: Arc<Call>) {
        // Left first, looked for then: either this call is the last, or `set_call` sees what is left here.
        let patron = Arc::clone(self.crew.lock().patron.get_or_insert(patron));
        if let Some(call) = self.call() {
            call.take_patron(patron);
        }
    }

    /// The call to the origin, once there is one.
    pub(crate) fn call(&self) -> Option<Arc<Call>> {
        self.call.lock().clone()
    }

    /// L5: its load is about to be polled for the first time, or not for the first.
    ///
    /// Loads may begin in another order than their flights were opened in: some are polled in place, others spawned.
    pub(crate) fn begins(&self) {
        if self.begun.load(Relaxed) == 0 {
            self.begun.store(NEXT_LOAD.fetch_add(1, Relaxed), Relaxed);
        }
    }

    /// L5: whether its load began to read before another's.
    pub(crate) fn began_before(&self, other: &Self) -> bool {
        let own = self.begun.load(Relaxed);
        own > 0 && own < other.begun.load(Relaxed)
    }

    /// Whether the one who opened it waits for it among the waiters.
    pub(crate) fn has_leader(&self) -> bool {
        match self.trigger {
            FlightTrigger::Miss | FlightTrigger::Batch => true,
            FlightTrigger::Stale | FlightTrigger::Early | FlightTrigger::Forced | FlightTrigger::Warmup => false,
        }
    }

    /// Whether its call has begun and nobody at home watches over its limits yet.
    pub(crate) fn is_unwatched(&self) -> bool {
        !self.watched.load(Relaxed) && self.call_deadline.load(Relaxed) > 0
    }

    pub(crate) fn set_stage(&self, stage: Stage) {
        self.stage.store(stage_code(stage), Relaxed);
    }

    /// L2: whether it waits for older loads of its key to end.
    pub(crate) fn is_held(&self) -> bool {
        self.stage.load(Relaxed) == stage_code(Stage::Held)
    }

    /// How far it has come, for display.
    pub(crate) fn stage(&self) -> Stage {
        let doomed = self.fate.doomed().is_some();
        match STAGES[usize::from(self.stage.load(Relaxed)) % STAGES.len()] {
            Stage::Landed => Stage::Landed,
            _ if doomed => Stage::Doomed,
            stage => stage,
        }
    }

    /// S7: whether a waiter on runtime `here` has to see to it that somebody watches over the limits.
    ///
    /// At home a watch is set once the call has begun. A home that nobody drives can neither run
    /// the load nor watch it, so each other runtime with a waiter watches for itself.
    pub(crate) fn wants_watch(&self, here: u64) -> bool {
        if here == self.home {
            return self.call_deadline.load(Relaxed) > 0 && self.claim_watch();
        }
        self.crew.lock().watches_from(here)
    }

    /// Claims the duty to watch at home; true for the first who asks.
    pub(crate) fn claim_watch(&self) -> bool {
        !self.watched.load(Relaxed) && !self.watched.swap(true, Relaxed)
    }

    /// A task that must end with the flight. Stopped at once if the flight is over.
    pub(crate) fn adopt(&self, task: AbortHandle) {
        self.enlist(Serves::Alone(task));
    }

    /// Somebody who serves the flight until it ends. Dismissed at once if it is over.
    pub(crate) fn enlist(&self, one: Serves) {
        let mut crew = self.crew.lock();
        if self.landed.get().is_some() {
            drop(crew);
            one.dismiss();
        } else {
            crew.serving.push(one);
        }
    }

    /// When it must be over: its call, or all of it while the call has not begun.
    pub(crate) fn limit(&self) -> Moment {
        match self.call_deadline.load(Relaxed) {
            0 => self.deadline,
            call => call,
        }
    }

    /// Its start is told as an event, so its end will be.
    pub(crate) fn set_told(&self) {
        self.told.store(true, Relaxed);
    }

    /// Whether its start was told as an event.
    pub(crate) fn was_told(&self) -> bool {
        self.told.load(Relaxed)
    }

    /// O1: protection would have spared it.
    pub(crate) fn spare(&self, why: Spared) {
        let _ = self.spared.set(why);
    }

    /// O1: why protection would have spared it, if it would.
    pub(crate) fn spared(&self) -> Option<Spared> {
        self.spared.get().copied()
    }

    /// F5: it is to go on though its caller leaves.
    pub(crate) fn want(&self) {
        self.wanted.store(true, Relaxed);
    }

    /// Whether it is to go on though nobody waits.
    pub(crate) fn is_wanted(&self) -> bool {
        self.wanted.load(Relaxed)
    }

    /// Whether its end has been claimed.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Relaxed)
    }
}
