//! Collectors for OTLP within a test's own process.
//!
//! [`Collector`] listens on a free port of this machine, over gRPC or over HTTP with protobuf, takes what an SDK sends, and
//! keeps it for the test: [`Inbox`]. What came is read as [`Point`] and [`Span`], plain values without the nesting of the
//! protocol; [`Inbox::raw`] has the bytes. A collector can be told to refuse, and to [freeze](Collector::freeze). [`Misbehaving`]
//! stands where a collector should be: nobody listens, it never answers, it cannot be connected to, it hangs up.
//!
//! Nothing of the product depends on this crate, so that its weight (a gRPC server) falls on tests alone. It is no
//! collector to use: it keeps everything in memory, up to a limit, and forwards nothing.

mod collector;
mod inbox;
mod misbehaving;
mod points;
mod spans;
mod values;

pub use collector::{Collector, Protocol};
pub use inbox::{Inbox, LIMIT, Refusal};
pub use misbehaving::Misbehaving;
pub use points::{Batch, Histogram, Kind, Point, Temporality};
pub use spans::{Context, Span};
