//! The record of a history: what the source held when, which loads ran, and what callers may no longer get.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use herdcache::herdfeed::Tally;
use herdcache::{Loaded, Outcome};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::steps::{Health, KEYS, Mode, PROCESSES, Setup};
use crate::support::ms;

pub(super) type Shared = Arc<Mutex<World>>;

/// A load, or the write behind it, is over after this, whatever happens to it.
pub(super) const LONGEST: Duration = ms(600);

/// Everything that happened so far.
pub(super) struct World {
    pub(super) setup: Setup,
    pub(super) modes: [Mode; KEYS],
    /// What the source holds.
    pub(super) truth: [u64; KEYS],
    next: u64,
    loads: Vec<Load>,
    /// When each value was last brought by a load or written by a process.
    born: HashMap<u64, Instant>,
    /// Values that processes have written and that may still be on their way.
    inserts: Vec<Insert>,
    /// When a process last had a change of a key on its way to the tier, and how many are.
    changing: [[(usize, Option<Instant>); KEYS]; PROCESSES],
    /// When each key was changed, by whichever process.
    changed: [Vec<Instant>; KEYS],
    /// L5: what callers of a process may not get any more: anything older.
    own: [[u64; KEYS]; PROCESSES],
    /// L5: what no flight that begins now, in whatever process, may find in the tier.
    all: [u64; KEYS],
    /// When the tier last forgot tombstones or counters.
    forgot: Option<Instant>,
    /// Each time it did: for each key what the oldest load had read that nothing could refuse any more.
    let_through: Vec<[Option<u64>; KEYS]>,
    /// Whether an answer of the tier was ever late, so that copies may look younger than they are.
    pub(super) was_slow: bool,
    pub(super) asked: [u64; PROCESSES],
    pub(super) outcomes: [Tally<Outcome>; PROCESSES],
    pub(super) broken: Vec<String>,
    pub(super) reached: Reached,
}

/// One load of one key.
struct Load {
    process: usize,
    key: usize,
    value: u64,
    began: Instant,
    runs: bool,
    /// W2: whether its flight may have passed the tier by, since it had yet to hear of a change.
    alone: bool,
}

struct Insert {
    process: usize,
    key: usize,
    value: u64,
    on_its_way: bool,
}

/// What a caller may get.
#[derive(Clone, Copy, Debug)]
pub(super) struct Due {
    pub(super) own: u64,
    pub(super) all: u64,
    /// How often the tier had forgotten by then.
    forgot: usize,
}

/// A value of this key with this number.
fn value(number: u64, key: usize) -> u64 {
    number * KEYS as u64 + key as u64
}

/// What a load or a writer hands over.
pub(super) fn brings(value: u64, versions: bool) -> Loaded<u64> {
    let loaded = Loaded::value(value);
    if versions { loaded.version(value) } else { loaded }
}

impl World {
    pub(super) fn new(setup: &Setup) -> Self {
        Self {
            setup: setup.clone(),
            modes: [Mode::After(ms(5)); KEYS],
            truth: std::array::from_fn(|key| value(1, key)),
            next: 2,
            loads: Vec::new(),
            born: HashMap::new(),
            inserts: Vec::new(),
            changing: [[(0, None); KEYS]; PROCESSES],
            changed: Default::default(),
            own: [[0; KEYS]; PROCESSES],
            all: [0; KEYS],
            forgot: None,
            let_through: Vec::new(),
            was_slow: false,
            asked: [0; PROCESSES],
            outcomes: std::array::from_fn(|_| Tally::default()),
            broken: Vec::new(),
            reached: Reached { histories: 1, ..Reached::default() },
        }
    }

    /// The source changes, and a process is about to say so. Gives the new value, and what callers may get from then on.
    pub(super) fn changes(&mut self, process: usize, key: usize) -> (u64, Due) {
        let new = value(self.next, key);
        self.next += 1;
        self.truth[key] = new;
        self.changing[process][key].0 += 1;
        self.changed[key].push(Instant::now());
        // Of two processes that write at the same time, the tier keeps what reaches it last.
        let others = self.inserts.iter().filter(|insert| insert.process != process && insert.key == key);
        let racing = others.filter(|insert| insert.on_its_way).map(|insert| insert.value).min();
        // A tier that has forgotten its tokens cannot refuse what began before that.
        let old = self.forgot.and_then(|forgot| self.loads_out(key, forgot));
        let due = [racing, old].into_iter().flatten().fold(new, u64::min);
        self.own[process][key] = self.own[process][key].max(due);
        (new, Due { own: due, all: due, forgot: self.let_through.len() })
    }

    /// A process writes this value.
    pub(super) fn inserts(&mut self, process: usize, key: usize, value: u64) -> usize {
        self.born.insert(value, Instant::now());
        self.inserts.push(Insert { process, key, value, on_its_way: true });
        self.inserts.len() - 1
    }

    /// A written value has arrived, or never will.
    pub(super) fn settled(&mut self, insert: usize) {
        self.inserts[insert].on_its_way = false;
    }

    /// The tier has heard of a change, or could not be told yet.
    pub(super) fn heard(&mut self, process: usize, key: usize) {
        let (count, last) = &mut self.changing[process][key];
        *count -= 1;
        *last = Some(Instant::now());
    }

    /// W2: all keys of a process change at once.
    pub(super) fn clears(&mut self, process: usize) {
        self.changing[process].iter_mut().for_each(|(_, last)| *last = Some(Instant::now()));
        self.changed.iter_mut().for_each(|times| times.push(Instant::now()));
    }

    /// Z2: whether a follower may have come to its deadline though nothing is wrong: each change of the key makes one load
    /// more, all under one lease after the other, and three of the longest are as long as a flight may be.
    pub(super) fn was_changed_again_and_again(&self, key: usize) -> bool {
        self.changed[key].iter().filter(|at| at.elapsed() <= LONGEST).count() >= 2
    }

    /// L5: the tier has confirmed a change: no flight that begins from here on finds anything older in it.
    pub(super) fn confirmed(&mut self, key: usize, due: Due) {
        self.all[key] = self.all[key].max(self.still(due, key).all);
    }

    /// What the oldest load of a key read that began before this moment and may yet be written.
    fn loads_out(&self, key: usize, before: Instant) -> Option<u64> {
        let out = self.loads.iter().filter(|load| load.key == key && load.began <= before);
        out.filter(|load| load.began.elapsed() <= LONGEST).map(|load| load.value).min()
    }

    /// The tier has forgotten tombstones, or the counters that tokens come from.
    pub(super) fn forgets(&mut self) {
        let now = Instant::now();
        self.forgot = Some(now);
        let old = std::array::from_fn(|key| self.loads_out(key, now));
        self.let_through.push(old);
        for key in 0..KEYS {
            if let Some(old) = old[key] {
                self.all[key] = self.all[key].min(old);
                self.own.iter_mut().for_each(|own| own[key] = own[key].min(old));
            }
        }
    }

    pub(super) fn due(&self, process: usize, key: usize) -> Due {
        Due { own: self.own[process][key], all: self.all[key], forgot: self.let_through.len() }
    }

    /// What is left of what was due: the tier may have forgotten since then, and have been read or told after that.
    pub(super) fn still(&self, due: Due, key: usize) -> Due {
        let since = self.let_through[due.forgot..].iter().filter_map(|old| old[key]);
        let old = since.min().unwrap_or(u64::MAX);
        Due { own: due.own.min(old), all: due.all.min(old), ..due }
    }

    /// How old a value is at least.
    pub(super) fn age(&self, value: u64) -> Option<Duration> {
        self.born.get(&value).map(Instant::elapsed)
    }

    fn running(&self, of: impl Fn(&Load) -> bool) -> usize {
        self.loads.iter().filter(|load| load.runs && of(load)).count()
    }

    /// W2: whether a flight whose load begins now may have been opened while a change was on its way.
    fn passes_by(&self, process: usize, key: usize) -> bool {
        let (count, last) = self.changing[process][key];
        count > 0 || last.is_some_and(|last| last.elapsed() <= LONGEST)
    }

    /// L2: as a load begins.
    fn check_loads(&mut self, process: usize, key: usize) {
        let (here, everywhere) = (
            self.running(|load| load.key == key && load.process == process),
            self.running(|load| load.key == key && !load.alone),
        );
        if here > 2 {
            self.broken.push(format!("L2: {here} loads of key {key} run in process {process}"));
        }
        if self.setup.tier == Health::Sound && everywhere > 1 {
            self.broken.push(format!("L2: {everywhere} loads of key {key} run though the lease is sound"));
        }
    }
}

/// One call while it runs.
pub(super) struct Running {
    world: Shared,
    loads: std::ops::Range<usize>,
}

impl Running {
    pub(super) fn begin(world: &Shared, process: usize, keys: &[u64]) -> Self {
        let mut locked = world.lock();
        let first = locked.loads.len();
        for key in keys {
            let key = usize::try_from(*key).unwrap();
            let value = locked.truth[key];
            let alone = locked.passes_by(process, key);
            locked.reached.leased += u64::from(!alone);
            locked.loads.push(Load { process, key, value, began: Instant::now(), runs: true, alone });
            locked.check_loads(process, key);
        }
        let loads = first..locked.loads.len();
        drop(locked);
        Self { world: Arc::clone(world), loads }
    }

    /// What the call has read as it began; from now on it is a value.
    pub(super) fn read(&self) -> impl Iterator<Item = (u64, u64)> + use<> {
        let mut world = self.world.lock();
        let read: Vec<_> = world.loads[self.loads.clone()].iter().map(|load| (load.key as u64, load.value)).collect();
        for (_, value) in &read {
            world.born.insert(*value, Instant::now());
        }
        read.into_iter()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        for load in &mut self.world.lock().loads[self.loads.clone()] {
            load.runs = false;
        }
    }
}

/// How often the histories came to what they are about.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reached {
    pub(super) histories: u64,
    pub(super) answers: u64,
    pub(super) errors: u64,
    pub(super) cancelled: u64,
    pub(super) by_the_tier: u64,
    pub(super) stale: u64,
    pub(super) reserve: u64,
    pub(super) cluster: u64,
    pub(super) queued: u64,
    pub(super) followed: u64,
    /// Loads that had no reason to pass the tier by.
    pub(super) leased: u64,
    pub(super) refused: u64,
    pub(super) leases_lost: u64,
    pub(super) breaker_opened: u64,
}

impl Reached {
    fn fields(&self) -> [(&'static str, u64); 13] {
        [
            ("answers", self.answers),
            ("errors", self.errors),
            ("cancelled", self.cancelled),
            ("by the tier", self.by_the_tier),
            ("stale", self.stale),
            ("reserve", self.reserve),
            ("cluster", self.cluster),
            ("queued", self.queued),
            ("followed", self.followed),
            ("leased", self.leased),
            ("refused", self.refused),
            ("leases lost", self.leases_lost),
            ("breaker opened", self.breaker_opened),
        ]
    }

    pub(super) fn never(&self) -> Vec<&'static str> {
        self.fields().iter().filter(|(_, count)| *count == 0).map(|(name, _)| *name).collect()
    }

    pub(super) fn add(&mut self, other: &Self) {
        *self = Self {
            histories: self.histories + other.histories,
            answers: self.answers + other.answers,
            errors: self.errors + other.errors,
            cancelled: self.cancelled + other.cancelled,
            by_the_tier: self.by_the_tier + other.by_the_tier,
            stale: self.stale + other.stale,
            reserve: self.reserve + other.reserve,
            cluster: self.cluster + other.cluster,
            queued: self.queued + other.queued,
            followed: self.followed + other.followed,
            leased: self.leased + other.leased,
            refused: self.refused + other.refused,
            leases_lost: self.leases_lost + other.leases_lost,
            breaker_opened: self.breaker_opened + other.breaker_opened,
        };
    }
}
