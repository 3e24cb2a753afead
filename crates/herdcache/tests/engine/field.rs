//! Scenarios of the field with their numbers: an origin that fails for seconds, thousands of keys that turn stale at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use herdcache::herdfeed::{PermitClass, RefreshResult, StaleReason};
use herdcache::{Answer, Cache, Gate, GetError, LoadContext, Outcome, ReadThrough, Ttl};
use tokio::time::Instant;

use crate::support::{Calls, DbError, Rows, assert_quiet, ms, outcome, rows, value};

/// F1: fresh for 60 s, stale until 90 s: the very milliseconds.
#[tokio::test(start_paused = true)]
async fn f1_sixty_seconds_fresh_ninety_stale() {
    let table =
        [(59_999, Some(Outcome::Hit)), (60_000, Some(Outcome::Stale)), (89_999, Some(Outcome::Stale)), (90_000, None)];
    for (at, expected) in table {
        let cache = rows("sixty-ninety", Ttl::fresh_for(ms(60_000)).stale_for(ms(30_000))).build().unwrap();
        cache.insert(7, 1);
        tokio::time::advance(ms(at)).await;
        assert_eq!(cache.peek(&7).map(|answer| Answer::outcome(&answer)), expected, "at {at} ms");
    }
}

/// What readers of one key got, second by second.
#[derive(Debug, Default)]
struct Seen {
    outcomes: Vec<(u64, Outcome)>,
}

impl Seen {
    fn of(&self, outcome: Outcome) -> impl Iterator<Item = u64> {
        self.outcomes.iter().filter(move |seen| seen.1 == outcome).map(|seen| seen.0)
    }

    fn span(&self, outcome: Outcome) -> (u64, u64) {
        (self.of(outcome).min().unwrap(), self.of(outcome).max().unwrap())
    }
}

/// E1, E2, F3, L4: an origin that fails for 5 s under 1,000 reads/s is asked 8 to 12 times; older values stand in for
/// as long as they may and no longer; recovery takes at most one window.
#[tokio::test(start_paused = true)]
async fn e1_five_seconds_of_failures_cost_about_ten_loads() {
    for _ in 0..20 {
        let ttl = Ttl::fresh_for(ms(1_000)).stale_for(ms(1_000)).stale_if_error_for(ms(3_000));
        let cache = rows("five-seconds", ttl).cooling(ms(100), ms(1_000)).build().unwrap();
        let began = Instant::now();
        let (first_failure, healed) = (1_000, 6_000);
        let calls = Arc::new(AtomicU64::new(0));
        let at = move || u64::try_from(began.elapsed().as_millis()).unwrap();
        let mut seen = Seen::default();
        while at() < 7_000 {
            let now = at();
            let counted = Arc::clone(&calls);
            let load = move |_| async move {
                let failing = (first_failure..healed).contains(&now);
                counted.fetch_add(u64::from(now >= first_failure), SeqCst);
                if failing { Err(DbError("down")) } else { Ok(now) }
            };
            let got = cache.get_with(&7, load).await;
            seen.outcomes.push((now, outcome(&got).unwrap()));
            tokio::time::sleep(ms(1)).await;
        }
        let failing_loads = cache.snapshot().origin_results[herdcache::herdfeed::OriginResult::Error];
        assert!((7..=11).contains(&failing_loads), "{failing_loads}");
        // Those, and the one that finds it healed.
        assert!((8..=12).contains(&(failing_loads + 1)));
        assert_eq!(seen.span(Outcome::Stale), (1_000, 1_999));
        assert_eq!(seen.span(Outcome::Reserve), (2_000, 3_999));
        let errors: Vec<u64> = seen.of(Outcome::Cooling).chain(seen.of(Outcome::Failed)).collect();
        let (first, last) = (*errors.iter().min().unwrap(), *errors.iter().max().unwrap());
        assert_eq!(first, 4_000);
        assert!((healed - 1..healed + 999).contains(&last), "recovered at {last}");
        assert_quiet(&cache.snapshot());
    }
}

/// R1, F3, G2: 10,000 keys turn stale at once: everybody is answered at once, at most 10 refreshes run, and a cold key
/// among them is answered in its load time.
#[tokio::test(start_paused = true)]
async fn r1_ten_thousand_stale_keys_start_ten_refreshes() {
    let gate = Gate::builder(20).refresh_permits(10).build().unwrap();
    let calls = Arc::new(Calls::default());
    let origin = {
        let calls = Arc::clone(&calls);
        move |cx: LoadContext<u64, u64>| calls.load(ms(50), Ok(1))(cx)
    };
    let ttl = Ttl::fresh_for(ms(1_000)).stale_for(ms(60_000));
    let cache: ReadThrough<u64, u64, DbError> =
        Cache::builder("ten-thousand", ttl, &gate).jitter(0.0).capacity(20_000).build_over(origin).unwrap();
    (0..10_000).for_each(|key| _ = cache.insert(key, 0));
    tokio::time::advance(ms(1_000)).await;
    let began = Instant::now();
    for key in 0..10_000 {
        let got = cache.get(&key).await;
        assert_eq!((outcome(&got), value(got)), (Some(Outcome::Stale), 0));
        if key == 5_000 {
            assert_eq!(cache.snapshot().flights_active, 10);
            assert_eq!(gate.snapshot().in_use[PermitClass::Refresh], 10);
        }
    }
    assert_eq!(began.elapsed(), Duration::ZERO, "nobody waited");
    let cold = cache.get(&99_999).await;
    assert_eq!((outcome(&cold), began.elapsed()), (Some(Outcome::Loaded), ms(50)));
    tokio::time::sleep(ms(60)).await;
    // Ten refreshes and the cold key; every other read skipped its refresh and is counted.
    let snapshot = cache.snapshot();
    assert_eq!((calls.started(), calls.peak()), (11, 11));
    assert_eq!(snapshot.refreshes[RefreshResult::SkippedNoPermit], 9_990);
    assert_eq!(snapshot.refreshes[RefreshResult::Stored], 10);
    let why = [StaleReason::Rejected, StaleReason::Revalidating].map(|reason| snapshot.stale_serves[reason]);
    assert_eq!(why, [9_990, 10], "a skipped refresh is a refused load");
    assert_quiet(&snapshot);
}

/// A5, case 11: one error does not last for the TTL.
#[tokio::test(start_paused = true)]
async fn e1_an_error_is_not_replayed_for_the_ttl() {
    let cache: Rows = rows("case-11", Ttl::fresh_for(ms(3_600_000))).cooling(ms(100), ms(100)).build().unwrap();
    let calls = Arc::new(Calls::default());
    let crowd: Vec<_> =
        (0..100).map(|_| crate::support::ask(&cache, 7, calls.load(ms(1), Err(DbError("once"))))).collect();
    let mut first = None;
    for caller in crowd {
        let Err(GetError::Failed(herdcache::Failure::Origin(error))) = caller.await.unwrap() else { panic!() };
        assert!(Arc::ptr_eq(first.get_or_insert(Arc::clone(&error)), &error), "one error for all");
    }
    tokio::time::sleep(ms(49)).await;
    let got = cache.get_with(&7, calls.load(ms(1), Ok(5))).await;
    assert!(matches!(got, Err(GetError::Cooling { .. })), "{got:?}");
    tokio::time::sleep(ms(100)).await;
    assert_eq!(value(cache.get_with(&7, calls.load(ms(1), Ok(5))).await), 5);
    assert_eq!(calls.started(), 2);
}
