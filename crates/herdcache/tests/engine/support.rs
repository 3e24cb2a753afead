//! A scripted origin that counts its own calls, apart from the engine's account.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use herdcache::herdfeed::CacheSnapshot;
use herdcache::{Cache, Gate, LoadContext, ReadThrough, Ttl};

pub(crate) const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DbError(pub(crate) &'static str);

impl std::fmt::Display for DbError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

/// What the origin counts.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    pub(crate) started: AtomicU64,
    pub(crate) running: AtomicU64,
    pub(crate) peak: AtomicU64,
}

impl Calls {
    pub(crate) fn started(&self) -> u64 {
        self.started.load(SeqCst)
    }

    /// Counts one call while it lives.
    pub(crate) fn call(self: &Arc<Self>) -> Call {
        self.started.fetch_add(1, SeqCst);
        let running = self.running.fetch_add(1, SeqCst) + 1;
        self.peak.fetch_max(running, SeqCst);
        Call(Arc::clone(self))
    }
}

pub(crate) struct Call(Arc<Calls>);
impl Drop for Call {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, SeqCst);
    }
}

pub(crate) type Users = ReadThrough<u64, String, DbError>;

/// A cache over an origin that takes `latency` and gives `user {key}`.
pub(crate) fn users(ttl: Ttl, latency: Duration) -> (Users, Arc<Calls>) {
    let calls = Arc::new(Calls::default());
    let counted = Arc::clone(&calls);
    let cache = Cache::builder("users", ttl, &Gate::new(64))
        .jitter(0.0)
        .build_over(move |cx: LoadContext<u64, String>| {
            let calls = Arc::clone(&counted);
            async move {
                let _call = calls.call();
                tokio::time::sleep(latency).await;
                Ok::<_, DbError>(format!("user {}", cx.key()))
            }
        })
        .unwrap();
    (cache, calls)
}

/// L1, L6: everything that began has ended, and nothing is left behind.
pub(crate) fn assert_quiet(snapshot: &CacheSnapshot) {
    assert_eq!(snapshot.active, 0, "{snapshot:#?}");
    assert_eq!(snapshot.outcomes.total(), snapshot.begun);
    assert_eq!([snapshot.waiting, snapshot.flights_active, snapshot.origin_active, snapshot.origin_abandoned], [0; 4]);
    assert_eq!(snapshot.flight_starts.total(), snapshot.flights.total());
    assert_eq!(snapshot.origin_calls, snapshot.origin_results.total());
    assert_eq!(snapshot.law_violations, 0);
}
