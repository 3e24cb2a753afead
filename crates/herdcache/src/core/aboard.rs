//! A load under way with what it holds, so that it goes before them wherever its task is stopped.
//!
//! An `async fn` that was never polled drops its arguments in their order, one that waits in the opposite order. A load
//! may have been polled before its task first runs, so neither order of arguments is right; that of fields always is.

use crate::origin::call::{Part, Ticket};

/// Dropped in this order: the load, its permit (L3), its place in the table (L2).
pub(super) struct Aboard<L, P> {
    pub(super) load: L,
    pub(super) part: Part,
    pub(super) pilot: P,
}

/// The same on its way to its call, with the permit if it is there already.
pub(super) struct Bound<L, P> {
    pub(super) load: L,
    pub(super) ticket: Option<Ticket>,
    pub(super) pilot: P,
}

impl<L, P> Bound<L, P> {
    /// No call is made under the permit, or not now.
    pub(super) fn give_back(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            ticket.unused();
        }
    }
}
