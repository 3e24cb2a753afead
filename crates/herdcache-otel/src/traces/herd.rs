//! Spans of a herd, made of the times that the engine noted.

use std::fmt::Display;
use std::sync::Arc;
use std::time::SystemTime;

use herdcache::{HerdFlight, HerdSpan, HerdTracer, HerdWait, SampledBy, StepTimes};
use opentelemetry::trace::{Link, Span, SpanContext, Status, TraceContextExt, Tracer};
use opentelemetry::{Context, KeyValue, Value};
use tracing_opentelemetry::OpenTelemetrySpanExt;

/// Makes them.
pub(super) struct Herds<T>(Arc<T>);

impl<T> Herds<T> {
    pub(super) fn new(tracer: T) -> Self {
        Self(Arc::new(tracer))
    }
}

/// One herd's flight.
struct Herd<T> {
    tracer: Arc<T>,
    /// The flight's span is its active one.
    context: Context,
    identity: SpanContext,
    over: SystemTime,
    steps: Vec<StepTimes>,
}

impl<T> HerdTracer for Herds<T>
where
    T: Tracer + Send + Sync + 'static,
    T::Span: Send + Sync + 'static,
{
    fn begin(&self, flight: &HerdFlight<'_>) -> Option<Arc<dyn HerdSpan>> {
        let builder = self.0.span_builder("herdcache.flight").with_start_time(flight.began);
        // A load belongs to none of its callers: whatever is current here is not its parent.
        let root = Context::new();
        let mut span = builder.with_attributes(attributes(flight)).start_with_context(&*self.0, &root);
        if !span.is_recording() {
            return None;
        }
        if flight.failed {
            span.set_status(Status::error(""));
        }
        let identity = span.span_context().clone();
        let context = root.with_span(span);
        let (over, steps) = (flight.began + flight.took, flight.steps.to_vec());
        Some(Arc::new(Herd { tracer: Arc::clone(&self.0), context, identity, over, steps }))
    }

    fn wants_wait(&self) -> bool {
        // The layer keeps this the context of the span of `tracing` that is current. Who has none begins a trace.
        Context::map_current(|context| {
            let span = context.span();
            !context.has_active_span() || span.is_recording() || span.span_context().is_sampled()
        })
    }
}

impl<T> HerdSpan for Herd<T>
where
    T: Tracer + Send + Sync + 'static,
    T::Span: Send + Sync + 'static,
{
    fn landed(&self) {
        for step in &self.steps {
            let builder = self.tracer.span_builder(step.step.span_name()).with_start_time(step.began);
            builder.start_with_context(&*self.tracer, &self.context).end_with_timestamp(step.began + step.took);
        }
        self.context.span().end_with_timestamp(self.over);
    }

    fn waited(&self, wait: &HerdWait) {
        let builder = self.tracer.span_builder("herdcache.wait").with_start_time(wait.began);
        let builder = builder.with_links(vec![Link::with_context(self.identity.clone())]);
        let builder = builder.with_attributes([KeyValue::new("herdcache.flight.role", label(wait.role))]);
        builder.start_with_context(&*self.tracer, &callers()).end_with_timestamp(wait.began + wait.took);
    }
}

/// The trace that is current where a caller is told: that of its span, or of the OpenTelemetry context.
fn callers() -> Context {
    let context = tracing::Span::current().context();
    if context.has_active_span() { context } else { Context::current() }
}

/// The same as those of a span that was chosen before.
fn attributes(flight: &HerdFlight<'_>) -> Vec<KeyValue> {
    let mut all = vec![
        KeyValue::new("herdcache.name", flight.cache.to_owned()),
        KeyValue::new("herdcache.key", flight.key.to_owned()),
        KeyValue::new("herdcache.flight.id", integer(flight.flight)),
        KeyValue::new("herdcache.flight.trigger", label(flight.trigger)),
        KeyValue::new("herdcache.sampled_by", SampledBy::Herd.label()),
        KeyValue::new("herdcache.flight.end", label(flight.end)),
        KeyValue::new("herdcache.flight.waiters", integer(flight.waiters)),
        KeyValue::new("herdcache.flight.duration", flight.took.as_secs_f64()),
    ];
    let mut say = |name, value: Option<Value>| all.extend(value.map(|value| KeyValue::new(name, value)));
    say("herdcache.miss.cause", flight.cause.map(label));
    say("herdcache.tier", flight.tier.map(label));
    say("herdcache.value.age", flight.age.map(|age| age.as_secs_f64().into()));
    say("error.type", flight.error_class.map(Value::from));
    all
}

fn label(word: impl Display) -> Value {
    word.to_string().into()
}

/// OpenTelemetry has no unsigned integers.
fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
