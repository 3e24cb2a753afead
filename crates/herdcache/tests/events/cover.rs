//! Stale cover that runs out: told while there is time to act, over with the next good load.

use herdcache::herdfeed::{Fact, Outcome, Severity};
use herdcache::{Answer, Ttl};

use crate::support::{condition, ms, rows, told};

fn is_near(fact: &Fact) -> bool {
    matches!(fact, Fact::StaleBoundNear { .. })
}

/// L4: at 80 % of the last bound after a failed load, not before, and never beyond it.
#[tokio::test(start_paused = true)]
async fn l4_a_value_near_its_last_bound_is_told_until_a_load_succeeds() {
    let ttl = Ttl::fresh_for(ms(1_000)).stale_if_error_for(ms(10_000));
    let cache = rows("cover", ttl).jitter(0.0).cooling(ms(10), ms(10)).build().unwrap();
    let mut events = cache.events();
    cache.insert(7, 1).await;
    // At an age of 5 s, 8.7 s and 8.9 s, of a last bound of 11 s.
    for (pause, near) in [(5_000, false), (3_700, false), (200, true)] {
        tokio::time::sleep(ms(pause)).await;
        let answer = cache.get_with(&7, |_| async { Err::<u64, _>("down") }).await.unwrap().unwrap();
        assert_eq!((Answer::outcome(&answer), *answer), (Outcome::Reserve, 1));
        assert_eq!(condition(&cache.snapshot(), is_near).is_some(), near, "after another {pause} ms");
    }
    let told_near = told(&mut events, is_near);
    let [event] = told_near.as_slice() else { panic!("{told_near:?}") };
    let Fact::StaleBoundNear { key, ratio, left_us } = &event.fact else { panic!() };
    assert_eq!((key.as_str(), event.severity, *left_us), ("7", Severity::Warn, 2_100_000));
    assert!((ratio - 8.9 / 11.0).abs() < 1e-6, "{ratio}");
    tokio::time::sleep(ms(100)).await;
    assert!(cache.get_with(&7, |_| async { Ok(2) }).await.is_ok());
    assert!(condition(&cache.snapshot(), is_near).is_none());
    let ended = told(&mut events, |fact| matches!(fact, Fact::StaleBoundNearEnded { .. }));
    assert_eq!(ended.len(), 1);
}

/// A key that nobody asks for any more is near its bound for nobody: after ten seconds it is told as over.
#[tokio::test(start_paused = true)]
async fn a_value_near_its_last_bound_is_forgotten_with_its_last_reader() {
    let ttl = Ttl::fresh_for(ms(1_000)).stale_if_error_for(ms(60_000));
    let cache = rows("uncovered", ttl).jitter(0.0).cooling(ms(10), ms(10)).build().unwrap();
    let mut events = cache.events();
    cache.insert(7, 1).await;
    tokio::time::sleep(ms(55_000)).await;
    assert!(cache.get_with(&7, |_| async { Err::<u64, _>("down") }).await.is_ok());
    for (pause, near) in [(9_000, true), (1_500, false)] {
        tokio::time::sleep(ms(pause)).await;
        assert_eq!(condition(&cache.snapshot(), is_near).is_some(), near, "after another {pause} ms");
    }
    assert_eq!(told(&mut events, |fact| matches!(fact, Fact::StaleBoundNearEnded { .. })).len(), 1);
}
