//! What follows from the record: what may be stored, what must not be, and how long it may be answered.
//!
//! Where a fact is not certain (a load may have ended at its very deadline, an entry may have been evicted), the
//! question says which side it errs on.

use std::collections::BTreeSet;
use std::time::Duration;

use herdcache::herdfeed::Measure;
use tokio::time::Instant;

use super::history::{Keep, Tags};
use super::world::{Birth, Came, Change, Changed, Order, State, Who, World};

/// How long a value is fresh at most, until what age it is stale, and reserve.
pub(super) type Bounds = [Duration; 3];

impl World {
    /// When a birth's key, or one of its tags, changed last before a fact; 0 if never.
    pub(super) fn changed(&self, birth: &Birth, before: u64) -> u64 {
        let certain = |change: &&Change| change.kind != Changed::Perhaps && change.is_of(birth.key);
        let of_key = self.changes.iter().filter(certain).map(|change| (change.seq, change.done));
        // What a load that failed would have been tagged with, nobody knows.
        let has = |tag: usize| birth.came.is_answer() && birth.terms.tags.has(tag);
        let of_tag = self.tagged.iter().filter(|cut| has(cut.tag)).map(|cut| (cut.seq, cut.done));
        of_key.chain(of_tag).filter(|(_, done)| *done < before).map(|(seq, _)| seq).max().unwrap_or(0)
    }

    /// When a birth began to be; at the latest, if it was written while others wrote.
    pub(super) fn since(&self, birth: &Birth) -> u64 {
        let written = self.changes.iter().find(|change| birth.opener.is_none() && change.seq == birth.began);
        written.map_or(birth.began, |change| change.done)
    }

    /// The first change of a key between two facts.
    pub(super) fn change_between(&self, key: u64, after: u64, before: u64) -> Option<Changed> {
        let between = |change: &&Change| change.is_of(key) && change.seq > after && change.seq < before;
        self.changes.iter().find(between).map(|change| change.kind)
    }

    /// Whether a key may have been changed between two facts.
    pub(super) fn perhaps_between(&self, key: u64, after: u64, before: u64) -> bool {
        let perhaps = |change: &Change| change.kind == Changed::Perhaps && change.is_of(key);
        self.changes.iter().any(|change| perhaps(change) && change.seq > after && change.seq < before)
    }

    /// Whether one of a birth's tags was invalidated between two facts.
    pub(super) fn cut_between(&self, birth: &Birth, after: u64, before: u64) -> bool {
        self.tagged.iter().any(|cut| birth.terms.tags.has(cut.tag) && cut.seq > after && cut.seq < before)
    }

    /// W2: whether a key was marked stale between two facts.
    pub(super) fn marked_between(&self, key: u64, after: u64, before: u64) -> bool {
        self.marks.iter().any(|(marked, seq)| *marked == key && *seq > after && *seq < before)
    }

    /// When the flight of a load was opened; at the earliest, if by a warm-up or by a caller who waited a second time.
    pub(super) fn opened(&self, birth: &Birth) -> u64 {
        birth.opener.map_or(birth.began, |tag| self.asks[tag].seq)
    }

    pub(super) fn opened_at(&self, birth: &Birth) -> Instant {
        birth.opener.map_or(birth.began_at, |tag| self.asks[tag].at)
    }

    /// Whether the request that opened a load's flight did so under this measure.
    pub(super) fn under(&self, birth: &Birth, measure: Measure) -> bool {
        let Some(asked) = birth.opener.map(|tag| &self.asks[tag]) else { return false };
        // A warm-up comes to its keys at any time.
        let off = if asked.who == Who::Warmer { &self.ever_off } else { &asked.off };
        !off.contains(&measure)
    }

    /// What overtook the load's flight, if anything did, after it was opened and before `before`.
    pub(super) fn doomed(&self, birth: &Birth, before: u64) -> Option<Changed> {
        self.change_between(birth.key, self.opened(birth), before)
    }

    /// L5: a load that began later and was certainly stored while this one ran: this one may not be stored over it.
    pub(super) fn overtaker(&self, birth: &Birth) -> Option<&Birth> {
        let (ended, _) = birth.ended?;
        let mut later = self.births.iter().filter(|other| other.key == birth.key && other.began > birth.began);
        later.find(|other| other.ended.is_some_and(|(seq, _)| seq < ended && self.certainly_stored(other, seq)))
    }

    /// Whether nothing can have kept the store from taking what a load brought.
    fn certainly_stored(&self, load: &Birth, ended: u64) -> bool {
        let opened = self.opened(load);
        let beside = |other: &Birth| {
            other.key == load.key
                && other.ended.is_some_and(|(seq, _)| seq > opened && seq < ended)
                && Self::kept(other)
        };
        load.came.is_answer()
            && Self::kept(load)
            && self.certainly_fit(load)
            && self.change_between(load.key, opened, ended).is_none()
            && !self.cut_between(load, opened, ended)
            && !self.births.iter().any(beside)
    }

    /// Whether a value was young enough when it arrived, and of no older version than any other.
    fn certainly_fit(&self, birth: &Birth) -> bool {
        let young = birth.terms.source_age.is_zero() || birth.terms.source_age < self.least_hard(birth);
        young && birth.terms.version.is_none_or(|own| self.newest_version(birth.key) == Some(own))
    }

    /// The greatest version that a key was ever said to have.
    pub(super) fn newest_version(&self, key: u64) -> Option<u64> {
        self.births.iter().filter(|birth| birth.key == key).filter_map(|birth| birth.terms.version).max()
    }

    /// Of an older version than what was stored: the newer one, which must not have given way.
    pub(super) fn refused_for(&self, birth: &Birth) -> Option<&Birth> {
        let (ended, ended_at) = birth.ended?;
        let stood = |newer: &&Birth| {
            let Some((stored, stored_at)) = newer.ended.filter(|(seq, _)| *seq < ended) else { return false };
            let age = ended_at.duration_since(stored_at) + newer.terms.source_age;
            let after = |other: &Birth| {
                other.key == birth.key
                    && Self::kept(other)
                    && other.ended.is_some_and(|(seq, _)| seq > stored && seq < ended)
            };
            self.certainly_stored(newer, stored)
                && age + Duration::from_nanos(2) < self.least_hard(newer)
                && self.change_between(birth.key, stored, ended).is_none()
                && !self.births.iter().any(after)
        };
        // Few entries may have been evicted for others.
        let roomy = self.setup.capacity >= 1_000;
        self.births.iter().filter(|newer| roomy && is_older(birth, newer)).find(stood)
    }

    /// Whether a load of an older version may have been answered with this newer one.
    pub(super) fn may_yield(&self, load: &Birth, newer: &Birth) -> bool {
        let (Some((ended, ended_at)), Some((stored, stored_at))) = (load.ended, newer.ended) else { return false };
        let age = ended_at.duration_since(stored_at) + newer.terms.source_age;
        let in_order = self.order == Order::Rough || (stored < ended && age < self.most(newer));
        is_older(load, newer) && Self::kept(newer) && in_order
    }

    /// Births whose value lies under the same row: the value itself, and what confirmed it.
    pub(super) fn rows_of(&self, row: usize) -> impl Iterator<Item = &Birth> {
        let is_row = move |birth: &&Birth| match birth.came {
            Came::Value => birth.place == row,
            Came::Confirmation => birth.confirms == Some(row),
            _ => false,
        };
        self.births.iter().filter(is_row)
    }

    /// Keys under which something may be stored, of those births that are asked for.
    pub(super) fn perhaps_stored(&self, wanted: impl Fn(&Birth) -> bool) -> BTreeSet<u64> {
        let stored = |birth: &&Birth| {
            let there = birth.ended.is_some_and(|_| birth.came.is_answer()) && Self::kept(birth);
            there && wanted(birth) && birth.began >= self.changed(birth, u64::MAX)
        };
        self.births.iter().filter(stored).map(|birth| birth.key).collect()
    }

    pub(super) fn running(&self) -> impl Iterator<Item = &Birth> {
        self.births.iter().filter(|birth| birth.state == State::Running)
    }

    /// Origin calls of some loads: those of a batch are one.
    pub(super) fn calls<'a>(loads: impl Iterator<Item = &'a Birth>) -> usize {
        loads.map(|birth| birth.call).collect::<BTreeSet<_>>().len()
    }

    /// The bounds of a value that are in force.
    pub(super) fn bounds(&self, birth: &Birth) -> Bounds {
        self.bounds_under(birth, (self.setup.stale_for, self.setup.stale_if_error_for))
    }

    /// The bounds that were in force at a moment: several if they were tuned in it.
    pub(super) fn bounds_at(&self, birth: &Birth, at: Instant) -> impl Iterator<Item = Bounds> {
        let last_before =
            self.tunings.iter().rposition(|(since, ..)| since.is_none_or(|since| since < at)).unwrap_or(0);
        let then = self.tunings[last_before..].iter().filter(move |(since, ..)| since.is_none_or(|since| since <= at));
        then.map(|(_, stale_for, error_for)| self.bounds_under(birth, (*stale_for, *error_for)))
    }

    fn bounds_under(&self, birth: &Birth, (stale_for, error_for): (Duration, Option<Duration>)) -> Bounds {
        // Freshness never shrinks to nothing, whatever the TTL: a nanosecond is left.
        let shortest = Duration::from_nanos(1);
        if birth.came == Came::Absence {
            return [birth.terms.fresh_for.unwrap_or(self.setup.negative_ttl).max(shortest); 3];
        }
        let fresh = birth.terms.fresh_for.unwrap_or(self.setup.fresh_for).max(shortest);
        let stale = birth.terms.stale_for.unwrap_or(stale_for);
        let last = error_for.unwrap_or(stale).max(stale);
        [fresh, fresh + stale, fresh + last]
    }

    /// How much jitter may move the bounds towards the birth.
    pub(super) fn cut(&self, birth: &Birth) -> Duration {
        let [fresh, ..] = self.bounds(birth);
        if birth.terms.fresh_for == Some(Duration::ZERO) { fresh } else { fresh.mul_f64(self.setup.jitter) }
    }

    /// The age before which a value was certainly fresh or stale, however it was tuned.
    fn least_hard(&self, birth: &Birth) -> Duration {
        let hard = self.tunings.iter().map(|(_, stale, error)| self.bounds_under(birth, (*stale, *error))[1]).min();
        hard.unwrap_or_default().saturating_sub(self.cut(birth))
    }

    /// The age from which a value was certainly neither fresh nor stale.
    fn most(&self, birth: &Birth) -> Duration {
        self.widest(birth)[1]
    }

    /// The widest bounds that a value ever had.
    pub(super) fn widest(&self, birth: &Birth) -> Bounds {
        let each = self.tunings.iter().map(|(_, stale, error)| self.bounds_under(birth, (*stale, *error)));
        each.fold([Duration::ZERO; 3], |widest, bounds| std::array::from_fn(|n| widest[n].max(bounds[n])))
    }

    /// Whether a value of these terms may be in the store.
    pub(super) fn kept(birth: &Birth) -> bool {
        birth.terms.keep == Keep::Store && birth.terms.tags != Tags::TooMany
    }
}

/// Whether one birth is of an older version than another of its key.
fn is_older(birth: &Birth, newer: &Birth) -> bool {
    birth.key == newer.key && birth.terms.version.zip(newer.terms.version).is_some_and(|(own, other)| own < other)
}
