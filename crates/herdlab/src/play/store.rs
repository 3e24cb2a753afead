//! The store that processes share, within this one: the engine's own in-memory tier, with trouble to order.
//!
//! Like the database it counts what reaches it by itself, and how its callers behave while it is down.

use std::sync::Arc;
use std::time::Duration;

use herdcache::{
    Acquired, Fault, Holding, Lease, LeaseToken, MemoryTier, Operation, Reading, SharedKey, SharedTier, TierError,
    Write, Writing,
};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::source::ms;
use crate::run::StoreFacts;
use crate::scenario::{SharedSpec, StoreTrouble};

/// A store; a clone is the same one.
#[derive(Clone)]
pub(super) struct Store {
    memory: MemoryTier,
    latency: Duration,
    /// After so much trouble its callers must have noticed: from then on only probes may come.
    notice: Duration,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Default)]
struct Seen {
    calls: u64,
    calls_in_trouble: u64,
    probes: u64,
    down_since: Option<Instant>,
    last_probe: Option<Instant>,
    least_gap: Option<Duration>,
}

impl Store {
    pub(super) fn new(spec: &SharedSpec) -> Self {
        let notice = spec.probe_every.map_or(SharedSpec::PROBE_EVERY, Duration::from);
        let store = Self { memory: MemoryTier::new(), latency: spec.latency.0, notice, seen: Arc::default() };
        store.heal();
        store
    }

    /// From now on it is in trouble.
    pub(super) fn suffer(&self, trouble: StoreTrouble) {
        match trouble {
            StoreTrouble::Refused => self.memory.inject(Fault::Fail(TierError::Refused)),
            StoreTrouble::Reset => self.memory.inject(Fault::Fail(TierError::Connection)),
            StoreTrouble::Hung => self.memory.inject(Fault::Hang),
            // It works, and is not down: nobody has to notice anything.
            StoreTrouble::Emptied => return self.memory.flush(),
        }
        let mut seen = self.seen.lock();
        (seen.down_since, seen.last_probe) = (Some(Instant::now()), None);
    }

    /// From now on it works.
    pub(super) fn heal(&self) {
        self.memory.heal();
        if self.latency > Duration::ZERO {
            self.memory.inject(Fault::Slow(self.latency));
        }
        self.seen.lock().down_since = None;
    }

    /// What it has counted.
    pub(super) fn facts(&self) -> StoreFacts {
        let seen = self.seen.lock();
        StoreFacts {
            calls: seen.calls,
            calls_in_trouble: seen.calls_in_trouble,
            probes: seen.probes,
            least_gap_ms: seen.least_gap.map(ms),
            values: self.memory.values() as u64,
        }
    }

    /// An operation arrives.
    fn called(&self) -> &MemoryTier {
        let now = Instant::now();
        let mut seen = self.seen.lock();
        seen.calls += 1;
        if let Some(since) = seen.down_since {
            seen.calls_in_trouble += 1;
            if now.saturating_duration_since(since) >= self.notice {
                seen.probes += 1;
                let gap = seen.last_probe.replace(now).map(|last| now.saturating_duration_since(last));
                seen.least_gap = seen.least_gap.into_iter().chain(gap).min();
            }
        }
        &self.memory
    }
}

impl SharedTier for Store {
    fn read<'a>(&'a self, key: &'a SharedKey) -> Operation<'a, Reading> {
        self.called().read(key)
    }

    fn read_many<'a>(&'a self, keys: &'a [SharedKey]) -> Operation<'a, Vec<Reading>> {
        self.called().read_many(keys)
    }

    fn write<'a>(&'a self, key: &'a SharedKey, writing: Writing<'a>) -> Operation<'a, Write> {
        self.called().write(key, writing)
    }

    fn remove<'a>(&'a self, key: &'a SharedKey, keep_for: Duration) -> Operation<'a, ()> {
        self.called().remove(key, keep_for)
    }
}

impl Lease for Store {
    fn acquire<'a>(&'a self, key: &'a SharedKey, token: &'a LeaseToken, time: Duration) -> Operation<'a, Acquired> {
        self.called().acquire(key, token, time)
    }

    fn renew<'a>(&'a self, key: &'a SharedKey, token: &'a LeaseToken, time: Duration) -> Operation<'a, Holding> {
        self.called().renew(key, token, time)
    }

    fn release<'a>(&'a self, key: &'a SharedKey, token: &'a LeaseToken) -> Operation<'a, Holding> {
        self.called().release(key, token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever asks more often than a probe may is found out, by the store's own count.
    #[tokio::test(start_paused = true)]
    async fn calls_in_trouble_are_told_with_their_gaps() {
        let store = Store::new(&SharedSpec::default());
        let key = SharedKey::of("rows", 1, &7).unwrap();
        assert!(store.read(&key).await.is_ok());
        store.suffer(StoreTrouble::Refused);
        // Before it must have been noticed, nothing is a probe.
        for after in [10, 10, 980, 1_000, 700] {
            tokio::time::sleep(Duration::from_millis(after)).await;
            assert_eq!(store.read(&key).await.err(), Some(TierError::Refused));
        }
        store.heal();
        assert!(store.read(&key).await.is_ok());
        let StoreFacts { calls, calls_in_trouble, probes, least_gap_ms, values } = store.facts();
        assert_eq!((calls, calls_in_trouble, probes, values), (7, 5, 3, 0));
        assert_eq!(least_gap_ms, Some(700.0));
    }
}
