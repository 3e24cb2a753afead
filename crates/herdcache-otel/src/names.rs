//! Which caches and gates have series of their own.
//!
//! The first names up to a limit do; the others share one. A name keeps its series
//! for as long as the observation lasts, since the SDK keeps a histogram's too.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, PoisonError, RwLock};

use crate::labels::OTHER;
use crate::series::{Owner, Series};

/// What a name leads to.
#[derive(Clone, Debug)]
pub(crate) enum Named {
    /// Series of its own.
    Own(Arc<Series>),
    /// The series that names beyond the limit share.
    Folded(Arc<Series>),
    /// It is not observed.
    Ignored,
}

/// The names of caches, or those of gates.
#[derive(Debug)]
pub(crate) struct Names {
    owner: fn(&str) -> Owner<'_>,
    most: usize,
    /// The only names that are observed, if not all are.
    only: Option<BTreeSet<String>>,
    own: RwLock<HashMap<String, Arc<Series>>>,
    other: Arc<Series>,
}

impl Names {
    pub(crate) fn new(owner: fn(&str) -> Owner<'_>, most: usize, only: Option<BTreeSet<String>>) -> Self {
        Self { owner, most, only, own: RwLock::default(), other: Arc::new(Series::new(owner(OTHER))) }
    }

    /// What `name` leads to; a new one gets series of its own while there is room.
    pub(crate) fn find(&self, name: &str) -> Named {
        if self.only.as_ref().is_some_and(|only| !only.contains(name)) {
            return Named::Ignored;
        }
        let known = self.own.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(series) = known.get(name) {
            return Named::Own(Arc::clone(series));
        }
        if known.len() >= self.most {
            return Named::Folded(Arc::clone(&self.other));
        }
        drop(known);
        let mut known = self.own.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= self.most && !known.contains_key(name) {
            return Named::Folded(Arc::clone(&self.other));
        }
        let series = known.entry(name.to_owned()).or_insert_with(|| Arc::new(Series::new((self.owner)(name))));
        Named::Own(Arc::clone(series))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// L7: the first names have series of their own, the others share one, and a name stays where it is.
    #[test]
    fn l7_names_are_bounded() {
        let names = Names::new(|name| Owner::Cache(name), 2, None);
        let kinds = ["a", "b", "c", "a"].map(|name| match names.find(name) {
            Named::Own(_) => "own",
            Named::Folded(_) => "folded",
            Named::Ignored => "ignored",
        });
        assert_eq!(kinds, ["own", "own", "folded", "own"]);
        assert_eq!(names.own.read().unwrap().len(), 2);
    }

    #[test]
    fn only_named_ones_are_observed() {
        let names = Names::new(|name| Owner::Gate(name), 2, Some(BTreeSet::from(["a".to_owned()])));
        assert!(matches!(names.find("a"), Named::Own(_)));
        assert!(matches!(names.find("b"), Named::Ignored));
    }
}
