//! Herds that were not chosen before they were herds: told with their times, to who can make spans of the past.
//!
//! A span of `tracing` begins when it is made. That a flight draws a herd is known later; so its
//! times are noted, and whoever makes the spans is asked as it lands. The crate
//! `herdcache-otel` does. What becomes of it is not known here.

use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime};

use herdfeed::{FlightEnd, FlightRole, FlightTrigger, MissCause, Tier};

use crate::clock::{self, Moment};
use crate::contained::contained;
use crate::sync::plain::RwLock;
use crate::sync::plain::atomic::{AtomicBool, Ordering::Relaxed};
use crate::trace::facts::{Ended, Opened, TraceStep};

/// A flight that drew a herd, as it lands. New fields may come.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct HerdFlight<'a> {
    /// The cache's name.
    pub cache: &'a str,
    /// The key as the application lets it be seen.
    pub key: &'a str,
    /// The flight's number, unique in this process.
    pub flight: u64,
    /// What started it.
    pub trigger: FlightTrigger,
    /// Why a value was missing, if a miss started it.
    pub cause: Option<MissCause>,
    /// How it ended.
    pub end: FlightEnd,
    /// Callers that had joined it and still waited; its leader is not among them.
    pub waiters: u64,
    /// When it opened.
    pub began: SystemTime,
    /// From its opening to its landing.
    pub took: Duration,
    /// The tier that the answer came from, if not from the origin.
    pub tier: Option<Tier>,
    /// The age of the value that it brought.
    pub age: Option<Duration>,
    /// The class of the origin's error, if it ended with one.
    pub error_class: Option<&'static str>,
    /// Whether its callers get an error of it.
    pub failed: bool,
    /// What it did, as far as that took time; 16 steps at most.
    pub steps: &'a [StepTimes],
}

/// One step of a flight.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct StepTimes {
    /// Which.
    pub step: TraceStep,
    /// When it began.
    pub began: SystemTime,
    /// How long it took.
    pub took: Duration,
}

/// One caller's wait for a herd.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct HerdWait {
    /// Whether it opened the flight or joined it.
    pub role: FlightRole,
    /// When it began to wait.
    pub began: SystemTime,
    /// How long it waited.
    pub took: Duration,
}

/// Makes spans of herds; for bridges to libraries that can make spans of the past.
///
/// Called by the thread that lands a flight, under no lock of ours. It must not block, nor ask a cache. A panic is
/// caught and leaves the herd without a span.
#[doc = include_str!("../../../docs/examples/herd_tracer.md")]
pub trait HerdTracer: Send + Sync {
    /// A flight that drew a herd is about to wake its waiters: makes its span, whose identity they will link to. `None`
    /// if it is not to be traced.
    fn begin(&self, flight: &HerdFlight<'_>) -> Option<Arc<dyn HerdSpan>>;

    /// Whether anybody will see a span of the caller that runs here. Asked in the task of each caller of a traced flight,
    /// herd or not: spans of waits are few ([`Traces::waits`](crate::Traces::waits)), and are not for traces that are
    /// sampled out. Default: yes.
    fn wants_wait(&self) -> bool {
        true
    }
}

/// The span of one herd's flight.
pub trait HerdSpan: Send + Sync {
    /// The waiters have been woken: the span may be ended and sent.
    fn landed(&self);

    /// A caller has waited: told in its task, where its own trace is current.
    fn waited(&self, wait: &HerdWait);
}

/// There is a tracer of herds in this process already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AlreadyTraced;

impl std::fmt::Display for AlreadyTraced {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("there is a tracer of herds in this process already: drop it before setting another")
    }
}

impl std::error::Error for AlreadyTraced {}

static TRACER: RwLock<Option<Weak<dyn HerdTracer>>> = RwLock::new(None);
/// So that a process without one pays one load.
static IS_ANY: AtomicBool = AtomicBool::new(false);

/// Has `tracer` make the spans of herds from now on, for as long as the application holds on to it.
///
/// # Errors
/// [`AlreadyTraced`] while another one lives.
pub fn trace_herds<T: HerdTracer + 'static>(tracer: &Arc<T>) -> Result<(), AlreadyTraced> {
    let added: Arc<dyn HerdTracer> = Arc::<T>::clone(tracer);
    let mut listed = TRACER.write();
    if listed.as_ref().is_some_and(|tracer| tracer.strong_count() > 0) {
        return Err(AlreadyTraced);
    }
    let gone = listed.replace(Arc::downgrade(&added));
    IS_ANY.store(true, Relaxed);
    drop(listed);
    drop(gone);
    Ok(())
}

/// Whether anybody makes spans of herds.
#[inline]
pub(super) fn is_any() -> bool {
    IS_ANY.load(Relaxed)
}

/// Whether a span of the caller that runs here is worth a place, as far as anybody knows.
pub(super) fn wants_wait() -> bool {
    if !is_any() {
        return true;
    }
    let tracer = TRACER.read().as_ref().and_then(Weak::upgrade);
    tracer.is_none_or(|tracer| contained(move || tracer.wants_wait()) != Some(false))
}

pub(super) fn begin(
    opened: &Opened<'_>,
    ended: &Ended,
    steps: &[StepTimes],
    landed: Landed,
) -> Option<Arc<dyn HerdSpan>> {
    let tracer = TRACER.read().as_ref().and_then(Weak::upgrade);
    let Some(tracer) = tracer else {
        // Gone. Under the lock, since another may be set right now.
        let listed = TRACER.write();
        IS_ANY.store(listed.as_ref().is_some_and(|tracer| tracer.strong_count() > 0), Relaxed);
        return None;
    };
    let flight = HerdFlight {
        cache: opened.cache,
        key: &opened.key,
        flight: opened.flight,
        trigger: opened.trigger,
        cause: opened.cause,
        end: ended.end,
        waiters: ended.waiters,
        began: before(landed.wall, ended.took),
        took: ended.took,
        tier: ended.tier,
        age: ended.age,
        error_class: ended.class,
        failed: ended.is_failure(),
        steps,
    };
    // The application may let go of it meanwhile: then it dies here, and that may panic too.
    contained(move || tracer.begin(&flight)).flatten()
}

/// One moment on both clocks: that of the landing, from which everything of a herd is counted back.
///
/// The wall clock is looked at once, so that steps lie within their flight also where it is set meanwhile.
#[derive(Clone, Copy, Debug)]
pub(super) struct Landed {
    at: Moment,
    wall: SystemTime,
}

impl Landed {
    /// It lands at this moment, which has only just passed.
    pub(super) fn at(at: Moment) -> Self {
        Self { at, wall: clock::wall() }
    }

    pub(super) fn step(self, step: TraceStep, began: Moment, over: Moment) -> StepTimes {
        let took = Duration::from_nanos(over.saturating_sub(began));
        StepTimes { step, began: before(self.wall, Duration::from_nanos(self.at.saturating_sub(began))), took }
    }
}

impl HerdWait {
    pub(super) fn new(role: FlightRole, took: Duration) -> Self {
        Self { role, began: before(clock::wall(), took), took }
    }
}

/// So long before a wall time, whatever that says.
fn before(wall: SystemTime, span: Duration) -> SystemTime {
    wall.checked_sub(span).unwrap_or(SystemTime::UNIX_EPOCH)
}
