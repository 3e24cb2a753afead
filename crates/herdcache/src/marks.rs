//! What a source said of a value beside the value itself: version, validator, tags.

use std::sync::Arc;

use crate::sync::plain::atomic::{AtomicU64, Ordering::Relaxed};

/// The most tags that one value may have.
pub(crate) const MOST_TAGS: usize = 64;

/// The longest tag, in bytes.
pub(crate) const LONGEST_TAG: usize = 256;

/// A source's own words about a value. Most values have none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    /// Larger is newer.
    pub(crate) version: Option<u64>,
    /// For the next load to check the value by.
    pub(crate) validator: Option<Arc<str>>,
    /// What the value depends on.
    pub(crate) tags: Vec<Arc<str>>,
    /// Tells entries apart that have tags; 0 before the entry is made.
    pub(crate) entry: u64,
}

static NEXT_ENTRY: AtomicU64 = AtomicU64::new(1);

impl Marks {
    /// These where they say something, else those of the value that they confirm.
    pub(crate) fn or(new: Option<Box<Self>>, old: Option<&Self>) -> Option<Box<Self>> {
        let Some(old) = old else { return new };
        let mut marks = new.unwrap_or_default();
        marks.version = marks.version.or(old.version);
        marks.validator = marks.validator.or_else(|| old.validator.clone());
        if marks.tags.is_empty() {
            marks.tags.clone_from(&old.tags);
        }
        Some(marks)
    }

    /// They become those of a new entry.
    pub(crate) fn number(&mut self) {
        self.entry = NEXT_ENTRY.fetch_add(1, Relaxed);
    }
}
