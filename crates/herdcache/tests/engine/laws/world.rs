//! The test's own record of a history: who asked, which loads ran, what changed.
//!
//! Nothing in here is read from the engine's account: the two are compared. Moments
//! are tokio's; the order of facts at one moment is told by a number of their own.
//! What follows from the facts is asked in `facts.rs`.

use std::sync::Arc;
use std::time::Duration;

use herdcache::Outcome;
use herdcache::herdfeed::{Measure, Tally};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::history::{Made, Script, Setup, Terms};
use super::latch::Latch;

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
    /// How many of them are requests.
    pub(super) requests: u64,
    pub(super) births: Vec<Birth>,
    pub(super) changes: Vec<Change>,
    /// Invalidations of tags.
    pub(super) tagged: Vec<Cut>,
    /// When which key was marked stale.
    pub(super) marks: Vec<(u64, u64)>,
    /// How long values are stale and how long they stand in for failed loads, since when; `None` is the start.
    pub(super) tunings: Vec<(Option<Instant>, Duration, Option<Duration>)>,
    /// Keys that were certainly invalidated, and that perhaps were, since they may have been stored.
    pub(super) invalidated: (u64, u64),
    pub(super) outside: Outside,
    /// Blocking work that has not ended.
    pub(super) blocking: usize,
    pub(super) latch: Arc<Latch>,
    /// Rung when there is something to look at.
    pub(super) told: Arc<Notify>,
    pub(super) order: Order,
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

/// Whether the record knows in which order things happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// On one thread: nothing happens between a fact and its record.
    Known,
    /// On several: what happened at about the same time may be recorded the other way round.
    Rough,
}

/// Queries that bypass the cache.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Outside {
    pub(super) asked: usize,
    pub(super) held: usize,
    /// Those that said how the origin was.
    pub(super) told: u64,
    /// How long those that failed held their permits, in all.
    pub(super) lost: Duration,
}

/// One request, or one wish to have a key loaded behind everybody's back.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) key: u64,
    pub(super) at: Instant,
    pub(super) seq: u64,
    pub(super) who: Who,
    pub(super) wait: Option<Duration>,
    pub(super) script: Script,
    /// Measures that were off when it began.
    pub(super) off: Vec<Measure>,
    pub(super) state: State,
}

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    /// A caller, who waits for at most this long.
    Caller(Option<Duration>),
    /// The same, for several keys at once: for some of them the wait may be over before all are answered.
    Member(Option<Duration>),
    /// The application, for a refresh: now or never.
    Refresher,
    /// A warm-up: at any time from now on.
    Warmer,
}

/// One value, absence or failure that came to be, or is about to: a load, or an insert.
#[derive(Clone, Debug)]
pub(super) struct Birth {
    /// Its place in the record.
    pub(super) place: usize,
    pub(super) key: u64,
    /// The request that opened its flight; `None` for an insert.
    pub(super) opener: Option<usize>,
    /// The first birth of its origin call: itself, unless it came in a batch.
    pub(super) call: usize,
    pub(super) began: u64,
    pub(super) began_at: Instant,
    pub(super) ended: Option<(u64, Instant)>,
    pub(super) came: Came,
    /// Those of the value, if it confirmed one: which was born there.
    pub(super) confirms: Option<usize>,
    pub(super) terms: Terms,
    pub(super) state: State,
    /// Its future, and the blocking work that goes on without it.
    pub(super) parts: u8,
}

/// What a load has brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Came {
    Nothing,
    Value,
    Absence,
    /// The value that it was given still holds.
    Confirmation,
    /// It confirmed a value that it had not been given.
    Nonsense,
    Error,
    Panic,
    /// A batch call ended well and did not name this key.
    LeftOut,
}

impl Came {
    /// Whether the origin gave an answer.
    pub(super) fn is_answer(self) -> bool {
        match self {
            Self::Value | Self::Absence | Self::Confirmation => true,
            Self::Nothing | Self::Nonsense | Self::Error | Self::Panic | Self::LeftOut => false,
        }
    }

    /// Whether the load failed.
    pub(super) fn is_failure(self) -> bool {
        match self {
            Self::Nonsense | Self::Error | Self::Panic | Self::LeftOut => true,
            Self::Nothing | Self::Value | Self::Absence | Self::Confirmation => false,
        }
    }
}

/// Whether the load's future still exists, or the caller still waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Running,
    Over,
}

/// A change of a key by the application.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change {
    /// `None` for all of them.
    pub(super) key: Option<u64>,
    /// Before the engine was told.
    pub(super) seq: u64,
    /// When it had certainly taken effect.
    pub(super) done: u64,
    pub(super) kind: Changed,
}

/// An invalidation of a tag, likewise.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    pub(super) tag: usize,
    pub(super) seq: u64,
    pub(super) done: u64,
}

impl Change {
    pub(super) fn is_of(&self, key: u64) -> bool {
        self.key.is_none_or(|changed| changed == key)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Changed {
    Invalidated,
    Written,
    /// By a tag that it may have had, or by a write of a version that may have come too late.
    Perhaps,
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
            requests: 0,
            births: Vec::new(),
            changes: Vec::new(),
            tagged: Vec::new(),
            marks: Vec::new(),
            tunings: vec![(None, setup.stale_for, setup.stale_if_error_for)],
            invalidated: (0, 0),
            outside: Outside::default(),
            blocking: 0,
            latch: Arc::default(),
            told: Arc::default(),
            order: Order::Known,
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

    /// A request begins, or a wish; gives its number.
    pub(super) fn ask(&mut self, key: u64, who: Who, script: Script) -> usize {
        let (wait, state) = match who {
            Who::Caller(wait) | Who::Member(wait) => {
                self.requests += 1;
                (wait, State::Running)
            }
            Who::Refresher | Who::Warmer => (None, State::Over),
        };
        let (at, seq, off) = (Instant::now(), self.tick(), self.off.clone());
        self.asks.push(Asked { key, at, seq, who, wait, script, off, state });
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

    fn change(&mut self, key: Option<u64>, kind: Changed) -> u64 {
        let seq = self.tick();
        self.changes.push(Change { key, seq, done: self.at_once(seq), kind });
        seq
    }

    /// On one thread a change takes effect as it is recorded; on several, when [`World::done`] says so.
    fn at_once(&self, seq: u64) -> u64 {
        match self.order {
            Order::Known => seq,
            Order::Rough => u64::MAX,
        }
    }

    /// These changes have taken effect for all who ask from now on.
    pub(super) fn done(&mut self, mine: &[u64]) {
        let now = self.tick();
        self.changes.iter_mut().filter(|change| mine.contains(&change.seq)).for_each(|change| change.done = now);
        self.tagged.iter_mut().filter(|cut| mine.contains(&cut.seq)).for_each(|cut| cut.done = now);
    }

    /// The application invalidates a key by its name.
    pub(super) fn invalidate(&mut self, key: u64) -> u64 {
        self.invalidated.0 += 1;
        self.change(Some(key), Changed::Invalidated)
    }

    /// The application invalidates a tag: whatever is stored with it, and that alone.
    pub(super) fn invalidate_tag(&mut self, tag: usize) -> u64 {
        let stored = self.perhaps_stored(|birth| birth.terms.tags.has(tag));
        let seq = self.tick();
        self.tagged.push(Cut { tag, seq, done: self.at_once(seq) });
        for key in stored {
            self.change(Some(key), Changed::Perhaps);
            self.invalidated.1 += 1;
        }
        seq
    }

    /// The application forgets everything.
    pub(super) fn clear(&mut self) -> u64 {
        self.invalidated.1 += self.perhaps_stored(|_| true).len() as u64;
        self.change(None, Changed::Invalidated)
    }

    pub(super) fn mark_stale(&mut self, key: u64) {
        let seq = self.tick();
        self.marks.push((key, seq));
    }

    pub(super) fn tune(&mut self, stale_for: Duration, stale_if_error_for: Duration) {
        (self.setup.stale_for, self.setup.stale_if_error_for) = (stale_for, Some(stale_if_error_for));
        self.tunings.push((Some(Instant::now()), stale_for, Some(stale_if_error_for)));
    }

    /// The application writes; gives the number of what it wrote.
    pub(super) fn insert(&mut self, key: u64, made: Made, terms: Terms) -> usize {
        let newer = |own| self.order == Order::Rough || self.newest_version(key).is_some_and(|newest| newest > own);
        let may_be_late = terms.version.is_some_and(newer);
        let began = self.change(Some(key), if may_be_late { Changed::Perhaps } else { Changed::Written });
        let birth = self.born(key, None, began, terms);
        self.births[birth].ended = Some((began, self.births[birth].began_at));
        self.births[birth].came = made.into();
        self.births[birth].state = State::Over;
        birth
    }

    /// The load of a flight begins.
    pub(super) fn load(&mut self, key: u64, opener: usize, terms: Terms) -> usize {
        let began = self.tick();
        self.born(key, Some(opener), began, terms)
    }

    fn born(&mut self, key: u64, opener: Option<usize>, began: u64, terms: Terms) -> usize {
        let place = self.births.len();
        self.births.push(Birth {
            place,
            key,
            opener,
            call: place,
            began,
            began_at: Instant::now(),
            ended: None,
            came: Came::Nothing,
            confirms: None,
            terms,
            state: State::Running,
            parts: 1,
        });
        place
    }

    /// A part of a load is over: its future, or its blocking work.
    pub(super) fn part_over(&mut self, birth: usize) {
        let birth = &mut self.births[birth];
        birth.parts -= 1;
        if birth.parts == 0 {
            birth.state = State::Over;
        }
    }
}
