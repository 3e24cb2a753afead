//! Herds that nobody could have chosen before: spans with recorded times, made as they land.

use std::time::{Duration, SystemTime};

use herdcache::Traces;
use opentelemetry::trace::{Span as _, SpanId, Status, TraceContextExt as _, Tracer as _, TracerProvider as _};
use opentelemetry::{Context, Value};
use opentelemetry_sdk::trace::{Sampler, SpanData};

use crate::exported::{Exported, TAKES, ask, ask_within, attribute, id, links, ms, names};

fn took(span: &SpanData) -> Duration {
    span.end_time.duration_since(span.start_time).unwrap()
}

/// The flight began when it did, and each waiter's link leads to it though it was chosen when they had joined.
#[tokio::test(start_paused = true)]
async fn a_herds_flight_has_its_recorded_times_and_every_link_leads_to_it() {
    let exported = Exported::all().await;
    let cache = names("herd", Traces::default().one_in(0).waits(1_000));
    // Paused time passes in no time: what ended did so between these two moments.
    let before = SystemTime::now();
    let first = ask(&cache, "alice@example.org", Ok(1));
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
    tokio::time::advance(ms(3_000)).await;
    let callers: Vec<_> = (0..50).map(|_| ask(&cache, "alice@example.org", Ok(1))).collect();
    for caller in callers.into_iter().chain([first]) {
        assert!(caller.await.unwrap());
    }
    let during = before..=SystemTime::now();
    let [flight] = &exported.named("herdcache.flight")[..] else { panic!("one flight: {}", exported.text()) };
    let origin = exported.named("herdcache.origin").remove(0);
    assert_eq!((flight.parent_span_id, took(flight)), (SpanId::INVALID, TAKES));
    assert!(during.contains(&flight.end_time) && during.contains(&origin.end_time));
    assert_eq!(attribute(flight, "herdcache.sampled_by"), Some(&Value::from("herd")));
    assert_eq!(attribute(flight, "herdcache.flight.waiters"), Some(&Value::I64(50)));
    assert_eq!(attribute(flight, "herdcache.flight.end"), Some(&Value::from("loaded")));
    assert_eq!((origin.parent_span_id, took(&origin)), (id(flight).1, TAKES));
    let (waits, requests) = (exported.named("herdcache.wait"), exported.named("request"));
    assert_eq!((waits.len(), requests.len()), (51, 51));
    assert!(waits.iter().all(|wait| links(wait) == [id(flight)]));
    let is_of = |wait: &SpanData, request: &SpanData| {
        wait.parent_span_id == id(request).1 && wait.span_context.trace_id() == id(request).0
    };
    assert!(requests.iter().all(|request| waits.iter().filter(|wait| is_of(wait, request)).count() == 1));
    assert_eq!(waits.iter().filter(|wait| took(wait) == ms(1_000) && during.contains(&wait.end_time)).count(), 50);
    assert!(!exported.text().contains("alice"), "K2");
}

/// Callers whose trace is a context of OpenTelemetry have their link too.
#[tokio::test(start_paused = true)]
async fn a_service_without_spans_of_tracing_has_its_links_too() {
    let exported = Exported::all().await;
    let cache = names("native", Traces::default().one_in(0));
    let tracer = exported.provider().tracer("service");
    let span = tracer.start("native");
    let parent = span.span_context().span_id();
    let context = Context::new().with_span(span);
    let callers = (0..20).map(|_| ask_within(context.clone(), &cache, "k"));
    let callers: Vec<_> = callers.map(Box::pin).collect();
    together(callers).await;
    let flight = exported.named("herdcache.flight").remove(0);
    let waits = exported.named("herdcache.wait");
    assert_eq!(waits.len(), 20);
    assert!(waits.iter().all(|wait| wait.parent_span_id == parent && links(wait) == [id(&flight)]));
}

/// Polls all of them in one task, so that each has its own context and none a span.
async fn together<F: Future<Output = ()> + Unpin>(mut all: Vec<F>) {
    std::future::poll_fn(|cx| {
        all.retain_mut(|one| std::pin::Pin::new(one).poll(cx).is_pending());
        if all.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
}

/// P3: a herd that failed says so by the class of the error; and one that the sampler does not want is not there.
#[tokio::test(start_paused = true)]
async fn p3_a_herd_that_failed_says_so_by_its_class() {
    for (sampler, exported_flights) in [(Sampler::AlwaysOn, 1), (Sampler::AlwaysOff, 0)] {
        let exported = Exported::by(sampler).await;
        let cache = names("failed", Traces::default().one_in(0));
        let callers: Vec<_> = (0..20).map(|_| ask(&cache, "k", Err("syntax"))).collect();
        for caller in callers {
            assert!(!caller.await.unwrap());
        }
        let flights = exported.named("herdcache.flight");
        assert_eq!(flights.len(), exported_flights);
        assert_eq!(cache.traced().flights, exported_flights as u64);
        for flight in flights {
            assert_eq!(
                (&flight.status, attribute(&flight, "error.type")),
                (&Status::error(""), Some(&Value::from("sql")))
            );
        }
        assert!(!exported.text().contains("syntax"));
    }
}
