//! Every primitive by which threads and tasks meet, under one name each.
//!
//! Nothing else of this crate names `std::sync`'s locks and atomics, `parking_lot`
//! or tokio, so that one place decides what they are. Services get exactly those;
//! a build with `--cfg herd_loom` or `--cfg herd_shuttle` gets a model checker's,
//! which decide what runs next. [`plain`] is what never takes part in that: what
//! belongs to the process rather than to a cache, and counts that nothing but a
//! reader's eye depends on. `docs/correctness.md` says what the models show.

#[cfg(any(herd_loom, herd_shuttle))]
mod modelled;
#[cfg(not(any(herd_loom, herd_shuttle)))]
mod real;
#[cfg(herd_loom)]
mod under_loom;
#[cfg(herd_shuttle)]
mod under_shuttle;

#[cfg(not(any(herd_loom, herd_shuttle)))]
pub(crate) use real::*;
#[cfg(herd_loom)]
pub(crate) use under_loom::*;
#[cfg(herd_shuttle)]
pub(crate) use under_shuttle::*;

/// The same in every build.
///
/// A lock of these may be held over nothing that a model checker decides: whoever
/// waited for it meanwhile would wait for ever.
pub(crate) mod plain {
    pub(crate) use std::sync::{LazyLock, atomic};

    pub(crate) use parking_lot::{Mutex, RwLock};
}
