//! The attribute sets of one cache, gate or process, made once.
//!
//! For each metric there is one set for each combination of its attributes'
//! values, the last attribute's changing fastest, as [`Values`](crate::values::Values)
//! come. Attributes are sorted by key: the SDK keeps a second copy of sets that are not.

use opentelemetry::KeyValue;

use crate::labels::{Attribute, CACHE, GATE};
use crate::table::{self, Subject};

/// Whose series they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner<'a> {
    Cache(&'a str),
    Gate(&'a str),
    Process,
}

/// The attribute sets of every metric, by its place in the table; empty where it is not of this owner.
#[derive(Debug)]
pub(crate) struct Series(Vec<Vec<Vec<KeyValue>>>);

impl Series {
    pub(crate) fn new(owner: Owner<'_>) -> Self {
        Self(table::metrics().iter().map(|metric| sets(owner, metric.subject(), metric.attributes)).collect())
    }

    /// Of one metric.
    pub(crate) fn of(&self, slot: usize) -> &[Vec<KeyValue>] {
        self.0.get(slot).map_or(&[], Vec::as_slice)
    }
}

impl Owner<'_> {
    fn name(self, subject: Subject) -> Option<Vec<KeyValue>> {
        match (self, subject) {
            (Self::Cache(name), Subject::Cache | Subject::CacheOrGate) => {
                Some(vec![KeyValue::new(CACHE, name.to_owned())])
            }
            (Self::Gate(name), Subject::Gate | Subject::CacheOrGate) => {
                Some(vec![KeyValue::new(GATE, name.to_owned())])
            }
            (Self::Process, Subject::Process) => Some(Vec::new()),
            (Self::Cache(_), Subject::Gate | Subject::Process)
            | (Self::Gate(_), Subject::Cache | Subject::Process)
            | (Self::Process, Subject::Cache | Subject::Gate | Subject::CacheOrGate) => None,
        }
    }
}

fn sets(owner: Owner<'_>, subject: Subject, attributes: &[Attribute]) -> Vec<Vec<KeyValue>> {
    let Some(name) = owner.name(subject) else { return Vec::new() };
    let mut sets = vec![name];
    // Values that the application names are added when they come: `Values::class`.
    for attribute in attributes.iter().filter(|attribute| !attribute.is_named_by_application()) {
        let values = attribute.values();
        let each = |set: &Vec<KeyValue>| {
            let with = |value: &&'static str| [&set[..], &[KeyValue::new(attribute.key, *value)]].concat();
            values.iter().map(with).collect::<Vec<_>>()
        };
        sets = sets.iter().flat_map(each).collect();
    }
    for set in &mut sets {
        set.sort_by(|one, other| one.key.cmp(&other.key));
    }
    sets
}
