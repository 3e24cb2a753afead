//! What the publisher counts about itself.

use std::sync::atomic::{AtomicU64, Ordering};

/// What a publisher has done so far. All but `subscribers` only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PublisherStats {
    /// Streams open now.
    pub subscribers: u64,
    /// Lines handed to streams.
    pub lines_sent: u64,
    /// Streams that were ended because their reader was too slow.
    pub slow_closed: u64,
    /// Connections and requests that were refused.
    pub refused: u64,
    /// Calls of the source that panicked.
    pub source_panics: u64,
    /// Lists that were shortened, and lines left out, to keep lines within their limit.
    pub trimmed: u64,
    /// Failures to accept a connection.
    pub accept_errors: u64,
}

/// The counters behind [`PublisherStats`].
#[derive(Debug, Default)]
pub(super) struct Account {
    pub(super) subscribers: AtomicU64,
    pub(super) lines_sent: AtomicU64,
    pub(super) slow_closed: AtomicU64,
    pub(super) refused: AtomicU64,
    pub(super) source_panics: AtomicU64,
    pub(super) trimmed: AtomicU64,
    pub(super) accept_errors: AtomicU64,
}

impl Account {
    pub(super) fn read(&self) -> PublisherStats {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        PublisherStats {
            subscribers: read(&self.subscribers),
            lines_sent: read(&self.lines_sent),
            slow_closed: read(&self.slow_closed),
            refused: read(&self.refused),
            source_panics: read(&self.source_panics),
            trimmed: read(&self.trimmed),
            accept_errors: read(&self.accept_errors),
        }
    }
}

/// Counts one more.
pub(super) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
