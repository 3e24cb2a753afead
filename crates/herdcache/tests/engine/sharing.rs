//! A2, K3, L8: who shares a load, who shares its value, and who must not.

use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use herdcache::herdfeed::FlightTrigger;
use herdcache::{Answer, Cache, Gate, KeyView, LoadContext, Loaded, Origin, Outcome, Ttl};

use crate::support::{DbError, assert_quiet, ms, outcome, turns, users};

const TTL: Ttl = Ttl::fresh_for(ms(60_000));

/// A2: a bound origin and a per-call loader share one flight table, whichever of the two leads.
#[tokio::test(start_paused = true)]
async fn a2_get_and_get_with_share_one_flight() {
    let (users, calls) = users(TTL, ms(20));
    let own = || async {
        tokio::time::sleep(ms(20)).await;
        Ok("by the caller".to_owned())
    };
    let (bound, joined) = tokio::join!(users.get(&1), users.get_with(&1, |_| own()));
    assert_eq!([outcome(&bound), outcome(&joined)], [Some(Outcome::Loaded), Some(Outcome::Coalesced)]);
    assert_eq!(joined.unwrap().as_deref().map(String::as_str), Some("user 1"));
    let (own, joined) = tokio::join!(users.get_with(&2, |_| own()), users.get(&2));
    assert_eq!([outcome(&own), outcome(&joined)], [Some(Outcome::Loaded), Some(Outcome::Coalesced)]);
    assert_eq!(joined.unwrap().as_deref().map(String::as_str), Some("by the caller"));
    assert_eq!(calls.started(), 1);
    let snapshot = users.snapshot();
    assert_eq!(snapshot.flight_starts[FlightTrigger::Miss], 2);
    assert_quiet(&snapshot);
}

/// An origin of the application's own type, as a repository over a pool would be.
struct Lengths(Arc<AtomicU64>);

impl Origin<String, usize> for Lengths {
    type Error = DbError;

    async fn load(&self, cx: LoadContext<String, usize>) -> Result<Loaded<usize>, DbError> {
        self.0.fetch_add(1, SeqCst);
        tokio::time::sleep(ms(20)).await;
        Ok((!cx.key().is_empty()).then(|| cx.key().len()).into())
    }
}

/// A2: an origin may be a type of one's own; every handle of the cache, limited or not, reaches the same flight.
#[tokio::test(start_paused = true)]
async fn a2_every_handle_of_a_cache_shares_its_flights() {
    let loads = Arc::new(AtomicU64::new(0));
    let cache = Cache::builder("handles", TTL, &Gate::new(8)).build_over(Lengths(Arc::clone(&loads))).unwrap();
    let (clone, patient, hasty) = (cache.clone(), cache.with_wait_timeout(ms(25)), cache.with_wait_timeout(ms(5)));
    let got = tokio::join!(cache.get("abc"), clone.get("abc"), patient.get("abc"), hasty.get("abc"));
    let outcomes = [&got.0, &got.1, &got.2, &got.3].map(outcome);
    let expected = [Outcome::Loaded, Outcome::Coalesced, Outcome::Coalesced, Outcome::TimedOut];
    assert_eq!(outcomes, expected.map(Some));
    assert_eq!(hasty.get("abc").await.unwrap().as_deref(), Some(&3));
    assert!(cache.get("").await.unwrap().is_none());
    assert_eq!(loads.load(SeqCst), 2);
    assert_quiet(&clone.snapshot());
}

/// Counts how many of its kind live. Cannot be cloned.
struct Counted(Arc<AtomicU64>);

impl Counted {
    fn new(alive: &Arc<AtomicU64>) -> Self {
        alive.fetch_add(1, SeqCst);
        Self(Arc::clone(alive))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

/// K3: 10,000 waiters hold one value, and it goes when the last of them and the cache let go.
#[tokio::test(start_paused = true)]
async fn k3_ten_thousand_waiters_share_one_value() {
    let alive = Arc::new(AtomicU64::new(0));
    let cache = Cache::<u64, Counted, DbError>::builder("shared", TTL, &Gate::new(8)).build().unwrap();
    let callers: Vec<_> = (0..10_000)
        .map(|_| {
            let (cache, alive) = (cache.clone(), Arc::clone(&alive));
            tokio::spawn(async move {
                let load = |_| async move {
                    tokio::time::sleep(ms(20)).await;
                    Ok(Counted::new(&alive))
                };
                cache.get_with(&7, load).await.unwrap().unwrap()
            })
        })
        .collect();
    let mut answers = Vec::new();
    for caller in callers {
        answers.push(caller.await.unwrap());
    }
    let first: *const Counted = &raw const *answers[0];
    assert!(answers.iter().all(|answer| std::ptr::eq(&raw const **answer, first)));
    assert_eq!(alive.load(SeqCst), 1);
    cache.invalidate(&7);
    let last = answers.pop();
    drop(answers);
    assert_eq!(alive.load(SeqCst), 1, "the last answer still holds it");
    drop(last);
    // The store lets go in its maintenance, once no other thread may be looking.
    let mut tries = 0;
    while alive.load(SeqCst) > 0 {
        tries += 1;
        assert!(tries < 10_000, "the store never lets go of an invalidated value");
        cache.insert(8, Counted::new(&Arc::default()));
        cache.invalidate(&8);
        assert_eq!(cache.snapshot().outcomes[Outcome::Coalesced], 9_999);
        std::thread::yield_now();
    }
}

/// A key with a tenant, as an application would have it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize)]
struct Scoped {
    tenant: String,
    id: String,
}

/// Parts that a joining separator, an escape or a normalisation would confuse.
const HOSTILE: [(&str, &str); 12] = [
    ("a", "b:c"),
    ("a:b", "c"),
    ("a", "b\",\"c"),
    ("a\",\"b", "c"),
    ("", "a:b:c"),
    ("a:b:c", ""),
    ("a\0", "b"),
    ("a", "\0b"),
    ("caf\u{e9}", "x"),
    ("cafe\u{301}", "x"),
    ("a ", "b"),
    ("a", " b"),
];

/// L8: whatever bytes their parts hold, two different keys never share a flight, a value or a name on screen.
#[tokio::test(start_paused = true)]
async fn l8_hostile_key_parts_never_share_a_value() {
    let cache = Cache::<Scoped, Scoped, DbError>::builder("tenants", TTL, &Gate::new(64))
        .show_keys(KeyView::Plain)
        .build()
        .unwrap();
    let callers: Vec<_> = HOSTILE
        .iter()
        .map(|(tenant, id)| {
            let key = Scoped { tenant: (*tenant).to_owned(), id: (*id).to_owned() };
            let cache = cache.clone();
            tokio::spawn(async move {
                let load = |cx: LoadContext<Scoped, Scoped>| async move {
                    tokio::time::sleep(ms(20)).await;
                    Ok(cx.key().clone())
                };
                let got = cache.get_with(&key, load).await.unwrap().unwrap();
                (Answer::outcome(&got), *got == key)
            })
        })
        .collect();
    turns().await;
    let names: std::collections::HashSet<String> = cache.snapshot().live.into_iter().map(|flight| flight.key).collect();
    assert_eq!(names.len(), HOSTILE.len());
    for caller in callers {
        assert_eq!(caller.await.unwrap(), (Outcome::Loaded, true));
    }
    assert_quiet(&cache.snapshot());
}

/// A key whose hash says nothing: all of them collide.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
struct Colliding(u64);

impl Hash for Colliding {
    fn hash<H: Hasher>(&self, state: &mut H) {
        0_u64.hash(state);
    }
}

/// L8: a hash is never taken for the key: 100 keys of one hash are loaded, stored, failed and invalidated apart.
#[tokio::test(start_paused = true)]
async fn l8_keys_of_one_hash_stay_apart() {
    let cache = Cache::<Colliding, u64, DbError>::builder("collide", TTL, &Gate::new(128)).jitter(0.0).build().unwrap();
    let read = |key: u64| {
        let cache = cache.clone();
        tokio::spawn(async move {
            let load = move |_| async move {
                tokio::time::sleep(ms(20)).await;
                // Every tenth key fails, and cools alone.
                if key % 10 == 0 { Err(DbError("down")) } else { Ok(Loaded::value(key)) }
            };
            let got = cache.get_with(&Colliding(key), load).await;
            (outcome(&got).unwrap(), got.ok().flatten().as_deref().copied())
        })
    };
    for (good, bad) in [(Outcome::Loaded, Outcome::Failed), (Outcome::Hit, Outcome::Cooling)] {
        let callers: Vec<_> = (0..100).map(|key| (key, read(key))).collect();
        for (key, caller) in callers {
            let expected = if key % 10 == 0 { (bad, None) } else { (good, Some(key)) };
            assert_eq!(caller.await.unwrap(), expected, "key {key}");
        }
    }
    cache.invalidate(&Colliding(5));
    assert!(cache.peek(&Colliding(5)).is_none());
    assert!((1..10).filter(|key| *key != 5).all(|key| cache.peek(&Colliding(key)).as_deref() == Some(&key)));
    let snapshot = cache.snapshot();
    assert_eq!((snapshot.flight_starts.total(), snapshot.entries), (100, 89));
    assert_quiet(&snapshot);
}

/// L8, A3: a borrowed form of the key finds the same entry and the same flight.
#[tokio::test(start_paused = true)]
async fn l8_a_borrowed_key_is_the_same_key() {
    let cache = Cache::<String, usize, DbError>::builder("borrowed", TTL, &Gate::new(8)).build().unwrap();
    let load = |cx: LoadContext<String, usize>| async move {
        tokio::time::sleep(ms(5)).await;
        Ok(cx.key().len())
    };
    let owned = "alice".to_owned();
    let (first, second) = tokio::join!(cache.get_with("alice", load), cache.get_with(&owned, load));
    assert_eq!([outcome(&first), outcome(&second)], [Some(Outcome::Loaded), Some(Outcome::Coalesced)]);
    assert_eq!(cache.peek("alice").as_deref(), Some(&5));
    cache.invalidate("alice");
    assert!(cache.peek(&owned).is_none());
}
