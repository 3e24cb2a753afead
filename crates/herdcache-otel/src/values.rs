//! What one metric reads off one cache, gate or process: a value for each combination of its attributes.

use herdcache::herdfeed::words::ClosedSet;
use herdcache::herdfeed::{CacheConfig, CacheSnapshot, GateConfig, GateSnapshot, Snapshot, Tally};

/// One cache, as a row of the table sees it.
pub(crate) struct CacheView<'a> {
    pub(crate) now: &'a CacheSnapshot,
    /// Absent for a cache that was built between the two looks at the process.
    pub(crate) config: Option<&'a CacheConfig>,
}

/// One gate.
pub(crate) struct GateView<'a> {
    pub(crate) now: &'a GateSnapshot,
    pub(crate) config: Option<&'a GateConfig>,
}

/// The process.
pub(crate) struct ProcessView<'a> {
    pub(crate) now: &'a Snapshot,
    /// Caches and gates whose names were folded.
    pub(crate) overflow: u64,
    /// Instruments that said nothing in a collection.
    pub(crate) failed: u64,
}

/// One value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value {
    Count(u64),
    Real(f64),
}

/// What one metric says of one owner.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Values {
    /// One value for each combination of attribute values, the last attribute's changing fastest; `None` where there can
    /// be none.
    pub(crate) sets: Vec<Option<Value>>,
    /// Further series: a combination's place, the class that the application named, and its count.
    pub(crate) classes: Vec<(usize, String, u64)>,
}

impl Values {
    /// The count of a class under the last combination.
    pub(crate) fn class(&mut self, class: &str, count: u64) {
        self.classes.push((self.sets.len().saturating_sub(1), class.to_owned(), count));
    }

    pub(crate) fn count(&mut self, count: u64) {
        self.sets.push(Some(Value::Count(count)));
    }

    pub(crate) fn real(&mut self, real: f64) {
        self.sets.push(Some(Value::Real(real)));
    }

    pub(crate) fn maybe(&mut self, count: Option<u64>) {
        self.sets.push(count.map(Value::Count));
    }

    /// Each count of a closed set.
    pub(crate) fn tally<E: ClosedSet>(&mut self, tally: &Tally<E>) {
        tally.iter().for_each(|(_, count)| self.count(count));
    }

    /// The same of what may not be there.
    pub(crate) fn maybe_tally<E: ClosedSet>(&mut self, tally: Option<&Tally<E>>) {
        match tally {
            Some(tally) => self.tally(tally),
            None => E::all().iter().for_each(|_| self.sets.push(None)),
        }
    }

    /// 1 for the value that holds, 0 for the others; nothing if none can.
    pub(crate) fn one_of<E: ClosedSet>(&mut self, holds: Option<E>) {
        let flag = |value: &E| holds.map(|holds| Value::Real(f64::from(u8::from(holds == *value))));
        self.sets.extend(E::all().iter().map(flag));
    }

    /// Microseconds as seconds.
    pub(crate) fn seconds(&mut self, us: u64) {
        self.real(us as f64 / 1e6);
    }

    /// A count that is a gauge: its largest matters, not its sum.
    pub(crate) fn level(&mut self, level: u64) {
        self.real(level as f64);
    }
}
