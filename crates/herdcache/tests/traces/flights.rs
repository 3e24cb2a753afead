//! The span of a flight: what it says, what happens within it, and that it ends.

use std::sync::Arc;
use std::time::Duration;

use herdcache::{Cache, Gate, KeyView, LoadContext, Loaded, Origin, WhenUnwatched};

use crate::book::Book;
use crate::support::{TTL, all, ask, assert_quiet, ms, quick, rows, slow, turns};

fn driver() -> tracing::Span {
    tracing::info_span!(target: "driver", "query")
}

/// A hit makes no span, whoever listens.
#[tokio::test(start_paused = true)]
async fn ten_thousand_hits_make_no_span() {
    let (book, _open) = Book::open();
    let cache = rows("hits", all().hot_keys(256)).build().unwrap();
    cache.get_with(&1, quick(1)).await.unwrap();
    let before = book.spans().len();
    assert_eq!((book.flights().len(), book.waits().len()), (1, 1), "the miss before them was told");
    for _ in 0..10_000 {
        cache.get_with(&1, quick(1)).await.unwrap();
    }
    assert_eq!(book.spans().len(), before);
}

/// A4: what the loader does is told as part of the flight, where it is polled in place and where it is spawned; and in
/// the closure that makes its future.
#[tokio::test(start_paused = true)]
async fn a4_a_drivers_spans_are_children_of_the_flight() {
    let (book, _open) = Book::open();
    let cache = rows("driver", all()).build().unwrap();
    let load = |_: LoadContext<u64, u64>| {
        drop(driver());
        async {
            drop(driver());
            tokio::time::sleep(ms(5)).await;
            drop(driver());
            tokio::time::sleep(ms(5)).await;
            drop(driver());
            Ok::<_, &str>(1)
        }
    };
    cache.get_with(&1, load).await.unwrap();
    let flight = book.flights().remove(0);
    assert_eq!(flight.parent, None, "a load belongs to none of its callers");
    let queries = book.named("query");
    assert_eq!(queries.iter().map(|query| query.parent).collect::<Vec<_>>(), [Some(flight.id); 4]);
    // Nothing is left current for others.
    drop(driver());
    assert_eq!(book.named("query")[4].parent, None);
    assert_eq!(book.left_open(), [""; 0]);
}

/// What a flight's span says of it: K2, the key as in the feed.
#[tokio::test(start_paused = true)]
async fn k2_a_flights_span_says_what_became_of_it() {
    let (book, _open) = Book::open();
    let cache = rows("said", all()).error_classes(&["sql"], |_| "sql").build().unwrap();
    let mut events = cache.events();
    let callers: Vec<_> = (0..40).map(|_| ask(&cache, 4_711, slow(Ok(1)))).collect();
    for caller in callers {
        caller.await.unwrap().unwrap();
    }
    let _ = ask(&cache, 4_712, slow(Err("syntax"))).await.unwrap();
    let shown = events.take().iter().find_map(|event| match &event.fact {
        herdcache::herdfeed::Fact::HerdStarted { key, .. } => Some(key.clone()),
        _ => None,
    });
    let [loaded, failed] = &book.flights()[..] else { panic!("two flights: {:?}", book.flights()) };
    let fields =
        |names: &[&str]| names.iter().map(|name| loaded.field(name).unwrap_or("-").to_owned()).collect::<Vec<_>>();
    assert_eq!(loaded.field("herdcache.key"), shown.as_deref());
    assert_eq!(
        fields(&["herdcache.name", "herdcache.flight.trigger", "herdcache.miss.cause", "herdcache.sampled_by"]),
        ["said", "miss", "cold", "uniform"]
    );
    assert_eq!(
        fields(&[
            "herdcache.flight.end",
            "herdcache.flight.waiters",
            "herdcache.flight.duration",
            "herdcache.value.age"
        ]),
        ["loaded", "39", "0.02", "0.0"]
    );
    assert_eq!((loaded.field("error.type"), loaded.field("otel.status_code")), (None, None));
    assert_eq!((failed.field("error.type"), failed.field("otel.status_code")), (Some("sql"), Some("ERROR")));
    assert_eq!(failed.field("herdcache.flight.end"), Some("failed"));
}

/// K2, P3: in everything that a noisy run tells there is no key, unless the application opted in, and no error's text.
#[tokio::test(start_paused = true)]
async fn k2_p3_no_key_and_no_error_text_is_ever_told() {
    let (book, _open) = Book::open();
    let run = async |view: KeyView<String>| {
        let cache = Cache::<String, u64, String>::builder("private", TTL, &Gate::new(2)).traces(all()).show_keys(view);
        let cache = cache.flight_deadline(ms(300)).origin_timeout(ms(200)).build().unwrap();
        let key = "alice@example.org".to_owned();
        for round in 0..6_u64 {
            let callers: Vec<_> = (0..30)
                .map(|_| {
                    let (cache, key) = (cache.clone(), key.clone());
                    tokio::spawn(async move {
                        let load = move |_| async move {
                            tokio::time::sleep(ms(if round == 4 { 1_000 } else { 10 })).await;
                            assert!(round != 3, "hunter2");
                            if round == 2 { Err("hunter2".to_owned()) } else { Ok(round) }
                        };
                        drop(cache.with_wait_timeout(ms(250)).get_with(&key, load).await);
                    })
                })
                .collect();
            for caller in callers {
                caller.await.unwrap();
            }
            tokio::time::sleep(Duration::from_secs(30)).await;
            cache.invalidate(&key).await;
        }
        cache.shutdown(ms(1)).await;
    };
    run(KeyView::Hash).await;
    let text = book.text();
    let ends =
        ["loaded", "failed", "panicked"].map(|end| text.contains(&format!("\"herdcache.flight.end\": \"{end}\"")));
    assert_eq!(ends, [true; 3], "the run was not noisy");
    assert!(!text.contains("alice") && !text.contains("hunter2"), "{text}");
    run(KeyView::Plain).await;
    let text = book.text();
    assert!(text.contains("alice") && !text.contains("hunter2"));
    assert_eq!(book.left_open(), [""; 0]);
}

/// Spans end however the load does: cancelled callers, a panic, the deadline, an abandoned load, a shutdown.
#[tokio::test(start_paused = true)]
async fn s2_every_span_ends_whatever_becomes_of_the_flight() {
    let (book, _open) = Book::open();
    let gate = Gate::builder(1).queue(10).queue_timeout(ms(100)).build().unwrap();
    let cache = Cache::builder("ends", TTL, &gate).traces(all()).flight_deadline(ms(200)).origin_timeout(ms(150));
    let cache = cache.when_unwatched(WhenUnwatched::Abandon).build().unwrap();
    let hangs = |_| -> crate::support::Load { Box::pin(std::future::pending()) };
    // The permit is held until the origin's limit, so that others queue, and some of them in vain.
    let callers: Vec<_> = (0..5).flat_map(|key| [ask(&cache, key, hangs), ask(&cache, key, hangs)]).collect();
    turns().await;
    callers[0].abort();
    callers[3].abort();
    let told = callers.into_iter();
    for caller in told {
        let _ = caller.await;
    }
    let explodes = |_| -> crate::support::Load { Box::pin(async { panic!("a load") }) };
    let _ = ask(&cache, 10, explodes).await.unwrap();
    let _ = ask(&cache, 11, |_| panic!("no load")).await.unwrap();
    let left = ask(&cache, 12, hangs);
    turns().await;
    left.abort();
    let _ = left.await;
    let closed = ask(&cache, 13, hangs);
    turns().await;
    assert!(!book.left_open().is_empty());
    cache.shutdown(ms(1)).await;
    let _ = closed.await.unwrap();
    turns().await;
    let mut ends: Vec<_> =
        book.flights().iter().map(|flight| flight.field("herdcache.flight.end").unwrap_or("none").to_owned()).collect();
    ends.sort_unstable();
    ends.dedup();
    assert_eq!(ends, ["abandoned", "closed", "failed", "panicked", "rejected"]);
    assert_eq!(book.left_open(), [""; 0]);
    assert_quiet(&cache.snapshot());
}

struct Stock;

impl Origin<u64, u64> for Stock {
    type Error = &'static str;
    const MAX_BATCH: usize = 10;

    async fn load(&self, cx: LoadContext<u64, u64>) -> Result<Loaded<u64>, &'static str> {
        Ok(Loaded::value(*cx.key()))
    }

    async fn load_many(&self, keys: Vec<LoadContext<u64, u64>>) -> Result<Vec<(u64, Loaded<u64>)>, &'static str> {
        drop(driver());
        tokio::time::sleep(ms(5)).await;
        drop(driver());
        Ok(keys.iter().map(|cx| (*cx.key(), Loaded::value(1))).collect())
    }
}

/// B1: of the flights of one call one is current, and the others link to it.
#[tokio::test(start_paused = true)]
async fn b1_the_flights_of_a_batch_lead_to_the_one_with_the_call() {
    let (book, _open) = Book::open();
    let cache = Cache::builder("batch", TTL, &Gate::new(2)).traces(all()).build_over(Stock).unwrap();
    assert!(cache.get_many(&[1, 2, 3]).await.iter().all(Result::is_ok));
    let flights = book.flights();
    let first = flights[0].id;
    assert_eq!(
        flights.iter().map(|flight| flight.follows.clone()).collect::<Vec<_>>(),
        [vec![], vec![first], vec![first]]
    );
    assert_eq!(book.named("query").iter().map(|query| query.parent).collect::<Vec<_>>(), [Some(first); 2]);
    assert_eq!(book.waits().len(), 3);
    assert_eq!(book.left_open(), [""; 0]);
}

/// S5: a load within a load is a trace of its own, which the outer one links to by its wait.
#[tokio::test(start_paused = true)]
async fn s5_a_nested_load_is_reached_by_its_wait() {
    let (book, _open) = Book::open();
    let cache = Arc::new(rows("nested", all()).build().unwrap());
    let inner = Arc::clone(&cache);
    let load = move |_| async move {
        tokio::time::sleep(ms(5)).await;
        inner.get_with(&2, slow(Ok(2))).await.map_err(|_| "inner")?;
        Ok::<_, &str>(1)
    };
    cache.get_with(&1, load).await.unwrap();
    let [outer, inner] = &book.flights()[..] else { panic!("two flights") };
    let waits = book.waits();
    assert_eq!((waits[1].parent, &waits[1].follows[..]), (Some(outer.id), &[inner.id][..]));
    assert_eq!((outer.parent, inner.parent), (None, None));
}
