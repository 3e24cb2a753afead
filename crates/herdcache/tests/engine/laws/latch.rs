//! Blocking work that ends when the test says so.
//!
//! It runs on threads of its own, so it is the one thing in a history that real time could order. The test waits
//! until all of it has begun and, once let go, until it has really ended: what lies between is still told by the seed.

use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::world::Shared;

/// Far longer than a history takes; a test that fails in between lets its work go by this.
const AT_MOST: Duration = Duration::from_secs(20);

/// Holds blocking work back.
#[derive(Default)]
pub(super) struct Latch {
    tickets: Mutex<Tickets>,
    told: Condvar,
}

#[derive(Clone, Copy, Default)]
struct Tickets {
    issued: u64,
    let_go: u64,
}

impl Latch {
    /// One that holds nothing back.
    pub(super) fn open() -> Self {
        let latch = Self::default();
        latch.tickets.lock().let_go = u64::MAX;
        latch
    }

    /// A place for work that is about to begin.
    pub(super) fn ticket(&self) -> u64 {
        let mut tickets = self.tickets.lock();
        tickets.issued += 1;
        tickets.issued
    }

    /// Whether any work ever was to block.
    pub(super) fn was_used(&self) -> bool {
        self.tickets.lock().issued > 0
    }

    /// Blocks until the work is let go.
    pub(super) fn wait(&self, ticket: u64) {
        let limit = Instant::now() + AT_MOST;
        let mut tickets = self.tickets.lock();
        while tickets.let_go < ticket && !self.told.wait_until(&mut tickets, limit).timed_out() {}
    }

    /// Lets all work go that holds a ticket.
    pub(super) fn let_go(&self) {
        let mut tickets = self.tickets.lock();
        tickets.let_go = tickets.let_go.max(tickets.issued);
        drop(tickets);
        self.told.notify_all();
    }
}

/// Blocking work of a load; dropped, it is over, whether or not it ever ran.
pub(super) struct Work {
    world: Shared,
    birth: usize,
}

impl Work {
    /// From here on the load has two parts: its future, and this.
    pub(super) fn of(world: &Shared, birth: usize) -> Self {
        let mut locked = world.lock();
        locked.births[birth].parts += 1;
        locked.blocking += 1;
        // Whoever lets time pass has to know that it stands still now.
        locked.told.notify_one();
        drop(locked);
        Self { world: world.clone(), birth }
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        let mut world = self.world.lock();
        world.blocking -= 1;
        world.part_over(self.birth);
    }
}
