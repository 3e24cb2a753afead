//! What a flight holds that is given back, or ends, when it is dropped: a token of the budget, the span of a herd.

use std::sync::Arc;

use super::choice::SampledBy;
use super::herd::HerdSpan;
use super::tracer::Shared;
use crate::contained::contained;

/// A token that was taken for a flight. Dropped unused, it goes back.
#[derive(Debug)]
pub(super) struct Promise {
    pub(super) by: SampledBy,
    pub(super) shared: Arc<Shared>,
    kept: bool,
}

impl Promise {
    pub(super) fn new(by: SampledBy, shared: &Arc<Shared>) -> Self {
        Self { by, shared: Arc::clone(shared), kept: false }
    }

    pub(super) fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for Promise {
    fn drop(&mut self) {
        if !self.kept {
            self.shared.budget.give_back();
        }
    }
}

/// The span of a herd. Its end is not our code.
#[derive(Default)]
pub(super) struct Herd(pub(super) Option<Arc<dyn HerdSpan>>);

impl Drop for Herd {
    fn drop(&mut self) {
        let span = self.0.take();
        contained(|| drop(span));
    }
}
