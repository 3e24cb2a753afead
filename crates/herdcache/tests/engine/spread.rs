//! F2, F4: jitter and refresh-ahead, by their numbers. Random draws are seeded.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use herdcache::herdfeed::{FlightTrigger, RefreshResult};
use herdcache::{Cache, Gate, LoadContext, Outcome, Ttl};
use tokio::time::{Instant, advance};

use crate::support::{DbError, Rows, assert_quiet, ms, outcome, rows, turns};

fn jittered(name: &str, jitter: f64) -> Rows {
    let ttl = Ttl::fresh_for(ms(300_000));
    Cache::builder(name, ttl, &Gate::new(8)).jitter(jitter).capacity(200_000).build().unwrap()
}

/// Writes `keys` keys evenly within one second.
async fn write_all(cache: &Rows, keys: u64) {
    for key in 0..keys {
        cache.insert(key, key);
        if key % (keys / 1_000) == keys / 1_000 - 1 {
            advance(ms(1)).await;
        }
    }
}

/// The second, counted from the first write, in which every `step`-th of `keys` expires. One second has passed.
async fn expiries(cache: &Rows, keys: u64, step: usize) -> Vec<u16> {
    let mut expired = vec![0_u16; usize::try_from(keys).unwrap()];
    let mut fresh: Vec<u64> = (0..keys).step_by(step).collect();
    let followed = fresh.len();
    let mut second = 1;
    while !fresh.is_empty() {
        advance(ms(1_000)).await;
        second += 1;
        assert!(second <= 301, "{} keys outlive their TTL", fresh.len());
        fresh.retain(|key| {
            let alive = cache.peek(key).is_some();
            if !alive {
                expired[usize::try_from(*key).unwrap()] = second;
            }
            alive
        });
        if second < 270 {
            assert_eq!(fresh.len(), followed, "none goes before 270 s");
            // Nothing can happen until then: jitter takes a tenth at most.
            advance(ms(1_000 * u64::from(269 - second))).await;
            second = 269;
        }
    }
    expired.into_iter().step_by(step).collect()
}

/// F2, case 28: 100,000 keys written within a second expire over 30 seconds, about 3,333 in each.
///
/// Every fourth key is followed, 25,000 in all: 833 in each second, σ = 28.
#[tokio::test(start_paused = true)]
async fn f2_keys_written_together_expire_apart() {
    fastrand::seed(28);
    let cache = jittered("case-28", 0.10);
    write_all(&cache, 100_000).await;
    let mut buckets = [0_u32; 302];
    expiries(&cache, 100_000, 4).await.iter().for_each(|second| buckets[usize::from(*second)] += 1);
    assert_eq!(buckets.iter().sum::<u32>(), 25_000);
    assert!(buckets[..271].iter().all(|bucket| *bucket == 0));
    // The first and the last second hold about half each, since the writes took one.
    for (second, bucket) in buckets.iter().enumerate().take(301).skip(272) {
        // Five σ either way.
        assert!((691..=975).contains(bucket), "{bucket} keys in second {second}");
    }
    assert!((300..540).contains(&buckets[271]) && (300..540).contains(&buckets[301]), "{buckets:?}");
}

/// F2, case 28: without jitter all of them go in the same second.
#[tokio::test(start_paused = true)]
async fn f2_without_jitter_they_expire_together() {
    let cache = jittered("case-28-none", 0.0);
    write_all(&cache, 10_000).await;
    let present = || (0..10_000).filter(|key| cache.peek(key).is_some()).count();
    advance(ms(298_999)).await;
    assert_eq!(present(), 10_000);
    advance(ms(1_001)).await;
    assert_eq!(present(), 0);
}

/// F2, case 28: two caches of one process do not repeat each other's offsets.
#[tokio::test(start_paused = true)]
async fn f2_two_caches_do_not_share_their_offsets() {
    fastrand::seed(29);
    let (one, two) = (jittered("case-28-one", 0.10), jittered("case-28-two", 0.10));
    let mut seconds = Vec::new();
    for cache in [one, two] {
        write_all(&cache, 6_000).await;
        seconds.push(expiries(&cache, 6_000, 1).await);
    }
    let same = seconds[0].iter().zip(&seconds[1]).filter(|(one, two)| one == two).count();
    // By chance one in 30, which is 200, σ = 14.
    assert!((130..270).contains(&same), "{same} of 6,000 keys expire in the same second");
}

/// F2: jitter never makes freshness vanish, and moves the later bounds along.
#[tokio::test(start_paused = true)]
async fn f2_jitter_moves_all_bounds_together() {
    fastrand::seed(2);
    let ttl = Ttl::fresh_for(ms(100)).stale_for(ms(50));
    let cache = Cache::<u64, u64, DbError>::builder("moves", ttl, &Gate::new(8)).jitter(0.5).build().unwrap();
    (0..1_000).for_each(|key| _ = cache.insert(key, key));
    let mut soft_and_hard = vec![(0_u64, 0_u64); 1_000];
    for at in 0..=150 {
        for key in 0..1_000 {
            let bounds = &mut soft_and_hard[usize::try_from(key).unwrap()];
            match cache.peek(&key).as_ref().map(herdcache::Answer::outcome) {
                Some(Outcome::Hit) => *bounds = (at + 1, at + 1),
                Some(_) => bounds.1 = at + 1,
                None => {}
            }
        }
        advance(ms(1)).await;
    }
    let softs: std::collections::BTreeSet<u64> = soft_and_hard.iter().map(|bounds| bounds.0).collect();
    assert!(softs.iter().all(|soft| (50..=100).contains(soft)) && softs.len() > 45, "{softs:?}");
    assert!(soft_and_hard.iter().all(|(soft, hard)| hard - soft == 50));
}

/// What the loader of an early refresh saw.
#[derive(Default)]
struct Ahead {
    /// When the value under the key arrived.
    born: Mutex<Option<Instant>>,
    /// How long before expiry each early load began, in seconds.
    leads: Mutex<Vec<f64>>,
}

async fn read_ahead(cache: &Rows, ahead: &Arc<Ahead>) -> Outcome {
    let ahead = Arc::clone(ahead);
    let load = |cx: LoadContext<u64, u64>| async move {
        if cx.trigger() == FlightTrigger::Early {
            let age = ahead.born.lock().unwrap().unwrap().elapsed();
            ahead.leads.lock().unwrap().push((ms(10_000).checked_sub(age).unwrap()).as_secs_f64());
        }
        tokio::time::sleep(ms(50)).await;
        *ahead.born.lock().unwrap() = Some(Instant::now());
        Ok(1)
    };
    outcome(&cache.get_with(&7, load).await).unwrap()
}

/// F4, case 16: TTL 10 s, loads of 50 ms, β = 1, 1,000 reads a second: one early load in each of 200 cycles, no waiting.
///
/// The first 9.3 seconds of a cycle are skipped: a lead of 0.7 s has a chance of e⁻¹⁴ at each read.
#[tokio::test(start_paused = true)]
async fn f4_refresh_ahead_loads_once_per_cycle_and_nobody_waits() {
    fastrand::seed(16);
    let cache = rows("case-16", Ttl::fresh_for(ms(10_000))).early_refresh(1.0).build().unwrap();
    let ahead = Arc::new(Ahead::default());
    assert_eq!(read_ahead(&cache, &ahead).await, Outcome::Loaded);
    for cycle in 1..=200 {
        advance(ms(9_300)).await;
        let born = *ahead.born.lock().unwrap();
        while *ahead.born.lock().unwrap() == born {
            assert_eq!(read_ahead(&cache, &ahead).await, Outcome::Hit, "in cycle {cycle}");
            advance(ms(1)).await;
            turns_short().await;
        }
        assert_eq!(ahead.leads.lock().unwrap().len(), cycle);
    }
    let mut leads = ahead.leads.lock().unwrap().clone();
    leads.sort_by(f64::total_cmp);
    let mean = leads.iter().sum::<f64>() / 200.0;
    // Theory: 0.05 s × (ln 50 + 0.577) = 0.2245 s, median 0.214 s; four σ of a mean of 200.
    assert!((0.206..=0.242).contains(&mean), "mean lead {mean} s");
    assert!((0.190..=0.238).contains(&leads[100]), "median lead {} s", leads[100]);
    let snapshot = cache.snapshot();
    assert_eq!((snapshot.flight_starts[FlightTrigger::Early], snapshot.flight_starts[FlightTrigger::Miss]), (200, 1));
    assert_eq!((snapshot.refreshes[RefreshResult::Stored], snapshot.origin_calls), (200, 201));
    assert_quiet(&snapshot);
}

/// Lets a refresh that is due start or land.
async fn turns_short() {
    for _ in 0..4 {
        tokio::task::yield_now().await;
    }
}

/// F4: a key whose load time is unknown, and a cache with β = 0, never refresh early.
#[tokio::test(start_paused = true)]
async fn f4_without_a_load_time_or_beta_nothing_is_early() {
    let inserted = rows("case-16-inserted", Ttl::fresh_for(ms(1_000))).early_refresh(10.0).build().unwrap();
    inserted.insert(7, 1);
    let off = rows("case-16-off", Ttl::fresh_for(ms(1_000))).early_refresh(0.0).build().unwrap();
    let ahead = Arc::new(Ahead::default());
    assert_eq!(read_ahead(&off, &ahead).await, Outcome::Loaded);
    inserted.insert(7, 1);
    for _ in 0..1_000 {
        assert_eq!(read_ahead(&inserted, &ahead).await, Outcome::Hit);
        assert_eq!(read_ahead(&off, &ahead).await, Outcome::Hit);
        advance(ms(1)).await;
    }
    turns().await;
    for cache in [inserted, off] {
        assert_eq!(cache.snapshot().flight_starts[FlightTrigger::Early], 0);
    }
}

/// F4, A1: a β that would always fire, or is no number, is refused with its range.
#[test]
fn f4_beta_beyond_its_range_is_refused() {
    for (beta, remedy) in
        [(f64::INFINITY, "lower it"), (f64::NAN, "set a number"), (-0.1, "raise it"), (10.1, "lower it")]
    {
        let error = rows("case-16-range", Ttl::fresh_for(ms(1_000))).early_refresh(beta).build().unwrap_err();
        assert_eq!(error.field(), "early_refresh");
        assert!(error.to_string().ends_with(&format!("{beta:?} is not within 0.0 to 10.0: {remedy}")), "{error}");
    }
}

/// F4: refresh-ahead costs a load's duration, kept in nanoseconds: loads of 200 µs count too.
#[tokio::test(start_paused = true)]
async fn f4_loads_far_below_a_second_still_refresh_ahead() {
    fastrand::seed(4);
    let cache = rows("case-16-fast", Ttl::fresh_for(ms(1_000))).early_refresh(10.0).build().unwrap();
    let load = |_| async {
        advance(Duration::from_micros(200)).await;
        Ok(1)
    };
    assert_eq!(outcome(&cache.get_with(&7, load).await), Some(Outcome::Loaded));
    advance(ms(980)).await;
    // β·δ = 2 ms: a hundred reads a millisecond in the last 20 ms.
    for _ in 0..1_800 {
        cache.get_with(&7, load).await.unwrap();
        turns_short().await;
        advance(Duration::from_micros(10)).await;
    }
    assert!(cache.snapshot().flight_starts[FlightTrigger::Early] >= 1);
}
