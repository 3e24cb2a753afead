//! W2: changes of keys that the shared tier has not heard of yet.
//!
//! A change is here from before it takes effect in this process until the tier has
//! confirmed it; flights of its key bypass the tier meanwhile. The newest change
//! of a key replaces an older one. Bounded: what does not fit is counted as lost, and
//! the cache then distrusts everything in the tier that is older.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::tier::SharedKey;
use crate::spread::Ticket;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// What the tier is to be told of a key; `W` is a value to be written.
#[derive(Clone, Debug)]
pub(crate) enum Change<W> {
    Remove,
    Write(W),
}

/// Changes that wait, in the order in which their keys came.
pub(crate) struct Outbox<W> {
    most: usize,
    /// How many there are, so that a flight asks without a lock.
    waiting: AtomicUsize,
    state: Mutex<State<W>>,
}

struct State<W> {
    rows: HashMap<SharedKey, Row<W>>,
    /// Whose turn it is next, first in front.
    turns: BTreeMap<u64, SharedKey>,
    next: u64,
}

struct Row<W> {
    change: Change<W>,
    /// Tells a change from a later one of the same key.
    number: u64,
    /// Its place among the turns.
    turn: u64,
    told: Vec<Arc<Ticket>>,
}

/// A change whose turn it is.
pub(crate) struct Turn<W> {
    pub(crate) key: SharedKey,
    pub(crate) change: Change<W>,
    number: u64,
}

/// What became of a change that was to wait. What was replaced is given back, to be dropped outside every lock.
pub(crate) enum Posted<W> {
    Waits(Option<Change<W>>),
    /// There is no room.
    Full,
}

impl<W: Clone> Outbox<W> {
    pub(super) fn new(most: usize) -> Self {
        let state = State { rows: HashMap::new(), turns: BTreeMap::new(), next: 1 };
        Self { most, waiting: AtomicUsize::new(0), state: Mutex::new(state) }
    }

    /// A change is about to take effect here.
    pub(crate) fn post(&self, key: SharedKey, change: Change<W>, ticket: &Arc<Ticket>) -> Posted<W> {
        let mut state = self.state.lock();
        let number = state.next;
        state.next += 1;
        if let Some(row) = state.rows.get_mut(&key) {
            row.number = number;
            row.told.push(Arc::clone(ticket));
            ticket.more();
            let old = std::mem::replace(&mut row.change, change);
            drop(state);
            return Posted::Waits(Some(old));
        }
        if state.rows.len() >= self.most {
            return Posted::Full;
        }
        ticket.more();
        state.turns.insert(number, key.clone());
        state.rows.insert(key, Row { change, number, turn: number, told: vec![Arc::clone(ticket)] });
        self.waiting.store(state.rows.len(), SeqCst);
        Posted::Waits(None)
    }

    /// Whether the tier may have something older than what this process knows of the key.
    pub(crate) fn holds(&self, key: &SharedKey) -> bool {
        self.waiting.load(SeqCst) > 0 && self.state.lock().rows.contains_key(key)
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.load(SeqCst)
    }

    pub(crate) fn most(&self) -> usize {
        self.most
    }

    /// The changes that have waited longest, `most` at once. They stay until [`Outbox::arrived`].
    pub(crate) fn turns(&self, most: usize) -> Vec<Turn<W>> {
        let state = self.state.lock();
        let turn = |key: &SharedKey| {
            let row = state.rows.get(key)?;
            Some(Turn { key: key.clone(), change: row.change.clone(), number: row.number })
        };
        state.turns.values().take(most).filter_map(turn).collect()
    }

    /// The tier has confirmed a change, unless there is a later one by now.
    pub(crate) fn arrived(&self, turn: &Turn<W>) {
        let mut state = self.state.lock();
        if state.rows.get(&turn.key).is_none_or(|row| row.number != turn.number) {
            return;
        }
        let gone = state.rows.remove(&turn.key);
        if let Some(row) = &gone {
            state.turns.remove(&row.turn);
        }
        self.waiting.store(state.rows.len(), SeqCst);
        drop(state);
        if let Some(row) = gone {
            row.told.iter().for_each(|ticket| ticket.arrived());
        }
    }

    /// The tier could not be told: whoever waits is not kept waiting, and the others come first. A value that was to be
    /// written has aged by the time of the next try; what is retried is the removal of what it replaces.
    pub(crate) fn failed(&self, turn: &Turn<W>) {
        let mut guard = self.state.lock();
        let state = &mut *guard;
        let Some(row) = state.rows.get_mut(&turn.key) else { return };
        let place = state.next;
        state.next += 1;
        if let Some(key) = state.turns.remove(&row.turn) {
            state.turns.insert(place, key);
        }
        row.turn = place;
        let told = std::mem::take(&mut row.told);
        let old =
            if row.number == turn.number { std::mem::replace(&mut row.change, Change::Remove) } else { Change::Remove };
        drop(guard);
        drop(old);
        for ticket in &told {
            ticket.queued();
        }
    }

    /// Nobody sends what waits for now: whoever waits for it is told. Of what is sent later, values have aged by then, and
    /// another process may have changed their keys since: what they replace is removed instead.
    pub(crate) fn give_up(&self) {
        let (mut told, mut old) = (Vec::new(), Vec::new());
        {
            let mut state = self.state.lock();
            for row in state.rows.values_mut() {
                told.append(&mut row.told);
                old.push(std::mem::replace(&mut row.change, Change::Remove));
            }
        }
        drop(old);
        for ticket in &told {
            ticket.queued();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: u64) -> SharedKey {
        SharedKey::new(format!("[{n}]"), n)
    }

    /// W2: a key waits once, under its newest change, until that very change has arrived.
    #[test]
    fn w2_the_newest_change_of_a_key_waits() {
        let outbox = Outbox::<u8>::new(2);
        let ticket = Ticket::new();
        assert!(matches!(outbox.post(key(1), Change::Write(1), &ticket), Posted::Waits(None)));
        let first = outbox.turns(9).remove(0);
        assert!(matches!(outbox.post(key(1), Change::Remove, &ticket), Posted::Waits(Some(Change::Write(1)))));
        outbox.arrived(&first);
        assert!(outbox.holds(&key(1)), "a later change waits");
        let second = outbox.turns(9).remove(0);
        assert!(matches!(second.change, Change::Remove));
        outbox.arrived(&second);
        assert_eq!((outbox.len(), outbox.holds(&key(1)), outbox.turns(9).len()), (0, false, 0));
    }

    /// L7: no more keys wait than may.
    #[test]
    fn l7_the_queue_is_bounded() {
        let outbox = Outbox::<u8>::new(2);
        let ticket = Ticket::new();
        let posted: Vec<bool> =
            (0..4).map(|n| matches!(outbox.post(key(n), Change::Remove, &ticket), Posted::Waits(_))).collect();
        assert_eq!((posted, outbox.len()), (vec![true, true, false, false], 2));
        // What failed comes after the others, and is a removal from then on.
        assert!(matches!(outbox.post(key(0), Change::Write(1), &ticket), Posted::Waits(_)));
        let first = outbox.turns(1).remove(0);
        outbox.failed(&first);
        let turns = outbox.turns(9);
        assert_eq!(turns.iter().map(|turn| turn.key.hash()).collect::<Vec<_>>(), [1, 0]);
        assert!(turns.iter().all(|turn| matches!(turn.change, Change::Remove)));
    }

    /// W2: a value that nobody could send is not sent later, when another process may have changed its key.
    #[test]
    fn w2_a_value_that_was_given_up_is_a_removal_from_then_on() {
        let outbox = Outbox::<u8>::new(2);
        assert!(matches!(outbox.post(key(1), Change::Write(1), &Ticket::new()), Posted::Waits(None)));
        outbox.give_up();
        assert!(matches!(outbox.turns(9)[..], [Turn { change: Change::Remove, .. }]));
    }
}
