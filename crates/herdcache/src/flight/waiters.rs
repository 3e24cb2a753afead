//! The wakers of a flight's waiters: a slab, 16 bytes each, no allocation per waiter.

use std::task::Waker;

/// A slab of wakers. Lives under the flight's lock; never wakes anyone itself.
#[derive(Default)]
pub(super) struct Waiters {
    slots: Vec<Option<Waker>>,
    free: Vec<u32>,
    waiting: u64,
    most: u64,
}

impl Waiters {
    /// A slot for one more waiter, unless there are `limit` already.
    pub(super) fn add(&mut self, waker: Waker, limit: usize) -> Option<u32> {
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = Some(waker);
                slot
            }
            None if self.slots.len() < limit => {
                self.slots.push(Some(waker));
                u32::try_from(self.slots.len() - 1).ok()?
            }
            None => return None,
        };
        self.waiting += 1;
        self.most = self.most.max(self.waiting);
        Some(slot)
    }

    /// Puts a newer waker in place; gives back the one to be dropped outside the lock.
    pub(super) fn renew(&mut self, slot: u32, waker: Waker) -> Option<Waker> {
        match self.slots.get_mut(slot as usize) {
            Some(place @ Some(_)) => place.replace(waker),
            _ => Some(waker),
        }
    }

    /// Takes a waiter out; gives back the waker to be dropped outside the lock.
    pub(super) fn remove(&mut self, slot: u32) -> Option<Waker> {
        let waker = self.slots.get_mut(slot as usize)?.take()?;
        self.free.push(slot);
        self.waiting -= 1;
        Some(waker)
    }

    /// Takes everyone out, to be woken outside the lock.
    pub(super) fn take(&mut self) -> impl Iterator<Item = Waker> + use<> {
        self.waiting = 0;
        self.free = Vec::new();
        std::mem::take(&mut self.slots).into_iter().flatten()
    }

    pub(super) fn len(&self) -> u64 {
        self.waiting
    }

    pub(super) fn most(&self) -> u64 {
        self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// L7: slots are used again, and no more than the limit exist.
    #[test]
    fn l7_slots_are_reused_and_bounded() {
        let mut waiters = Waiters::default();
        let slots: Vec<_> = (0..3).map(|_| waiters.add(Waker::noop().clone(), 3)).collect();
        assert_eq!(slots, [Some(0), Some(1), Some(2)]);
        assert_eq!(waiters.add(Waker::noop().clone(), 3), None);
        assert!(waiters.remove(1).is_some());
        assert!(waiters.remove(1).is_none());
        assert_eq!(waiters.add(Waker::noop().clone(), 3), Some(1));
        assert_eq!((waiters.len(), waiters.most()), (3, 3));
        assert_eq!(waiters.take().count(), 3);
        assert_eq!(waiters.len(), 0);
    }
}
