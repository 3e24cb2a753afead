//! [`Tally`]: one cumulative counter for each value of a closed set.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::words::ClosedSet;

/// One counter for each value of the closed set `E`.
///
/// On the wire it is an object keyed by label. Labels that the reader does not
/// know are ignored, missing ones are 0, so that an older dashboard can read a
/// newer service and the other way round.
///
/// ```
/// use herdfeed::{Outcome, Tally};
/// let mut tally = Tally::<Outcome>::new();
/// tally[Outcome::Hit] += 2;
/// assert_eq!(tally.total(), 2);
///
/// // What happened between two looks, and the sum of two processes.
/// let earlier = tally.clone();
/// tally[Outcome::Loaded] += 1;
/// let between = tally.since(&earlier);
/// assert_eq!((between[Outcome::Hit], between[Outcome::Loaded]), (0, 1));
/// let mut fleet = Tally::<Outcome>::new();
/// fleet.add(&earlier);
/// fleet.add(&tally);
/// assert_eq!(fleet[Outcome::Hit], 4);
/// let seen: Vec<_> = fleet.iter().filter(|(_, count)| *count > 0).collect();
/// assert_eq!(seen, [(Outcome::Hit, 4), (Outcome::Loaded, 1)]);
///
/// // On the wire; a word of a later version is passed over.
/// let told: Tally<Outcome> = serde_json::from_str(r#"{"hit":7,"melted":1}"#)?;
/// assert_eq!(told.total(), 7);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, PartialEq, Eq)]
pub struct Tally<E> {
    counts: Vec<u64>,
    set: PhantomData<E>,
}

impl<E> Clone for Tally<E> {
    fn clone(&self) -> Self {
        Self { counts: self.counts.clone(), set: PhantomData }
    }
}

impl<E: ClosedSet> Tally<E> {
    /// All zero.
    pub fn new() -> Self {
        Self { counts: vec![0; E::all().len()], set: PhantomData }
    }

    /// Sum over all values.
    pub fn total(&self) -> u64 {
        // A feed is foreign input: it must not overflow its reader.
        self.counts.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// Each value with its count, in the order of the set.
    pub fn iter(&self) -> impl Iterator<Item = (E, u64)> + '_ {
        E::all().iter().copied().zip(self.counts.iter().copied())
    }

    /// What was counted since `earlier`. A count that fell (another boot) gives 0.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let counts = self.counts.iter().zip(&earlier.counts).map(|(now, then)| now.saturating_sub(*then)).collect();
        Self { counts, set: PhantomData }
    }

    /// Adds every count of `other`.
    pub fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine = mine.saturating_add(*theirs);
        }
    }
}

impl<E: ClosedSet> Default for Tally<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E: ClosedSet> Index<E> for Tally<E> {
    type Output = u64;
    fn index(&self, value: E) -> &u64 {
        &self.counts[value.index()]
    }
}

impl<E: ClosedSet> IndexMut<E> for Tally<E> {
    fn index_mut(&mut self, value: E) -> &mut u64 {
        &mut self.counts[value.index()]
    }
}

impl<E: ClosedSet> Serialize for Tally<E> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.counts.len()))?;
        for (value, count) in self.iter() {
            map.serialize_entry(value.label(), &count)?;
        }
        map.end()
    }
}

impl<'de, E: ClosedSet> Deserialize<'de> for Tally<E> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Labels<E>(PhantomData<E>);
        impl<'de, E: ClosedSet> Visitor<'de> for Labels<E> {
            type Value = Tally<E>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object from label to count")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tally<E>, A::Error> {
                let mut tally = Tally::new();
                while let Some((label, count)) = map.next_entry::<std::borrow::Cow<'de, str>, u64>()? {
                    if let Some(value) = E::from_label(&label) {
                        tally[value] = count;
                    }
                }
                Ok(tally)
            }
        }
        deserializer.deserialize_map(Labels(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::RemovalCause;

    #[test]
    fn unknown_labels_are_ignored_and_missing_ones_are_zero() {
        let tally: Tally<RemovalCause> = serde_json::from_str(r#"{"evicted":3,"melted":9}"#).unwrap();
        assert_eq!(tally[RemovalCause::Evicted], 3);
        assert_eq!(tally.total(), 3);
        assert_eq!(serde_json::to_string(&tally).unwrap(), r#"{"expired":0,"evicted":3,"invalidated":0,"replaced":0}"#);
    }

    #[test]
    fn since_never_wraps() {
        let mut old = Tally::<RemovalCause>::new();
        old[RemovalCause::Expired] = 5;
        let new = Tally::<RemovalCause>::new();
        assert_eq!(new.since(&old).total(), 0);
    }
}
