//! Subscribers that are the default of one thread or one task only: a span's number means nothing to another one.

use std::future::Future;

use herdcache::{LoadContext, Traces};
use opentelemetry_sdk::trace::SpanData;
use tokio::task::{JoinHandle, yield_now};
use tracing::instrument::WithSubscriber as _;
use tracing::{Dispatch, Instrument as _, Span, info_span};
use tracing_subscriber::layer::SubscriberExt as _;

use crate::exported::{Exported, Names, id, links, ms, names};
use crate::layers::Seen;

fn all() -> Traces {
    Traces::none().per_second(1_000).one_in(1).waits(1_000)
}

/// A subscriber of a task's own, which exports to the same place.
fn scoped(exported: &Exported) -> (Dispatch, Seen) {
    let seen = Seen::default();
    let layers = tracing_subscriber::registry().with(seen.clone()).with(exported.tracing.layer("scoped"));
    (Dispatch::new(layers), seen)
}

/// Spans of the thread's subscriber: whatever number means something to another subscriber means one of these here.
fn bystanders() -> Vec<Span> {
    (0..64).map(|_| info_span!(parent: None, "bystander")).collect()
}

/// A load with spans that last: one over a wait, one until the load is dropped.
fn query(_: LoadContext<String, u64>) -> impl Future<Output = Result<u64, &'static str>> + Send {
    let until_dropped = info_span!("query");
    async move {
        let over_a_wait = info_span!("query");
        tokio::time::sleep(ms(50)).await;
        drop(over_a_wait);
        drop(info_span!("query"));
        Ok(1)
    }
    .instrument(until_dropped)
}

fn ask(cache: &Names, key: &str, subscriber: &Dispatch) -> JoinHandle<bool> {
    let (cache, key) = (cache.clone(), key.to_owned());
    let asked = async move {
        let request = info_span!(parent: None, "request");
        cache.get_with(&key, query).instrument(request).await.is_ok()
    };
    tokio::spawn(asked.with_subscriber(subscriber.clone()))
}

fn ids(spans: &[SpanData]) -> Vec<(opentelemetry::trace::TraceId, opentelemetry::trace::SpanId)> {
    spans.iter().map(id).collect()
}

/// The load goes on where another subscriber is the thread's: its spans are the flight's children all the same, and all of
/// them close, however the load ends. What is numbered alike there stays as it is.
#[tokio::test(start_paused = true)]
async fn l7_spans_close_where_another_subscriber_is_the_threads() {
    let exported = Exported::all().await;
    let (subscriber, seen) = scoped(&exported);
    let bystanders = bystanders();
    let cache = names("scoped", all());
    assert!(ask(&cache, "a", &subscriber).await.unwrap());
    // A load that is cut off.
    let cut = ask(&cache, "b", &subscriber);
    yield_now().await;
    cache.shutdown(ms(10)).await;
    assert!(!cut.await.unwrap());
    seen.assert_all_closed();
    let flights = exported.named("herdcache.flight");
    let queries = exported.named("query");
    assert_eq!((flights.len(), queries.len()), (2, 3 + 2));
    let parents: Vec<_> = ids(&flights).into_iter().chain(ids(&queries)).map(|(_, span)| span).collect();
    assert!(queries.iter().all(|query| parents.contains(&query.parent_span_id)));
    assert_eq!(exported.named("bystander").len(), 0);
    drop(bystanders);
    assert_eq!(exported.named("bystander").len(), 64);
}

/// The threads that the load goes on at have no subscriber at all.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn l7_spans_close_where_no_subscriber_is_the_threads() {
    let exported = Exported::all().await;
    let (subscriber, seen) = scoped(&exported);
    let cache = names("nowhere", all());
    for key in ["a", "b", "c"] {
        let callers = [ask(&cache, key, &subscriber), ask(&cache, key, &subscriber)];
        // Its wait ends on this thread, and its load goes on.
        callers[0].abort();
        for caller in callers {
            let _ = caller.await;
        }
    }
    cache.shutdown(ms(1_000)).await;
    seen.until_all_closed().await;
    assert!(exported.named("herdcache.flight").len() >= 3);
}

/// Whose own trace is with another subscriber has a span and no link: the flight's number there is somebody else's. Who
/// shares the flight's subscriber has his link.
#[tokio::test(start_paused = true)]
async fn no_link_leads_to_a_span_that_is_numbered_alike() {
    let exported = Exported::all().await;
    let [(first, seen), (second, other)] = [scoped(&exported), scoped(&exported)];
    let bystanders = tracing::dispatcher::with_default(&second, bystanders);
    let cache = names("links", all());
    let leading = ask(&cache, "a", &first);
    yield_now().await;
    let waiting = [ask(&cache, "a", &second), ask(&cache, "a", &first)];
    for caller in waiting.into_iter().chain([leading]) {
        assert!(caller.await.unwrap());
    }
    let flight = exported.named("herdcache.flight").remove(0);
    let waits = exported.named("herdcache.wait");
    assert_eq!(waits.iter().map(links).collect::<Vec<_>>().concat(), [id(&flight), id(&flight)]);
    assert_eq!(waits.len(), 3);
    drop(bystanders);
    assert!(!ids(&exported.named("bystander")).contains(&id(&flight)));
    cache.shutdown(ms(10)).await;
    seen.assert_all_closed();
    other.assert_all_closed();
}
