//! Which flights are chosen, and how many at most.

use std::cell::RefCell;

use herdcache::{Cache, Gate, Traces};

use crate::book::Book;
use crate::support::{TTL, all, ms, quick, rows};

/// Flights of keys that are asked for most are chosen, others are not.
#[tokio::test(start_paused = true)]
async fn flights_of_hot_keys_are_chosen() {
    let (book, _open) = Book::open();
    let cache = rows("hot", Traces::default().one_in(0).hot_keys(1)).build().unwrap();
    for key in 100..5_100_u64 {
        cache.get_with(&1, quick(1)).await.unwrap();
        if key % 10 == 0 {
            cache.get_with(&key, quick(1)).await.unwrap();
        }
    }
    // The list of hot keys is at most a second old.
    tokio::time::advance(ms(1_001)).await;
    cache.expire(&1);
    cache.get_with(&2, quick(1)).await.unwrap();
    cache.get_with(&1, quick(1)).await.unwrap();
    let said: Vec<_> =
        book.flights().iter().map(|flight| flight.field("herdcache.sampled_by").map(str::to_owned)).collect();
    assert_eq!(said, [Some("hot_key".to_owned())]);
}

/// L7: ten thousand flights in ten seconds are at most the rate, and half a second's worth at once; the rest is counted.
#[tokio::test(start_paused = true)]
async fn l7_a_storm_of_flights_stays_within_the_budget() {
    let (book, _open) = Book::open();
    let cache = rows("storm", all().per_second(10)).build().unwrap();
    for key in 0..10_000_u64 {
        cache.get_with(&key, quick(1)).await.unwrap();
        tokio::time::advance(ms(1)).await;
    }
    let counts = cache.traced();
    assert_eq!((counts.flights, counts.flights + counts.flights_refused), (book.flights().len() as u64, 10_000));
    assert!((100..=105).contains(&counts.flights), "{counts:?}");
}

/// Nothing is chosen where nobody listens, or where the cache says so.
#[tokio::test(start_paused = true)]
async fn nothing_is_chosen_where_nobody_listens() {
    let deaf = rows("deaf", all()).build().unwrap();
    deaf.get_with(&1, quick(1)).await.unwrap();
    assert_eq!(deaf.traced(), herdcache::TraceCounts::default());
    let (book, _open) = Book::open();
    let none = rows("none", Traces::none().one_in(1)).build().unwrap();
    none.get_with(&1, quick(1)).await.unwrap();
    assert_eq!((none.traced(), book.spans().len()), (herdcache::TraceCounts::default(), 0));
}

thread_local! {
    static STORE: RefCell<Option<Cache<Hooked, u64, &'static str>>> = const { RefCell::new(None) };
}

/// A key that somebody writes a value for as it is cloned: after its reader saw nothing, before its flight is in the table.
#[derive(PartialEq, Eq, Hash, serde::Serialize)]
struct Hooked(u64);

impl Clone for Hooked {
    fn clone(&self) -> Self {
        let cache = STORE.with_borrow_mut(Option::take);
        if let Some(cache) = cache {
            drop(cache.insert(Self(self.0), 7));
        }
        Self(self.0)
    }
}

/// A flight that was chosen and never opened, since there is a value after all, gives its place in the budget back.
#[tokio::test(start_paused = true)]
async fn a_flight_that_never_opened_costs_nothing() {
    let (book, _open) = Book::open();
    let builder = Cache::<Hooked, u64, &str>::builder("unopened", TTL, &Gate::new(1)).traces(all().per_second(1));
    let cache = builder.build().unwrap();
    STORE.set(Some(cache.clone()));
    let found = cache.get_with(&Hooked(1), |_| async { Ok(1) }).await.unwrap().unwrap();
    assert_eq!((*found, book.spans().len()), (7, 0));
    cache.get_with(&Hooked(2), |_| async { Ok(2) }).await.unwrap();
    let counts = cache.traced();
    assert_eq!((counts.flights, counts.flights_refused), (1, 0));
    // Nor is one refused that there never was.
    STORE.set(Some(cache.clone()));
    let found = cache.get_with(&Hooked(3), |_| async { Ok(3) }).await.unwrap().unwrap();
    assert_eq!((*found, cache.traced()), (7, counts));
}

/// A1: settings out of range are refused by name.
#[test]
fn a1_settings_of_traces_name_field_value_and_range() {
    let build = |traces| Cache::<u64, u64>::builder("t", TTL, &Gate::new(1)).traces(traces).build();
    let default = Traces::default;
    let wrong = [
        default().per_second(1_001),
        default().one_in(1_000_000_001),
        default().hot_keys(257),
        default().waits(10_001),
    ];
    let texts = wrong.map(|traces| build(traces).unwrap_err().to_string());
    assert_eq!(
        texts,
        [
            r#"cache "t": traces: per_second 1001 is not within 0 to 1000: lower it"#,
            r#"cache "t": traces: one_in 1000000001 is not within 0 to 1000000000: lower it"#,
            r#"cache "t": traces: hot_keys 257 is not within 0 to 256: lower it"#,
            r#"cache "t": traces: waits 10001 is not within 0 to 10000: lower it"#,
        ]
    );
    assert!(build(Traces::none()).is_ok());
}
