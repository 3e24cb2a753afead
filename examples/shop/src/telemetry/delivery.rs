//! What became of what was to be sent.

/// What became of what was to be sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delivered {
    /// Collections of metrics, or spans, that were to be sent.
    pub handed_over: u64,
    /// Those of them that a collector has taken.
    pub taken: u64,
    /// Whether the last attempt failed, or has not ended.
    pub failing: bool,
}

impl Delivered {
    /// What no collector has taken: refused, or never sent since the queue was full or the end came first.
    pub fn lost(&self) -> u64 {
        self.handed_over.saturating_sub(self.taken)
    }
}
