//! The words of herdcache as types, and the live feed that carries them.
//!
//! One set of enums ([`words`]) names everything that can happen to a request, a
//! flight or an entry. The engine counts by them, the wire spells them, the
//! dashboard draws them; nothing in this workspace has a second list.
//!
//! | module | holds |
//! |---|---|
//! | [`words`] | the closed sets: [`Outcome`], [`FlightEnd`], [`RejectReason`] … |
//! | [`tally`] | [`Tally`]: one counter per value of a closed set |
//! | [`histogram`] | [`Histogram`]: bounded logarithmic buckets |
//! | [`snapshot`] | [`Snapshot`]: state now, totals since the process began |
//! | [`event`] | [`Event`]: one fact, with its time and severity |
//! | [`hello`] | [`Hello`]: who speaks, and with which effective settings |
//! | [`mod@line`] | [`Line`]: what one line of the feed holds, and its codec |
//! | [`recording`] | lines of feeds in a file, with who sent them and when |
//! | [`thresholds`] | when a herd is a herd: the constants of detection |
//! | `address`, `socket`, `token` | where feeds are and who may read them (either feature) |
//! | `server` | the publisher (feature `server`) |
//! | `client` | the reader (feature `client`) |

#[cfg(feature = "transport")]
pub mod address;
#[cfg(feature = "client")]
pub mod client;
pub mod event;
pub mod hello;
pub mod histogram;
pub mod line;
pub mod recording;
#[cfg(feature = "server")]
pub mod server;
pub mod snapshot;
#[cfg(feature = "transport")]
pub mod socket;
pub mod tally;
pub mod thresholds;
#[cfg(feature = "transport")]
pub mod token;
pub mod words;

// Unit tests and integration tests share one fake source, which names the crate.
#[cfg(all(test, feature = "server"))]
extern crate self as herdfeed;

#[cfg(feature = "transport")]
pub use address::Address;
pub use event::{Event, Fact, HerdEnd, Severity};
pub use hello::{CacheConfig, Clock, FailFastConfig, GateConfig, Hello, LeaseConfig, Process, SharedConfig};
pub use histogram::Histogram;
pub use line::{Line, LineError, Past, Second};
pub use snapshot::{
    CacheSnapshot, GateSnapshot, HotKey, LeaseSnapshot, LiveFlight, OTHER_ERROR, OperationTimes, Peaks, Saved,
    SharedSnapshot, Snapshot, Stage, TunedNow, Warmup,
};
pub use tally::Tally;
#[cfg(feature = "transport")]
pub use token::Token;
pub use words::{
    CircuitState, ClosedSet, DiscardReason, FlightEnd, FlightRole, FlightTrigger, Law, LeaseLoss, LeasePoll,
    LeaseResult, Measure, MissCause, OriginResult, Outcome, PermitClass, PermitResult, ProtectionLevel, RefreshResult,
    RejectReason, RemovalCause, SharedOperation, SharedRead, SharedWrite, StaleReason, Tier,
};
