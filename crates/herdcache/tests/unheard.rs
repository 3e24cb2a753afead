//! Flights that opened while nobody listened, in a process of its own: whether anybody does is the process's.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails there")]

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use herdcache::{Cache, Gate, HerdFlight, HerdSpan, HerdTracer, TraceCounts, Traces, Ttl, trace_herds};
use tokio::task::JoinHandle;
use tokio::time::sleep;

type Rows = Cache<u64, u64, &'static str>;

/// Notes the waiters of each herd that it is told of.
#[derive(Default)]
struct Tracer(Mutex<Vec<u64>>);

impl HerdTracer for Tracer {
    fn begin(&self, flight: &HerdFlight<'_>) -> Option<Arc<dyn HerdSpan>> {
        self.0.lock().unwrap().push(flight.waiters);
        None
    }
}

async fn callers(cache: &Rows, calls: &Arc<AtomicU64>, count: usize) -> Vec<JoinHandle<u64>> {
    let callers = (0..count).map(|_| {
        let (cache, calls) = (cache.clone(), Arc::clone(calls));
        let load = move |_| async move {
            calls.fetch_add(1, SeqCst);
            sleep(Duration::from_millis(20)).await;
            Ok(7)
        };
        tokio::spawn(async move { *cache.get_with(&1, load).await.unwrap().unwrap() })
    });
    let callers = callers.collect();
    // They have joined, and no time has passed.
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
    callers
}

/// It is told to nobody, whoever comes while it flies and however many wait for it; the next herd is told. Callers notice
/// nothing, and nothing is counted of what nobody could have heard.
#[tokio::test(start_paused = true)]
async fn a_flight_that_opened_unheard_is_told_to_nobody() {
    let ttl = Ttl::fresh_for(Duration::from_secs(60));
    let settings = Traces::default().hot_keys(0).one_in(0);
    let cache: Rows = Cache::builder("unheard", ttl, &Gate::new(16)).traces(settings).build().unwrap();
    let calls = Arc::new(AtomicU64::new(0));
    let tracer = Arc::new(Tracer::default());
    for (herd, told) in [(1, 0), (2, 1)] {
        let mut waiting = callers(&cache, &calls, 1).await;
        if herd == 1 {
            trace_herds(&tracer).unwrap();
        }
        waiting.extend(callers(&cache, &calls, 30).await);
        for caller in waiting {
            assert_eq!(caller.await.unwrap(), 7);
        }
        assert_eq!(*tracer.0.lock().unwrap(), vec![30; told]);
        assert_eq!(calls.load(SeqCst), herd, "one load a herd");
        assert_eq!(cache.traced(), TraceCounts::default(), "the tracer wants none of them");
        cache.invalidate(&1).await;
    }
}
