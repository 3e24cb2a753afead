//! A service that exports as the page on OpenTelemetry has it, and ends like it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use herdcache_otel::{Observing, Tracing, observe, traces};
use opentelemetry::metrics::MeterProvider as _;
use opentelemetry_otlp::{MetricExporter, Protocol as Wire, SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::SdkTracerProvider;
use otlp_rig::Protocol;
use tokio::runtime::Runtime;
use tracing::Dispatch;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};

pub(crate) const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// One test at a time.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Exporters and what feeds them.
pub(crate) struct Exports {
    pub(crate) dispatch: Dispatch,
    /// Until no more herds are traced.
    tracing: Option<Tracing<SdkTracerProvider>>,
    observing: Observing,
    exporters: Runtime,
    tracer: SdkTracerProvider,
    meters: SdkMeterProvider,
}

impl Exports {
    /// To a collector at this address, or none.
    pub(crate) fn to(protocol: Protocol, address: std::net::SocketAddr) -> Self {
        let exporters = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let (spans, metrics) = match protocol {
            Protocol::Grpc => {
                let _within = exporters.enter();
                let endpoint = format!("http://{address}");
                let spans = SpanExporter::builder().with_tonic().with_endpoint(&endpoint).build().unwrap();
                (spans, MetricExporter::builder().with_tonic().with_endpoint(&endpoint).build().unwrap())
            }
            Protocol::Http => {
                let [traces, metrics] = ["traces", "metrics"].map(|signal| format!("http://{address}/v1/{signal}"));
                let (spans, points) = (SpanExporter::builder().with_http(), MetricExporter::builder().with_http());
                let spans = spans.with_protocol(Wire::HttpBinary).with_endpoint(traces).build().unwrap();
                (spans, points.with_protocol(Wire::HttpBinary).with_endpoint(metrics).build().unwrap())
            }
        };
        let who = Resource::builder_empty().with_service_name("shop").build();
        let tracer = SdkTracerProvider::builder().with_resource(who.clone()).with_batch_exporter(spans).build();
        let meters = SdkMeterProvider::builder().with_resource(who).with_periodic_exporter(metrics).build();
        let tracing = traces(&tracer).unwrap();
        let ours = Targets::new().with_target("wire", LevelFilter::INFO).with_target("herdcache", LevelFilter::INFO);
        let dispatch = Dispatch::new(tracing_subscriber::registry().with(tracing.layer("shop").with_filter(ours)));
        let observing = observe(&meters.meter("shop")).unwrap();
        Self { dispatch, tracing: Some(tracing), observing, exporters, tracer, meters }
    }

    /// Sends what there is now.
    pub(crate) fn flush(&self) {
        self.tracer.force_flush().unwrap();
        self.meters.force_flush().unwrap();
    }

    /// Another one may trace herds.
    pub(crate) fn trace_no_more_herds(&mut self) {
        drop(self.tracing.take());
    }

    /// The end of the page's program, and how long it takes. The caches are there until then.
    pub(crate) fn end(self) -> Duration {
        let Self { exporters, tracer, meters, observing, tracing, dispatch } = self;
        let began = Instant::now();
        thread::scope(|end| {
            end.spawn(|| tracer.shutdown_with_timeout(Duration::from_secs(2)));
            let _ = meters.shutdown();
        });
        drop((observing, tracing, dispatch));
        exporters.shutdown_background();
        began.elapsed()
    }
}
