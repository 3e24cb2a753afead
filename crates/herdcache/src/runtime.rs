//! Which tokio runtime this is, as a number, and whether it can keep time.

use std::cell::Cell;
use std::hash::BuildHasher;
use std::panic::catch_unwind;
use std::time::Duration;

use foldhash::fast::FixedState;

use crate::sync::runtime::Handle;
use crate::sync::time;

thread_local! {
    /// The runtime that this thread asked about last, and what it was told.
    static ASKED: Cell<(u64, Timers)> = const { Cell::new((0, Timers::Absent)) };
}

/// What a caller is told whose load would wait without timers.
pub(crate) const NEEDED: &str = "waiting for a load needs a tokio runtime with timers: build it with enable_time()";

/// Whether a runtime has timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Timers {
    Present,
    Absent,
}

/// The current runtime and its number, which is never 0; `None` outside of one.
pub(crate) fn here() -> Option<(Handle, u64)> {
    let handle = Handle::try_current().ok()?;
    let number = FixedState::default().hash_one(handle.id()).max(1);
    Some((handle, number))
}

/// The current runtime if it can keep time: limits of loads and callers need that.
pub(crate) fn with_timers() -> Option<(Handle, u64)> {
    let (handle, number) = here()?;
    let (asked, answer) = ASKED.get();
    let timers = if asked == number { answer } else { probe() };
    ASKED.set((number, timers));
    (timers == Timers::Present).then_some((handle, number))
}

/// tokio tells only by a panic, whose message says what to do; it is caught, and the answer kept.
fn probe() -> Timers {
    match catch_unwind(|| drop(time::sleep(Duration::ZERO))) {
        Ok(()) => Timers::Present,
        Err(_) => Timers::Absent,
    }
}
