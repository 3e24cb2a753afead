//! The policy: which countermeasures are on. Read once at the start of each request.

use herdfeed::{ClosedSet, Measure};

use crate::sync::plain::atomic::{AtomicU8, Ordering::Relaxed};

/// O1: the countermeasures that are on, as one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Policy(u8);

impl Policy {
    /// Every measure.
    pub(crate) const FULL: Self = Self(0b1_1111);
    /// Bare cache-aside.
    pub(crate) const NONE: Self = Self(0);

    #[inline]
    pub(crate) fn has(self, measure: Measure) -> bool {
        self.0 & bit(measure) != 0
    }
}

#[inline]
fn bit(measure: Measure) -> u8 {
    1 << measure.index()
}

/// The policy of a cache, which may change while requests run.
#[derive(Debug)]
pub(crate) struct Measures(AtomicU8);

impl Measures {
    pub(crate) fn new(policy: Policy) -> Self {
        Self(AtomicU8::new(policy.0))
    }

    #[inline]
    pub(crate) fn read(&self) -> Policy {
        Policy(self.0.load(Relaxed))
    }

    /// Switches one measure.
    #[cfg(feature = "lab")]
    pub(crate) fn set(&self, measure: Measure, to: Switch) {
        match to {
            Switch::On => self.0.fetch_or(bit(measure), Relaxed),
            Switch::Off => self.0.fetch_and(!bit(measure), Relaxed),
        };
    }

    /// Measures that are off.
    pub(crate) fn off(&self) -> Vec<Measure> {
        let policy = self.read();
        Measure::all().iter().copied().filter(|measure| !policy.has(*measure)).collect()
    }
}

/// Whether something that can be switched works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// It works.
    On,
    /// It does nothing.
    Off,
}
