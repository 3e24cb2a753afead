//! Spans of flights and of the waits for them, and events, for who listens (feature `tracing`).
//!
//! A flight is chosen before anything is made for it: most cost a look at whether anybody
//! listens. What is made goes to a subscriber, which is code that is not ours: it runs under no
//! lock, and its panics end nothing. Without the feature, and under a model checker, the
//! same names do nothing, so that the corridors need not know. Which steps a flight has,
//! and when it is over, is not known here.

#[cfg_attr(
    not(all(feature = "tracing", not(any(herd_loom, herd_shuttle)))),
    allow(dead_code, unreachable_pub, reason = "told, but nobody is there to read it")
)]
mod facts;
#[cfg(all(feature = "tracing", not(any(herd_loom, herd_shuttle))))]
mod live;
#[cfg(not(all(feature = "tracing", not(any(herd_loom, herd_shuttle)))))]
mod silent;

#[cfg(all(feature = "tracing", not(any(herd_loom, herd_shuttle))))]
pub use facts::TraceStep;
#[cfg(not(all(feature = "tracing", not(any(herd_loom, herd_shuttle)))))]
pub(crate) use facts::TraceStep;
pub(crate) use facts::{Ended, Left, Lighting, Opened};
#[cfg(all(feature = "tracing", not(any(herd_loom, herd_shuttle))))]
pub use live::{
    AlreadyTraced, HerdFlight, HerdSpan, HerdTracer, HerdWait, SampledBy, StepTimes, TraceCounts, Traces, trace_herds,
};
#[cfg(all(feature = "tracing", not(any(herd_loom, herd_shuttle))))]
pub(crate) use live::{Carrier, Current, Kept, Log, Tracer, Waiting, note, say, say_last, together};
#[cfg(not(all(feature = "tracing", not(any(herd_loom, herd_shuttle)))))]
pub(crate) use silent::{Carrier, Current, Kept, Log, Tracer, Traces, Waiting, note, say, say_last, together};
