//! The code of `docs/guide`, compiled and run: `cargo test -p guide --doc`.
//!
//! A crate of its own, since one that is published cannot hold what lies outside of it. It
//! has the chapters, and the driver that their examples call; a test in `crates/house`
//! holds that no chapter is missing here.

pub mod db;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/adopt.md")]
mod adopt {}

#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/keys.md")]
mod keys {}

#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/ages.md")]
mod ages {}

#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/permits.md")]
mod permits {}

#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/refused.md")]
mod refused {}

#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/faults.md")]
mod faults {}

#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/testing.md")]
mod testing {}
