//! [`Calls`]: what an origin counts by itself.
//!
//! Apart from the engine's account on purpose: a test that compares the two sees what
//! either of them gets wrong. It knows no cache, no key and no time.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use crate::origin::LoadContext;
use crate::sync::plain::atomic::{AtomicU64, Ordering::SeqCst};
use crate::sync::time;

type Load<V, E> = Pin<Box<dyn Future<Output = Result<V, E>> + Send>>;

/// Counts the calls of one origin. A clone counts into the same.
///
/// ```
/// use herdcache::testing::Calls;
/// let calls = Calls::new();
/// let first = calls.call();
/// drop(calls.call());
/// drop(first);
/// assert_eq!((calls.started(), calls.running(), calls.peak()), (2, 0, 2));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Calls(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    started: AtomicU64,
    running: AtomicU64,
    peak: AtomicU64,
}

impl Calls {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Calls that began.
    pub fn started(&self) -> u64 {
        self.0.started.load(SeqCst)
    }

    /// Calls that run now.
    pub fn running(&self) -> u64 {
        self.0.running.load(SeqCst)
    }

    /// The most calls that ran at once.
    pub fn peak(&self) -> u64 {
        self.0.peak.load(SeqCst)
    }

    /// Counts one call for as long as the result lives, also when its load is given up.
    pub fn call(&self) -> Call {
        self.0.started.fetch_add(1, SeqCst);
        let running = self.0.running.fetch_add(1, SeqCst) + 1;
        self.0.peak.fetch_max(running, SeqCst);
        Call(Arc::clone(&self.0))
    }

    /// A loader for [`Cache::get_with`](crate::Cache::get_with) that counts itself, takes `latency` and ends with `result`.
    pub fn load<K, V, E>(
        &self,
        latency: Duration,
        result: Result<V, E>,
    ) -> impl FnOnce(LoadContext<K, V>) -> Load<V, E> + Send + use<K, V, E>
    where
        V: Send + 'static,
        E: Send + 'static,
    {
        let calls = self.clone();
        move |_| {
            Box::pin(async move {
                let _call = calls.call();
                time::sleep(latency).await;
                result
            })
        }
    }
}

/// One call that runs, from [`Calls::call`]. Dropping it says that the call has ended.
///
/// ```
/// use herdcache::testing::{Call, Calls};
/// /// A stand-in for a driver's query: counted until it ends, also when its load is given up.
/// struct Query { _call: Call }
/// let calls = Calls::new();
/// let query = Query { _call: calls.call() };
/// assert_eq!(calls.running(), 1);
/// drop(query);
/// assert_eq!((calls.started(), calls.running()), (1, 0));
/// ```
#[derive(Debug)]
#[must_use = "the call has ended when this is dropped"]
pub struct Call(Arc<Counts>);

impl Drop for Call {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, SeqCst);
    }
}
