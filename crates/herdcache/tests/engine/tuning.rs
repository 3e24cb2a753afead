//! A6, F3, L4: settings changed while the cache runs act on what is stored, within the bounds it was built with.

use std::sync::Arc;

use herdcache::herdfeed::{Fact, FlightTrigger, StaleReason};
use herdcache::{Answer, Builder, Gate, Loaded, Outcome, Switch, Ttl, Tuning, process_config};
use tokio::time::advance;

use crate::support::{Calls, DbError, Rows, ask, assert_quiet, ms, outcome, rows, turns, value};

const DOWN: Result<u64, DbError> = Err(DbError("down"));
/// Fresh below 100 ms, stale below 200 ms, reserve below 300 ms.
const TTL: Ttl = Ttl::fresh_for(ms(100)).stale_for(ms(100)).stale_if_error_for(ms(200));

fn tunable(name: &str) -> Builder<u64, u64, DbError> {
    rows(name, TTL).tunable_stale_for(ms(1_000)).tunable_stale_if_error_for(ms(2_000)).cooling(ms(10), ms(10))
}

fn state(cache: &Rows) -> Option<Outcome> {
    cache.peek(&7).as_ref().map(Answer::outcome)
}

/// What a read gets whose load fails at once, and what it counts as.
async fn failing(cache: &Rows) -> Option<Outcome> {
    outcome(&cache.get_with(&7, |_| async { DOWN }).await)
}

/// A6, L4: both bounds, longer and shorter, act on a value that is stored already, to the millisecond.
#[tokio::test(start_paused = true)]
async fn a6_stale_bounds_act_on_what_is_stored() {
    // (stale_for, stale_if_error_for, age, what a look says, what a failing read says)
    let table = [
        (100, 200, 199, Some(Outcome::Stale), Outcome::Stale),
        (100, 200, 200, None, Outcome::Reserve),
        (100, 200, 300, None, Outcome::Failed),
        (1_000, 2_000, 1_099, Some(Outcome::Stale), Outcome::Stale),
        (1_000, 2_000, 1_100, None, Outcome::Reserve),
        (1_000, 2_000, 2_099, None, Outcome::Reserve),
        (1_000, 2_000, 2_100, None, Outcome::Failed),
        (0, 50, 99, Some(Outcome::Hit), Outcome::Hit),
        (0, 50, 100, None, Outcome::Reserve),
        (0, 50, 150, None, Outcome::Failed),
        (0, 0, 100, None, Outcome::Failed),
        // Never shorter than `stale_for`.
        (500, 0, 599, Some(Outcome::Stale), Outcome::Stale),
        (500, 0, 600, None, Outcome::Failed),
    ];
    for (stale, last, age, look, read) in table {
        let cache = tunable("a6-bounds").build().unwrap();
        cache.insert(7, 1);
        advance(ms(age)).await;
        cache.tune(Tuning::new().stale_for(ms(stale)).stale_if_error_for(ms(last))).unwrap();
        let at = format!("{stale}, {last} at {age}");
        assert_eq!(state(&cache), look, "{at}");
        assert_eq!(failing(&cache).await, Some(read), "{at}");
        turns().await;
        assert_quiet(&cache.snapshot());
    }
}

/// A6, F3: a value past its last bound as built is answered again once an operator allows it, and no longer when he is done.
#[tokio::test(start_paused = true)]
async fn a6_an_incident_is_bridged_and_ends_as_built() {
    let cache = tunable("a6-incident").build().unwrap();
    cache.insert(7, 1);
    advance(ms(1_500)).await;
    assert_eq!(failing(&cache).await, Some(Outcome::Failed));
    advance(ms(20)).await;
    cache.tune(Tuning::new().stale_if_error_for(ms(2_000))).unwrap();
    let got = cache.get_with(&7, |_| async { DOWN }).await;
    assert_eq!((outcome(&got), value(got)), (Some(Outcome::Reserve), 1));
    advance(ms(20)).await;
    cache.tune(Tuning::as_built()).unwrap();
    assert_eq!(failing(&cache).await, Some(Outcome::Failed));
    assert_quiet(&cache.snapshot());
}

/// L4: the bound that counts is the one in force when the value is answered, not when the load began.
#[tokio::test(start_paused = true)]
async fn l4_the_bounds_in_force_at_the_answer_decide() {
    let cache = tunable("l4-tuned").build().unwrap();
    let calls = Arc::new(Calls::default());
    for (last, expected) in [(0, Outcome::Failed), (2_000, Outcome::Reserve)] {
        cache.tune(Tuning::as_built()).unwrap();
        cache.insert(7, 1);
        tokio::time::sleep(ms(250)).await;
        let caller = ask(&cache, 7, calls.load(ms(100), DOWN));
        tokio::time::sleep(ms(50)).await;
        cache.tune(Tuning::new().stale_for(ms(0)).stale_if_error_for(ms(last))).unwrap();
        assert_eq!(outcome(&caller.await.unwrap()), Some(expected), "{last}");
    }
    assert_quiet(&cache.snapshot());
}

/// A6, F3: what a loader said of its own value stands; the last bound stays the cache's.
#[tokio::test(start_paused = true)]
async fn a6_a_loaders_own_stale_time_stands() {
    let cache = tunable("a6-own").build().unwrap();
    let load = |_| async { Ok(Loaded::value(1).stale_for(ms(50))) };
    cache.get_with(&7, load).await.unwrap();
    cache.tune(Tuning::new().stale_for(ms(1_000)).stale_if_error_for(ms(1_500))).unwrap();
    advance(ms(149)).await;
    assert_eq!(state(&cache), Some(Outcome::Stale));
    advance(ms(1)).await;
    assert_eq!(state(&cache), None);
    advance(ms(1_449)).await;
    assert_eq!(failing(&cache).await, Some(Outcome::Reserve));
    advance(ms(1)).await;
    assert_ne!(failing(&cache).await, Some(Outcome::Reserve));
}

/// A6: with refreshes off stale values are answered and nothing is loaded behind them; on again, the next read refreshes.
#[tokio::test(start_paused = true)]
async fn a6_refreshes_can_be_switched_off_and_on() {
    let cache = rows("a6-refresh", TTL).early_refresh(10.0).build().unwrap();
    let calls = Arc::new(Calls::default());
    assert_eq!(value(cache.get_with(&7, calls.load(ms(20), Ok(1))).await), 1);
    cache.tune(Tuning::new().refresh(Switch::Off)).unwrap();
    for age in 1..200 {
        advance(ms(1)).await;
        let got = cache.get_with(&7, calls.load(ms(20), Ok(2))).await;
        let expected = if age < 100 { Outcome::Hit } else { Outcome::Stale };
        assert_eq!((outcome(&got), value(got)), (Some(expected), 1), "{age}");
    }
    turns().await;
    let snapshot = cache.snapshot();
    assert_eq!((calls.started(), snapshot.stale_serves[StaleReason::Rejected]), (1, 100));
    assert_eq!(snapshot.flight_starts.total(), 1);
    cache.tune(Tuning::new().refresh(Switch::On)).unwrap();
    assert_eq!(outcome(&cache.get_with(&7, calls.load(ms(20), Ok(2))).await), Some(Outcome::Stale));
    tokio::time::sleep(ms(21)).await;
    assert_eq!(cache.peek(&7).as_deref(), Some(&2));
    let snapshot = cache.snapshot();
    assert_eq!((calls.started(), snapshot.flight_starts[FlightTrigger::Stale]), (2, 1));
    // Past the stale time a caller loads for itself, refreshes or not.
    cache.tune(Tuning::new().refresh(Switch::Off)).unwrap();
    tokio::time::sleep(ms(200)).await;
    assert_eq!(outcome(&cache.get_with(&7, calls.load(ms(20), Ok(3))).await), Some(Outcome::Loaded));
    assert_quiet(&cache.snapshot());
}

/// A6: what is out of its bounds is refused with field, value, range and remedy, and then nothing is changed at all.
#[tokio::test(start_paused = true)]
async fn a6_a_wrong_part_changes_nothing() {
    let cache = rows("a6-wrong", TTL).tunable_stale_if_error_for(ms(400)).build().unwrap();
    let before = cache.snapshot().tuned;
    let mut events = cache.events();
    let table = [
        (
            Tuning::new().refresh(Switch::Off).stale_for(ms(101)),
            "cache \"a6-wrong\": stale_for 101ms is not within 0ns to 100ms: lower it, \
             or build the cache with a larger tunable_stale_for",
        ),
        (
            Tuning::new().stale_for(ms(50)).stale_if_error_for(ms(401)),
            "cache \"a6-wrong\": stale_if_error_for 401ms is not within 0ns to 400ms: lower it, \
             or build the cache with a larger tunable_stale_if_error_for",
        ),
    ];
    for (tuning, text) in table {
        assert_eq!(cache.tune(tuning).unwrap_err().to_string(), text);
        assert_eq!(cache.snapshot().tuned, before);
        assert!(events.take().is_empty());
    }
}

/// A1: bounds below what is built, and stale values that nobody could refresh, are refused at build.
#[test]
fn a1_bounds_of_tuning_are_checked_at_build() {
    let fields = [
        (rows("a1-low", TTL).tunable_stale_for(ms(99)).build(), "tunable_stale_for"),
        (rows("a1-low", TTL).tunable_stale_if_error_for(ms(199)).build(), "tunable_stale_if_error_for"),
    ];
    for (built, field) in fields {
        assert_eq!(built.map(drop).unwrap_err().field(), field);
    }
    let gate = Gate::builder(1).refresh_permits(0).build().unwrap();
    let built = herdcache::Cache::<u64, u64, DbError>::builder("a1-never", Ttl::fresh_for(ms(100)), &gate)
        .tunable_stale_for(ms(100))
        .build();
    let error = built.map(drop).unwrap_err().to_string();
    assert!(error.contains("tunable_stale_for is set but refresh_permits of its gate is 0"), "{error}");
}

/// A6: each setting that changes is an event, and snapshot and configuration tell what is in force.
#[tokio::test(start_paused = true)]
async fn a6_each_change_is_told_and_shown() {
    let cache = tunable("a6-told").build().unwrap();
    let mut events = cache.events();
    let mut told = || -> Vec<String> {
        let what = |event: Arc<herdcache::herdfeed::Event>| match &event.fact {
            Fact::Tuned { what } => what.clone(),
            other => panic!("{other:?}"),
        };
        events.take().into_iter().map(what).collect()
    };
    let shown = || {
        let (tuned, configs) = (cache.snapshot().tuned, process_config().0);
        let config = configs.into_iter().find(|config| config.name == "a6-told").unwrap();
        assert_eq!((config.tunable_stale_ms, config.tunable_stale_if_error_ms), (1_000, 2_000));
        let configured = (config.stale_ms, config.stale_if_error_ms, config.refresh_off);
        assert_eq!(configured, (tuned.stale_ms, tuned.stale_if_error_ms, tuned.refresh_off));
        configured
    };
    assert_eq!(shown(), (100, 200, false));
    cache.tune(Tuning::new().stale_for(ms(300)).refresh(Switch::Off)).unwrap();
    assert_eq!(
        told(),
        ["stale_for = 300ms (was 100ms)", "stale_if_error_for = 300ms (was 200ms)", "refresh = off (was on)"]
    );
    assert_eq!(shown(), (300, 300, true));
    cache.tune(Tuning::new().stale_for(ms(300))).unwrap();
    assert!(told().is_empty(), "nothing changed");
    cache.tune(Tuning::as_built().refresh(Switch::Off)).unwrap();
    assert_eq!(told(), ["stale_for = 100ms (was 300ms)", "stale_if_error_for = 200ms (was 300ms)"]);
    assert_eq!(shown(), (100, 200, true));
}
