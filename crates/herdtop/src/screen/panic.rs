//! What happens to the terminal when something panics.
//!
//! A panic of the thread that draws gives the terminal back before it is told.
//! One of any other thread must not write over the picture: it becomes a note.

use std::panic::{self, PanicHookInfo};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, ThreadId};

use crate::msg::Key;

/// The most notes that wait.
const NOTES: usize = 16;

static FOREIGN: Mutex<Vec<String>> = Mutex::new(Vec::new());

type Previous = Arc<dyn Fn(&PanicHookInfo<'_>) + Send + Sync>;

/// Our panic hook; dropping it sets the one before again.
pub(super) struct Hook {
    previous: Previous,
}

impl Hook {
    /// Sets the hook for the calling thread as the one that draws.
    pub(super) fn install() -> Self {
        let previous: Previous = Arc::from(panic::take_hook());
        let (draws, before) = (thread::current().id(), Arc::clone(&previous));
        panic::set_hook(Box::new(move |info| on_panic(info, draws, &before)));
        Self { previous }
    }
}

impl Drop for Hook {
    fn drop(&mut self) {
        // While a panic is under way hooks cannot be changed; ours is harmless then.
        if !thread::panicking() {
            let previous = Arc::clone(&self.previous);
            panic::set_hook(Box::new(move |info| previous(info)));
        }
    }
}

fn on_panic(info: &PanicHookInfo<'_>, draws: ThreadId, previous: &Previous) {
    if thread::current().id() == draws {
        super::terminal::leave();
        previous(info);
        return;
    }
    let mut notes = FOREIGN.lock().unwrap_or_else(PoisonError::into_inner);
    if notes.len() < NOTES {
        let place = info.location().map_or_else(String::new, |place| format!(" at {}:{}", place.file(), place.line()));
        let name = thread::current().name().unwrap_or("unnamed").to_owned();
        notes.push(format!("a background task of thread {name} panicked{place}"));
    }
}

/// Panics of other threads since the last call.
pub(super) fn foreign() -> Vec<String> {
    std::mem::take(&mut *FOREIGN.lock().unwrap_or_else(PoisonError::into_inner))
}

/// In debug builds Ctrl-P panics when the environment asks for it, so that a test
/// can see the terminal restored.
pub(super) fn on_demand(key: Key) {
    let asked = || std::env::var_os("HERDTOP_TEST_PANIC").is_some();
    assert!(!(cfg!(debug_assertions) && key == Key::Ctrl('p') && asked()), "a panic was asked for");
}
