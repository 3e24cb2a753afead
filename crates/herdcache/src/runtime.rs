//! Which tokio runtime this is, as a number.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use tokio::runtime::Handle;

/// The current runtime and its number, which is never 0; `None` outside of one.
pub(crate) fn here() -> Option<(Handle, u64)> {
    let handle = Handle::try_current().ok()?;
    let number = FixedState::default().hash_one(handle.id()).max(1);
    Some((handle, number))
}
