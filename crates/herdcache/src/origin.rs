//! Going to the origin: the loader's contract, and what a loader is told.
//!
//! **Loaders are for reads.** A load may run twice (after a deadline or an
//! invalidation) or not at all (on a hit, a rejection, in cooling). A payment or
//! any change of state does not belong in one.
//!
//! **Nested loads.** A loader may ask for other keys, in this cache or another. Behind the same gate the
//! nested load runs under its parent's permit. A loader that asks for several at once lends it to one after
//! the other, unless the gate has permits for them; one that joins a flight which waits for a permit lends
//! it its own. A loader that asks for its own key gets `Reentrant`; a cycle over
//! two callers cannot be seen and ends at the flight deadline. Loads nested more than 64 deep fail as `Contract`.
//!
//! **Read in the future.** A loader's future may begin long after the closure that made it: while the load queues, or
//! waits for an older one of its key. Read the source within the future, not in the closure.
//!
//! **Runtimes.** Loads that wait need a tokio runtime with its timers enabled (`enable_time` or `enable_all`);
//! elsewhere they fail as `Contract`, which says so.
//! A loader that blocks before its first await blocks its own caller; the other callers and the key are
//! freed at the deadline all the same.

pub(crate) mod call;
mod loan;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use herdfeed::{FlightTrigger, MissCause};

use crate::clock;
use crate::entry::Entry;
use crate::loaded::Loaded;
use crate::sync::task;
use call::Call;

/// A source of values, bound to a cache when it is built.
///
/// Implement it on a struct, or give [`Builder::build_over`](crate::Builder::build_over)
/// a closure from [`LoadContext`] to a future. A loader that sees only the key
/// cannot forget the tenant.
///
/// Loader futures are `Send + 'static`. They run on the caller's runtime, do not
/// see the caller's task-locals, and under `panic = "abort"` a panic ends the process.
#[doc = include_str!("../docs/examples/origin.md")]
pub trait Origin<K, V>: Send + Sync + 'static {
    /// What it fails with. Shared with every waiting caller, never cloned.
    type Error: Send + Sync + 'static;

    /// Loads one key. `Ok(None)` and [`Loaded::absent`] mean that there is no such thing.
    ///
    /// # Errors
    /// Whatever the origin says. The error is shared with the waiting callers and
    /// the key cools for a moment; an older value is left untouched.
    ///
    /// # Cancel safety
    /// The future is dropped at the flight's limits. Work that goes on after that
    /// belongs into [`LoadContext::run_blocking`], which keeps the permit.
    fn load(&self, cx: LoadContext<K, V>) -> impl Future<Output = Result<Loaded<V>, Self::Error>> + Send;

    /// The most keys of one batch call; 1, the default, means that there is no batch call (0 counts as 1).
    ///
    /// [`ReadThrough::get_many`](crate::ReadThrough::get_many) loads its missing keys in chunks of this size.
    /// More: fewer origin calls, each of which is slower and fails for more keys at once. Fewer: more permits
    /// for the same keys. What the origin bears at once (the longest `IN (…)` list, say) is the natural bound.
    const MAX_BATCH: usize = 1;

    /// Loads several keys in one origin call. Called only if [`MAX_BATCH`](Origin::MAX_BATCH) is more than 1.
    ///
    /// `keys` are between 1 and `MAX_BATCH` different keys; the whole call runs under one permit, within one
    /// `origin_timeout`. The reply may be in any order. A key that it leaves out has failed as
    /// [`Failure::Contract`](crate::Failure::Contract): say [`Loaded::absent`] for what does not exist. A key that
    /// was not asked for is ignored, and of a key that is named twice the first value counts; the values left over stand
    /// in the account as discards, `not_asked`.
    ///
    /// As given, it loads one key after the other and ends with the first error.
    ///
    /// # Errors
    /// Whatever the origin says, if all of the call failed: it is the error of each of its keys, and each cools.
    ///
    /// # Cancel safety
    /// As [`load`](Origin::load).
    fn load_many(
        &self,
        keys: Vec<LoadContext<K, V>>,
    ) -> impl Future<Output = Result<Vec<(K, Loaded<V>)>, Self::Error>> + Send
    where
        K: Clone + Send + Sync + 'static,
        V: Send + Sync + 'static,
    {
        async move {
            let mut reply = Vec::with_capacity(keys.len());
            for cx in keys {
                let key = cx.key.clone();
                reply.push((key, self.load(cx).await?));
            }
            Ok(reply)
        }
    }
}

impl<K, V, E, R, F, L> Origin<K, V> for L
where
    K: Send + Sync + 'static,
    V: Send + Sync + 'static,
    E: Send + Sync + 'static,
    R: Into<Loaded<V>>,
    F: Future<Output = Result<R, E>> + Send,
    L: Fn(LoadContext<K, V>) -> F + Send + Sync + 'static,
{
    type Error = E;

    async fn load(&self, cx: LoadContext<K, V>) -> Result<Loaded<V>, E> {
        self(cx).await.map(Into::into)
    }
}

/// A load on its way.
pub(crate) type LoadFuture<V, E> = Pin<Box<dyn Future<Output = Result<Loaded<V>, E>> + Send>>;

/// A batch call on its way.
pub(crate) type BatchFuture<K, V, E> = Pin<Box<dyn Future<Output = Result<Vec<(K, Loaded<V>)>, E>> + Send>>;

/// An origin whose type has been forgotten.
pub(crate) trait AnyOrigin<K, V, E>: Send + Sync {
    fn start(self: Arc<Self>, cx: LoadContext<K, V>) -> LoadFuture<V, E>;
    fn start_many(self: Arc<Self>, keys: Vec<LoadContext<K, V>>) -> BatchFuture<K, V, E>;
    fn max_batch(&self) -> usize;
}

impl<K, V, O> AnyOrigin<K, V, O::Error> for O
where
    K: Clone + Send + Sync + 'static,
    V: Send + Sync + 'static,
    O: Origin<K, V>,
{
    fn start(self: Arc<Self>, cx: LoadContext<K, V>) -> LoadFuture<V, O::Error> {
        Box::pin(async move { self.load(cx).await })
    }

    fn start_many(self: Arc<Self>, keys: Vec<LoadContext<K, V>>) -> BatchFuture<K, V, O::Error> {
        Box::pin(async move { self.load_many(keys).await })
    }

    fn max_batch(&self) -> usize {
        O::MAX_BATCH
    }
}

/// What a loader is told of its load.
#[doc = include_str!("../docs/examples/context.md")]
pub struct LoadContext<K, V> {
    key: K,
    trigger: FlightTrigger,
    cause: Option<MissCause>,
    call: Arc<Call>,
    previous: Option<Previous<V>>,
}

/// What was there before.
struct Previous<V> {
    value: Arc<V>,
    version: Option<u64>,
    validator: Option<Arc<str>>,
}

impl<K, V> LoadContext<K, V> {
    pub(crate) fn new(
        key: K,
        trigger: FlightTrigger,
        cause: Option<MissCause>,
        previous: Option<&Arc<Entry<V>>>,
        call: Arc<Call>,
    ) -> Self
    where
        V: Send + Sync + 'static,
    {
        let previous = previous.map(|entry| {
            let marks = entry.stamps.marks();
            Previous {
                value: Arc::clone(&entry.value),
                version: marks.and_then(|marks| marks.version),
                validator: marks.and_then(|marks| marks.validator.clone()),
            }
        });
        Self { key, trigger, cause, call, previous }
    }

    /// The key to load.
    pub fn key(&self) -> &K {
        &self.key
    }

    /// What started the load.
    pub fn trigger(&self) -> FlightTrigger {
        self.trigger
    }

    /// Why it was needed, if a miss started it.
    pub fn cause(&self) -> Option<MissCause> {
        self.cause
    }

    /// The value that is there now, however old: the loader may answer [`Loaded::not_modified`] if the source
    /// confirms it. `None` if there is none or the key was invalidated.
    pub fn previous(&self) -> Option<&Arc<V>> {
        self.previous.as_ref().map(|previous| &previous.value)
    }

    /// The previous value's [version](Loaded::version), if it had one.
    pub fn previous_version(&self) -> Option<u64> {
        self.previous.as_ref().and_then(|previous| previous.version)
    }

    /// The previous value's [validator](Loaded::validator), if it had one: for `If-None-Match` and the like.
    pub fn validator(&self) -> Option<&str> {
        self.previous.as_ref().and_then(|previous| previous.validator.as_deref())
    }

    /// Time left until the origin call must be over: the value for the driver's own timeout.
    ///
    /// Ask for it inside the load's future, right before the call; a wait for a
    /// permit may lie between making the future and running it. 0 when it is over.
    pub fn remaining(&self) -> Duration {
        Duration::from_nanos(self.call.deadline().saturating_sub(clock::exact()))
    }

    /// Reports how long this load waited for a connection; of several waits each one.
    ///
    /// This tells "the origin answers, but connections are exhausted" from "the
    /// origin is slow". Report failed waits too.
    pub fn connection_wait(&self, waited: Duration) {
        self.call.connection_waited(waited);
    }

    /// Runs blocking work on the runtime's blocking threads.
    ///
    /// The load's permit stays held until the work has really ended, also when the
    /// load itself was given up at its deadline: blocking work cannot be stopped,
    /// and the origin still bears it.
    ///
    /// # Errors
    /// [`BlockingError`] when the work panicked or the runtime shut down.
    ///
    /// # Cancel safety
    /// Dropping the future does not stop work that has started.
    pub async fn run_blocking<T, F>(&self, work: F) -> Result<T, BlockingError>
    where
        T: Send + 'static,
        F: FnOnce() -> T + Send + 'static,
    {
        let part = call::Part::of(&self.call);
        let done = task::spawn_blocking(move || {
            let _part = part;
            work()
        });
        done.await.map_err(|error| BlockingError { panicked: error.is_panic() })
    }
}

impl<K: fmt::Debug, V> fmt::Debug for LoadContext<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoadContext").field("key", &self.key).field("trigger", &self.trigger).finish_non_exhaustive()
    }
}

/// Blocking work that gave no result.
///
/// ```
/// use std::time::Duration;
/// use herdcache::{BlockingError, Cache, Gate, LoadContext, Ttl};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # std::panic::set_hook(Box::new(|_| {}));
/// let load = |cx: LoadContext<u64, u64>| async move {
///     let key = *cx.key();
///     let work = move || 100_u64.checked_div(key).expect("a row to divide by");
///     cx.run_blocking(work).await // or mapped to an error of the service's own
/// };
/// let shares = Cache::<u64, u64, BlockingError>::builder("shares", Ttl::fresh_for(Duration::from_secs(60)), &Gate::new(8))
///     .build_over(load)?;
/// assert_eq!(shares.get(&4).await?.as_deref(), Some(&25));
/// let error = shares.get(&0).await.err().ok_or("the work panics")?;
/// assert_eq!(error.origin().map(|error| error.to_string()).as_deref(), Some("blocking work panicked"));
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct BlockingError {
    panicked: bool,
}

impl fmt::Display for BlockingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.panicked { "blocking work panicked" } else { "the runtime shut down before blocking work" })
    }
}

impl std::error::Error for BlockingError {}
