//! One look at the process, read by every instrument of one collection.
//!
//! A reader asks one instrument after the other. They must tell of one moment, or
//! the sums between them would not hold; so the first takes the look and the others
//! share it, until one asks for the second time. Readers are told apart by their
//! threads, so that two that collect at once do not mix their looks.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use crate::fold::Line;
use crate::series::Series;

/// Readers whose looks are kept; beyond them the oldest is forgotten.
const READERS: usize = 8;
/// A collection is over by then, whether or not every instrument has asked.
const OLDEST: Duration = Duration::from_secs(1);

/// What every instrument says now.
#[derive(Debug, Default)]
pub(crate) struct Reading(pub(crate) Vec<(Arc<Series>, Line)>);

/// The looks that are being read.
#[derive(Debug, Default)]
pub(crate) struct Readings(Mutex<Vec<Taken>>);

#[derive(Debug)]
struct Taken {
    thread: ThreadId,
    at: Instant,
    /// Instruments that have had their part, by their places in the table.
    had: Vec<usize>,
    reading: Arc<Reading>,
}

impl Readings {
    /// The reading of this thread's collection, taken by `look` if it is to be a new one. `parts` is how many
    /// instruments will ask.
    pub(crate) fn part(&self, slot: usize, parts: usize, look: impl FnOnce() -> Reading) -> Arc<Reading> {
        let (thread, now) = (thread::current().id(), Instant::now());
        if let Some(reading) = self.under_way(thread, now, slot, parts) {
            return reading;
        }
        // Outside the lock: it takes milliseconds, and another reader's collection is none of its business.
        let reading = Arc::new(look());
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        taken.retain(|other| other.thread != thread);
        if taken.len() >= READERS {
            taken.remove(0);
        }
        taken.push(Taken { thread, at: now, had: vec![slot], reading: Arc::clone(&reading) });
        reading
    }

    fn under_way(&self, thread: ThreadId, now: Instant, slot: usize, parts: usize) -> Option<Arc<Reading>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = all.iter().position(|taken| taken.thread == thread)?;
        let taken = &mut all[at];
        if taken.had.contains(&slot) || now.saturating_duration_since(taken.at) > OLDEST {
            return None;
        }
        taken.had.push(slot);
        let reading = Arc::clone(&taken.reading);
        // The last part: nothing of it need be kept until the next collection.
        if taken.had.len() >= parts {
            all.remove(at);
        }
        Some(reading)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_is_shared_until_an_instrument_asks_again() {
        let readings = Readings::default();
        let part = |slot| readings.part(slot, 3, Reading::default);
        let first = part(0);
        assert!(Arc::ptr_eq(&first, &part(1)));
        let second = part(1);
        assert!(!Arc::ptr_eq(&first, &second));
        assert!(Arc::ptr_eq(&second, &part(0)));
        assert!(Arc::ptr_eq(&second, &part(2)));
        assert!(readings.0.lock().unwrap().is_empty(), "nothing is kept after the last part");
    }

    #[test]
    fn readers_on_two_threads_have_looks_of_their_own() {
        let readings = Readings::default();
        let here = readings.part(0, 9, Reading::default);
        let there = thread::scope(|scope| scope.spawn(|| readings.part(1, 9, Reading::default)).join().unwrap());
        assert!(!Arc::ptr_eq(&here, &there));
        assert!(Arc::ptr_eq(&here, &readings.part(1, 9, Reading::default)));
    }

    /// L7: threads that collect once and end leave a bounded number of looks.
    #[test]
    fn l7_looks_are_bounded() {
        let readings = Readings::default();
        for _ in 0..20 {
            thread::scope(|scope| _ = scope.spawn(|| readings.part(0, 9, Reading::default)).join().unwrap());
        }
        assert_eq!(readings.0.lock().unwrap().len(), READERS);
    }
}
