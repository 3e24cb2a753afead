//! What a [`MemoryTier`](super::MemoryTier) holds, and each operation as one atomic step on it.

use std::collections::HashMap;
use std::time::Duration;

use herdfeed::{ClosedSet, SharedOperation};

use super::Fault;
use crate::clock::{Moment, nanos};
use crate::shared::{Acquired, Fence, Found, Holding, LeaseSight, LeaseToken, Reading, Write, Writing};

#[derive(Default)]
pub(super) struct State {
    rows: HashMap<String, Row>,
    counters: HashMap<String, u64>,
    leases: HashMap<String, Held>,
    faults: [Option<Fault>; 6],
    arrived: [u64; 6],
}

/// A value, or the tombstone that an invalidation left.
struct Row {
    bytes: Option<Vec<u8>>,
    version: Option<u64>,
    fence: u64,
    until: Moment,
}

struct Held {
    token: LeaseToken,
    until: Moment,
}

fn left(until: Moment, now: Moment) -> Duration {
    Duration::from_nanos(until.saturating_sub(now))
}

impl State {
    pub(super) fn set_fault(&mut self, operation: SharedOperation, fault: Option<Fault>) {
        self.faults[operation.index()] = fault;
    }

    /// An operation comes in; what it will meet.
    pub(super) fn arrives(&mut self, operation: SharedOperation) -> Option<Fault> {
        self.arrived[operation.index()] += 1;
        self.faults[operation.index()]
    }

    pub(super) fn operations(&self, operation: SharedOperation) -> u64 {
        self.arrived[operation.index()]
    }

    pub(super) fn flush(&mut self) {
        self.rows.clear();
        self.leases.clear();
        self.counters.clear();
    }

    pub(super) fn evict(&mut self) {
        self.rows.clear();
    }

    pub(super) fn lose_leases(&mut self) {
        self.leases.clear();
    }

    pub(super) fn lose_counters(&mut self) {
        self.counters.clear();
    }

    pub(super) fn tamper(&mut self, with: &mut dyn FnMut(&str, &mut Vec<u8>)) {
        for (text, row) in &mut self.rows {
            if let Some(bytes) = &mut row.bytes {
                with(text, bytes);
            }
        }
    }

    pub(super) fn values(&self, now: Moment) -> usize {
        self.rows.values().filter(|row| row.bytes.is_some() && now < row.until).count()
    }

    pub(super) fn leases(&self, now: Moment) -> usize {
        self.leases.values().filter(|held| now < held.until).count()
    }

    pub(super) fn lease_left(&self, now: Moment) -> Option<Duration> {
        let until = self.leases.values().map(|held| held.until).max().filter(|until| now < *until)?;
        Some(left(until, now))
    }

    fn row(&self, key: &str, now: Moment) -> Option<&Row> {
        self.rows.get(key).filter(|row| now < row.until)
    }

    fn held(&self, key: &str, now: Moment) -> Option<&Held> {
        self.leases.get(key).filter(|held| now < held.until)
    }

    /// T5: larger than the token under the key and than any that the counter gave.
    fn next_fence(&mut self, key: &str, now: Moment) -> u64 {
        let stored = self.row(key, now).map_or(0, |row| row.fence);
        let counter = self.counters.entry(key.to_owned()).or_insert(0);
        *counter = (*counter + 1).max(stored.saturating_add(1));
        *counter
    }

    pub(super) fn read(&self, key: &str, now: Moment) -> Reading {
        let lease = if self.held(key, now).is_some() { LeaseSight::Held } else { LeaseSight::Free };
        let Some(row) = self.row(key, now) else { return Reading { lease, ..Reading::nothing() } };
        let found = row.bytes.clone().map(|mut bytes| {
            if self.faults[SharedOperation::Read.index()] == Some(Fault::Corrupt) {
                let middle = bytes.len() / 2;
                bytes.iter_mut().skip(middle).take(1).for_each(|byte| *byte ^= 1);
            }
            Found { bytes, left: left(row.until, now) }
        });
        Reading { found, lease, fence: row.fence }
    }

    pub(super) fn write(&mut self, key: &str, writing: &Writing<'_>, now: Moment) -> Write {
        if let Some(row) = self.row(key, now) {
            let newer = row.version.zip(writing.version).is_some_and(|(there, comes)| there > comes);
            if newer && row.bytes.is_some() {
                return Write::OlderVersion;
            }
            if let Fence::Load(fence) = writing.fence {
                if row.fence > fence {
                    return Write::OlderFence;
                }
            }
        }
        let fence = match writing.fence {
            Fence::Load(fence) => fence,
            Fence::Newest => self.next_fence(key, now),
        };
        let until = now.saturating_add(nanos(writing.keep_for));
        let row = Row { bytes: Some(writing.bytes.to_vec()), version: writing.version, fence, until };
        self.rows.insert(key.to_owned(), row);
        Write::Stored
    }

    pub(super) fn remove(&mut self, key: &str, keep_for: Duration, now: Moment) {
        let fence = self.next_fence(key, now);
        let until = now.saturating_add(nanos(keep_for));
        self.rows.insert(key.to_owned(), Row { bytes: None, version: None, fence, until });
    }

    pub(super) fn acquire(&mut self, key: &str, token: LeaseToken, time: Duration, now: Moment) -> Acquired {
        if let Some(held) = self.held(key, now) {
            return Acquired::Held { left: Some(left(held.until, now)) };
        }
        self.leases.insert(key.to_owned(), Held { token, until: now.saturating_add(nanos(time)) });
        let under = self.row(key, now).map_or(0, |row| row.fence);
        Acquired::Yes { fence: self.next_fence(key, now), under }
    }

    pub(super) fn renew(&mut self, key: &str, token: LeaseToken, time: Duration, now: Moment) -> Holding {
        match self.leases.get_mut(key) {
            Some(held) if held.token == token && now < held.until => {
                held.until = now.saturating_add(nanos(time));
                Holding::Yes
            }
            Some(_) | None => Holding::Lost,
        }
    }

    pub(super) fn release(&mut self, key: &str, token: LeaseToken, now: Moment) -> Holding {
        let own = self.held(key, now).is_some_and(|held| held.token == token);
        if own {
            self.leases.remove(key);
        }
        if own { Holding::Yes } else { Holding::Lost }
    }
}
