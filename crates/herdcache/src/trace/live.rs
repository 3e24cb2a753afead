//! The room where somebody may listen. Each file does one thing; [`log`] joins them for one flight.

mod budget;
mod carried;
mod choice;
mod held;
mod herd;
mod inner;
mod lines;
mod lit;
mod log;
mod promise;
mod say;
mod settings;
mod tracer;
mod wait;

pub(crate) use carried::Carrier;
pub use choice::SampledBy;
pub(crate) use held::{Current, Kept, together};
pub use herd::{AlreadyTraced, HerdFlight, HerdSpan, HerdTracer, HerdWait, StepTimes, trace_herds};
pub(crate) use log::Log;
pub(crate) use say::{note, say, say_last};
pub use settings::Traces;
pub use tracer::TraceCounts;
pub(crate) use tracer::Tracer;
pub(crate) use wait::Waiting;
