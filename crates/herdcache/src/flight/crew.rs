//! Who serves a flight until it ends: tasks to be stopped, and those who want to be told.

use std::sync::Arc;

use crate::origin::call::Call;
use crate::sync::Notify;
use crate::sync::task::AbortHandle;

/// Everyone who serves one flight.
#[derive(Default)]
pub(super) struct Crew {
    pub(super) serving: Vec<Serves>,
    /// S5: a call whose loader waits for the flight, for every call that the flight is to make.
    pub(super) patron: Option<Arc<Call>>,
    /// Runtimes other than its home on which somebody watches.
    abroad: Vec<u64>,
}

impl Crew {
    /// Whether the watch on this runtime is the first there.
    pub(super) fn watches_from(&mut self, runtime: u64) -> bool {
        let first = !self.abroad.contains(&runtime);
        if first {
            self.abroad.push(runtime);
        }
        first
    }
}

/// One who is dismissed when the flight ends.
pub(crate) enum Serves {
    /// A task of this flight alone: stopped.
    Alone(AbortHandle),
    /// B1: a task of several flights: stopped when the last of them ends.
    Together(Arc<Leash>),
    /// Somebody who counts landings: told.
    Told(Arc<Notify>),
    /// Something that is held for the flight: given back.
    Held(Box<dyn FnOnce() + Send>),
}

impl Serves {
    pub(super) fn dismiss(self) {
        match self {
            Self::Alone(task) => task.abort(),
            Self::Together(leash) => drop(leash),
            Self::Told(told) => told.notify_one(),
            Self::Held(give_back) => give_back(),
        }
    }
}

/// Stops its task when dropped. Whoever the task serves holds a share; the task itself must not.
pub(crate) struct Leash(AbortHandle);

impl Leash {
    pub(crate) fn new(task: AbortHandle) -> Arc<Self> {
        Arc::new(Self(task))
    }
}

impl Drop for Leash {
    fn drop(&mut self) {
        self.0.abort();
    }
}
