//! Beside the layer of herdcache a service has others: with filters, with questions, with faults.

use std::future::Future as _;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, OnceLock};
use std::task::{Context as Turn, Waker};

use herdcache::{TraceCounts, Traces};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;

use crate::exported::{Exported, Names, ask, ms, names};

fn all() -> Traces {
    Traces::none().per_second(1_000).one_in(1).waits(1_000)
}

/// Counts what it is told, and asks a cache about everything or panics about one thing if it is told to.
#[derive(Clone, Default)]
pub(crate) struct Seen {
    events: Arc<AtomicU64>,
    new: Arc<AtomicU64>,
    closed: Arc<AtomicU64>,
    /// Spans that began while a flight's was current.
    within: Arc<AtomicU64>,
    fails_on_enter: Arc<AtomicBool>,
    asks: Arc<OnceLock<Names>>,
    asked: Arc<AtomicU64>,
}

impl Seen {
    /// Everything that can be asked from within a subscriber, which cannot wait.
    fn ask(&self) {
        let Some(cache) = self.asks.get() else { return };
        if self.asked.fetch_add(1, SeqCst) >= 300 {
            return;
        }
        drop((cache.peek("a"), cache.snapshot(), cache.insert("b".to_owned(), 1)));
        drop((cache.invalidate("a"), cache.mark_stale("b")));
        for key in ["a", "c"] {
            let get = pin!(async { cache.get_with(key, |_| async { Ok::<_, &str>(1) }).await.is_ok() });
            let _ = get.poll(&mut Turn::from_waker(Waker::noop()));
        }
    }

    /// What ended outside of a task of ours is closed by one of the runtime's.
    pub(crate) async fn until_all_closed(&self) {
        let closed = async {
            while self.new.load(SeqCst) != self.closed.load(SeqCst) {
                tokio::time::sleep(ms(1)).await;
            }
        };
        assert!(tokio::time::timeout(ms(10_000), closed).await.is_ok(), "spans that never closed");
    }

    pub(crate) fn assert_all_closed(&self) {
        assert_eq!(self.new.load(SeqCst), self.closed.load(SeqCst), "spans that never closed");
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Seen {
    fn on_new_span(&self, _: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        self.new.fetch_add(1, SeqCst);
        let parent = context.span(id).and_then(|span| span.parent());
        self.within.fetch_add(u64::from(parent.is_some_and(|span| span.name() == "herdcache.flight")), SeqCst);
        self.ask();
    }

    fn on_record(&self, _: &Id, _: &Record<'_>, _: Context<'_, S>) {
        self.ask();
    }

    fn on_follows_from(&self, _: &Id, _: &Id, _: Context<'_, S>) {
        self.ask();
    }

    fn on_event(&self, _: &Event<'_>, _: Context<'_, S>) {
        self.events.fetch_add(1, SeqCst);
        self.ask();
    }

    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        let is_flight = context.span(id).is_some_and(|span| span.name() == "herdcache.flight");
        assert!(!(is_flight && self.fails_on_enter.load(SeqCst)), "a rude layer");
        self.ask();
    }

    fn on_exit(&self, _: &Id, _: Context<'_, S>) {
        self.ask();
    }

    fn on_close(&self, _: Id, _: Context<'_, S>) {
        self.closed.fetch_add(1, SeqCst);
        self.ask();
    }
}

/// A log that has no interest in herdcache gets every line of the service, whether flights are chosen or not.
#[tokio::test(start_paused = true)]
async fn a_filter_of_one_layer_loses_no_line_of_the_service() {
    let exported = Exported::all().await;
    let (log, quiet) = (Seen::default(), Seen::default());
    let subscriber =
        tracing_subscriber::registry()
            .with(log.clone().with_filter(LevelFilter::WARN))
            .with(quiet.clone().with_filter(
                Targets::new().with_default(LevelFilter::TRACE).with_target("herdcache", LevelFilter::OFF),
            ))
            .with(exported.tracing.layer("service").with_filter(LevelFilter::INFO));
    let _guard = tracing::subscriber::set_default(subscriber);
    for (name, traces) in [("few", all().one_in(1_000_000_000)), ("none", Traces::none()), ("every", all())] {
        let cache = names(name, traces);
        for key in 0..10_u64 {
            cache.get_with(&key.to_string(), |_| async { Ok::<_, &str>(1) }).await.unwrap();
            tracing::error!("of the service");
        }
    }
    assert_eq!([log.events.load(SeqCst), quiet.events.load(SeqCst)], [30, 30]);
    assert_eq!(exported.named("herdcache.flight").len(), 10);
}

/// Where a filter leaves herdcache out, a flight that would be traced takes nothing of the budget.
#[tokio::test(start_paused = true)]
async fn a_filter_that_leaves_herdcache_out_costs_no_budget() {
    let _exported = Exported::all().await;
    let off = Targets::new().with_default(LevelFilter::TRACE).with_target("herdcache", LevelFilter::OFF);
    let seen = Seen::default();
    let _guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(seen.clone()).with(off));
    let cache = names("off", all().per_second(1));
    for key in 0..100_u64 {
        cache.get_with(&key.to_string(), |_| async { Ok::<_, &str>(1) }).await.unwrap();
    }
    assert_eq!((seen.new.load(SeqCst), cache.traced()), (0, TraceCounts::default()));
}

/// S2: a layer that panics as a flight's span is entered leaves it current for nobody else.
#[tokio::test(start_paused = true)]
async fn s2_a_layer_that_panics_leaves_no_span_current() {
    let _exported = Exported::all().await;
    let (below, above) = (Seen::default(), Seen::default());
    above.fails_on_enter.store(true, SeqCst);
    let subscriber = tracing_subscriber::registry().with(below.clone()).with(above);
    let _guard = tracing::subscriber::set_default(subscriber);
    let cache = names("rude", all().waits(0));
    let asked = ask(&cache, "a", Ok(1));
    tokio::task::yield_now().await;
    let children = below.within.load(SeqCst);
    drop(tracing::info_span!("of the service"));
    assert_eq!(below.within.load(SeqCst), children);
    assert!(asked.await.unwrap());
    cache.shutdown(ms(10)).await;
    below.assert_all_closed();
}

/// Whatever becomes of callers and flights, no span stays open.
#[tokio::test(start_paused = true)]
async fn l7_every_span_closes() {
    let _exported = Exported::all().await;
    let seen = Seen::default();
    let _guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(seen.clone()));
    let cache = names("many", all());
    for turn in 0..200_u64 {
        let key = turn.to_string();
        let result = if turn % 2 == 0 { Ok(1) } else { Err("syntax") };
        let callers = [ask(&cache, &key, result), ask(&cache, &key, Ok(1)), ask(&cache, &key, Ok(1))];
        tokio::task::yield_now().await;
        let leaving = [0, 1, 2, 3][usize::try_from(turn % 4).unwrap()];
        callers.iter().take(leaving).for_each(tokio::task::JoinHandle::abort);
        if turn % 3 == 0 {
            cache.invalidate(&key);
        }
        for caller in callers {
            let _ = caller.await;
        }
    }
    cache.shutdown(ms(10_000)).await;
    assert_eq!(cache.traced().flights, 200);
    seen.assert_all_closed();
}

/// A layer may ask the cache whatever it is told of it.
#[tokio::test(start_paused = true)]
async fn a_layer_may_ask_the_cache() {
    let _exported = Exported::all().await;
    let (seen, cache) = (Seen::default(), names("asked", all()));
    let _guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(seen.clone()));
    seen.asks.set(cache.clone()).unwrap();
    for _ in 0..10 {
        let callers: Vec<_> = (0..12).map(|_| ask(&cache, "a", Ok(1))).collect();
        for caller in callers {
            assert!(caller.await.unwrap());
        }
        cache.invalidate("a");
        seen.asked.store(0, SeqCst);
    }
    cache.shutdown(ms(10_000)).await;
    seen.assert_all_closed();
    let now = cache.snapshot();
    assert_eq!((now.law_violations, now.active, now.flights_active), (0, 0, 0));
}
