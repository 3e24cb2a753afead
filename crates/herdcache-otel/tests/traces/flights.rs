//! Flights that were chosen before they began: spans of `tracing`, exported by the layer.

use herdcache::Traces;
use herdcache_otel::traces;
use opentelemetry::Value;
use opentelemetry::trace::{SpanId, Status};
use opentelemetry_sdk::trace::Sampler;

use crate::exported::{Exported, ask, attribute, id, links, ms, names};

fn all() -> Traces {
    Traces::none().per_second(1_000).one_in(1).waits(1_000)
}

/// From each of many slow requests one link leads to the one load; the driver's spans are in its trace.
#[tokio::test(start_paused = true)]
async fn every_link_leads_to_the_exported_flight() {
    let exported = Exported::all().await;
    let cache = names("links", all());
    let callers: Vec<_> = (0..100).map(|_| ask(&cache, "alice@example.org", Ok(1))).collect();
    for caller in callers {
        assert!(caller.await.unwrap());
    }
    let [flight] = &exported.named("herdcache.flight")[..] else { panic!("one flight") };
    assert_eq!(flight.parent_span_id, SpanId::INVALID);
    let (waits, requests) = (exported.named("herdcache.wait"), exported.named("request"));
    assert_eq!((waits.len(), requests.len()), (100, 100));
    assert!(waits.iter().all(|wait| links(wait) == [id(flight)]));
    let is_of = |wait: &_, request: &opentelemetry_sdk::trace::SpanData| {
        let wait: &opentelemetry_sdk::trace::SpanData = wait;
        wait.parent_span_id == request.span_context.span_id()
            && wait.span_context.trace_id() == request.span_context.trace_id()
    };
    assert!(requests.iter().all(|request| waits.iter().filter(|wait| is_of(wait, request)).count() == 1));
    for child in [exported.named("query"), exported.named("herdcache.origin")].concat() {
        assert_eq!((child.parent_span_id, child.span_context.trace_id()), (id(flight).1, id(flight).0));
    }
    assert_eq!(exported.named("query").len(), 2);
    assert_eq!(attribute(flight, "herdcache.flight.waiters"), Some(&Value::I64(99)));
    assert_eq!(attribute(flight, "herdcache.sampled_by"), Some(&Value::from("uniform")));
    assert!(!exported.text().contains("alice"), "K2");
}

/// A flight's span ends with the landing, though a child of it goes on.
#[tokio::test(start_paused = true)]
async fn a_flights_span_ends_at_its_landing() {
    let exported = Exported::all().await;
    let cache = names("tail", all());
    let load = |_| async {
        // A task of the application's own, which outlives the load.
        let tail = tracing::info_span!("tail");
        tokio::spawn(async move {
            tokio::time::sleep(ms(5)).await;
            std::thread::sleep(ms(30));
            drop(tail);
        });
        Err::<u64, _>("syntax")
    };
    assert!(cache.get_with("k", load).await.is_err());
    assert!(exported.named("herdcache.flight").is_empty(), "its child holds it open");
    tokio::time::sleep(ms(10)).await;
    tokio::task::yield_now().await;
    let (flight, tail) = (exported.named("herdcache.flight").remove(0), exported.named("tail").remove(0));
    assert!(tail.end_time.duration_since(flight.end_time).unwrap() >= ms(20), "{flight:?} {tail:?}");
    assert_eq!(flight.status, Status::error(""));
    assert_eq!(attribute(&flight, "error.type"), Some(&Value::from("sql")));
    assert!(!exported.text().contains("syntax"), "P3");
}

/// What the provider's sampler does not want is not exported, and is no error.
#[tokio::test(start_paused = true)]
async fn what_is_sampled_out_is_not_exported() {
    let exported = Exported::by(Sampler::AlwaysOff).await;
    let cache = names("out", all());
    assert!(ask(&cache, "k", Ok(1)).await.unwrap());
    assert_eq!(exported.text(), "[]");
}

/// One handle is enough, and another may come when it is gone.
#[tokio::test(start_paused = true)]
async fn there_is_one_handle_at_a_time() {
    let exported = Exported::all().await;
    let provider = exported.provider().clone();
    let error = traces(&provider).unwrap_err().to_string();
    assert!(error.contains("already"), "{error}");
    assert_eq!(format!("{:?}", exported.tracing), "Tracing { .. }");
    let Exported { tracing, .. } = exported;
    drop(tracing);
    drop(traces(&provider).unwrap());
}
