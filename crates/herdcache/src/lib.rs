//! Cache-aside reads with stampede protection, and a complete account of every request.
//!
//! A popular key expires, every request sees the miss, all of them hit the
//! database at once, the connection pool empties, and *unrelated* requests time
//! out while the average hit ratio says that all is well. herdcache answers such
//! a herd with one load, bounds what reaches the database, and tells what
//! happened to each request: exactly one [`Outcome`] per request.
//!
//! ```
//! use std::{convert::Infallible, time::Duration};
//! use herdcache::{Cache, Gate, LoadContext, Ttl};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // At most 8 loads reach the database at once, however many keys are missing.
//! let gate = Gate::new(8);
//! let ttl = Ttl::fresh_for(Duration::from_secs(60)).stale_for(Duration::from_secs(300));
//! let users = Cache::builder("users", ttl, &gate)
//!     .build_over(|cx: LoadContext<u64, String>| async move {
//!         Ok::<_, Infallible>(format!("user {}", cx.key()))      // the query, with cx.remaining() as its timeout
//!     })?;
//!
//! let user = users.get(&7).await?.expect("present");
//! assert_eq!(*user, "user 7");
//! # Ok(()) }
//! ```
//!
//! **Loaders are for reads.** A load may run twice, or not at all; a payment or a
//! change of state does not belong in one.
//!
//! # Protection, layer by layer
//!
//! | measure | cures | on by default |
//! |---|---|---|
//! | single-flight | many requests for one missing key | yes |
//! | jitter | many keys written together that expire together | 10 % |
//! | stale-while-revalidate | readers that wait at expiry | with [`Ttl::stale_for`] |
//! | refresh-ahead | the same, without answering stale values | with [`Builder::early_refresh`] |
//! | reserve values | errors while the origin is down | with [`Ttl::stale_if_error_for`] |
//! | cooling | a failing origin that every request would try again | yes |
//! | permits | many different missing keys, or a slow database | always, by the [`Gate`] |
//! | fail-fast | a dead database, whose every key would pay a timeout | yes, by the gate: [`GateBuilder::fail_fast`] |
//! | adaptive limit | permits that do not fit the origin | with [`GateBuilder::adaptive`] |
//! | negative entries | keys that do not exist, asked for again and again | 1 s, [`Builder::negative_ttl`] |
//! | fallback | errors where a degraded answer will do | with [`Builder::fallback`] |
//! | shared tier | a load in each process, and cold starts | with [`Builder::shared`] |
//! | lease | the same load in several processes at once | with [`Builder::lease`] |
//! | group shares | one tenant whose misses crowd out the others | with [`Builder::group_share`] |
//!
//! All but two of them work within one process; without a [`SharedTier`], other processes load for themselves.
//! [`MemoryTier`] is one for tests.
//!
//! # Cargo features
//!
//! `feed` serves the live feed for the dashboard, `mount` within your own HTTP server; `test-util` makes the cache's
//! clock follow tokio's pausable one, `testing` adds a scripted origin and checks of the account; `lab` switches single
//! measures at run time, and lets `HERDCACHE_STORE` choose the store of caches that choose none. `quick-cache` adds a
//! faster [`LocalStore`].
//! `axum` turns a [`GetError`] into a response (503 with `Retry-After`, 504, 502);
//! `tracing` gives spans of hot flights and of the waits for them, and lines for logs: see `Builder::traces` and
//! `docs/reference/traces.md`. `tower` makes a cache a `Service`, a service an origin, and adds a layer. Other
//! frameworks map [`GetError::kind`] by hand.
//!
//! Not provided: a blocking `get`, other runtimes than tokio, wasm, time-to-idle, iteration.

mod account;
mod answer;
#[cfg(feature = "axum")]
pub mod axum;
mod builder;
mod by_hash;
mod cache;
mod classes;
mod clock;
mod config;
mod contained;
mod cooling;
mod core;
mod entry;
mod error;
mod events;
mod fallback;
#[cfg(feature = "feed")]
mod feed;
mod flight;
mod freshness;
mod gate;
mod ghost;
mod graveyard;
mod group;
mod herd;
mod hotkeys;
mod kept;
mod key;
mod loaded;
mod local;
mod marks;
mod measures;
mod memory;
#[cfg(herd_shuttle)]
#[doc(hidden)]
pub mod model;
mod origin;
mod ratio;
mod recorder;
mod registry;
mod request;
mod runtime;
mod shared;
mod spread;
mod store;
mod sync;
mod tags;
#[cfg(all(any(feature = "testing", feature = "testing-any-clock"), not(any(herd_loom, herd_shuttle))))]
pub mod testing;
#[cfg(feature = "tower")]
pub mod tower;
mod trace;
mod ttl;
mod tuning;
mod unwatched;
mod warmup;

pub use answer::Answer;
pub use builder::Builder;
pub use cache::{Cache, ReadThrough};
pub use config::ConfigError;
pub use core::refresh::Refreshing;
pub use error::{BoxError, ErrorKind, Failure, GetError, Got};
pub use events::Events;
#[cfg(feature = "feed")]
pub use feed::{Feed, FeedBuilder, serve_feed};
pub use gate::{FailFast, Gate, GateBuilder, GatePermit, Rejected};
pub use herdfeed::{self, Outcome, RejectReason};
pub use key::{Key, KeyView, Secret};
pub use loaded::Loaded;
pub use measures::Switch;
pub use memory::{Fault, MemoryTier};
pub use origin::{BlockingError, LoadContext, Origin};
pub use recorder::{Measured, QUICK_SAMPLED, RECORDERS, Recorder, TooManyRecorders, add_recorder, recorder_panics};
pub use registry::{process_config, process_snapshot, process_totals};
pub use shared::{
    Acquired, Codec, CodecError, Fence, Found, Holding, Lease, LeaseSight, LeaseToken, Leasing, Operation, Reading,
    Shared, SharedKey, SharedTier, TierError, Write, WriteFailure, Writing,
};
pub use spread::{Reach, Spread};
pub use store::choice::LocalStore;
#[cfg(all(feature = "tracing", not(any(herd_loom, herd_shuttle))))]
pub use trace::{
    AlreadyTraced, HerdFlight, HerdSpan, HerdTracer, HerdWait, SampledBy, StepTimes, TraceCounts, TraceStep, Traces,
    trace_herds,
};
pub use ttl::Ttl;
pub use tuning::Tuning;
pub use unwatched::WhenUnwatched;
pub use warmup::{Progress, WarmUp};
