//! S6: how many flights each group holds, while it holds any.

use crate::by_hash::ByHash;
use crate::group::Group;
use crate::sync::Mutex;

/// Flights by group. L7: no more groups than flights.
#[derive(Default)]
pub(super) struct Groups(Mutex<ByHash<usize>>);

impl Groups {
    /// One flight more of `group`, if its share of `most` flights allows it.
    pub(super) fn take(&self, group: Group, most: usize) -> bool {
        let mut held = self.0.lock();
        let flights = held.get(&group.id).copied().unwrap_or(0);
        let allowed = flights < group.part_of(most);
        if allowed {
            held.insert(group.id, flights + 1);
        }
        allowed
    }

    /// One flight less.
    pub(super) fn give_back(&self, group: Group) {
        let mut held = self.0.lock();
        if let Some(flights) = held.get_mut(&group.id) {
            *flights -= 1;
            if *flights == 0 {
                held.remove(&group.id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S6, L7: a group holds its share, at least one; a group that holds nothing is not remembered.
    #[test]
    fn s6_groups_are_counted_while_they_hold_something() {
        let groups = Groups::default();
        let group = |id| Group { id, share: 0.3 };
        assert_eq!([1, 1, 1, 1, 2].map(|id| groups.take(group(id), 10)), [true, true, true, false, true]);
        groups.give_back(group(1));
        assert!(groups.take(group(1), 10));
        (0..3).for_each(|_| groups.give_back(group(1)));
        groups.give_back(group(2));
        assert_eq!(groups.0.lock().len(), 0);
        assert!(groups.take(group(3), 1) && !groups.take(group(3), 1));
    }
}
