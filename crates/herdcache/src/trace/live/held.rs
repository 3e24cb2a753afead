//! What a corridor holds while something lasts: a span that is current, a step, a flight that has landed.

use std::sync::Arc;

use super::lit::{Lit, Quiet};
use super::log::Log;
use crate::clock::Moment;
use crate::trace::facts::TraceStep;

/// B1: several flights make one call, during which one of them is current: the others follow from it.
pub(crate) fn together<'a>(logs: impl Iterator<Item = &'a Log>) {
    let mut first: Option<Arc<Lit>> = None;
    for lit in logs.filter_map(Log::lit) {
        match &first {
            Some(first) => lit.follows(first),
            None => first = Some(lit),
        }
    }
}

/// A thread on which a flight's span is current.
pub(crate) struct Current(Option<Arc<Lit>>);

impl Current {
    #[inline]
    pub(super) fn nothing() -> Self {
        Self(None)
    }

    pub(super) fn on(lit: Option<Arc<Lit>>) -> Self {
        Self(lit.filter(|lit| lit.enter()))
    }

    /// Of several, the first that there is.
    pub(crate) fn first<'a>(mut logs: impl Iterator<Item = &'a Log>) -> Self {
        Self::on(logs.find_map(Log::lit))
    }
}

impl Drop for Current {
    #[inline]
    fn drop(&mut self) {
        if let Some(lit) = &self.0 {
            lit.exit();
        }
    }
}

/// The span of a flight that has landed, for what comes after.
pub(crate) struct Kept(pub(super) Option<Arc<Lit>>);

impl Kept {
    /// For a flight that is not traced.
    pub(crate) fn nothing() -> Self {
        Self(None)
    }

    /// A step that lasts until the result is dropped.
    pub(crate) fn step(&self, step: TraceStep) -> Stepping<'_> {
        Stepping(Told::Span { _span: self.0.as_ref().and_then(|lit| lit.step(step)) })
    }
}

/// A step in progress.
pub(crate) struct Stepping<'a>(pub(super) Told<'a>);

pub(super) enum Told<'a> {
    Nobody,
    Span { _span: Option<Quiet> },
    Noted { log: &'a Log, step: TraceStep, began: Moment },
}

impl Stepping<'_> {
    pub(crate) fn ends(self) {
        drop(self);
    }
}

impl Drop for Stepping<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Told::Noted { log, step, began } = self.0 {
            log.note(step, began);
        }
    }
}
