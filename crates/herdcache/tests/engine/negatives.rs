//! N1: absences have a time of their own, and a room of their own.

use herdcache::herdfeed::{Outcome, RemovalCause};
use herdcache::{Cache, Gate, Loaded, LocalStore, Ttl};

use crate::support::{DbError, Rows, assert_quiet, ms, outcome};

const TTL: Ttl = Ttl::fresh_for(ms(3_600_000));

fn small(capacity: u64, share: f64) -> Rows {
    let builder = Cache::builder("negatives", TTL, &Gate::new(64)).jitter(0.0).negative_ttl(ms(600_000));
    builder.capacity(capacity).negative_share(share).build().unwrap()
}

async fn absent(cache: &Rows, key: u64) {
    let got = cache.get_with(&key, |_| async { Ok::<_, DbError>(None::<u64>) }).await;
    assert!(matches!(got, Ok(None)), "{got:?}");
}

fn negatives(cache: &Rows) -> u64 {
    cache.snapshot().outcomes[Outcome::Negative]
}

/// How many absent keys are asked for: a million where time is no object.
fn flood() -> u64 {
    std::env::var("HERDCACHE_FLOOD").ok().map_or(100_000, |text| text.parse().expect("HERDCACHE_FLOOD is a number"))
}

/// N1: a flood of keys that do not exist, beside a working set: they fill their own room and evict no value.
#[tokio::test(start_paused = true)]
async fn n1_a_flood_of_absent_keys_evicts_no_value() {
    let cache = small(1_000, 0.1);
    let (mut hits, mut reads, mut most) = (0_u64, 0_u64, 0);
    for round in 0..flood() {
        absent(&cache, 1_000_000 + round).await;
        if round % 10 == 0 {
            let key = (round / 10) % 900;
            let got = cache.get_with(&key, |_| async move { Ok(key) }).await;
            reads += 1;
            hits += u64::from(outcome(&got) == Some(Outcome::Hit));
        }
        if round % 5_000 == 0 {
            let snapshot = cache.snapshot();
            most = most.max(snapshot.negatives);
            assert!(snapshot.entries - snapshot.negatives <= 1_000, "{}", snapshot.entries);
        }
    }
    assert!((50..=100).contains(&most), "{most} resident negatives of 100");
    assert_eq!(cache.snapshot().negative_capacity, 100);
    let ratio = hits as f64 / reads as f64;
    assert_eq!(reads - hits, 900, "all but the first read of each of the 900 keys");
    assert!(ratio >= 0.90, "{ratio}");
}

/// N1: within its time an absence is answered without a load; a value that is written ends it, and the other way round.
#[tokio::test(start_paused = true)]
async fn n1_a_key_is_present_or_absent_never_both() {
    let cache = small(100, 0.1);
    absent(&cache, 7).await;
    assert_eq!((negatives(&cache), cache.snapshot().outcomes[Outcome::Loaded]), (0, 1));
    let got = cache.get_with(&7, |_| async { Ok(1) }).await;
    assert!(matches!(got, Ok(None)));
    cache.insert(7, 1);
    assert_eq!(cache.peek(&7).map(|answer| *answer), Some(1));
    cache.insert(7, Loaded::absent());
    assert!(cache.peek(&7).is_none());
    let got = cache.get_with(&7, |_| async { Ok(2) }).await;
    assert!(matches!(got, Ok(None)));
    let snapshot = cache.snapshot();
    assert_eq!((snapshot.entries, snapshot.negatives), (1, 1));
    assert_eq!((snapshot.outcomes[Outcome::Negative], snapshot.removals[RemovalCause::Replaced]), (2, 2));
    cache.invalidate(&7);
    let got = cache.get_with(&7, |_| async { Ok(3) }).await;
    assert_eq!(outcome(&got), Some(Outcome::Loaded));
    let snapshot = cache.snapshot();
    assert_eq!((snapshot.entries, snapshot.negatives, snapshot.removals[RemovalCause::Invalidated]), (1, 0, 1));
    tokio::time::advance(ms(600_000)).await;
    assert_quiet(&cache.snapshot());
}

/// N1: an absence runs out after its own time, whatever values may.
#[tokio::test(start_paused = true)]
async fn n1_absences_have_their_own_ttl() {
    let cache = small(100, 0.1);
    absent(&cache, 7).await;
    tokio::time::advance(ms(599_999)).await;
    absent(&cache, 7).await;
    assert_eq!(negatives(&cache), 1);
    tokio::time::advance(ms(1)).await;
    let got = cache.get_with(&7, |_| async { Ok(2) }).await;
    assert_eq!(outcome(&got), Some(Outcome::Loaded));
}

/// L7, N1: on each store `capacity` bounds the values and its share the absences, which come on top; the share is one entry at
/// least. The snapshot settles moka first; quick_cache is within both bounds after each write.
#[tokio::test(start_paused = true)]
async fn l7_absences_have_their_room_on_top_of_the_capacity() {
    for store in LocalStore::ALL {
        for (capacity, share, room) in [(1, 0.1, 1), (1, 0.5, 1), (100, 0.1, 10), (300, 0.5, 150)] {
            let gate = Gate::new(64);
            let builder = Cache::<u64, u64, DbError>::builder("room", TTL, &gate).jitter(0.0).store(*store);
            let cache = builder.capacity(capacity).negative_share(share).build().unwrap();
            for key in 0..4 * capacity {
                cache.insert(key, key);
                cache.insert(1_000_000 + key, Loaded::absent());
                let snapshot = cache.snapshot();
                let values = snapshot.entries - snapshot.negatives;
                assert!(
                    values <= capacity && snapshot.negatives <= room,
                    "{store}: {values} and {}",
                    snapshot.negatives
                );
            }
            let snapshot = cache.snapshot();
            let held = (snapshot.entries, snapshot.negatives, snapshot.negative_capacity);
            assert_eq!(held, (capacity + room, room, room), "{store}: {capacity} entries");
        }
    }
}
