//! [`MemoryTier`]: a shared tier and a lease within a process, with every fault that can be had.
//!
//! For tests, labs and demonstrations: two caches over clones of one tier are two
//! processes over one Redis. It keeps time by the cache's clock, so that paused time
//! moves it too. It knows the contracts and nothing of caches.

mod state;

use std::sync::Arc;
use std::time::Duration;

use herdfeed::{ClosedSet, SharedOperation};

use crate::clock;
use crate::shared::{
    Acquired, Holding, Lease, LeaseToken, Operation, Reading, SharedKey, SharedTier, TierError, Write, Writing,
};
use crate::sync::{Mutex, time};
use state::State;

/// What is wrong with a [`MemoryTier`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// Operations fail at once and do nothing.
    Fail(TierError),
    /// Operations never arrive and are never answered.
    Hang,
    /// Operations take effect, and are never answered.
    Mute,
    /// Operations take this long, and take effect at their end.
    Slow(Duration),
    /// Reads give bytes of which one bit is wrong.
    Corrupt,
}

/// A shared tier and a lease within the process. Cloning gives another handle of the same tier.
///
/// ```
/// use std::{convert::Infallible, time::Duration};
/// use herdcache::{Cache, Fault, Gate, MemoryTier, TierError, Ttl};
/// use herdcache::herdfeed::SharedOperation;
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let tier = MemoryTier::new();
/// let users = Cache::<u64, String, Infallible>::builder("users", Ttl::fresh_for(Duration::from_secs(60)), &Gate::new(8))
///     .shared(tier.clone())
///     .lease(tier.clone())
///     .build()?;
/// tier.inject(Fault::Fail(TierError::Connection));
/// // A fault never reaches the caller.
/// let user = users.get_with(&7, |_| async { Ok("user 7".to_owned()) }).await?;
/// assert_eq!(user.as_deref().map(String::as_str), Some("user 7"));
/// assert_eq!(tier.operations(SharedOperation::Read), 1);
/// assert_eq!(tier.values(), 0);
/// # Ok(()) }
/// ```
#[doc = include_str!("../docs/examples/memory.md")]
#[derive(Clone, Default)]
pub struct MemoryTier(Arc<Inner>);

#[derive(Default)]
struct Inner {
    state: Mutex<State>,
}

impl MemoryTier {
    /// An empty tier without faults.
    pub fn new() -> Self {
        Self::default()
    }

    /// From now on every operation meets this fault.
    pub fn inject(&self, fault: Fault) {
        for operation in SharedOperation::all() {
            self.inject_on(*operation, fault);
        }
    }

    /// From now on operations of this kind meet this fault.
    pub fn inject_on(&self, operation: SharedOperation, fault: Fault) {
        self.0.state.lock().set_fault(operation, Some(fault));
    }

    /// No operation meets a fault any more. Those that hang go on hanging.
    pub fn heal(&self) {
        let mut state = self.0.state.lock();
        for operation in SharedOperation::all() {
            state.set_fault(*operation, None);
        }
    }

    /// Everything is gone, leases and counters too: `FLUSHALL`, or a failover to an empty replica.
    pub fn flush(&self) {
        self.0.state.lock().flush();
    }

    /// Values and tombstones are gone, as if memory had run short. Leases and counters stay.
    pub fn evict(&self) {
        self.0.state.lock().evict();
    }

    /// Every lease is gone, though its holder does not know.
    pub fn lose_leases(&self) {
        self.0.state.lock().lose_leases();
    }

    /// The counters that fencing tokens come from start anew.
    pub fn lose_counters(&self) {
        self.0.state.lock().lose_counters();
    }

    /// Shows every value with its key's text, to be replaced: hostile bytes, bytes of a later version.
    pub fn tamper(&self, mut with: impl FnMut(&str, &mut Vec<u8>)) {
        self.0.state.lock().tamper(&mut with);
    }

    /// How many operations of this kind have arrived, or would have.
    pub fn operations(&self, operation: SharedOperation) -> u64 {
        self.0.state.lock().operations(operation)
    }

    /// Values that are there and whose time is not over.
    pub fn values(&self) -> usize {
        self.0.state.lock().values(clock::exact())
    }

    /// Leases that are held.
    pub fn leases(&self) -> usize {
        self.0.state.lock().leases(clock::exact())
    }

    /// What is left of the lease that lasts longest, if any is held.
    pub fn lease_left(&self) -> Option<Duration> {
        self.0.state.lock().lease_left(clock::exact())
    }

    /// One operation, as its fault lets it be.
    fn operate<'a, T: Send + 'a>(
        &'a self,
        operation: SharedOperation,
        act: impl FnOnce(&mut State) -> T + Send + 'a,
    ) -> Operation<'a, T> {
        Box::pin(async move {
            let fault = self.0.state.lock().arrives(operation);
            match fault {
                Some(Fault::Fail(error)) => return Err(error),
                Some(Fault::Hang) => return std::future::pending().await,
                Some(Fault::Slow(time)) => time::sleep(time).await,
                Some(Fault::Mute) => {
                    act(&mut self.0.state.lock());
                    return std::future::pending().await;
                }
                Some(Fault::Corrupt) | None => {}
            }
            Ok(act(&mut self.0.state.lock()))
        })
    }
}

impl SharedTier for MemoryTier {
    fn read<'a>(&'a self, key: &'a SharedKey) -> Operation<'a, Reading> {
        self.operate(SharedOperation::Read, |state| state.read(key.text(), clock::exact()))
    }

    fn read_many<'a>(&'a self, keys: &'a [SharedKey]) -> Operation<'a, Vec<Reading>> {
        self.operate(SharedOperation::Read, |state| {
            let now = clock::exact();
            keys.iter().map(|key| state.read(key.text(), now)).collect()
        })
    }

    fn write<'a>(&'a self, key: &'a SharedKey, writing: Writing<'a>) -> Operation<'a, Write> {
        self.operate(SharedOperation::Write, move |state| state.write(key.text(), &writing, clock::exact()))
    }

    fn remove<'a>(&'a self, key: &'a SharedKey, keep_for: Duration) -> Operation<'a, ()> {
        self.operate(SharedOperation::Remove, move |state| state.remove(key.text(), keep_for, clock::exact()))
    }
}

impl Lease for MemoryTier {
    fn acquire<'a>(&'a self, key: &'a SharedKey, token: &'a LeaseToken, time: Duration) -> Operation<'a, Acquired> {
        self.operate(SharedOperation::Acquire, move |state| state.acquire(key.text(), *token, time, clock::exact()))
    }

    fn renew<'a>(&'a self, key: &'a SharedKey, token: &'a LeaseToken, time: Duration) -> Operation<'a, Holding> {
        self.operate(SharedOperation::Renew, move |state| state.renew(key.text(), *token, time, clock::exact()))
    }

    fn release<'a>(&'a self, key: &'a SharedKey, token: &'a LeaseToken) -> Operation<'a, Holding> {
        self.operate(SharedOperation::Release, |state| state.release(key.text(), *token, clock::exact()))
    }
}

impl std::fmt::Debug for MemoryTier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemoryTier").field("values", &self.values()).field("leases", &self.leases()).finish()
    }
}

#[cfg(test)]
mod tests;
