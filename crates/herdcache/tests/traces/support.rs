//! Caches and callers of these tests.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use herdcache::herdfeed::CacheSnapshot;
use herdcache::{Builder, Cache, Gate, Got, LoadContext, Traces, Ttl};
use tokio::task::JoinHandle;
use tracing::Instrument as _;

pub(crate) type Rows = Cache<u64, u64, &'static str>;
pub(crate) type Load = Pin<Box<dyn Future<Output = Result<u64, &'static str>> + Send>>;

pub(crate) const TTL: Ttl = Ttl::fresh_for(ms(60_000));

/// Every flight, as long as there are not too many.
pub(crate) fn all() -> Traces {
    Traces::none().per_second(1_000).one_in(1).waits(10_000)
}

pub(crate) const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

pub(crate) fn rows(name: &str, traces: Traces) -> Builder<u64, u64, &'static str> {
    Cache::builder(name, TTL, &Gate::new(16)).jitter(0.0).traces(traces)
}

/// A load that takes some time and gives its result.
pub(crate) fn slow(result: Result<u64, &'static str>) -> impl FnOnce(LoadContext<u64, u64>) -> Load + Send + 'static {
    move |_| {
        Box::pin(async move {
            tokio::time::sleep(ms(20)).await;
            result
        })
    }
}

/// A load that is ready at once.
pub(crate) fn quick(value: u64) -> impl FnOnce(LoadContext<u64, u64>) -> Load + Send + 'static {
    move |_| Box::pin(async move { Ok(value) })
}

/// A caller in a task and a span of its own. It has not run yet when this returns.
pub(crate) fn ask(
    cache: &Rows,
    key: u64,
    load: impl FnOnce(LoadContext<u64, u64>) -> Load + Send + 'static,
) -> JoinHandle<Got<u64, &'static str>> {
    let cache = cache.clone();
    let request = tracing::info_span!(target: "service", parent: None, "request");
    tokio::spawn(async move { cache.get_with(&key, load).await }.instrument(request))
}

/// Lets every task that can run do so, without letting time pass.
pub(crate) async fn turns() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

/// L1, L6: everything that began has ended, and nothing is left behind.
pub(crate) fn assert_quiet(snapshot: &CacheSnapshot) {
    assert_eq!((snapshot.active, snapshot.outcomes.total()), (0, snapshot.begun), "{snapshot:#?}");
    assert_eq!([snapshot.waiting, snapshot.flights_active, snapshot.origin_active, snapshot.origin_abandoned], [0; 4]);
    assert_eq!(snapshot.flight_starts.total(), snapshot.flights.total());
    assert_eq!((snapshot.origin_calls, snapshot.law_violations), (snapshot.origin_results.total(), 0));
}
