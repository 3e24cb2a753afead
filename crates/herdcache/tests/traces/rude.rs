//! A subscriber is code that is not ours: what it does wrong ends nothing but its own record.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};

use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{Interest, Subscriber};
use tracing::{Dispatch, Event, Metadata};

use crate::support::{all, ask, assert_quiet, ms, rows, slow, turns};

/// Which of a subscriber's methods panic, as bits.
#[derive(Clone, Default)]
struct Rude {
    panics: Arc<AtomicU32>,
    calls: Arc<AtomicU32>,
    ids: Arc<AtomicU64>,
}

const METHODS: u32 = 7;

impl Rude {
    fn called(&self, method: u32) {
        self.calls.fetch_or(1 << method, SeqCst);
        assert!(self.panics.load(SeqCst) & (1 << method) == 0, "method {method} of a rude subscriber");
    }
}

impl Subscriber for Rude {
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        Interest::sometimes()
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        if metadata.target() == "herdcache" {
            self.called(0);
        }
        metadata.target() == "herdcache"
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        self.called(1);
        Id::from_u64(self.ids.fetch_add(1, SeqCst) + 1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {
        self.called(2);
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {
        self.called(3);
    }

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, _: &Id) {
        self.called(4);
    }

    fn exit(&self, _: &Id) {
        self.called(5);
    }

    fn try_close(&self, _: Id) -> bool {
        self.called(6);
        true
    }
}

/// Whichever of its methods panics, always or at the landing only: callers get their values, and the table is clean.
#[tokio::test(start_paused = true)]
async fn s2_a_subscriber_that_panics_costs_nobody_an_answer() {
    let rude = Rude::default();
    let _guard = tracing::dispatcher::set_default(&Dispatch::new(rude.clone()));
    let cache = rows("rude", all()).build().unwrap();
    for method in 0..METHODS {
        for late in [false, true] {
            let key = u64::from(method) * 2 + u64::from(late);
            rude.panics.store(if late { 0 } else { 1 << method }, SeqCst);
            let callers: Vec<_> = (0..5).map(|_| ask(&cache, key, slow(Ok(key)))).collect();
            turns().await;
            rude.panics.store(1 << method, SeqCst);
            callers[2].abort();
            for (place, caller) in callers.into_iter().enumerate() {
                match caller.await {
                    Ok(got) => assert_eq!(*got.unwrap().unwrap(), key),
                    Err(error) => assert!(error.is_cancelled() && place == 2, "{error}"),
                }
            }
        }
    }
    assert_eq!(rude.calls.load(SeqCst), (1 << METHODS) - 1, "each method was asked");
    rude.panics.store(0, SeqCst);
    cache.shutdown(ms(1)).await;
    assert_quiet(&cache.snapshot());
}
