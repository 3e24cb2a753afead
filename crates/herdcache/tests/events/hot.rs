//! The keys asked for most, as the snapshot tells them.

use herdcache::Ttl;
use herdcache::herdfeed::{Fact, FlightEnd, FlightTrigger, HotKey, MissCause};

use crate::support::{Rows, answered, crowd, ms, rows, told};

const TTL: Ttl = Ttl::fresh_for(ms(60_000)).stale_for(ms(60_000));

async fn read(cache: &Rows, key: u64) {
    cache.get_with(&key, |_| async move { Ok(key) }).await.unwrap();
}

/// Reads keys 0, 1 and 2 in the ratio 6:3:1, mixed so that the sampling of one request in 16 meets all of them.
async fn mixed(cache: &Rows, reads: u64) {
    for n in 0..reads {
        // 7 has no divisor in common with 10.
        let key = match (n * 7 + n / 16) % 10 {
            0..=5 => 0,
            6..=8 => 1,
            _ => 2,
        };
        read(cache, key).await;
    }
}

fn hot(cache: &Rows, key: &str) -> HotKey {
    cache.snapshot().hot.into_iter().find(|hot| hot.key == key).expect("the key is hot")
}

/// The hottest keys come first, with estimates within their error and a sample's width.
#[tokio::test(start_paused = true)]
async fn hot_keys_come_in_their_order_and_share() {
    let cache = rows("hot", TTL).build().unwrap();
    mixed(&cache, 16_000).await;
    let snapshot = cache.snapshot();
    let keys: Vec<&str> = snapshot.hot.iter().map(|hot| hot.key.as_str()).collect();
    assert_eq!(keys, ["0", "1", "2"]);
    for (hot, truth) in snapshot.hot.iter().zip([9_600_u64, 4_800, 1_600]) {
        // Nothing was pushed out, so nothing is over-estimated but by sampling.
        assert_eq!(hot.error, 0);
        // One request in 16 is seen: five standard deviations of what so few tell of the truth.
        let spread = 5.0 * (16.0 * truth as f64).sqrt();
        assert!(hot.requests.abs_diff(truth) as f64 <= spread, "{} for {truth} ± {spread}", hot.requests);
        let share = truth as f64 / 16_000.0;
        assert!((hot.share - share).abs() <= spread / 16_000.0, "{} for {share}", hot.share);
    }
}

/// What slow paths know of a hot key is exact: its loads, who was coalesced, its age and what is left of it.
#[tokio::test(start_paused = true)]
async fn a_hot_keys_loads_and_ages_are_exact() {
    let cache = rows("hot-exact", TTL).build().unwrap();
    // Inserted, so that no load went before the key entered the summary.
    (0..3).for_each(|key| _ = cache.insert(key, key));
    mixed(&cache, 1_600).await;
    cache.invalidate(&0);
    answered(crowd(&cache, 0, 20, ms(30))).await;
    tokio::time::advance(ms(10_000)).await;
    let hot = hot(&cache, "0");
    assert_eq!((hot.loads, hot.coalesced, hot.load_us), (1, 19, 30_000));
    assert_eq!(
        (hot.age_us, hot.fresh_left_us, hot.stale_left_us),
        (Some(10_000_000), Some(50_000_000), Some(110_000_000))
    );
}

/// A key that nobody asks for any more is forgotten after two windows of 30 s.
#[tokio::test(start_paused = true)]
async fn a_hot_key_is_forgotten() {
    let cache = rows("hot-gone", TTL).build().unwrap();
    mixed(&cache, 1_600).await;
    tokio::time::advance(ms(31_000)).await;
    assert!(cache.snapshot().hot.iter().any(|hot| hot.key == "0"));
    tokio::time::advance(ms(61_000)).await;
    assert!(cache.snapshot().hot.is_empty());
}

/// Another key that takes over is told once, after two looks that agree.
#[tokio::test(start_paused = true)]
async fn a_change_of_the_first_key_is_told() {
    let cache = rows("hot-change", TTL).build().unwrap();
    let mut events = cache.events();
    for key in [1, 2] {
        // The second must outweigh what is remembered of the first.
        for _ in 0..(40 * key) {
            for _ in 0..100 {
                read(&cache, key).await;
            }
            tokio::time::advance(ms(500)).await;
            let _ = cache.snapshot();
        }
    }
    let changes = told(&mut events, |fact| matches!(fact, Fact::HotKeyChanged { .. }));
    let keys: Vec<&str> = changes
        .iter()
        .filter_map(|event| match &event.fact {
            Fact::HotKeyChanged { key, .. } => Some(key.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(keys, ["1", "2"]);
}

/// Single flights are told as examples: a few of the calm ones from start to landing, and those that fail.
#[tokio::test(start_paused = true)]
async fn some_flights_are_told_from_start_to_landing() {
    let cache = rows("examples", TTL).build().unwrap();
    let mut events = cache.events();
    let mut told = Vec::new();
    // The ring's budget is the whole process's: other tests may use up a second of it.
    for key in 0..100 {
        read(&cache, key).await;
        cache.get_with(&(1_000 + key), |_| async { Err::<u64, _>("down") }).await.unwrap_err();
        told.extend(events.take());
        tokio::time::sleep(ms(1_000)).await;
    }
    let start = told.iter().find_map(|event| match &event.fact {
        Fact::FlightStarted { flight, key, trigger, cause } => Some((*flight, key.clone(), *trigger, *cause)),
        _ => None,
    });
    let Some((first, key, trigger, cause)) = start else { panic!("{told:?}") };
    assert!(key.parse::<u64>().is_ok_and(|key| key < 1_100), "{key}");
    assert_eq!((trigger, cause), (FlightTrigger::Miss, Some(MissCause::Cold)));
    let ends: Vec<_> = told
        .iter()
        .filter_map(|event| match &event.fact {
            Fact::FlightLanded { flight, end, waiters, .. } => Some((*flight, *end, *waiters)),
            _ => None,
        })
        .collect();
    assert!(ends.iter().any(|(flight, _, waiters)| *flight == first && *waiters == 1), "{ends:?}");
    assert!(ends.iter().any(|(_, end, _)| *end == FlightEnd::Failed), "{ends:?}");
}
