//! The span of one flight, and those of its steps: everything that a subscriber is told of them.
//!
//! A subscriber is code that is not ours. Each call of it is contained: a span that it
//! fails to make is a flight that is not traced.

use std::cell::LazyCell;
use std::sync::Arc;

use herdfeed::ClosedSet;
use tracing::{Span, field::Empty, info_span};

use super::carried::{are_of_one, close, end, within};
use super::choice::SampledBy;
use super::tracer::Shared;
use crate::contained::contained;
use crate::sync::plain::Mutex;
use crate::sync::plain::atomic::{AtomicU32, Ordering::Relaxed};
use crate::trace::facts::{Ended, Opened, TraceStep};

/// The most steps of one flight that get a span: one that follows another process looks again and again.
pub(super) const STEPS: u32 = 16;

/// A flight with a span. The span closes when the last handle is dropped; its end is told before.
pub(super) struct Lit {
    span: Quiet,
    /// The origin call in progress.
    origin: Mutex<Option<Quiet>>,
    steps: AtomicU32,
    shared: Arc<Shared>,
}

impl Lit {
    /// Makes the span, of a trace of its own: a load belongs to none of its callers. `None` if nobody wants it.
    pub(super) fn new<'a>(
        opened: impl FnOnce() -> Opened<'a>,
        by: SampledBy,
        shared: &Arc<Shared>,
    ) -> Option<Arc<Self>> {
        let span = Quiet::of(|| flight_span(opened, by))?;
        shared.flights.fetch_add(1, Relaxed);
        shared.open.fetch_add(1, Relaxed);
        let (origin, steps) = (Mutex::new(None), AtomicU32::new(STEPS));
        Some(Arc::new(Self { span, origin, steps, shared: Arc::clone(shared) }))
    }

    pub(super) fn span(&self) -> &Span {
        &self.span.0
    }

    /// Links it to another flight's span.
    pub(super) fn follows(&self, first: &Self) {
        self.span.follows(first);
    }

    /// Makes it current on this thread; whether that went well.
    pub(super) fn enter(&self) -> bool {
        let entered = contained(|| self.span().with_subscriber(|(id, subscriber)| subscriber.enter(id))).is_some();
        if !entered {
            // One layer failed; for those below it the span is current, and would stay so for ever.
            self.exit();
        }
        entered
    }

    pub(super) fn exit(&self) {
        contained(|| self.span().with_subscriber(|(id, subscriber)| subscriber.exit(id)));
    }

    /// A child for a step.
    pub(super) fn step(&self, step: TraceStep) -> Option<Quiet> {
        let one_less = |left: u32| left.checked_sub(1);
        if self.steps.fetch_update(Relaxed, Relaxed, one_less).is_err() {
            self.shared.steps_refused.fetch_add(1, Relaxed);
            return None;
        }
        Quiet::of(|| within(self.span(), || step_span(step, self.span())))
    }

    /// The origin is called.
    pub(super) fn origin_begins(&self) {
        let step = self.step(TraceStep::Origin);
        let before = std::mem::replace(&mut *self.origin.lock(), step);
        drop(before);
    }

    /// The call has ended, or the flight has without it.
    pub(super) fn origin_ends(&self) {
        let step = self.origin.lock().take();
        drop(step);
    }

    /// The flight has landed: what it came to is recorded, and when. Once.
    pub(super) fn end(&self, ended: &Ended) {
        self.origin_ends();
        contained(|| record(self.span(), ended));
        // The bridge to OpenTelemetry takes the last exit for the end of a span. The span itself may close later: when
        // the last of its children does, and when the last waiter that came early has linked to it.
        if self.enter() {
            self.exit();
        }
        self.shared.open.fetch_sub(1, Relaxed);
    }
}

/// The child span of a step.
fn step_span(step: TraceStep, parent: &Span) -> Span {
    match step {
        TraceStep::SharedRead => info_span!(target: "herdcache", parent: parent, "herdcache.shared_read"),
        TraceStep::PermitWait => info_span!(target: "herdcache", parent: parent, "herdcache.permit_wait"),
        TraceStep::Lease => info_span!(target: "herdcache", parent: parent, "herdcache.lease"),
        TraceStep::Origin => info_span!(target: "herdcache", parent: parent, "herdcache.origin"),
        TraceStep::WriteBack => info_span!(target: "herdcache", parent: parent, "herdcache.write_back"),
    }
}

/// What is said of the flight is asked for only if a filter lets the span through: a key's view is the application's code.
fn flight_span<'a>(opened: impl FnOnce() -> Opened<'a>, by: SampledBy) -> Span {
    let opened = LazyCell::new(opened);
    info_span!(
        target: "herdcache",
        parent: None,
        "herdcache.flight",
        herdcache.name = opened.cache,
        herdcache.key = opened.key.as_str(),
        herdcache.flight.id = integer(opened.flight),
        herdcache.flight.trigger = opened.trigger.label(),
        herdcache.miss.cause = opened.cause.map(ClosedSet::label),
        herdcache.sampled_by = by.label(),
        herdcache.flight.end = Empty,
        herdcache.flight.waiters = Empty,
        herdcache.flight.duration = Empty,
        herdcache.tier = Empty,
        herdcache.value.age = Empty,
        "error.type" = Empty,
        otel.status_code = Empty,
    )
}

fn record(span: &Span, ended: &Ended) {
    span.record("herdcache.flight.end", ended.end.label());
    span.record("herdcache.flight.waiters", integer(ended.waiters));
    span.record("herdcache.flight.duration", ended.took.as_secs_f64());
    if let Some(tier) = ended.tier {
        span.record("herdcache.tier", tier.label());
    }
    if let Some(age) = ended.age {
        span.record("herdcache.value.age", age.as_secs_f64());
    }
    if let Some(class) = ended.class {
        span.record("error.type", class);
    }
    if ended.is_failure() {
        span.record("otel.status_code", "ERROR");
    }
}

/// Bridges to OpenTelemetry, which has no unsigned integers, take them for text.
fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A span whose end is contained too.
#[derive(Debug)]
pub(super) struct Quiet(pub(super) Span);

impl Quiet {
    /// The span that `make` makes; `None` if it panics, or nobody wants it.
    pub(super) fn of(make: impl FnOnce() -> Span) -> Option<Self> {
        let span = Self(contained(make)?);
        span.is_told().then_some(span)
    }

    pub(super) fn none() -> Self {
        Self(Span::none())
    }

    /// Whether it is one that somebody wants.
    pub(super) fn is_told(&self) -> bool {
        !self.0.is_disabled()
    }

    /// Links it to a flight's span, if one subscriber knows both. It is not current here.
    pub(super) fn follows(&self, lit: &Lit) {
        contained(|| {
            if are_of_one(&self.0, lit.span()) {
                self.0.follows_from(lit.span());
            }
        });
    }

    /// It ends: if it was visited, its last exit is now.
    pub(super) fn ends(&self) {
        end(&self.0);
    }

    pub(super) fn record(&self, field: &'static str, value: bool) {
        contained(|| _ = self.0.record(field, value));
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        let span = std::mem::replace(&mut self.0, Span::none());
        contained(|| close(span));
    }
}
