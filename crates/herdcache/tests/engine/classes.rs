//! A2: origin errors by the classes that the application names, and by nothing else of them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use herdcache::herdfeed::OriginResult;
use herdcache::{Builder, Ttl};

use crate::support::{Calls, DbError, Rows, assert_quiet, ms, rows};

fn builder() -> Builder<u64, u64, DbError> {
    rows("classes", Ttl::fresh_for(ms(60_000)))
}

/// What is wrong with these names, in the words that the application gets.
fn refused(names: &'static [&'static str]) -> String {
    builder().error_classes(names, |error| error.0).build().unwrap_err().to_string()
}

async fn fail(cache: &Rows, key: u64, error: &'static str) {
    let calls = Arc::new(Calls::default());
    cache.get_with(&key, calls.load(ms(1), Err(DbError(error)))).await.unwrap_err();
}

fn counted(cache: &Rows) -> BTreeMap<String, u64> {
    let now = cache.snapshot();
    assert_quiet(&now);
    assert_eq!(now.origin_errors.values().sum::<u64>(), now.origin_results[OriginResult::Error], "each has one class");
    now.origin_errors.into_iter().collect()
}

fn counts(pairs: &[(&str, u64)]) -> BTreeMap<String, u64> {
    pairs.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
}

/// Names that cannot be labels are told at build, with the field and what to do.
#[tokio::test(start_paused = true)]
async fn a7_bad_classes_are_refused_by_name() {
    const LONG: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    assert_eq!(LONG.len(), 65);
    let is = |problem: &str| format!("cache \"classes\": error_classes {problem}");
    for (names, name) in [
        (&["sql", ""][..], ""),
        (&["Sql"], "Sql"),
        (&["no such"], "no such"),
        (&["a\"b"], "a\"b"),
        (&["a\nb"], "a\nb"),
        (&["größe"], "größe"),
        (&["_OTHER"], "_OTHER"),
        (&[LONG], LONG),
    ] {
        assert_eq!(refused(names), is(&format!("{name:?} is not 1 to 64 of `a-z0-9_.-`")));
    }
    assert_eq!(refused(&["sql", "down", "sql"]), is("names \"sql\" twice"));
    let many = &["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16"];
    assert_eq!(refused(many), is("has 17 classes, at most 16 are counted: name fewer"));
}

/// The bounds themselves are in order: 16 names, and one of 64 characters of every kind.
#[tokio::test(start_paused = true)]
async fn l7_sixteen_classes_are_counted_each_and_from_zero() {
    const NAMES: &[&str] = &[
        "0",
        "1",
        "2",
        "3",
        "4",
        "5",
        "6",
        "7",
        "8",
        "9",
        "10",
        "11",
        "12",
        "13",
        "14",
        "a-z_0.9aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    ];
    assert_eq!(NAMES[15].len(), 64);
    let cache = builder().error_classes(NAMES, |error| error.0).build().unwrap();
    let zero = counted(&cache);
    assert_eq!((zero.len(), zero.values().sum::<u64>()), (17, 0), "every name and `_OTHER`: {zero:?}");
    for (key, name) in (0..).zip(NAMES) {
        fail(&cache, key, name).await;
    }
    let all: Vec<_> = NAMES.iter().map(|name| (*name, 1)).chain([("_OTHER", 0)]).collect();
    assert_eq!(counted(&cache), counts(&all));
}

/// What is of no class, names a stranger or whose classifier panics is counted as `_OTHER`; callers notice nothing.
#[tokio::test(start_paused = true)]
async fn s2_what_has_no_class_is_other() {
    let asked = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&asked);
    let of = move |error: &DbError| {
        count.fetch_add(1, SeqCst);
        match error.0 {
            "panics" => panic!("the classifier panics"),
            "rude" => std::panic::panic_any(Bomb),
            name => name,
        }
    };
    let cache = builder().error_classes(&["down", "sql"], of).build().unwrap();
    for (key, error) in (0..).zip(["sql", "stranger", "", "panics", "rude", "sql", "_OTHER"]) {
        fail(&cache, key, error).await;
    }
    assert_eq!(counted(&cache), counts(&[("down", 0), ("sql", 2), ("_OTHER", 5)]));
    assert_eq!(asked.load(SeqCst), 7, "each error is asked for once");
}

/// Timeouts and panics have words of their own: the classifier is not asked.
#[tokio::test(start_paused = true)]
async fn a2_only_errors_of_the_origin_have_a_class() {
    let builder = builder().origin_timeout(ms(20)).flight_deadline(ms(500));
    let cache = builder.error_classes(&["sql"], |_| panic!("nobody asks")).build().unwrap();
    let calls = Arc::new(Calls::default());
    cache.get_with(&1, calls.load(ms(10_000), Ok(1))).await.unwrap_err();
    assert_eq!(counted(&cache), counts(&[("sql", 0), ("_OTHER", 0)]));
    assert_eq!(cache.snapshot().origin_results[OriginResult::Timeout], 1);
}

/// Without classes there is one, so that the metric is there from 0 on.
#[tokio::test(start_paused = true)]
async fn a2_without_classes_all_errors_are_other() {
    let cache = builder().build().unwrap();
    assert_eq!(counted(&cache), counts(&[("_OTHER", 0)]));
    fail(&cache, 1, "sql").await;
    assert_eq!(counted(&cache), counts(&[("_OTHER", 1)]));
}

/// What a panic carries, and panics in its turn when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "what a panic carried panics");
    }
}
