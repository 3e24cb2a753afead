//! The names of the room where nothing is traced. All of them are nothing, and cost nothing.
#![allow(clippy::unused_self, clippy::unnecessary_wraps, reason = "the same calls as where something is traced")]

use std::marker::PhantomData;
use std::time::Duration;

use herdfeed::{Event, FlightRole};

use super::facts::{Ended, Left, Lighting, Opened, TraceStep};
use crate::clock::Moment;
use crate::config::{Check, ConfigError};

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Traces(());

impl Traces {
    pub(crate) fn check(self, _: &Check) -> Result<(), ConfigError> {
        Ok(())
    }
}

#[derive(Debug)]
pub(crate) struct Tracer;

impl Tracer {
    pub(crate) fn new(_: Traces) -> Self {
        Self
    }

    #[inline]
    pub(crate) fn choose(&self, _: (u64, u64), _: Moment, _: impl FnOnce(usize) -> Vec<u64>) -> Log {
        Log
    }

    #[inline]
    pub(crate) fn unopened(&self, _: &Log) {}

    #[inline]
    pub(crate) fn crowded(&self, _: &Log, _: Moment) {}

    #[inline]
    pub(crate) fn is_quiet(&self) -> bool {
        true
    }
}

#[derive(Debug)]
pub(crate) struct Log;

impl Log {
    #[inline]
    pub(crate) fn is_traced(&self) -> bool {
        false
    }

    #[inline]
    pub(crate) fn is_herd(&self) -> bool {
        false
    }

    #[inline]
    pub(crate) fn light<'a>(&self, _: impl FnOnce() -> Opened<'a>) -> Lighting {
        Lighting::Done
    }

    #[inline]
    pub(crate) fn enter(&self) -> Current {
        Current
    }

    #[inline]
    pub(crate) fn origin_begins(&self, _: Moment) {}

    #[inline]
    pub(crate) fn origin_ends(&self, _: Moment) {}

    #[inline]
    pub(crate) fn step(&self, _: TraceStep) -> Stepping<'_> {
        Stepping(PhantomData)
    }

    #[inline]
    pub(crate) fn keep(&self) -> Kept {
        Kept
    }

    #[inline]
    pub(crate) fn joined(&self, _: FlightRole) -> Waiting {
        Waiting
    }

    #[inline]
    pub(crate) fn herd_lands(&self, _: &Opened<'_>, _: &Ended, _: Moment) {}

    #[inline]
    pub(crate) fn landed(&self, _: Option<&Ended>) {}
}

#[inline]
pub(crate) fn note(_: &Event) {}

#[inline]
pub(crate) fn say() {}

#[inline]
pub(crate) fn say_last() {}

#[inline]
pub(crate) fn together<'a>(_: impl Iterator<Item = &'a Log>) {}

/// There is none, so that nothing is ever carried.
pub(crate) enum Carrier {}

impl Carrier {
    #[inline]
    pub(crate) fn of<'a>(_: impl Iterator<Item = &'a Log>) -> Option<Self> {
        None
    }

    pub(crate) fn carry<F>(self, task: F) -> F {
        task
    }
}

pub(crate) struct Current;

impl Current {
    #[inline]
    pub(crate) fn first<'a>(_: impl Iterator<Item = &'a Log>) -> Self {
        Self
    }
}

pub(crate) struct Kept;

impl Kept {
    #[inline]
    pub(crate) fn nothing() -> Self {
        Self
    }

    #[inline]
    pub(crate) fn step(&self, _: TraceStep) -> Stepping<'_> {
        Stepping(PhantomData)
    }
}

pub(crate) struct Stepping<'a>(PhantomData<&'a ()>);

impl Stepping<'_> {
    #[inline]
    pub(crate) fn ends(self) {}
}

#[derive(Default)]
pub(crate) struct Waiting;

impl Waiting {
    #[inline]
    pub(crate) fn is_told(&self) -> bool {
        false
    }

    #[inline]
    pub(crate) fn ends(self, _: &Log, _: (FlightRole, Left), _: impl FnOnce() -> Duration) {}
}
