//! The wakers of a flight's waiters: a slab, 16 bytes each, no allocation per waiter.

use std::task::Waker;

/// A slab of wakers. Lives under the flight's lock; never wakes anyone itself.
#[derive(Default)]
pub(super) struct Waiters {
    /// Slot 0, apart from the rest: most flights have one waiter, who then costs no allocation.
    first: Option<Waker>,
    /// Slot 1 and on.
    rest: Vec<Option<Waker>>,
    /// Slots that were ever given out.
    given: u32,
    free: Vec<u32>,
    waiting: u64,
    most: u64,
}

impl Waiters {
    /// A slot for one more waiter, unless there are `limit` already.
    pub(super) fn add(&mut self, waker: Waker, limit: usize) -> Option<u32> {
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None if (self.given as usize) < limit && self.given < u32::MAX => {
                self.given += 1;
                if self.given > 1 {
                    self.rest.push(None);
                }
                self.given - 1
            }
            None => return None,
        };
        *self.place(slot)? = Some(waker);
        self.waiting += 1;
        self.most = self.most.max(self.waiting);
        Some(slot)
    }

    fn place(&mut self, slot: u32) -> Option<&mut Option<Waker>> {
        match slot.checked_sub(1) {
            None => Some(&mut self.first),
            Some(place) => self.rest.get_mut(place as usize),
        }
    }

    /// Puts a newer waker in place; gives back the one to be dropped outside the lock.
    pub(super) fn renew(&mut self, slot: u32, waker: Waker) -> Option<Waker> {
        match self.place(slot) {
            Some(place @ Some(_)) => place.replace(waker),
            _ => Some(waker),
        }
    }

    /// Takes a waiter out; gives back the waker to be dropped outside the lock.
    pub(super) fn remove(&mut self, slot: u32) -> Option<Waker> {
        let waker = self.place(slot)?.take()?;
        self.free.push(slot);
        self.waiting -= 1;
        Some(waker)
    }

    /// Takes everyone out, to be woken outside the lock.
    pub(super) fn take(&mut self) -> impl Iterator<Item = Waker> + use<> {
        self.waiting = 0;
        self.free = Vec::new();
        self.first.take().into_iter().chain(std::mem::take(&mut self.rest).into_iter().flatten())
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
