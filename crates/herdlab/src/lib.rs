//! Origin models and load generators that drive the real herdcache engine.
//!
//! The lab never runs a second loop beside the engine: it asks a real cache, and
//! checks what the cache says against an origin that counts its own calls.
//!
//! | module | holds |
//! |---|---|
//! | [`arrivals`] | when requests are meant to start, and for which key |
//! | [`origin`] | what a database does to the calls that reach it, and what it counts |
//! | [`demo`] | an engine under load in this process, to watch and to disturb |
//! | [`load`] | requests sent on that schedule, whatever becomes of the earlier ones |
//! | [`policy`] | which countermeasures stand before the origin |
//! | [`scenario`] | what is set, what happens and what must come out, as TOML |
//! | [`play`] | one run of a scenario under a policy, in virtual time |
//! | [`theory`] | the formulas that runs are held against |
//! | [`verdict`] | a scenario's checks on a run |
//! | [`quantiles`] | durations summed up |
//! | [`run`] | a run as JSON: settings, figures, checks |
//! | [`page`] | the page that says which countermeasure helps when |

pub mod arrivals;
#[cfg(feature = "scenarios")]
pub mod cli;
pub mod demo;
#[cfg(feature = "scenarios")]
pub mod html;
pub mod load;
pub mod origin;
#[cfg(feature = "scenarios")]
pub mod page;
#[cfg(feature = "scenarios")]
pub mod play;
#[cfg(feature = "scenarios")]
pub mod policy;
pub mod quantiles;
pub mod run;
#[cfg(feature = "scenarios")]
pub mod scenario;
#[cfg(feature = "scenarios")]
pub mod theory;
#[cfg(feature = "scenarios")]
pub mod verdict;
