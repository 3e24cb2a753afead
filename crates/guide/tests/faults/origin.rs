//! A database of one row, which is as old as the last change, and counts who is there.

use std::collections::HashMap;
use std::fmt;
use std::future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use herdcache::herdfeed::FlightTrigger;
use herdcache::{LoadContext, Loaded, Origin};
use tokio::time::{Instant, sleep};

/// How long a load takes, unless a scene says otherwise.
pub(crate) const LOAD: Duration = Duration::from_millis(20);

/// What the database says when it fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DbError;

impl fmt::Display for DbError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("down")
    }
}

impl std::error::Error for DbError {}

/// How a call ends.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Mood {
    #[default]
    Answers,
    Absent,
    Fails,
    Panics,
    Hangs,
}

/// One call, when it began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    pub(crate) key: u64,
    pub(crate) at: Instant,
    /// How many ran then, this one included.
    pub(crate) at_once: u64,
    /// The same of those of warm-ups; 0 if it is none.
    pub(crate) warm_at_once: u64,
}

#[derive(Default)]
struct State {
    row: u64,
    versioned: bool,
    takes: Option<Duration>,
    mood: Mood,
    moods: HashMap<u64, Mood>,
    calls: Vec<Call>,
    running: u64,
    warm: u64,
    given_up: u64,
}

/// The database. A clone is the same one.
#[derive(Clone, Default)]
pub(crate) struct Db(Arc<Mutex<State>>);

/// A call that runs; dropped before its end, it was given up.
pub(crate) struct Running {
    db: Db,
    warm: bool,
    ended: bool,
}

impl Db {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The row as it is now.
    pub(crate) fn row(&self) -> u64 {
        self.state().row
    }

    /// Somebody writes the row.
    pub(crate) fn change(&self) {
        self.state().row += 1;
    }

    /// What it says has a version from here on.
    pub(crate) fn versions(&self) {
        self.state().versioned = true;
    }

    /// Calls that begin from here on take so long.
    pub(crate) fn takes(&self, span: Duration) {
        self.state().takes = Some(span);
    }

    pub(crate) fn is(&self, mood: Mood) {
        self.state().mood = mood;
    }

    pub(crate) fn is_for(&self, key: u64, mood: Mood) {
        self.state().moods.insert(key, mood);
    }

    /// Forgets the calls that have begun, not those that run.
    pub(crate) fn forget(&self) {
        self.state().calls.clear();
    }

    pub(crate) fn calls(&self) -> Vec<Call> {
        self.state().calls.clone()
    }

    pub(crate) fn running(&self) -> u64 {
        self.state().running
    }

    pub(crate) fn given_up(&self) -> u64 {
        self.state().given_up
    }

    /// A call of a process that died with it.
    pub(crate) fn dies(&self, key: u64) {
        drop(self.begin(key, false));
    }

    fn begin(&self, key: u64, warm: bool) -> Running {
        let mut state = self.state();
        state.running += 1;
        state.warm += u64::from(warm);
        let warm_at_once = if warm { state.warm } else { 0 };
        let at_once = state.running;
        state.calls.push(Call { key, at: Instant::now(), at_once, warm_at_once });
        Running { db: self.clone(), warm, ended: false }
    }

    /// One call by hand, for loaders that are the scene's own.
    pub(crate) async fn query(&self, key: u64) -> Result<Loaded<u64>, DbError> {
        self.call(key, false).await
    }

    /// A call that has begun, to be taken along into work that blocks its thread.
    pub(crate) fn work(&self, key: u64) -> Running {
        self.begin(key, false)
    }

    async fn call(&self, key: u64, warm: bool) -> Result<Loaded<u64>, DbError> {
        let mut running = self.begin(key, warm);
        let (row, versioned, takes, mood) = {
            let state = self.state();
            let mood = state.moods.get(&key).copied().unwrap_or(state.mood);
            (state.row, state.versioned, state.takes.unwrap_or(LOAD), mood)
        };
        if matches!(mood, Mood::Hangs) {
            future::pending::<()>().await;
        }
        sleep(takes).await;
        running.ended = true;
        let value = |row| if versioned { Loaded::value(row).version(row) } else { Loaded::value(row) };
        match mood {
            Mood::Answers | Mood::Hangs => Ok(value(row)),
            Mood::Absent => Ok(Loaded::absent()),
            Mood::Fails => Err(DbError),
            Mood::Panics => panic!("no such table"),
        }
    }
}

impl Running {
    pub(crate) fn end(mut self) {
        self.ended = true;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut state = self.db.state();
        state.running -= 1;
        state.warm -= u64::from(self.warm);
        state.given_up += u64::from(!self.ended);
    }
}

impl Origin<u64, u64> for Db {
    type Error = DbError;

    async fn load(&self, cx: LoadContext<u64, u64>) -> Result<Loaded<u64>, DbError> {
        self.call(*cx.key(), cx.trigger() == FlightTrigger::Warmup).await
    }
}
