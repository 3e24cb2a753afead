//! A service with caches whose spans are exported into memory.

use std::time::Duration;

use herdcache::{Cache, Gate, KeyView, LoadContext, Traces, Ttl};
use herdcache_otel::{Tracing, traces};
use opentelemetry::trace::{SpanId, TraceId};
use opentelemetry::{Context, Value};
use opentelemetry_sdk::trace::{InMemorySpanExporter, Sampler, SdkTracerProvider, SpanData};
use tokio::sync::{Mutex, MutexGuard};
use tokio::task::JoinHandle;
use tracing::Instrument as _;
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::layer::SubscriberExt as _;

static TURN: Mutex<()> = Mutex::const_new(());

pub(crate) type Names = Cache<String, u64, &'static str>;

pub(crate) const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// Everything that is exported while it lives.
pub(crate) struct Exported {
    exporter: InMemorySpanExporter,
    provider: SdkTracerProvider,
    pub(crate) tracing: Tracing<SdkTracerProvider>,
    subscriber: Option<DefaultGuard>,
    _turn: MutexGuard<'static, ()>,
}

impl Exported {
    pub(crate) async fn by(sampler: Sampler) -> Self {
        let mut exported = Self::silently(sampler).await;
        let subscriber = tracing_subscriber::registry().with(exported.tracing.layer("service"));
        exported.subscriber = Some(tracing::subscriber::set_default(subscriber));
        exported
    }

    /// Without a subscriber, which the test sets itself.
    pub(crate) async fn unheard() -> Self {
        Self::silently(Sampler::AlwaysOn).await
    }

    async fn silently(sampler: Sampler) -> Self {
        let turn = TURN.lock().await;
        let exporter = InMemorySpanExporter::default();
        let builder = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).with_sampler(sampler);
        let provider = builder.build();
        let tracing = traces(&provider).unwrap();
        Self { exporter, provider, tracing, subscriber: None, _turn: turn }
    }

    pub(crate) async fn all() -> Self {
        Self::by(Sampler::AlwaysOn).await
    }

    pub(crate) fn provider(&self) -> &SdkTracerProvider {
        &self.provider
    }

    /// Everything that was exported so far.
    pub(crate) fn spans(&self) -> Vec<SpanData> {
        self.exporter.get_finished_spans().unwrap()
    }

    /// Forgets what was exported.
    pub(crate) fn forget(&self) {
        self.exporter.reset();
    }

    /// What was exported under this name, by when it began.
    pub(crate) fn named(&self, name: &str) -> Vec<SpanData> {
        let mut spans = self.spans();
        spans.retain(|span| span.name == name);
        spans.sort_by_key(|span| span.start_time);
        spans
    }

    pub(crate) fn text(&self) -> String {
        format!("{:?}", self.spans())
    }
}

pub(crate) fn id(span: &SpanData) -> (TraceId, SpanId) {
    (span.span_context.trace_id(), span.span_context.span_id())
}

/// Where a span's links lead.
pub(crate) fn links(span: &SpanData) -> Vec<(TraceId, SpanId)> {
    span.links.iter().map(|link| (link.span_context.trace_id(), link.span_context.span_id())).collect()
}

pub(crate) fn attribute<'a>(span: &'a SpanData, name: &str) -> Option<&'a Value> {
    span.attributes.iter().find(|attribute| attribute.key.as_str() == name).map(|attribute| &attribute.value)
}

pub(crate) fn names(name: &str, traces: Traces) -> Names {
    let ttl = Ttl::fresh_for(ms(60_000));
    let builder = Cache::builder(name, ttl, &Gate::new(16)).jitter(0.0).show_keys(KeyView::Hash);
    builder.error_classes(&["sql"], |_| "sql").traces(traces).build().unwrap()
}

/// How long a load takes.
pub(crate) const TAKES: Duration = ms(4_000);

/// A caller in a task and a trace of its own, whose load asks a driver and takes some time.
pub(crate) fn ask(cache: &Names, key: &str, result: Result<u64, &'static str>) -> JoinHandle<bool> {
    let (cache, key) = (cache.clone(), key.to_owned());
    let load = move |_: LoadContext<String, u64>| async move {
        drop(tracing::info_span!("query"));
        tokio::time::sleep(TAKES).await;
        drop(tracing::info_span!("query"));
        result
    };
    let request = tracing::info_span!(parent: None, "request");
    tokio::spawn(async move { cache.get_with(&key, load).await.is_ok() }.instrument(request))
}

/// The same for a service that speaks to OpenTelemetry itself: what is current is a context, no span of `tracing`.
pub(crate) async fn ask_within(context: Context, cache: &Names, key: &str) {
    use opentelemetry::trace::FutureExt as _;
    let load = |_: LoadContext<String, u64>| async move {
        tokio::time::sleep(TAKES).await;
        Ok::<_, &str>(1)
    };
    cache.get_with(key, load).with_context(context).await.unwrap();
}
