//! No lock of ours is held while a subscriber runs: it may ask the very cache that tells it something.

use std::cell::Cell;
use std::future::Future as _;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Waker};

use herdcache::{Cache, Gate, MemoryTier};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{Interest, Subscriber};
use tracing::{Dispatch, Event, Metadata};

use crate::support::{Rows, TTL, all, ask, assert_quiet, ms, slow, turns};

const KEYS: u64 = 6;

thread_local! {
    static ASKING: Cell<bool> = const { Cell::new(false) };
    /// How often it has joined a flight while it was told something.
    static JOINED: Cell<u64> = const { Cell::new(0) };
}

/// Asks the cache for everything whenever it is told anything.
#[derive(Clone, Default)]
struct Curious(Arc<OnceLock<Rows>>);

impl Curious {
    fn ask(&self) {
        let Some(cache) = self.0.get().filter(|_| !ASKING.replace(true)) else { return };
        let snapshot = cache.snapshot();
        assert_eq!(snapshot.name, "asked");
        drop((cache.peek(&1), cache.invalidate(&99), cache.gate().snapshot(), cache.traced()));
        // All of them fly: whoever asks joins the flight that is being told of.
        let keys = if snapshot.flights_active == KEYS { 0..KEYS } else { 0..0 };
        for key in keys {
            let asking = pin!(cache.get_with(&key, slow(Ok(key))));
            let waits = asking.poll(&mut Context::from_waker(Waker::noop())).is_pending();
            JOINED.set(JOINED.get() + u64::from(waits));
        }
        ASKING.set(false);
    }
}

impl Subscriber for Curious {
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        Interest::sometimes()
    }

    fn enabled(&self, _: &Metadata<'_>) -> bool {
        self.ask();
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        self.ask();
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {
        self.ask();
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {
        self.ask();
    }

    fn event(&self, _: &Event<'_>) {
        self.ask();
    }

    fn enter(&self, _: &Id) {
        self.ask();
    }

    fn exit(&self, _: &Id) {
        self.ask();
    }

    fn clone_span(&self, id: &Id) -> Id {
        self.ask();
        id.clone()
    }

    fn try_close(&self, _: Id) -> bool {
        self.ask();
        true
    }
}

/// Were a lock held, this would never end.
#[tokio::test(start_paused = true)]
async fn a_subscriber_may_ask_the_cache_that_tells_it() {
    let curious = Curious::default();
    let _guard = tracing::dispatcher::set_default(&Dispatch::new(curious.clone()));
    let gate = Gate::builder(1).queue(2).queue_timeout(ms(50)).build().unwrap();
    let tier = MemoryTier::new();
    let builder = Cache::builder("asked", TTL, &gate).traces(all()).shared(tier.clone()).lease(tier);
    let cache = builder.build().unwrap();
    assert!(curious.0.set(cache.clone()).is_ok());
    let callers: Vec<_> = (0..60).map(|place| ask(&cache, place % KEYS, slow(Ok(place)))).collect();
    turns().await;
    callers[7].abort();
    for caller in callers {
        // Some of them are rejected: the queue is short.
        let _ = caller.await;
    }
    assert!(
        JOINED.get() > 0 && cache.snapshot().rejections.total() > 0 && cache.traced().waits >= 60,
        "{:?}",
        cache.traced()
    );
    cache.shutdown(ms(1)).await;
    assert_quiet(&cache.snapshot());
}
