//! The test's own record of a history: who asked, which loads ran, what changed.
//!
//! Nothing in here is read from the engine's account: the two are compared. Moments
//! are tokio's; the order of facts at one moment is told by a number of their own.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use herdcache::Outcome;
use herdcache::herdfeed::{Measure, Tally};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::history::{Keep, Made, Script, Setup, Terms};

/// Shared between the run, its callers and its loads. Never held over a call of the engine.
pub(super) type Shared = Arc<Mutex<World>>;

/// Everything that happened so far.
pub(super) struct World {
    pub(super) setup: Setup,
    /// Place of the next fact in the order of all facts.
    next: u64,
    pub(super) off: Vec<Measure>,
    /// Measures that were off at any time.
    pub(super) ever_off: Vec<Measure>,
    pub(super) asks: Vec<Asked>,
    pub(super) births: Vec<Birth>,
    changes: Vec<Change>,
    pub(super) outcomes: Tally<Outcome>,
    /// Requests that have ended, without the record knowing how: of batches that were cancelled, or absences of batches.
    pub(super) untold: u64,
    /// Requests that found nothing servable at first.
    pub(super) misses: u64,
    /// Requests of batches that may have.
    pub(super) perhaps_misses: u64,
    pub(super) closed: Option<u64>,
    /// What was found wrong where no error can be returned.
    pub(super) faults: Vec<String>,
}

/// One request.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) key: u64,
    pub(super) at: Instant,
    pub(super) seq: u64,
    /// The last change of its key before it.
    pub(super) changed: u64,
    pub(super) wait: Option<Duration>,
    pub(super) script: Script,
    /// Measures that were off when it began.
    pub(super) off: Vec<Measure>,
    pub(super) state: State,
}

/// One value, absence or failure that came to be, or is about to: a load, or an insert.
#[derive(Clone, Debug)]
pub(super) struct Birth {
    pub(super) key: u64,
    /// The request that opened its flight; `None` for an insert.
    pub(super) opener: Option<usize>,
    /// The first birth of its origin call: itself, unless it came in a batch.
    pub(super) call: usize,
    pub(super) began: u64,
    pub(super) began_at: Instant,
    pub(super) ended: Option<(u64, Instant)>,
    pub(super) came: Came,
    pub(super) terms: Terms,
    pub(super) state: State,
}

/// What a load has brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Came {
    Nothing,
    Value,
    Absence,
    Error,
    Panic,
    /// A batch call ended well and did not name this key.
    LeftOut,
}

/// Whether the load's future still exists, or the caller still waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Running,
    Over,
}

/// A change of a key by the application.
#[derive(Clone, Copy, Debug)]
struct Change {
    key: u64,
    seq: u64,
    kind: Changed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Changed {
    Invalidated,
    Written,
}

impl From<Made> for Came {
    fn from(made: Made) -> Self {
        match made {
            Made::Value => Self::Value,
            Made::Absence => Self::Absence,
        }
    }
}

impl World {
    pub(super) fn new(setup: &Setup) -> Self {
        Self {
            setup: setup.clone(),
            next: 1,
            off: setup.off.clone(),
            ever_off: setup.off.clone(),
            asks: Vec::new(),
            births: Vec::new(),
            changes: Vec::new(),
            outcomes: Tally::new(),
            untold: 0,
            misses: 0,
            perhaps_misses: 0,
            closed: None,
            faults: Vec::new(),
        }
    }

    pub(super) fn tick(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    pub(super) fn has(&self, measure: Measure) -> bool {
        !self.off.contains(&measure)
    }

    /// A request begins; gives its number.
    pub(super) fn ask(&mut self, key: u64, wait: Option<Duration>, script: Script) -> usize {
        let changed = self.last_change(key);
        let seq = self.tick();
        self.asks.push(Asked {
            key,
            at: Instant::now(),
            seq,
            changed,
            wait,
            script,
            off: self.off.clone(),
            state: State::Running,
        });
        self.asks.len() - 1
    }

    /// A request is over; under which outcome is not always known.
    pub(super) fn answered(&mut self, tag: usize, outcome: Option<Outcome>) {
        self.asks[tag].state = State::Over;
        match outcome {
            None => self.untold += 1,
            Some(outcome) => self.outcomes[outcome] += 1,
        }
    }

    pub(super) fn change(&mut self, key: u64, kind: Changed) -> u64 {
        let seq = self.tick();
        self.changes.push(Change { key, seq, kind });
        seq
    }

    /// The application writes; gives the number of what it wrote.
    pub(super) fn insert(&mut self, key: u64, made: Made, terms: Terms) -> usize {
        let began = self.change(key, Changed::Written);
        let now = Instant::now();
        self.births.push(Birth {
            key,
            opener: None,
            call: self.births.len(),
            began,
            began_at: now,
            ended: Some((began, now)),
            came: made.into(),
            terms,
            state: State::Over,
        });
        self.births.len() - 1
    }

    /// When the key changed last; 0 if never.
    pub(super) fn last_change(&self, key: u64) -> u64 {
        self.changes.iter().rev().find(|change| change.key == key).map_or(0, |change| change.seq)
    }

    /// The first change of a key between two facts.
    pub(super) fn change_between(&self, key: u64, after: u64, before: u64) -> Option<Changed> {
        let between = |change: &&Change| change.key == key && change.seq > after && change.seq < before;
        self.changes.iter().find(between).map(|change| change.kind)
    }

    /// When the flight of a load was opened.
    pub(super) fn opened(&self, birth: &Birth) -> u64 {
        birth.opener.map_or(birth.began, |tag| self.asks[tag].seq)
    }

    /// Whether the request that opened a load's flight did so under this measure.
    pub(super) fn under(&self, birth: &Birth, measure: Measure) -> bool {
        birth.opener.is_some_and(|tag| !self.asks[tag].off.contains(&measure))
    }

    pub(super) fn invalidations(&self) -> u64 {
        self.changes.iter().filter(|change| change.kind == Changed::Invalidated).count() as u64
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
        matches!(load.came, Came::Value | Came::Absence)
            && Self::kept(load)
            && self.change_between(load.key, opened, ended).is_none()
            && !self.births.iter().any(beside)
    }

    pub(super) fn running(&self) -> impl Iterator<Item = &Birth> {
        self.births.iter().filter(|birth| birth.state == State::Running)
    }

    /// Origin calls of some loads: those of a batch are one.
    pub(super) fn calls<'a>(loads: impl Iterator<Item = &'a Birth>) -> usize {
        loads.map(|birth| birth.call).collect::<BTreeSet<_>>().len()
    }

    /// How long a value stays fresh at most, and how much longer it is stale, then reserve.
    pub(super) fn bounds(&self, birth: &Birth) -> [Duration; 3] {
        // Freshness never shrinks to nothing, whatever the TTL: a nanosecond is left.
        let shortest = Duration::from_nanos(1);
        if birth.came == Came::Absence {
            return [birth.terms.fresh_for.unwrap_or(self.setup.negative_ttl).max(shortest); 3];
        }
        let fresh = birth.terms.fresh_for.unwrap_or(self.setup.fresh_for).max(shortest);
        let stale = birth.terms.stale_for.unwrap_or(self.setup.stale_for);
        let last = self.setup.stale_if_error_for.unwrap_or(stale).max(stale);
        [fresh, fresh + stale, fresh + last]
    }

    /// Whether a value of these terms may be in the store.
    pub(super) fn kept(birth: &Birth) -> bool {
        birth.terms.keep == Keep::Store
    }
}
