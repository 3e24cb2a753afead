//! Permits and the queue for them: one lock, a fair order, a permit that never gets lost.
//!
//! Within a group whoever came first is served first; groups are served in turn,
//! so that a flood of one delays another by one permit at a time. Without groups
//! all are of one, and the order is that of arrival. Time, classes and the account
//! are not known here. A waiter is woken outside the lock.

use std::collections::BTreeMap;
use std::sync::Arc;

use herdfeed::RejectReason;

use crate::by_hash::ByHash;
use crate::contained::contained;
use crate::group::Group;
use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use crate::sync::{Mutex, oneshot};

/// Permits of a gate, and those who wait for one.
pub(super) struct Queue {
    /// The most that wait.
    places: usize,
    state: Mutex<State>,
    /// How many wait, to be read without the lock.
    waiting: AtomicUsize,
    /// Permits that may be out at once, to be read without the lock.
    limit: AtomicUsize,
    /// Whether every permit was out at some moment since somebody asked.
    was_full: AtomicBool,
}

struct State {
    limit: usize,
    out: usize,
    waiting: usize,
    /// Numbers waiters and turns in the order of their arrival.
    next: u64,
    /// Groups of which somebody waits; L7: no more than waiters.
    lines: ByHash<Line>,
    /// Whose turn it is: a group's number of its turn, and the group.
    turns: BTreeMap<u64, u64>,
}

/// The waiters of one group.
struct Line {
    turn: u64,
    waiters: BTreeMap<u64, oneshot::Sender<Answer>>,
}

/// What a waiter is told: a permit, or why there will be none.
pub(super) type Answer = Result<Slot, RejectReason>;

/// One permit, given back when dropped. To the next who waits, if there is one.
pub(super) struct Slot(Option<Arc<Queue>>);

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(queue) = self.0.take() {
            queue.pass_on(1);
        }
    }
}

/// What somebody who asks gets.
pub(super) enum Entry {
    Free(Slot),
    Waits(Waiter),
    Refused(RejectReason),
}

/// A place in the queue, free at once when dropped; a permit that was on its way goes to the next.
pub(super) struct Waiter {
    queue: Arc<Queue>,
    group: u64,
    number: u64,
    answer: oneshot::Receiver<Answer>,
}

impl Queue {
    pub(super) fn new(permits: usize, places: usize) -> Arc<Self> {
        let state =
            State { limit: permits, out: 0, waiting: 0, next: 0, lines: ByHash::default(), turns: BTreeMap::new() };
        Arc::new(Self {
            places,
            state: Mutex::new(state),
            waiting: AtomicUsize::new(0),
            limit: AtomicUsize::new(permits),
            was_full: AtomicBool::new(false),
        })
    }

    /// A permit if one is free and nobody waits, a place if there is one, or the refusal.
    pub(super) fn enter(self: &Arc<Self>, group: Option<Group>) -> Entry {
        let mut state = self.state.lock();
        if self.take(&mut state) {
            return Entry::Free(Slot(Some(Arc::clone(self))));
        }
        if let Some(group) = group {
            let held = state.lines.get(&group.id).map_or(0, |line| line.waiters.len());
            if self.places > 0 && held >= group.part_of(self.places) {
                return Entry::Refused(RejectReason::GroupShare);
            }
        }
        if state.waiting >= self.places {
            return Entry::Refused(RejectReason::QueueFull);
        }
        let id = group.map_or(0, |group| group.id);
        let (sender, answer) = oneshot::channel();
        let number = state.add(id, sender);
        self.waiting.store(state.waiting, Relaxed);
        drop(state);
        Entry::Waits(Waiter { queue: Arc::clone(self), group: id, number, answer })
    }

    /// A permit, if one is free and nobody waits. F3: where somebody does, that is known without the lock.
    pub(super) fn try_enter(self: &Arc<Self>) -> Option<Slot> {
        if self.waiting() > 0 {
            return None;
        }
        let taken = self.take(&mut self.state.lock());
        taken.then(|| Slot(Some(Arc::clone(self))))
    }

    fn take(&self, state: &mut State) -> bool {
        let free = state.waiting == 0 && state.out < state.limit;
        if free {
            state.out += 1;
        }
        if state.out >= state.limit {
            self.was_full.store(true, Relaxed);
        }
        free
    }

    /// Takes back `returned` permits and hands what is free to those whose turn it is.
    fn pass_on(self: &Arc<Self>, mut returned: usize) {
        loop {
            let next = {
                let mut state = self.state.lock();
                state.out -= returned;
                let next = if state.out < state.limit { state.pop() } else { None };
                if next.is_some() {
                    state.out += 1;
                    self.was_full.store(true, Relaxed);
                }
                self.waiting.store(state.waiting, Relaxed);
                next
            };
            let Some(next) = next else { return };
            // One that has left gives the permit back, for the next.
            returned = match tell(next, Ok(Slot(Some(Arc::clone(self))))) {
                None => 0,
                Some(unwanted) => {
                    // Counted back above; its own drop would come here once more for each that has left.
                    if let Ok(mut slot) = unwanted {
                        slot.0 = None;
                    }
                    1
                }
            };
        }
    }

    /// L3: a lower limit takes no permit away; none is granted until fewer are out.
    pub(super) fn set_limit(&self, limit: usize) {
        let mut state = self.state.lock();
        state.limit = limit;
        self.limit.store(limit, Relaxed);
    }

    /// Hands out what a raised limit has set free.
    pub(super) fn wake(self: &Arc<Self>) {
        self.pass_on(0);
    }

    /// Sends everyone who waits away.
    pub(super) fn dismiss(&self, reason: RejectReason) {
        let lines = {
            let mut state = self.state.lock();
            state.waiting = 0;
            state.turns.clear();
            self.waiting.store(0, Relaxed);
            std::mem::take(&mut state.lines)
        };
        for waiter in lines.into_values().flat_map(|line| line.waiters.into_values()) {
            // Whoever has left meanwhile needs no answer.
            let _ = tell(waiter, Err(reason));
        }
    }

    /// How many wait.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.load(Relaxed)
    }

    /// Permits that are out, those included that are on their way to somebody who waits.
    pub(super) fn out(&self) -> usize {
        self.state.lock().out
    }

    /// The limit in force.
    pub(super) fn limit(&self) -> usize {
        self.limit.load(Relaxed)
    }

    /// Whether every permit was out since the last call.
    pub(super) fn was_full(&self) -> bool {
        self.was_full.swap(false, Relaxed)
    }
}

/// Answers one who waits; gives the answer back if there is nobody. Outside the lock: it wakes whoever waits, which is
/// foreign code. If that panics, it is no concern of the load that gave its permit back.
fn tell(waiter: oneshot::Sender<Answer>, answer: Answer) -> Option<Answer> {
    contained(|| waiter.send(answer).err()).flatten()
}

impl State {
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn add(&mut self, group: u64, waiter: oneshot::Sender<Answer>) -> u64 {
        let number = self.number();
        self.waiting += 1;
        let turns = &mut self.turns;
        let line = self.lines.entry(group).or_insert_with(|| {
            turns.insert(number, group);
            Line { turn: number, waiters: BTreeMap::new() }
        });
        line.waiters.insert(number, waiter);
        number
    }

    /// The first of the group whose turn it is; the group's next turn comes after all others.
    fn pop(&mut self) -> Option<oneshot::Sender<Answer>> {
        let (_, group) = self.turns.pop_first()?;
        let turn = self.number();
        let line = self.lines.get_mut(&group)?;
        let (_, waiter) = line.waiters.pop_first()?;
        self.waiting -= 1;
        if line.waiters.is_empty() {
            self.lines.remove(&group);
        } else {
            line.turn = turn;
            self.turns.insert(turn, group);
        }
        Some(waiter)
    }

    /// Takes out one who waits; `None` if an answer is on its way.
    fn remove(&mut self, group: u64, number: u64) -> Option<oneshot::Sender<Answer>> {
        let line = self.lines.get_mut(&group)?;
        let waiter = line.waiters.remove(&number)?;
        self.waiting -= 1;
        if line.waiters.is_empty() {
            let turn = line.turn;
            self.lines.remove(&group);
            self.turns.remove(&turn);
        }
        Some(waiter)
    }
}

impl Waiter {
    /// Waits for the answer.
    ///
    /// # Cancel safety
    /// May be called again; nothing is lost.
    pub(super) async fn answer(&mut self) -> Answer {
        // The sender lies in the queue until it has sent.
        (&mut self.answer).await.unwrap_or(Err(RejectReason::QueueFull))
    }

    /// Gives up waiting; gives the answer that was on its way, if one was.
    pub(super) fn leave(&mut self) -> Option<Answer> {
        if self.forget() {
            return None;
        }
        self.answer.close();
        self.answer.try_recv().ok()
    }

    /// Frees the place; false if an answer is on its way.
    fn forget(&self) -> bool {
        let waiter = {
            let mut state = self.queue.state.lock();
            let waiter = state.remove(self.group, self.number);
            self.queue.waiting.store(state.waiting, Relaxed);
            waiter
        };
        waiter.is_some()
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        // A permit that is in the channel already comes back with it.
        self.forget();
    }
}

#[cfg(test)]
mod tests;
