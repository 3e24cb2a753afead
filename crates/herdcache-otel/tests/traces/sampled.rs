//! A service that keeps a part of its own traces: what is kept has its links.

use herdcache::Traces;
use opentelemetry::trace::{Link, SpanKind, TraceId};
use opentelemetry::{Context, KeyValue};
use opentelemetry_sdk::trace::{Sampler, SamplingDecision, SamplingResult, ShouldSample};
use tracing::Instrument as _;

use crate::exported::{Exported, ask, id, links, names};

/// Keeps flights, and of the service's own traces those that are called `kept`.
#[derive(Clone, Debug)]
struct Few;

impl ShouldSample for Few {
    fn should_sample(
        &self,
        parent: Option<&Context>,
        id: TraceId,
        name: &str,
        kind: &SpanKind,
        attributes: &[KeyValue],
        links: &[Link],
    ) -> SamplingResult {
        let rest = Sampler::AlwaysOff.should_sample(parent, id, name, kind, attributes, links);
        let keep = ["herdcache.flight", "kept"].contains(&name);
        SamplingResult { decision: if keep { SamplingDecision::RecordAndSample } else { rest.decision }, ..rest }
    }
}

/// Callers whose traces nobody will see take no place of one that is seen, in flights that were chosen and in herds.
#[tokio::test(start_paused = true)]
async fn who_is_sampled_has_a_link_however_many_are_not() {
    let exported = Exported::by(Sampler::ParentBased(Box::new(Few))).await;
    let settings = Traces::none().per_second(1_000).waits(2);
    for (name, traces) in [("chosen", settings.one_in(1)), ("herd", settings)] {
        let cache = names(name, traces);
        let callers: Vec<_> = (0..100).map(|_| ask(&cache, "k", Ok(1))).collect();
        tokio::task::yield_now().await;
        let kept = cache.get_with("k", |_| async { Ok::<_, &str>(1) });
        assert_eq!(*kept.instrument(tracing::info_span!(parent: None, "kept")).await.unwrap().unwrap(), 1);
        for caller in callers {
            assert!(caller.await.unwrap());
        }
        let (flight, waits) = (exported.named("herdcache.flight").pop().unwrap(), exported.named("herdcache.wait"));
        let found: Vec<_> = waits.iter().filter(|wait| links(wait) == [id(&flight)]).collect();
        let counts = cache.traced();
        assert_eq!((found.len(), counts.waits, counts.waits_refused), (1, 1, 0), "{name}");
    }
    assert_eq!(exported.named("kept").len(), 2);
}
