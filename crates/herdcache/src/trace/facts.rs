//! What is told of a flight: when it opens, when it has landed, and what it does in between.

use std::time::Duration;

use herdfeed::{FlightEnd, FlightTrigger, MissCause, Tier};

/// A part of a flight's way, as its child span is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TraceStep {
    /// The shared tier was asked.
    SharedRead,
    /// The load waited for a permit of the gate.
    PermitWait,
    /// The lease over all processes was asked for.
    Lease,
    /// The origin was called.
    Origin,
    /// What was loaded was written to the shared tier. May end after its flight.
    WriteBack,
}

impl TraceStep {
    /// The name of its span: `herdcache.shared_read` and so on.
    pub fn span_name(self) -> &'static str {
        match self {
            Self::SharedRead => "herdcache.shared_read",
            Self::PermitWait => "herdcache.permit_wait",
            Self::Lease => "herdcache.lease",
            Self::Origin => "herdcache.origin",
            Self::WriteBack => "herdcache.write_back",
        }
    }
}

/// What is known of a flight when it opens.
pub(crate) struct Opened<'a> {
    pub(crate) cache: &'a str,
    /// K2: as the application lets it be seen.
    pub(crate) key: String,
    pub(crate) flight: u64,
    pub(crate) trigger: FlightTrigger,
    pub(crate) cause: Option<MissCause>,
}

/// What is known of it when it has landed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    pub(crate) end: FlightEnd,
    /// Callers that had joined it and still waited.
    pub(crate) waiters: u64,
    pub(crate) took: Duration,
    /// The tier that the answer came from, if not from the origin.
    pub(crate) tier: Option<Tier>,
    pub(crate) age: Option<Duration>,
    /// P3: the class of the origin's error, never its text.
    pub(crate) class: Option<&'static str>,
}

impl Ended {
    /// Whether callers got an error of it.
    pub(crate) fn is_failure(&self) -> bool {
        match self.end {
            FlightEnd::Failed | FlightEnd::Deadline | FlightEnd::Panicked | FlightEnd::Rejected => true,
            FlightEnd::Loaded
            | FlightEnd::NotModified
            | FlightEnd::Absent
            | FlightEnd::SharedHit
            | FlightEnd::Followed
            | FlightEnd::Discarded
            | FlightEnd::Abandoned
            | FlightEnd::Closed => false,
        }
    }
}

/// Whether a flight's span came in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lighting {
    Done,
    /// The flight had landed before, so that nobody else has ended its span.
    TooLate,
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// The flight has landed.
    Landed,
    /// Before the flight landed.
    Early,
}
