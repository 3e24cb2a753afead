//! The spans of waits: in the caller's own trace, with a link to the flight.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Waker};

use herdcache::{Cache, Gate, KeyView};

use crate::book::Book;
use crate::support::{TTL, all, ask, ms, rows, slow, turns};

/// From each of many slow requests one link leads to the one load that all of them waited for.
#[tokio::test(start_paused = true)]
async fn every_callers_link_leads_to_the_one_flight() {
    let (book, _open) = Book::open();
    let cache = rows("links", all()).build().unwrap();
    let callers: Vec<_> = (0..800).map(|_| ask(&cache, 1, slow(Ok(1)))).collect();
    for caller in callers {
        caller.await.unwrap().unwrap();
    }
    let [flight] = &book.flights()[..] else { panic!("one flight: {:?}", book.flights()) };
    assert_eq!(flight.parent, None, "a load belongs to none of its callers");
    let (waits, requests) = (book.waits(), book.named("request"));
    assert_eq!((waits.len(), requests.len()), (800, 800));
    assert!(waits.iter().all(|wait| wait.follows == [flight.id]));
    // Each in its own caller's trace.
    let mut parents: Vec<_> = waits.iter().filter_map(|wait| wait.parent).collect();
    parents.sort_unstable();
    assert_eq!(parents, requests.iter().map(|request| request.id).collect::<Vec<_>>());
    let roles = |role: &str| waits.iter().filter(|wait| wait.field("herdcache.flight.role") == Some(role)).count();
    assert_eq!([roles("leader"), roles("waiter")], [1, 799]);
    assert_eq!(book.left_open(), [""; 0]);
}

/// L7: a herd of ten thousand makes as many spans as it may, and the rest is counted.
#[tokio::test(start_paused = true)]
async fn l7_waits_of_one_flight_are_bounded_and_counted() {
    let (book, _open) = Book::open();
    let cache = rows("bounded", all().waits(64)).build().unwrap();
    let callers: Vec<_> = (0..10_000).map(|_| ask(&cache, 1, slow(Ok(1)))).collect();
    for caller in callers {
        caller.await.unwrap().unwrap();
    }
    let counts = cache.traced();
    assert_eq!((book.waits().len(), counts.waits, counts.waits_refused), (64, 64, 10_000 - 64));
    assert_eq!((book.flights().len(), counts.flights, counts.flights_refused), (1, 1, 0));
}

/// Callers that go before the landing say so, and a flight that was not chosen makes no spans of waits.
#[tokio::test(start_paused = true)]
async fn who_leaves_early_is_told_so_and_flights_in_the_dark_have_no_waits() {
    let (book, _open) = Book::open();
    let cache = rows("early", all()).build().unwrap();
    let callers: Vec<_> = (0..3).map(|_| ask(&cache, 1, slow(Ok(1)))).collect();
    turns().await;
    callers[1].abort();
    for caller in callers {
        let _ = caller.await;
    }
    let early: Vec<_> = book.waits().iter().map(|wait| wait.field("herdcache.left_early").map(str::to_owned)).collect();
    assert_eq!(early, [None, Some("true".to_owned()), None]);
    let dark = rows("dark", all().one_in(0)).build().unwrap();
    let before = book.waits().len();
    dark.get_with(&1, slow(Ok(1))).await.unwrap();
    assert_eq!((book.waits().len(), dark.traced().flights), (before, 0));
}

type Asking = Pin<Box<dyn Future<Output = ()>>>;

thread_local! {
    static CACHE: RefCell<Option<Cache<u64, u64, &'static str>>> = const { RefCell::new(None) };
    static EARLY: RefCell<Vec<Asking>> = const { RefCell::new(Vec::new()) };
}

/// A view that is asked between the flight's opening and its span; somebody joins right then.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "as views are")]
fn joins_meanwhile(key: &u64) -> String {
    let cache = CACHE.with_borrow_mut(Option::take);
    if let Some(cache) = cache {
        let key = *key;
        let mut asking: Asking = Box::pin(async move { drop(cache.get_with(&key, slow(Ok(2))).await) });
        assert!(asking.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        EARLY.with_borrow_mut(|early| early.push(asking));
    }
    key.to_string()
}

/// Who joins after a flight was chosen and before its span is there has his link all the same; and the span waits for
/// him, though the flight has landed.
#[tokio::test(start_paused = true)]
async fn who_comes_before_the_span_has_a_link_too() {
    for stays in [true, false] {
        let (book, _open) = Book::open();
        let view = KeyView::With(joins_meanwhile);
        let cache = Cache::builder("meanwhile", TTL, &Gate::new(2)).traces(all()).show_keys(view).build().unwrap();
        CACHE.set(Some(cache.clone()));
        cache.get_with(&1, slow(Ok(1))).await.unwrap();
        let early = EARLY.take();
        assert_eq!((early.len(), book.waits().len()), (1, 2));
        assert!(book.flights()[0].is_open() && book.flights()[0].field("herdcache.flight.end") == Some("loaded"));
        for asking in early {
            if stays {
                tokio::time::timeout(ms(1), asking).await.unwrap();
            } else {
                drop(asking);
            }
        }
        let (flight, waits) = (book.flights().remove(0), book.waits());
        assert!(waits.iter().all(|wait| wait.follows == [flight.id]), "{waits:?}");
        assert_eq!(book.left_open(), [""; 0]);
    }
}
