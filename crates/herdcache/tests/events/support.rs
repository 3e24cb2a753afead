//! Crowds of callers, and the events that they cause.

use std::sync::Arc;
use std::time::Duration;

use herdcache::herdfeed::{CacheSnapshot, Event, Fact, HerdEnd};
pub(crate) use herdcache::testing::settle as turns;
use herdcache::{Builder, Cache, Events, Gate, Got, KeyView, Ttl};
use tokio::task::JoinHandle;

pub(crate) const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

pub(crate) type Rows = Cache<u64, u64, &'static str>;
pub(crate) type Caller = JoinHandle<Got<u64, &'static str>>;

/// A cache that shows its keys, behind a gate of 64 permits: 32 waiters are a herd.
pub(crate) fn rows(name: &str, ttl: Ttl) -> Builder<u64, u64, &'static str> {
    Cache::builder(name, ttl, &Gate::new(64)).jitter(0.0).show_keys(KeyView::Plain)
}

/// `count` callers of one key, whose load takes `latency`.
pub(crate) fn crowd(cache: &Rows, key: u64, count: usize, latency: Duration) -> Vec<Caller> {
    let caller = |_| {
        let cache = cache.clone();
        tokio::spawn(async move {
            let load = |_| async move {
                tokio::time::sleep(latency).await;
                Ok(1)
            };
            cache.get_with(&key, load).await
        })
    };
    (0..count).map(caller).collect()
}

pub(crate) async fn answered(callers: Vec<Caller>) {
    for caller in callers {
        assert!(caller.await.unwrap().is_ok());
    }
}

/// The herds that ended, oldest first.
pub(crate) fn ends(told: &[Arc<Event>]) -> Vec<HerdEnd> {
    let end = |event: &Arc<Event>| match &event.fact {
        Fact::HerdEnded(end) => Some(end.clone()),
        _ => None,
    };
    told.iter().filter_map(end).collect()
}

/// Those of the events that satisfy `which`.
pub(crate) fn told(events: &mut Events, which: impl Fn(&Fact) -> bool) -> Vec<Event> {
    events.take().iter().filter(|event| which(&event.fact)).map(|event| (**event).clone()).collect()
}

/// The one condition of the snapshot that satisfies `which`.
pub(crate) fn condition(snapshot: &CacheSnapshot, which: impl Fn(&Fact) -> bool) -> Option<Event> {
    let mut found = snapshot.conditions.iter().filter(|event| which(&event.fact));
    let first = found.next().cloned();
    assert!(found.next().is_none(), "told twice: {:?}", snapshot.conditions);
    first
}
