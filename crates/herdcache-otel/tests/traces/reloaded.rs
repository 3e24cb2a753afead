//! A filter that is reloaded while a flight is on its way: off and on, at each turn of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use herdcache::herdfeed::Outcome;
use herdcache::{Gate, MemoryTier, TraceCounts, Traces, Ttl};
use herdcache_otel::traces;
use opentelemetry::trace::{SpanId, TracerProvider as _};
use opentelemetry_sdk::trace::SdkTracerProvider;
use tokio::task::JoinHandle;
use tracing::instrument::WithSubscriber as _;
use tracing::{Dispatch, Instrument as _};
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::{Registry, registry, reload};

use crate::exported::{Exported, Names, TAKES, ask, id, links, ms};
use crate::layers::Seen;

/// Callers of the one flight; as many as make a herd at this gate, and some.
const CALLERS: usize = 15;
/// The filter may change: before the flight opens, twice while callers join, before it lands, behind it.
const TURNS: u32 = 5;

/// Where the filter stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// In front of everything.
    Front,
    /// In front of the exporting layer, which is the only one.
    Layer,
    /// In front of the exporting layer, beside one that hears everything.
    BesideALog,
    /// The layer itself comes and goes.
    WholeLayer,
}

const PLACES: [Place; 4] = [Place::Front, Place::Layer, Place::BesideALog, Place::WholeLayer];

/// Lets spans through, or none.
type Switch = Arc<dyn Fn(bool) + Send + Sync>;

fn level(on: bool) -> LevelFilter {
    if on { LevelFilter::INFO } else { LevelFilter::OFF }
}

fn subscriber(exported: &Exported, place: Place) -> (Dispatch, Switch, Seen) {
    let seen = Seen::default();
    let (dispatch, switch): (_, Switch) = match place {
        Place::Front => {
            let (filter, handle) = reload::Layer::new(LevelFilter::OFF);
            let layers = registry().with(seen.clone()).with(exported.tracing.layer("service")).with(filter);
            (Dispatch::new(layers), Arc::new(move |on| handle.reload(level(on)).unwrap()))
        }
        Place::Layer => {
            let (filter, handle) = reload::Layer::new(LevelFilter::OFF);
            let layers = registry().with(exported.tracing.layer("service").with_filter(filter));
            (Dispatch::new(layers), Arc::new(move |on| handle.reload(level(on)).unwrap()))
        }
        Place::BesideALog => {
            let (filter, handle) = reload::Layer::new(LevelFilter::OFF);
            let layers = registry().with(seen.clone()).with(exported.tracing.layer("service").with_filter(filter));
            (Dispatch::new(layers), Arc::new(move |on| handle.reload(level(on)).unwrap()))
        }
        Place::WholeLayer => {
            let made =
                |provider: &SdkTracerProvider| tracing_opentelemetry::layer().with_tracer(provider.tracer("own"));
            let provider = exported.provider().clone();
            let (layer, handle) = reload::Layer::<_, Registry>::new(Some(made(&provider)).filter(|_| false));
            let layers = registry().with(layer);
            (Dispatch::new(layers), Arc::new(move |on: bool| handle.reload(on.then(|| made(&provider))).unwrap()))
        }
    };
    (dispatch, switch, seen)
}

fn cache(traces: Traces) -> Names {
    let (tier, gate) = (MemoryTier::new(), Gate::new(16));
    let builder = herdcache::Cache::builder("reloaded", Ttl::fresh_for(ms(60_000)), &gate).jitter(0.0);
    builder.traces(traces).shared(tier.clone()).lease(tier).build().unwrap()
}

fn chosen() -> Traces {
    Traces::none().per_second(1_000).one_in(1).waits(1_000)
}

fn herds() -> Traces {
    Traces::none().per_second(1_000).waits(1_000)
}

/// One flight that is waited for, during which the filter stands as the bits of `pattern` say, one for each turn.
async fn play(cache: &Names, switch: &Switch, pattern: u32) {
    let turn = |turn: u32| switch(pattern >> turn & 1 == 1);
    turn(0);
    let mut callers = vec![ask(cache, "alice@example.org", Ok(1))];
    for number in 1..=2 {
        tokio::time::sleep(ms(1_000)).await;
        turn(number);
        callers.extend((0..CALLERS / 2).map(|_| ask(cache, "alice@example.org", Ok(1))));
    }
    tokio::time::sleep(TAKES.saturating_sub(ms(2_001))).await;
    turn(3);
    tokio::time::sleep(ms(2)).await;
    turn(4);
    for caller in callers {
        assert!(caller.await.unwrap());
    }
}

/// No span names one that nobody will ever find: parents and links are exported, or not there.
fn assert_nothing_dangles(exported: &Exported, case: &str) {
    let spans = exported.spans();
    let all: Vec<_> = spans.iter().map(id).collect();
    for span in &spans {
        let parent = (span.span_context.trace_id(), span.parent_span_id);
        assert!(parent.1 == SpanId::INVALID || all.contains(&parent), "{case}: no parent of {span:?}");
        assert!(links(span).iter().all(|link| all.contains(link)), "{case}: no end of a link of {span:?}");
    }
}

/// L7, L1: whenever the filter changes, no span stays open, no link leads nowhere, callers and the account notice nothing,
/// and what is counted as traced is what has a span.
#[tokio::test(start_paused = true)]
async fn l7_a_filter_may_change_at_any_turn_of_a_flight() {
    let exported = Exported::unheard().await;
    for place in PLACES {
        let (dispatch, switch, seen) = subscriber(&exported, place);
        let _guard = tracing::dispatcher::set_default(&dispatch);
        for (kind, traces) in [("chosen", chosen()), ("herd", herds())] {
            for pattern in 0..1 << TURNS {
                let case = format!("{place:?}, {kind}, {pattern:05b}");
                let cache = cache(traces);
                play(&cache, &switch, pattern).await;
                cache.shutdown(ms(10_000)).await;
                let now = cache.snapshot();
                assert_eq!([now.outcomes[Outcome::Loaded], now.outcomes[Outcome::Coalesced]], [1, 14], "{case}");
                assert_eq!([now.law_violations, now.active, now.flights_active], [0; 3], "{case}");
                seen.assert_all_closed();
                assert_nothing_dangles(&exported, &case);
                let [flights, waits] = ["herdcache.flight", "herdcache.wait"].map(|name| exported.named(name));
                let counts = cache.traced();
                let is_on = pattern & 1 == 1;
                match (kind, place) {
                    // Who was there from the beginning has it all.
                    _ if pattern == (1 << TURNS) - 1 => {
                        assert!(waits.len() == CALLERS && waits.iter().all(|wait| links(wait) == [id(&flights[0])]));
                    }
                    // Herds are told of whatever a subscriber wants to hear.
                    ("herd", _) => assert_eq!((flights.len(), waits.len()), (1, CALLERS), "{case}"),
                    // The log hears of what the exporter does not.
                    (_, Place::BesideALog) => {
                        assert_eq!((counts.flights, flights.len()), (1, usize::from(is_on)), "{case}");
                    }
                    // Opened in the dark, it is told of as a herd.
                    _ => assert_eq!(flights.len(), 1, "{case}"),
                }
                if place != Place::BesideALog {
                    let told = (flights.len() as u64, waits.len() as u64);
                    assert_eq!((counts.flights, counts.waits), told, "{case}: {counts:?}");
                }
                assert_eq!(counts.flights_refused + counts.waits_refused, 0, "{case}");
                exported.forget();
            }
        }
    }
}

/// L7: what was switched off while it flew has used the budget as long as others do: a second later all of it is there.
#[tokio::test(start_paused = true)]
async fn l7_flights_that_are_switched_off_do_not_keep_the_budget() {
    let exported = Exported::unheard().await;
    let (dispatch, switch, _) = subscriber(&exported, Place::Front);
    let _guard = tracing::dispatcher::set_default(&dispatch);
    let cache = cache(chosen().per_second(8));
    for round in 0..50 {
        switch(true);
        let callers: Vec<_> = (0..10).map(|key| ask(&cache, &format!("{round} {key}"), Ok(1))).collect();
        tokio::time::sleep(ms(1_000)).await;
        switch(false);
        for caller in callers {
            assert!(caller.await.unwrap());
        }
    }
    let counts = cache.traced();
    // Half of eight at once, each time.
    let told = (counts.flights, counts.flights_refused, exported.named("herdcache.flight").len());
    assert_eq!(told, (50 * 4, 50 * 6, 50 * 4));
}

/// A herd whose load takes 10 ms; it has drawn its callers when this returns.
async fn herd(cache: &Names, key: &'static str) -> Vec<JoinHandle<()>> {
    let ask = |_| {
        let cache = cache.clone();
        let load = |_| async {
            tokio::time::sleep(ms(10)).await;
            Ok::<_, &str>(1)
        };
        tokio::spawn(async move { drop(cache.get_with(key, load).await.unwrap()) })
    };
    let callers = (0..CALLERS).map(ask).collect();
    tokio::time::sleep(ms(1)).await;
    callers
}

/// L7: a herd whose handle goes before it lands gives its token back: one of the next handle has it in the same second.
#[tokio::test(start_paused = true)]
async fn l7_a_herd_whose_handle_goes_gives_its_token_back() {
    let exported = Exported::unheard().await;
    let provider = exported.provider().clone();
    let cache = cache(herds().per_second(1));
    let first = herd(&cache, "a").await;
    drop(exported.tracing);
    for caller in first {
        caller.await.unwrap();
    }
    assert_eq!(cache.traced(), TraceCounts::default());
    let _next = traces(&provider).unwrap();
    for (key, flights, refused) in [("b", 1, 0), ("c", 1, 1)] {
        for caller in herd(&cache, key).await {
            caller.await.unwrap();
        }
        let counts = cache.traced();
        assert_eq!((counts.flights, counts.flights_refused), (flights, refused), "{key}");
    }
}

/// L7: on threads that run at once, with a filter that changes all the time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn l7_a_filter_may_change_all_the_time() {
    const FLIGHTS: u64 = 40;
    let exported = Exported::unheard().await;
    for place in PLACES {
        let (dispatch, switch, seen) = subscriber(&exported, place);
        for traces in [chosen(), herds()] {
            let (cache, over) = (cache(traces), Arc::new(AtomicBool::new(false)));
            let flipping = {
                let (switch, over) = (Arc::clone(&switch), Arc::clone(&over));
                std::thread::spawn(move || {
                    while !over.load(SeqCst) {
                        switch(true);
                        switch(false);
                    }
                })
            };
            let ask = |key: u64| {
                let (cache, dispatch) = (cache.clone(), dispatch.clone());
                let load = |_| async {
                    for _ in 0..20 {
                        tokio::task::yield_now().await;
                    }
                    drop(tracing::info_span!("query"));
                    Ok::<_, &str>(1)
                };
                let asked = async move { drop(cache.get_with(&key.to_string(), load).await.unwrap()) };
                tokio::spawn(
                    async move {
                        let request = tracing::info_span!(parent: None, "request");
                        asked.instrument(request).await;
                    }
                    .with_subscriber(dispatch),
                )
            };
            for key in 0..FLIGHTS {
                let callers: Vec<_> = (0..CALLERS).map(|_| ask(key)).collect();
                for caller in callers {
                    caller.await.unwrap();
                }
            }
            cache.shutdown(ms(10_000)).await;
            over.store(true, SeqCst);
            flipping.join().unwrap();
            let now = cache.snapshot();
            assert_eq!(now.outcomes[Outcome::Loaded], FLIGHTS, "{place:?}");
            assert_eq!((now.outcomes.total(), now.law_violations), (FLIGHTS * CALLERS as u64, 0), "{place:?}");
            seen.until_all_closed().await;
            assert_nothing_dangles(&exported, &format!("{place:?}"));
            assert!(!exported.named("herdcache.flight").is_empty(), "{place:?}");
            exported.forget();
        }
    }
}
