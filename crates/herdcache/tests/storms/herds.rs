//! K3, S1: many herds at once, each of which is one load.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::{Duration, Instant};

use herdcache::{Cache, Gate, Outcome, Ttl};

use crate::support::{Calls, DbError, Rows, assert_quiet, value};
use crate::{number, threads};

const KEYS: usize = 1_000;
const CALLERS: usize = 16;
const PERMITS: usize = 64;
/// The longest there is.
const FOR_EVER: Ttl = Ttl::fresh_for(Duration::from_secs(10 * 365 * 24 * 3_600));

/// Gives way to others until the time is over. Finer than a timer, which has milliseconds.
async fn passes(time: Duration) {
    let began = Instant::now();
    while began.elapsed() < time {
        tokio::task::yield_now().await;
    }
}

/// One herd for each key: 16 callers, who come in any order, on loads of up to 200 µs. Gives how many of them joined a flight.
async fn herds(run: u64) -> u64 {
    let gate = Gate::builder(PERMITS).queue(KEYS).queue_timeout(Duration::from_secs(10)).build().unwrap();
    let cache: Rows = Cache::builder(format!("herds-{run}"), FOR_EVER, &gate).build().unwrap();
    let calls = Arc::new(Calls::default());
    let loads: Arc<Vec<AtomicU32>> = Arc::new((0..KEYS).map(|_| AtomicU32::new(0)).collect());
    let mut callers: Vec<usize> = (0..KEYS * CALLERS).map(|nth| nth % KEYS).collect();
    fastrand::Rng::with_seed(run).shuffle(&mut callers);
    let ask = |key: usize| {
        let (cache, calls, loads) = (cache.clone(), Arc::clone(&calls), Arc::clone(&loads));
        tokio::spawn(async move {
            let load = |_| async move {
                let _call = calls.call();
                loads[key].fetch_add(1, SeqCst);
                passes(Duration::from_micros(fastrand::u64(0..=200))).await;
                Ok::<_, DbError>(key as u64 * 10)
            };
            assert_eq!(value(cache.get_with(&(key as u64), load).await), key as u64 * 10);
        })
    };
    let asked: Vec<_> = callers.into_iter().map(ask).collect();
    for asked in asked {
        asked.await.unwrap();
    }
    let twice: Vec<_> = loads.iter().map(|count| count.load(SeqCst)).filter(|count| *count != 1).collect();
    assert_eq!((twice, calls.started()), (vec![], KEYS as u64), "run {run}");
    assert!(calls.peak() <= PERMITS as u64, "L3: {} at once", calls.peak());
    let snapshot = cache.snapshot();
    assert_quiet(&snapshot);
    let [loaded, coalesced, hits] =
        [Outcome::Loaded, Outcome::Coalesced, Outcome::Hit].map(|how| snapshot.outcomes[how]);
    let [keys, reads] = [KEYS, KEYS * CALLERS].map(|count| count as u64);
    assert_eq!((snapshot.origin_calls, loaded, loaded + coalesced + hits), (keys, keys, reads));
    assert_eq!((gate.snapshot().used(), gate.snapshot().pending, snapshot.entries), (0, 0, keys));
    coalesced
}

/// L1, L2, L3, S3: 1,000 keys, 16 callers each: exactly 1,000 loads, however often.
#[test]
fn l2_a_thousand_herds_are_a_thousand_loads() {
    let runtime = threads(4);
    let runs = number("HERDCACHE_RUNS", 5);
    let joined: u64 = (0..runs).map(|run| runtime.block_on(herds(run))).sum();
    println!("{runs} runs of {KEYS} loads each; {joined} callers joined a flight");
    assert!(joined > runs, "a storm in which nobody meets anybody shows nothing: {joined} joined");
}
