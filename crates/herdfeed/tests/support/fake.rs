//! A source whose account the tests write themselves.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use herdfeed::server::{Batch, Source};
use herdfeed::{CacheConfig, CacheSnapshot, Event, Fact, Hello, Outcome, Process, Severity, Snapshot};

/// How the source answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mood {
    /// As it should.
    Fine,
    /// With a panic.
    Panics,
}

/// A ring of events and one cache that gains ten hits with each snapshot.
#[derive(Debug)]
pub(crate) struct Fake {
    state: Mutex<State>,
    ring: usize,
    /// Bytes that each snapshot weighs at least.
    weight: usize,
}

#[derive(Debug)]
struct State {
    mood: Mood,
    events: VecDeque<Event>,
    next_event: u64,
    snapshots: u64,
    /// Caches, and how each shows its keys.
    keys: Vec<(String, String)>,
}

impl Fake {
    /// Holds the last `ring` events; each snapshot weighs at least `weight` bytes.
    pub(crate) fn new(ring: usize, weight: usize) -> Self {
        let state = State { mood: Mood::Fine, events: VecDeque::new(), next_event: 0, snapshots: 0, keys: Vec::new() };
        Self { state: Mutex::new(state), ring, weight }
    }

    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds events.
    pub(crate) fn happen(&self, count: u64) {
        self.with(|state| {
            for _ in 0..count {
                let seq = state.next_event;
                state.next_event += 1;
                let fact = Fact::Tuned { what: format!("number {seq}") };
                let event =
                    Event { seq, mono_us: seq, unix_us: seq, severity: Severity::Info, subject: "users".into(), fact };
                state.events.push_back(event);
                if state.events.len() > self.ring {
                    state.events.pop_front();
                }
            }
        });
    }

    /// How it answers from now on.
    pub(crate) fn set_mood(&self, mood: Mood) {
        self.with(|state| state.mood = mood);
    }

    /// The caches it tells of, and how each shows its keys.
    pub(crate) fn show_keys(&self, keys: &[(&str, &str)]) {
        let keys = keys.iter().map(|(cache, keys)| ((*cache).to_owned(), (*keys).to_owned())).collect();
        self.with(|state| state.keys = keys);
    }

    /// Snapshots taken so far.
    pub(crate) fn snapshots(&self) -> u64 {
        self.with(|state| state.snapshots)
    }

    fn check_mood(&self) {
        assert_ne!(self.with(|state| state.mood), Mood::Panics, "the test wants this panic");
    }
}

impl Source for Fake {
    fn hello(&self) -> Hello {
        self.check_mood();
        let config = |(name, keys): &(String, String)| CacheConfig {
            name: name.clone(),
            keys: keys.clone(),
            ..CacheConfig::default()
        };
        Hello {
            v: herdfeed::hello::VERSION,
            min: 1,
            lib: "fake 0".into(),
            process: Process { service: "api".into(), pid: 4711, ..Process::default() },
            clock: herdfeed::Clock::default(),
            caps: vec!["past".into()],
            caches: self.with(|state| state.keys.iter().map(config).collect()),
            gates: Vec::new(),
        }
    }

    fn snapshot(&self) -> Snapshot {
        self.check_mood();
        self.with(|state| {
            state.snapshots += 1;
            let mut cache =
                CacheSnapshot { name: "users".into(), gate: "x".repeat(self.weight), ..CacheSnapshot::default() };
            cache.outcomes[Outcome::Hit] = state.snapshots * 10;
            cache.begun = state.snapshots * 10;
            Snapshot { seq: state.snapshots, caches: vec![cache], next_event: state.next_event, ..Snapshot::default() }
        })
    }

    fn events(&self, since: u64, most: usize) -> Batch {
        self.check_mood();
        self.with(|state| {
            let oldest = state.events.front().map_or(state.next_event, |event| event.seq);
            let from = since.max(oldest);
            let events: Vec<_> = state.events.iter().filter(|event| event.seq >= from).take(most).cloned().collect();
            let lag = (since < oldest).then_some((since, oldest));
            let next = events.last().map_or(from, |event| event.seq + 1);
            Batch { events, lag, next }
        })
    }
}
