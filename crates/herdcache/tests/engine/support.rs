//! The testing kit under the names of these suites, and the callers and caches that they share.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use herdcache::herdfeed::CacheSnapshot;
pub(crate) use herdcache::testing::Calls;
use herdcache::testing::{Reply, ScriptedOrigin};
use herdcache::{Answer, Builder, Cache, Gate, Got, LoadContext, Outcome, ReadThrough, Ttl};
use tokio::task::JoinHandle;

pub(crate) const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DbError(pub(crate) &'static str);

impl std::fmt::Display for DbError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

pub(crate) type Users = ReadThrough<u64, String, DbError>;

/// A cache over an origin that takes `latency` and gives `user {key}`.
pub(crate) fn users(ttl: Ttl, latency: Duration) -> (Users, Calls) {
    let user = move |cx: &LoadContext<u64, String>| Reply::value(format!("user {}", cx.key())).after(latency);
    let origin = ScriptedOrigin::new(user);
    let calls = origin.calls().clone();
    (Cache::builder("users", ttl, &Gate::new(64)).jitter(0.0).build_over(origin).unwrap(), calls)
}

/// L1, L6: everything that began has ended, and nothing is left behind. The gate may be another test's, too.
#[track_caller]
pub(crate) fn assert_quiet(snapshot: &CacheSnapshot) {
    herdcache::testing::assert_balanced(snapshot);
}

/// Lets every task that can run do so, without letting time pass.
pub(crate) async fn turns() {
    herdcache::testing::settle().await;
}

/// A load of [`Rows`].
pub(crate) type Load = Pin<Box<dyn Future<Output = Result<u64, DbError>> + Send>>;

/// A cache whose callers bring the loader.
pub(crate) type Rows = Cache<u64, u64, DbError>;

/// The settings of a cache without jitter behind a wide gate.
pub(crate) fn rows(name: &str, ttl: Ttl) -> Builder<u64, u64, DbError> {
    Cache::builder(name, ttl, &Gate::new(64)).jitter(0.0)
}

/// A caller in a task of its own. It has not run yet when this returns.
pub(crate) fn ask(
    cache: &Rows,
    key: u64,
    load: impl FnOnce(LoadContext<u64, u64>) -> Load + Send + 'static,
) -> JoinHandle<Got<u64, DbError>> {
    let cache = cache.clone();
    tokio::spawn(async move { cache.get_with(&key, load).await })
}

/// A caller on a runtime that is not the current one.
pub(crate) fn ask_on(
    runtime: &tokio::runtime::Runtime,
    cache: &Rows,
    key: u64,
    load: impl FnOnce(LoadContext<u64, u64>) -> Load + Send + 'static,
) -> JoinHandle<Got<u64, DbError>> {
    let cache = cache.clone();
    runtime.spawn(async move { cache.get_with(&key, load).await })
}

/// The word under which a read stands in the account. An absent value is told by the account alone.
pub(crate) fn outcome<V: Send + Sync + 'static, E>(got: &Got<V, E>) -> Option<Outcome> {
    match got {
        Ok(answer) => answer.as_ref().map(Answer::outcome),
        Err(error) => Some(error.outcome()),
    }
}

/// The value of a read that must have one.
pub(crate) fn value(got: Got<u64, DbError>) -> u64 {
    *got.unwrap().unwrap()
}
