//! The origin's own counters.
//!
//! One lock guards them all, so that a reading is consistent: no user code runs
//! under it and each step is a few additions. The table of keys is bounded by
//! the keys that a run asks for, which the lab itself chooses.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

/// What an origin has counted so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OriginCounts {
    /// Calls that began, whether they got a connection or not.
    pub started: u64,
    /// Calls whose caller waits now.
    pub calling: u64,
    /// Most callers that waited at once.
    pub peak_calling: u64,
    /// Calls that the origin works on now, also those whose caller has left.
    pub running: u64,
    /// Most calls that it worked on at once.
    pub peak_running: u64,
    /// Most calls of one key that were in progress at once.
    pub peak_of_a_key: u64,
    /// Calls that ended with an answer.
    pub answered: u64,
    /// Calls that ended with a failure.
    pub failed: u64,
    /// Calls that got no connection.
    pub refused: u64,
    /// Calls whose caller left before the end.
    pub left: u64,
    /// Different keys that were asked for.
    pub distinct_keys: u64,
}

/// What an origin has counted for one key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyCalls {
    /// Calls that began.
    pub started: u64,
    /// Calls whose caller waits now.
    pub calling: u64,
    /// Most callers that waited at once.
    pub peak_calling: u64,
}

/// How a call ended for its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Answered,
    Failed,
    Refused,
    Left,
}

#[derive(Debug, Default)]
pub(super) struct Counts {
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    all: OriginCounts,
    keys: HashMap<u64, KeyCalls>,
}

impl Counts {
    /// Counts a call of `key` in; the guard counts it out, at the latest when dropped.
    pub(super) fn call(self: &Arc<Self>, key: u64) -> Calling {
        let mut table = self.table.lock();
        let of_key = table.keys.entry(key).or_default();
        of_key.started += 1;
        of_key.calling += 1;
        of_key.peak_calling = of_key.peak_calling.max(of_key.calling);
        let at_once = of_key.calling;
        let all = &mut table.all;
        all.started += 1;
        all.calling += 1;
        all.peak_calling = all.peak_calling.max(all.calling);
        all.peak_of_a_key = all.peak_of_a_key.max(at_once);
        Calling { counts: Arc::clone(self), key, end: End::Left }
    }

    /// Counts work in; the guard travels with the work and counts it out.
    pub(super) fn run(self: &Arc<Self>) -> Running {
        let all = &mut self.table.lock().all;
        all.running += 1;
        all.peak_running = all.peak_running.max(all.running);
        Running { counts: Arc::clone(self) }
    }

    pub(super) fn read(&self) -> OriginCounts {
        let table = self.table.lock();
        OriginCounts { distinct_keys: table.keys.len() as u64, ..table.all }
    }

    pub(super) fn key(&self, key: u64) -> KeyCalls {
        self.table.lock().keys.get(&key).copied().unwrap_or_default()
    }
}

/// A caller that waits for the origin. Dropped without [`Calling::end`], it has left.
pub(super) struct Calling {
    counts: Arc<Counts>,
    key: u64,
    end: End,
}

impl Calling {
    pub(super) fn end(mut self, end: End) {
        self.end = end;
    }
}

impl Drop for Calling {
    fn drop(&mut self) {
        let mut table = self.counts.table.lock();
        if let Some(of_key) = table.keys.get_mut(&self.key) {
            of_key.calling -= 1;
        }
        let all = &mut table.all;
        all.calling -= 1;
        match self.end {
            End::Answered => all.answered += 1,
            End::Failed => all.failed += 1,
            End::Refused => all.refused += 1,
            End::Left => all.left += 1,
        }
    }
}

/// Work in progress at the origin.
pub(super) struct Running {
    counts: Arc<Counts>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.counts.table.lock().all.running -= 1;
    }
}
