//! The origin's errors, by the classes that the application named.

use std::collections::BTreeMap;

use crate::classes;
use crate::sync::plain::atomic::{AtomicU64, Ordering::Relaxed};

/// One counter for each class, and one behind them for what has none.
#[derive(Debug)]
pub(crate) struct Errors {
    names: &'static [&'static str],
    counts: Box<[AtomicU64]>,
}

impl Errors {
    pub(crate) fn new(names: &'static [&'static str]) -> Self {
        Self { names, counts: classes::all(names).map(|_| AtomicU64::new(0)).collect() }
    }

    /// One of this class; `None` if it is not known.
    pub(crate) fn add(&self, class: Option<usize>) {
        let place = class.unwrap_or(usize::MAX).min(self.names.len());
        self.counts[place].fetch_add(1, Relaxed);
    }

    pub(crate) fn read(&self) -> BTreeMap<String, u64> {
        let counts = self.counts.iter().map(|count| count.load(Relaxed));
        classes::all(self.names).map(ToOwned::to_owned).zip(counts).collect()
    }
}
