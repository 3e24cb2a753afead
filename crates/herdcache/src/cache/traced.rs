//! What is traced of a cache: the setting, and what came of it.

use crate::builder::Builder;
use crate::cache::Cache;
use crate::key::Key;
use crate::trace::{TraceCounts, Traces};

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static> Builder<K, V, E> {
    /// Which flights get spans, and how many at most. Default: [`Traces::default`], 10 flights a second.
    ///
    /// Costs one load a flight while no subscriber of `tracing` listens at the level `INFO`. While one listens that leaves
    /// out the target `herdcache`, flights are chosen all the same, and get no span. Each cache has a budget of its own:
    /// what a process exports is bounded by their sum.
    pub fn traces(mut self, traces: Traces) -> Self {
        self.settings.traces = traces;
        self
    }
}

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static> Cache<K, V, E> {
    /// What was traced of this cache, and what the limits of [`Traces`] left out.
    pub fn traced(&self) -> TraceCounts {
        self.core.trace.counts()
    }
}
