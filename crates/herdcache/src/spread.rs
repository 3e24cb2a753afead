//! [`Spread`]: how far a write or an invalidation has got.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use crate::sync::Mutex;

/// How far a change of a key has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reach {
    /// It holds in this process, and is meant for no other.
    Process,
    /// The shared tier has confirmed it: no process reads what was there before out of it.
    Cluster,
    /// It holds in this process. The shared tier could not be told yet and will be, as long as the cache lives; until
    /// then other processes may read from it what was there before. What is told later is that the key is invalid, also
    /// where a value was inserted: by then another process may have changed it again.
    Queued,
}

/// A change of a key that has taken effect in this process.
///
/// Await it to learn how far it has got beyond. Dropping it takes nothing back.
///
/// # Cancel safety
/// Awaiting only watches: what is on its way to the shared tier goes on.
///
/// ```
/// use std::time::Duration;
/// use herdcache::{Cache, Fault, Gate, MemoryTier, Reach, Spread, TierError, Ttl};
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let tier = MemoryTier::new();
/// let users = Cache::<u64, u64>::builder("users", Ttl::fresh_for(Duration::from_secs(60)), &Gate::new(8))
///     .shared(tier.clone())
///     .build()?;
/// users.insert(7, 1); // here at once; nobody waits for the tier
/// let spread: Spread = users.invalidate(&7);
/// assert!(users.peek(&7).is_none());
/// assert_eq!(spread.await, Reach::Cluster); // now no process reads it out of the tier
///
/// tier.inject(Fault::Fail(TierError::Connection));
/// assert_eq!(users.invalidate(&7).await, Reach::Queued); // told later, as long as this cache lives
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Spread(Option<Arc<Ticket>>);

impl Spread {
    pub(crate) fn process() -> Self {
        Self(None)
    }

    pub(crate) fn of(ticket: Arc<Ticket>) -> Self {
        Self(Some(ticket))
    }
}

impl Future for Spread {
    type Output = Reach;
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Reach> {
        let Some(ticket) = &self.0 else { return Poll::Ready(Reach::Process) };
        // A waker's clone and drop are foreign code: both outside the lock.
        let mut waker = Some(cx.waker().clone());
        let mut state = ticket.0.lock();
        if let Some(reach) = state.reach() {
            return Poll::Ready(reach);
        }
        let old = std::mem::replace(&mut state.waker, waker.take());
        drop(state);
        drop(old);
        Poll::Pending
    }
}

/// How far the changes of one call have got.
#[derive(Debug)]
pub(crate) struct Ticket(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Changes that the tier has not been asked to take yet, or has not answered.
    open: usize,
    arrived: usize,
    queued: usize,
    waker: Option<Waker>,
}

impl State {
    fn reach(&self) -> Option<Reach> {
        match (self.open, self.queued, self.arrived) {
            (0, 0, 0) => Some(Reach::Process),
            (_, 1.., _) => Some(Reach::Queued),
            (0, 0, _) => Some(Reach::Cluster),
            (_, 0, _) => None,
        }
    }
}

impl Ticket {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::default()))
    }

    /// One change more.
    pub(crate) fn more(&self) {
        self.0.lock().open += 1;
    }

    /// The tier has taken one of them.
    pub(crate) fn arrived(&self) {
        self.tell(|state| {
            state.open = state.open.saturating_sub(1);
            state.arrived += 1;
        });
    }

    /// One of them waits for the tier to come back, or could not even wait.
    pub(crate) fn queued(&self) {
        self.tell(|state| {
            state.open = state.open.saturating_sub(1);
            state.queued += 1;
        });
    }

    fn tell(&self, change: impl FnOnce(&mut State)) {
        let waker = {
            let mut state = self.0.lock();
            change(&mut state);
            if state.reach().is_some() { state.waker.take() } else { None }
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}
